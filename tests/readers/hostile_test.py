"""Damaged products: the readers of examples/ and `heatskin query` refuse them with a message, and take neither much time nor memory.

    hostile_test.py HEATSKIN python|javascript|heatskin

Exits with 77 (skipped) and says why when numpy or node is missing.
"""
import copy
import importlib.util
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib

import bumpy_mesh
from readers_test import ROOT, SMALL, reader_command, run

SECONDS = 60          # for one file; only a hang takes so long
MOST_MEGABYTES = 900  # of a process that reads one file after the other
FLIPS = 60            # random changes of bytes for each product


class Glb:
    def __init__(self, path):
        data = open(path, "rb").read()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json = json.loads(data[20:20 + length])
        self.binary = data[28 + length:28 + length + struct.unpack_from("<I", data, 20 + length)[0]]

    @property
    def extension(self):
        return self.json["extensions"]["HSK_kernel_texture"]

    @property
    def charts(self):
        return self.extension.get("charts") or self.extension["proxyCharts"]

    def view(self, index):
        view = self.json["bufferViews"][index]
        return self.binary[view.get("byteOffset", 0):view.get("byteOffset", 0) + view["byteLength"]]

    def put(self, index, data):
        self.binary += b"\0" * (-len(self.binary) % 4)
        self.json["bufferViews"][index].update(byteOffset=len(self.binary), byteLength=len(data))
        self.binary += data
        self.json["buffers"][0]["byteLength"] = len(self.binary)

    def inflated(self, about):
        return bytearray(zlib.decompress(self.view(about["bufferView"])))

    def deflate(self, about, data):
        self.put(about["bufferView"], zlib.compress(bytes(data)))

    def write(self, path):
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        binary = self.binary + b"\0" * (-len(self.binary) % 4)
        with open(path, "wb") as out:
            out.write(struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(binary), len(text), 0x4E4F534A) + text)
            out.write(struct.pack("<II", len(binary), 0x004E4942) + binary)


def set_at(path, value):
    def damage(glb):
        inside = glb.json
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
    return damage


def in_extension(*path_and_value):
    return lambda glb: set_at(path_and_value[:-1], path_and_value[-1])(type("At", (), {"json": glb.extension})())


def in_charts(*path_and_value):
    return lambda glb: set_at(path_and_value[:-1], path_and_value[-1])(type("At", (), {"json": glb.charts})())


def in_buffer(change):
    """Changes what the charts' buffer inflates to; a change may give a new buffer."""
    def damage(glb):
        data = glb.inflated(glb.charts)
        changed = change(data, glb.charts, glb)
        glb.deflate(glb.charts, data if changed is None else changed)
    return damage


def put(data, at, new):
    data[at:at + len(new)] = new


def proxy_parts(about, glb):
    """Where the parts of a proxy begin."""
    vertices = about["steps"] + 4 * about["orders"] + 8 * about["neighbours"]
    corners = vertices + 4 * about["vertices"]
    changes = corners + 12 * about["faces"]
    counts = changes + 8 * about["faceNeighbours"]
    listed = counts + glb.extension["triangles"]
    return {"vertices": vertices, "corners": corners, "counts": counts, "listed": listed, "kernels": listed + 4 * about["listed"]}


def bomb(size):
    """Zeros: a thousand times as large as its bytes."""
    return lambda glb: (glb.put(glb.charts["bufferView"], zlib.compress(b"\0" * size)), glb.charts.update(steps=size))


def damages(proxied):
    """(name, what is done to the file); all of these must be refused."""
    yield "charts cut off", lambda glb: glb.put(glb.charts["bufferView"], glb.view(glb.charts["bufferView"])[:-9])
    yield "charts too long", lambda glb: glb.put(glb.charts["bufferView"], glb.view(glb.charts["bufferView"]) + b"\0\0")
    yield "charts of another stream", lambda glb: glb.put(glb.charts["bufferView"], b"\x78\x9c" + bytes(range(200)))
    yield "charts empty", lambda glb: glb.put(glb.charts["bufferView"], b"\0")
    yield "charts inflate to more", in_buffer(lambda data, about, glb: data + b"\0")
    yield "charts inflate to less", in_buffer(lambda data, about, glb: data[:-1])
    yield "a bomb", bomb(1 << 26)
    for name in ("steps", "orders", "neighbours"):
        for value in (2 ** 28, 2 ** 53, -1, 1.5, 1e300, "7", None, True):
            yield f"{name} is {value!r}", in_charts(name, value)
    yield "no steps", in_charts("steps", 0)
    yield "another view", in_charts("bufferView", 10 ** 6)
    yield "a step is none", in_buffer(lambda data, about, glb: put(data, 0, b"\x08"))
    yield "all edges lead on", in_buffer(lambda data, about, glb: put(data, 0, b"\x07" * about["steps"]))
    yield "back and forth", in_buffer(lambda data, about, glb: put(data, 0, b"\x01" + b"\x05" * (about["steps"] - 1)))
    yield "round and round", in_buffer(lambda data, about, glb: put(data, 0, b"\x01" * about["steps"]))
    yield "trees of one step", in_buffer(lambda data, about, glb: put(data, 0, b"\x00" * about["steps"]))

    def with_words(orders, neighbours):
        def damage(glb):
            about = glb.charts
            data = glb.inflated(about)
            rest = data[about["steps"] + 4 * about["orders"] + 8 * about["neighbours"]:]
            words = struct.pack(f"<{len(orders) + len(neighbours)}I", *orders, *neighbours)
            about.update(orders=len(orders), neighbours=len(neighbours) // 2)
            glb.deflate(about, data[:about["steps"]] + words + rest)
        return damage
    yield "an order of no kernel", with_words([0xFFFFFFF0, 0], [])
    yield "an order that is none", with_words([0, 5, 5, 5], [])
    yield "an order cut off", with_words([0], [])
    yield "a neighbour that is no edge", with_words([], [0xFFFFFFF0, 0])
    yield "a neighbour beyond the file", with_words([], [0, 0xFFFFFFF0])
    yield "its own neighbour", with_words([], [0, 4])
    yield "too many triangles", in_extension("triangles", 2 ** 32 - 2)
    yield "another number of triangles", lambda glb: glb.extension.update(triangles=glb.extension["triangles"] - 1)
    yield "kernels.count", in_extension("kernels", "count", 52428800)
    yield "no kernels", in_extension("kernels", "count", 0)
    yield "bits", in_extension("kernels", "bits", "angle", 60)
    yield "a range that is none", in_extension("kernels", "length", [1, 1])
    yield "a range of texts", in_extension("kernels", "length", ["a", "b"])
    yield "no channels", in_extension("channels", [])
    yield "channels of numbers", in_extension("channels", [1, 2])
    yield "a mean too long", in_extension("channels", 0, "mean", [0] * 40)
    yield "candidates", in_extension("evaluator", "candidates", 10 ** 9)
    yield "no evaluator", in_extension("evaluator", None)
    yield "version 3", in_extension("version", "3.0")
    yield "version text", in_extension("version", "two")
    yield "both charts", lambda glb: glb.extension.update(charts=glb.charts, proxyCharts=dict(
        glb.charts, vertices=3, faces=1, faceNeighbours=0, listed=1))
    yield "a cycle of nodes", lambda glb: glb.json.update(nodes=[{"children": [0], "mesh": 0}])
    yield "a view that leaves the file", lambda glb: glb.json["bufferViews"][glb.charts["bufferView"]].update(byteLength=2 ** 40)
    yield "a view before the file", lambda glb: glb.json["bufferViews"][glb.charts["bufferView"]].update(byteOffset=-8)
    yield "an accessor of many", lambda glb: [a.update(count=2 ** 40) for a in glb.json["accessors"]]
    yield "positions that are no numbers", not_numbers
    if not proxied:
        return
    for name in ("vertices", "faces", "faceNeighbours", "listed"):
        for value in (2 ** 32 - 1, -1, None):
            yield f"{name} is {value!r}", in_charts(name, value)

    def part(name, change):
        return in_buffer(lambda data, about, glb: change(data, proxy_parts(about, glb), about))
    yield "a vertex beyond the file", part("vertices", lambda d, at, about: put(d, at["corners"] - 1, b"\x7f"))
    yield "a corner beyond the vertices", part("corners", lambda d, at, about: put(d, at["corners"], b"\x09"))
    yield "every corner new", part("corners", lambda d, at, about: put(d, at["corners"], b"\0" * 12 * about["faces"]))
    yield "a list too long", part("counts", lambda d, at, about: put(d, at["counts"], b"\xff"))
    yield "a list missing", part("counts", lambda d, at, about: put(d, at["counts"], b"\x00"))
    yield "a list of no face", part("listed", lambda d, at, about: put(d, at["kernels"] - 1, b"\x7f"))
    yield "a kernel on no face", part("kernels", lambda d, at, about: put(d, len(d) - 1, b"\x7f"))
    yield "euclidean", in_extension("evaluator", "euclidean", True)


def not_numbers(glb):
    index = next(p["attributes"]["POSITION"] for m in glb.json["meshes"] for p in m["primitives"])
    accessor = glb.json["accessors"][index]
    view = glb.json["bufferViews"][accessor["bufferView"]]
    at = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    glb.binary = glb.binary[:at] + struct.pack("<f", float("nan")) * 30 + glb.binary[at + 120:]


def flipped(glb, seed):
    """Some bits of the charts' buffer before it is deflated, or of the whole file's binary."""
    generator = random.Random(seed)
    if seed % 2 == 0:
        data = glb.inflated(glb.charts)
        for _ in range(1 + seed % 5):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        glb.deflate(glb.charts, data)
    else:
        data = bytearray(glb.binary)
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        glb.binary = bytes(data)


def make_files(heatskin, folder):
    """(name, path, whether it must be refused) of every damaged file, and the whole ones (False)."""
    files = []
    bumpy, pumpkin = os.path.join(folder, "bumpy.glb"), os.path.join(folder, "pumpkin.glb")
    open(bumpy, "wb").write(bumpy_mesh.glb())
    run([heatskin, "demo-asset", "-o", pumpkin, "--resolution", "3000", "--texture", "256"])
    for kind, asset, options in (("charts", bumpy, []), ("proxy", pumpkin, ["--set", "local.proxy_faces=700"])):
        product = os.path.join(folder, f"{kind}.glb")
        few = ["--preset", "compact", "--kernels", "200", "--steps", "5", "--no-eval", "-q"]
        run([heatskin, "fit", asset, "-o", product] + few + options)
        whole = Glb(product)
        proxied = "proxyCharts" in whole.extension
        assert proxied == (kind == "proxy"), "the mesh has no proxy"
        files.append((f"{kind}: whole", product, None))
        cases = [(name, damage, True) for name, damage in damages(proxied)]
        cases += [(f"flip {seed}", lambda glb, seed=seed: flipped(glb, seed), False) for seed in range(FLIPS)]
        for i, (name, damage, refused) in enumerate(cases):
            glb = copy.deepcopy(whole)
            damage(glb)
            path = os.path.join(folder, f"{kind}_{i}.glb")
            glb.write(path)
            files.append((f"{kind}: {name}", path, refused))
        data = open(product, "rb").read()
        for cut in (0, 3, 19, 100, len(data) // 2, len(data) - 1):
            path = os.path.join(folder, f"{kind}_cut_{cut}.glb")
            open(path, "wb").write(data[:cut])
            files.append((f"{kind}: cut after {cut} bytes", path, True))
    return files


def python_outcomes(paths):
    """For each file an error message, or nothing if it was read and evaluated."""
    specification = importlib.util.spec_from_file_location("read_product", os.path.join(ROOT, "examples", "read_product.py"))
    reader = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(reader)
    for path in paths:
        begin = time.monotonic()
        try:
            product = reader.Product.open(path)
            product.evaluate([0, 1, 2], [[0.2, 0.3, 0.5]] * 3)
            message = ""
        except reader.FormatError as error:
            message = str(error) or "no message"
        yield message, time.monotonic() - begin


def main():
    heatskin, kind = sys.argv[1:3]
    command = reader_command(kind) if kind != "heatskin" else None
    if kind == "python" and command[0] != sys.executable and len(sys.argv) == 3:
        os.execv(command[0], [command[0], *sys.argv, "again"])  # the Python that has numpy
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(heatskin, folder)
        paths = [path for _, path, _ in files]
        if kind == "python":
            outcomes = list(python_outcomes(paths))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        elif kind == "javascript":
            script = os.path.join(ROOT, "tests", "readers", "hostile_reader.js")
            lines = run(["node", script], input="\n".join(paths), timeout=SECONDS * 20)
            outcomes = [(entry["message"], entry["seconds"]) for entry in json.loads(lines)]
            memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        else:
            outcomes = []
            points = os.path.join(folder, "points.csv")
            open(points, "w").write("0,0.2,0.3,0.5\n")
            for path in paths:
                begin = time.monotonic()
                ran = subprocess.run([heatskin, "query", path, "--points", points, "-o", os.path.join(folder, "colors.csv")], capture_output=True,
                                     text=True, timeout=SECONDS)
                clean = ran.returncode == 0 or (ran.returncode == 3 and len(ran.stderr.strip().splitlines()) == 1)
                if not clean:
                    print(f"exit code {ran.returncode}: {path}: {ran.stderr}")
                    failed = True
                outcomes.append((ran.stderr.strip() if ran.returncode else "", time.monotonic() - begin))
            memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        for (name, _, refused), (message, seconds) in zip(files, outcomes, strict=True):
            if refused is None and message or refused and not message or seconds > SECONDS or "\n" in message:
                print(f"{name}: {message or 'was read'} ({seconds:.1f} s)")
                failed = True
    refusals = sum(bool(message) for message, _ in outcomes)
    print(f"{len(outcomes)} files, {refusals} refused, at most {max(s for _, s in outcomes):.2f} s and {memory:.0f} MB")
    failed |= memory > MOST_MEGABYTES
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: {error.returncode}\n{error.stdout}{error.stderr}")
