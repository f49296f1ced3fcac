"""Odd meshes and small pictures, made from nothing: OBJ texts, PNG and GLB bytes."""

import json
import math
import random
import struct
import zlib


def png(width, height, pixel):
    """A PNG; pixel(x, y) gives (r, g, b) or (r, g, b, a), 0..255."""
    channels = len(pixel(0, 0))
    rows = b"".join(b"\0" + bytes(c for x in range(width) for c in pixel(x, y)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def checker(x, y):
    return (230, 120 + x % 64, 40) if (x // 8 + y // 8) % 2 else (30, 60, 200 - y % 64)


def glb(gltf, binary):
    """Container bytes of a glTF object and its buffer."""
    text = json.dumps(gltf).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    total = 12 + 8 + len(text) + 8 + len(binary)
    return (
        struct.pack("<4sII", b"glTF", 2, total)
        + struct.pack("<I4s", len(text), b"JSON")
        + text
        + struct.pack("<I4s", len(binary), b"BIN\0")
        + binary
    )


def card(picture, uv=((0, 0), (1, 1)), material=None, sampler=None):
    """A GLB of one square with a picture; uv are the texture coordinates of its lower and upper corner."""
    (u0, v0), (u1, v1) = uv
    corners = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]
    positions = b"".join(struct.pack("<3f", *p) for p in corners)
    coordinates = b"".join(struct.pack("<2f", *t) for t in [(u0, v1), (u1, v1), (u1, v0), (u0, v0)])
    indices = struct.pack("<6H", 0, 1, 2, 0, 2, 3)
    parts, views = b"", []
    for data in (positions, coordinates, indices, picture):
        parts += b"\0" * (-len(parts) % 4)
        views.append({"buffer": 0, "byteOffset": len(parts), "byteLength": len(data)})
        parts += data
    look = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0}}
    look.update(material or {})
    return glb(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
            "materials": [look],
            "textures": [{"source": 0, "sampler": 0}],
            "samplers": [sampler or {}],
            "images": [{"bufferView": 3, "mimeType": "image/png"}],
            "buffers": [{"byteLength": len(parts)}],
            "bufferViews": views,
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-1, -1, 0], "max": [1, 1, 0]},
                {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
                {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
            ],
        },
        parts,
    )


def obj(points, faces):
    """An OBJ whose vertices have colours by their position in the list."""
    lines = []
    for i, (x, y, z) in enumerate(points):
        lines.append(f"v {x:.9g} {y:.9g} {z:.9g} {i * 37 % 101 / 100} {i * 53 % 97 / 96} {i * 71 % 89 / 88}")
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    return "\n".join(lines) + "\n"


def grid(n, size=1.0, offset=(0.0, 0.0, 0.0)):
    """Points and triangles of a flat square of n x n cells."""
    points = [
        (offset[0] + size * x / n, offset[1] + size * y / n, offset[2]) for y in range(n + 1) for x in range(n + 1)
    ]
    faces = []
    for y in range(n):
        for x in range(n):
            a = y * (n + 1) + x
            faces += [(a, a + 1, a + n + 2), (a, a + n + 2, a + n + 1)]
    return points, faces


def joined(*meshes):
    points, faces = [], []
    for p, f in meshes:
        faces += [tuple(i + len(points) for i in face) for face in f]
        points += p
    return points, faces


def fan(n):
    """n triangles around one vertex."""
    points = [(0.0, 0.0, 0.3)] + [
        (math.cos(2 * math.pi * i / n), math.sin(2 * math.pi * i / n), 0.0) for i in range(n)
    ]
    return points, [(0, 1 + i, 1 + (i + 1) % n) for i in range(n)]


def strip(n):
    """n long thin triangles in a row."""
    points = [(i / n, (i % 2) * 10.0, 0.0) for i in range(n + 2)]
    return points, [(i, i + 1, i + 2) if i % 2 else (i + 1, i, i + 2) for i in range(n)]


def giant_among_tiny(n):
    """One large triangle beside a grid of very small ones that touches it in a corner."""
    return joined(([(0, 0, 0), (-1000, 0, 0), (0, -1000, 0)], [(0, 1, 2)]), grid(n, 0.5))


def triangles_everywhere(n, rng):
    """n loose triangles."""
    points, faces = [], []
    for i in range(n):
        center = [rng.uniform(-1, 1) for _ in range(3)]
        points += [tuple(c + rng.uniform(-0.02, 0.02) for c in center) for _ in range(3)]
        faces.append((3 * i, 3 * i + 1, 3 * i + 2))
    return points, faces


def soup(n, rng):
    """Faces between random vertices: nothing is manifold."""
    points = [tuple(rng.uniform(-1, 1) for _ in range(3)) for _ in range(max(4, n // 8))]
    return points, [tuple(rng.sample(range(len(points)), 3)) for _ in range(n)]


def scaled(mesh, factor, shift=0.0):
    points, faces = mesh
    return [tuple(factor * c + shift for c in p) for p in points], faces


def ball(n, radius=1.0):
    """A sphere of n x 2n cells, with poles of many triangles."""
    points = [(0.0, 0.0, radius), (0.0, 0.0, -radius)]
    for i in range(1, n):
        for j in range(2 * n):
            a, b = math.pi * i / n, math.pi * j / n
            points.append((radius * math.sin(a) * math.cos(b), radius * math.sin(a) * math.sin(b), radius * math.cos(a)))

    def at(i, j):
        return 0 if i == 0 else 1 if i == n else 2 + (i - 1) * 2 * n + j % (2 * n)

    faces = []
    for i in range(n):
        for j in range(2 * n):
            faces += [f for f in ((at(i, j), at(i + 1, j), at(i + 1, j + 1)), (at(i, j), at(i + 1, j + 1), at(i, j + 1))) if len(set(f)) == 3]
    return points, faces


def all_shapes(quick):
    """(name, OBJ text, whether it can be fitted: True, False, or None for either)."""
    rng = random.Random(7)
    few = 8 if quick else 1
    square = grid(6)
    shapes = [
        ("fan", fan(20000 // few), True),
        ("strip", strip(20000 // few), True),
        ("giant face among tiny ones", giant_among_tiny(80 // few), True),
        ("loose triangles", triangles_everywhere(10000 // few, rng), True),
        ("many components", joined(*[scaled(grid(1, 0.3), 1, i * 0.01) for i in range(5000 // few)]), True),
        ("soup", soup(2000 // few, rng), True),
        ("nested balls", joined(*[ball(8, 1 + 1e-4 * i) for i in range(24 // few)]), True),
        ("the same ball many times", joined(*[ball(6) for _ in range(16 // few)]), None),
        ("one triangle", ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), True),
        ("two faces of one triangle", ([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 1)]), None),
        ("slivers", ([(i * 1.0, (i % 2) * 1e-7, 0.0) for i in range(50)], [(i, i + 1, i + 2) for i in range(48)]), None),
        ("all on a line", ([(i * 1.0, 0.0, 0.0) for i in range(30)], [(i, i + 1, i + 2) for i in range(28)]), False),
        ("all in a point", ([(1.0, 2.0, 3.0)] * 30, [(i, i + 1, i + 2) for i in range(28)]), False),
        ("huge coordinates", scaled(square, 1e18), None),
        ("tiny coordinates", scaled(square, 1e-18), None),
        ("largest floats", scaled(square, 3e38), None),
        ("smallest floats", scaled(square, 1e-40), None),
        ("far from the origin", scaled(square, 1.0, 1e7), None),
        ("a hole in the middle of a fan of holes", joined(*[fan(3 + i) for i in range(40 // few)]), True),
        ("polygon of many corners", (fan(3000 // few)[0][1:], [tuple(range(3000 // few))]), True),
        ("edge of many faces", ([(0, 0, 0), (0, 0, 1)] + [(math.cos(i), math.sin(i), 0.5) for i in range(300 // few)],
                                [(0, 1, 2 + i) for i in range(300 // few)]), True),
        ("moebius", moebius(40), True),
    ]
    return [(name, obj(*mesh), fits) for name, mesh, fits in shapes]


def moebius(n):
    """A band with a half turn: it has one side."""
    points = []
    for i in range(n):
        a = 2 * math.pi * i / n
        for w in (-0.3, 0.3):
            r = 1 + w * math.cos(a / 2)
            points.append((r * math.cos(a), r * math.sin(a), w * math.sin(a / 2)))
    faces = []
    for i in range(n):
        a, b = 2 * i, 2 * i + 1
        c, d = (2 * i + 2, 2 * i + 3) if i + 1 < n else (1, 0)
        faces += [(a, c, d), (a, d, b)]
    return points, faces
