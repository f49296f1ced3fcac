"""A mesh with a normal map, made by code: what readers can get wrong about tangent groups is in it.

Two wavy sheets share a texture, one of them in a node that mirrors. A third of the triangles are wound against their neighbours
(the surface must be oriented again), one is there twice with its corners rotated, and the corner normals of one part of the file
point to the inside.
"""
import json
import math
import struct
import zlib

SIDE = 9     # quads along a side
TEXELS = 64


def png(pixel):
    """A PNG of TEXELS x TEXELS; pixel(u, v) gives three numbers of 0..1, or four."""
    rows = b""
    for j in range(TEXELS):
        rows += b"\0"
        for i in range(TEXELS):
            rows += bytes(round(255 * x) for x in pixel((i + 0.5) / TEXELS, (j + 0.5) / TEXELS))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", TEXELS, TEXELS, 8, 6 if len(pixel(0, 0)) == 4 else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def color(u, v):
    return 0.2 + 0.6 * u, 0.5 + 0.3 * math.sin(9 * v), 0.4 + 0.4 * math.cos(7 * u + 4 * v)


def other_color(u, v):
    return 0.9 - 0.5 * v, 0.3 + 0.3 * math.cos(8 * u), 0.2 + 0.2 * math.sin(9 * u * v)


def bump(u, v):
    x, y = 0.5 * math.sin(12 * u) * math.cos(8 * v), 0.4 * math.cos(10 * u + 3 * v)
    length = math.sqrt(x * x + y * y + 1)
    return tuple(0.5 + 0.5 * c / length for c in (x, y, 1))


def coat_bump(u, v):
    x, y = 0.3 * math.cos(9 * v), 0.5 * math.sin(7 * u - 5 * v)
    length = math.sqrt(x * x + y * y + 1)
    return tuple(0.5 + 0.5 * c / length for c in (x, y, 1))


def brushed(u, v):
    """A direction in tangent space and a strength."""
    angle = 1 + 3 * u + 2 * v
    return 0.5 + 0.5 * math.cos(angle), 0.5 + 0.5 * math.sin(angle), 0.6 + 0.3 * math.sin(8 * v)


def perforated(u, v):
    inside = math.hypot(u - 0.4, v - 0.5) < 0.25 or abs(u - 0.8) < 0.06
    return color(u, v) + (0.0 if inside else 1.0,)


def flat_sheet():
    """The bytes of a flat square with holes (alpha mode MASK)."""
    positions = [(i / SIDE, j / SIDE, 0) for j in range(SIDE + 1) for i in range(SIDE + 1)]
    quads = [j * (SIDE + 1) + i for j in range(SIDE) for i in range(SIDE)]
    triangles = [c for a in quads for c in (a, a + 1, a + SIDE + 2, a, a + SIDE + 2, a + SIDE + 1)]
    parts = [b"".join(struct.pack("<3f", *p) for p in positions), b"".join(struct.pack("<2f", x, 1 - y) for x, y, _ in positions),
             struct.pack(f"<{len(triangles)}H", *triangles), png(perforated)]
    views, binary = [], b""
    for part in parts:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(part)})
        binary += part + b"\0" * (-len(part) % 4)
    count = len(positions)
    return pack({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}], "bufferViews": views,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": count, "min": [0, 0, 0], "max": [1, 1, 0]},
                      {"bufferView": 1, "componentType": 5126, "type": "VEC2", "count": count},
                      {"bufferView": 2, "componentType": 5123, "type": "SCALAR", "count": len(triangles)}],
        "images": [{"bufferView": 3, "mimeType": "image/png"}], "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}, "alphaMode": "MASK", "doubleSided": True}],
        "buffers": [{"byteLength": len(binary)}],
    }, binary)


def pack(document, binary):
    """A GLB of its two chunks."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(binary)
    return b"glTF" + struct.pack("<II", 2, size) + struct.pack("<II", len(text), 0x4E4F534A) + text + \
        struct.pack("<II", len(binary), 0x004E4942) + binary


def sheet(normal_sign, side=SIDE):
    """Positions, normals, texture coordinates and triangles."""
    positions, normals, uvs, triangles = [], [], [], []
    for j in range(side + 1):
        for i in range(side + 1):
            x, y = i / side, j / side
            slope = -0.6 * math.cos(4 * x)
            length = normal_sign * math.sqrt(slope * slope + 1)
            positions.append((x, y, 0.15 * math.sin(4 * x)))
            normals.append((slope / length, 0, 1 / length))
            uvs.append((x, 1 - y))
    for j in range(side):
        for i in range(side):
            a = j * (side + 1) + i
            b, c, d = a + 1, a + side + 1, a + side + 2
            triangles += [(a, b, d), (a, d, c) if (i + j) % 3 else (a, c, d)]
    first = triangles[40]
    triangles.append((first[1], first[2], first[0]))
    return positions, normals, uvs, triangles


def glb(variants=False, side=SIDE, coated=False):
    """The bytes of the file. With `variants` the first sheet has another texture in "painted" and one colour in "plain"; nothing
    changes in "usual". `coated`: with textures of KHR_materials_clearcoat (normals) and KHR_materials_anisotropy."""
    binary, views, accessors, meshes = b"", [], [], []

    def view(data):
        nonlocal binary
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        binary += data + b"\0" * (-len(data) % 4)
        return len(views) - 1

    def accessor(kind, component, rows, **more):
        code = {5126: "f", 5123: "H"}[component]
        flat = [x for row in rows for x in row]
        count = len(flat) if kind == "SCALAR" else len(rows)
        accessors.append({"bufferView": view(struct.pack(f"<{len(flat)}{code}", *flat)), "componentType": component,
                          "type": kind, "count": count, **more})
        return len(accessors) - 1

    for sign in (1, -1):
        positions, normals, uvs, triangles = sheet(sign, side)
        bounds = {"min": [min(c) for c in zip(*positions)], "max": [max(c) for c in zip(*positions)]}
        attributes = {"POSITION": accessor("VEC3", 5126, positions, **bounds), "NORMAL": accessor("VEC3", 5126, normals),
                      "TEXCOORD_0": accessor("VEC2", 5126, uvs)}
        primitive = {"attributes": attributes, "indices": accessor("SCALAR", 5123, triangles), "material": 0}
        meshes.append({"primitives": [primitive]})
    pictures = (color, bump, other_color) + ((coat_bump, brushed) if coated else ())
    images = [{"bufferView": view(png(picture)), "mimeType": "image/png"} for picture in pictures]
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0, "rotation": [0.1, 0.2, 0.3, 0.9273618495495703]},
                  {"mesh": 1, "translation": [0, 0, 1.5], "scale": [-1.2, 1, 0.7]}],
        "meshes": meshes, "accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": len(binary)}],
        "images": images, "textures": [{"source": i} for i in range(len(images))],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0},
                       "normalTexture": {"index": 1}, "doubleSided": True}],
    }
    if coated:
        document["materials"][0]["extensions"] = {
            "KHR_materials_clearcoat": {"clearcoatFactor": 1, "clearcoatNormalTexture": {"index": 3}},
            "KHR_materials_anisotropy": {"anisotropyStrength": 0.9, "anisotropyRotation": 0.4, "anisotropyTexture": {"index": 4}}}
        document["extensionsUsed"] = list(document["materials"][0]["extensions"])
    if variants:
        textured, extension = document["materials"][0], "KHR_materials_variants"
        painted = dict(textured, pbrMetallicRoughness={"baseColorTexture": {"index": 2}, "metallicFactor": 0})
        document["materials"] += [painted, {"pbrMetallicRoughness": {"baseColorFactor": [0.2, 0.6, 0.4, 1]}}]
        document["extensionsUsed"] = [extension]
        document["extensions"] = {extension: {"variants": [{"name": name} for name in ("painted", "plain", "usual")]}}
        mappings = [{"material": 1, "variants": [0]}, {"material": 2, "variants": [1]}]
        meshes[0]["primitives"][0]["extensions"] = {extension: {"mappings": mappings}}
    return pack(document, binary)
