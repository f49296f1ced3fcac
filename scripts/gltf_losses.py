#!/usr/bin/env python3
"""gltf_losses.py INPUT PRODUCT: what a product no longer has of the glTF file it was made from.

Compares both as values, not as numbers of things: an accessor is its type and its bytes, an image its bytes, a buffer view that an
extension names its bytes, wherever they moved to. Prints a line for each difference and ends with 1 if there is one that kernels do
not explain: those are textures and factors of materials, COLOR_0, asset.generator and the extension itself."""

import base64
import hashlib
import json
import pathlib
import struct
import sys
import urllib.parse

EXTENSION = "HSK_kernel_texture"
EXPLAINED = ("asset.generator", "extensions." + EXTENSION, "extensionsUsed")


class File:
    def __init__(self, path):
        self.folder = pathlib.Path(path).parent
        data = pathlib.Path(path).read_bytes()
        self.bin = b""
        if data[:4] == b"glTF":
            place, chunks = 12, {}
            while place + 8 <= len(data):
                size, kind = struct.unpack_from("<II", data, place)
                chunks.setdefault(kind, data[place + 8 : place + 8 + size])
                place += 8 + size
            self.json = json.loads(chunks[0x4E4F534A])
            self.bin = chunks.get(0x004E4942, b"")
        else:
            self.json = json.loads(data)
        self.buffers = [self.uri(b["uri"]) if "uri" in b else self.bin for b in self.json.get("buffers", [])]

    def uri(self, uri):
        if uri.startswith("data:"):
            return base64.b64decode(uri.split(",", 1)[1])
        return (self.folder / urllib.parse.unquote(uri)).read_bytes()

    def view(self, number):
        view = self.json["bufferViews"][number]
        packed = view.get("extensions", {}).get("EXT_meshopt_compression")
        if packed:
            start = packed.get("byteOffset", 0)
            return {**packed, "buffer": None, "byteOffset": None, "bytes": self.buffers[packed["buffer"]][start : start + packed["byteLength"]]}
        start = view.get("byteOffset", 0)
        return {"byteStride": view.get("byteStride"), "bytes": self.buffers[view["buffer"]][start : start + view["byteLength"]]}

    def accessor(self, number):
        value = dict(self.json["accessors"][number])
        if "bufferView" in value:
            value["bufferView"] = self.view(value["bufferView"])
        for part in ("indices", "values"):
            if "sparse" in value:
                sparse = value["sparse"] = dict(value["sparse"])
                sparse[part] = {**sparse[part], "bufferView": self.view(sparse[part]["bufferView"])}
        return value

    def image(self, number):
        image = self.json["images"][number]
        data = self.view(image["bufferView"])["bytes"] if "bufferView" in image else self.uri(image["uri"])
        return {"name": image.get("name"), "bytes": data}


def references(file, path, key, value):
    """What a number at this place stands for; None: just a number."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    top = path.split(".")[0]
    if key == "bufferView" and top not in ("bufferViews", "accessors", "images"):
        return file.view(value)
    inside = path.split(".")
    accessor = (
        "attributes" in inside[-1] and "KHR_draco_mesh_compression" not in path
        or "targets" in path and top == "meshes"
        or key == "indices" and top == "meshes"
        or key in ("input", "output") and top == "animations"
        or key == "inverseBindMatrices"
    )
    return file.accessor(value) if accessor else None


def flat(file, value, path="", key="", out=None):
    out = {} if out is None else out
    if isinstance(value, dict):
        for name, item in value.items():
            flat(file, item, f"{path}.{name}" if path else name, name, out)
        if not value:
            out[path] = {}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            flat(file, item, f"{path}[{i}]", key, out)
    else:
        found = references(file, path.rsplit(".", 1)[0], key, value)
        out[path] = hashed(found) if found is not None else value
    return out


def hashed(value):
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()[:16]
    if isinstance(value, dict):
        return {k: hashed(v) for k, v in value.items() if v is not None}
    return value


def values(file):
    kept = {k: v for k, v in file.json.items() if k not in ("accessors", "bufferViews", "buffers", "images", "textures", "samplers")}
    return flat(file, kept)


def ofMaterial(before, path):
    """Whether kernels explain what changed in a material: its textures and factors; copies are new."""
    if not path.startswith("materials["):
        return False
    number, _, rest = path[len("materials[") :].partition("]")
    return int(number) >= len(before.json.get("materials", [])) or "Texture" in rest or "Factor" in rest


def main():
    before, after = File(sys.argv[1]), File(sys.argv[2])
    old, new = values(before), values(after)
    unexplained = 0
    for path in sorted(old.keys() | new.keys()):
        if old.get(path, "-") == new.get(path, "-"):
            continue
        explained = path.startswith(EXPLAINED) or path.endswith((".COLOR_0", ".material")) or ofMaterial(before, path)
        unexplained += not explained
        print(f"{'  ' if explained else '! '}{path}: {old.get(path, '-')} -> {new.get(path, '-')}"[:220])
    images = [hashed(before.image(i)["bytes"]) for i in range(len(before.json.get("images", [])))]
    now = {hashed(after.image(i)["bytes"]) for i in range(len(after.json.get("images", [])))}
    print(f"  images: {sum(h in now for h in images)} of {len(images)} are the same, {len(now - set(images))} are new")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
