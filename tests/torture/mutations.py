"""Damaged copies of a product: its container, its JSON and its buffers."""

import copy
import json
import struct
import zlib

import shapes

NONSENSE = [-1, 0, 1, 0.5, 255, 65536, 2**31, 2**53, 2**64, 1e308, -1e308, "", "x", None, True, [], {}, [0], [1e308] * 4]


def split(data):
    """(glTF object, buffer) of a GLB."""
    length = struct.unpack_from("<I", data, 12)[0]
    gltf = json.loads(data[20 : 20 + length])
    start = 20 + length + 8
    return gltf, data[start:]


def paths(value, at=()):
    """The path of every value inside a JSON value."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield at + (key,)
        yield from paths(child, at + (key,))


def replaced(gltf, path, value):
    changed = copy.deepcopy(gltf)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    if value is DELETED:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


DELETED = object()


def about_kernels(gltf):
    """Paths of the values that lead to the kernels, and of views and accessors."""
    wanted = ("extensions", "extensionsUsed", "bufferViews", "accessors", "buffers")
    for path in paths(gltf):
        if any(key in wanted for key in path):
            yield path


def changed_fields(data, rng, count):
    """(name, bytes): one JSON value replaced by nonsense; the kernels' own fields first."""
    gltf, binary = split(data)
    everything = list(about_kernels(gltf))
    own = [path for path in everything if "HSK_kernel_texture" in path]
    other = [path for path in everything if "HSK_kernel_texture" not in path]
    tries = [(path, value) for path in own for value in NONSENSE + [DELETED]]
    rng.shuffle(tries)
    more = [(path, value) for path in other for value in NONSENSE + [DELETED]]
    rng.shuffle(more)
    for path, value in tries[: count * 2 // 3] + more[: count // 3]:
        name = ".".join(str(key) for key in path)
        shown = "deleted" if value is DELETED else json.dumps(value)[:20]
        yield f"{name} = {shown}", shapes.glb(replaced(gltf, path, value), binary)


def changed_bytes(data, rng, count):
    """(name, bytes): flipped, cut, repeated, zeroed and filled places."""
    for i in range(count):
        changed = bytearray(data)
        at = rng.randrange(len(changed))
        kind = ("flip", "cut", "zero", "fill", "insert", "swap", "burst")[i % 7]
        span = min(len(changed) - at, rng.choice((1, 4, 16, 400)))
        if kind == "flip":
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del changed[at:]
        elif kind == "zero":
            changed[at : at + span] = bytes(span)
        elif kind == "fill":
            changed[at : at + span] = b"\xff" * span
        elif kind == "insert":
            changed[at:at] = bytes(rng.randrange(256) for _ in range(span))
        elif kind == "swap":
            other = rng.randrange(len(changed))
            changed[at], changed[other] = changed[other], changed[at]
        else:
            for _ in range(30):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        yield f"{kind} {span} at {at}", bytes(changed)


def changed_buffers(data, rng, count):
    """(name, bytes): a sound container with noise, zeros or large numbers in the buffer, and views swapped."""
    gltf, binary = split(data)
    views = gltf.get("bufferViews", [])
    for i in range(count):
        view = rng.randrange(len(views))
        begin = views[view].get("byteOffset", 0)
        length = views[view]["byteLength"]
        fill = (
            bytes(length),
            b"\xff" * length,
            bytes(rng.randrange(256) for _ in range(length)),
            (struct.pack("<f", float("nan")) * (length // 4 + 1))[:length],
            (struct.pack("<f", 3e38) * (length // 4 + 1))[:length],
        )[i % 6] if i % 6 < 5 else None
        if fill is not None:
            yield f"view {view} filled ({i % 6})", shapes.glb(gltf, binary[:begin] + fill + binary[begin + length :])
        else:
            other = rng.randrange(len(views))
            changed = copy.deepcopy(gltf)
            changed["bufferViews"][view], changed["bufferViews"][other] = views[other], views[view]
            yield f"views {view} and {other} swapped", shapes.glb(changed, binary)


def changed_planes(data, rng, count):
    """(name, bytes): the kernels' planes damaged inside a sound zlib stream, of the right size, another, or a bomb."""
    gltf, binary = split(data)
    index = gltf["extensions"]["HSK_kernel_texture"]["kernels"]["bufferView"]
    old = gltf["bufferViews"][index]
    begin = old.get("byteOffset", 0)
    planes = zlib.decompress(binary[begin : begin + old["byteLength"]])
    for i in range(count):
        changed = bytearray(planes)
        kind = ("flip", "noise", "zero", "fill", "cut", "longer", "bomb")[i % 7]
        at = rng.randrange(len(changed))
        span = min(len(changed) - at, rng.choice((1, 4, 400)))
        if kind == "flip":
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == "noise":
            changed[at : at + span] = bytes(rng.randrange(256) for _ in range(span))
        elif kind == "zero":
            changed[at : at + span] = bytes(span)
        elif kind == "fill":
            changed[at : at + span] = b"\xff" * span
        elif kind == "cut":
            del changed[at:]
        elif kind == "longer":
            changed += bytes(span)
        else:
            changed = bytearray(1 << 24)
        stream = zlib.compress(bytes(changed), 9)
        padded = binary + b"\0" * (-len(binary) % 4)
        document = copy.deepcopy(gltf)
        document["bufferViews"][index].update(byteOffset=len(padded), byteLength=len(stream))
        document["buffers"][0]["byteLength"] = len(padded) + len(stream)
        if kind == "bomb" and i % 2:
            document["extensions"]["HSK_kernel_texture"]["kernels"]["count"] = 50 << 20
        yield f"planes: {kind} {span} at {at}", shapes.glb(document, padded + stream)
