#!/usr/bin/env python3
"""Colours of a heatskin product in one file, written from docs/format.md; needs numpy and nothing else.

    python3 read_product.py model_fit.glb points.csv [VARIANT] > values.csv

points.csv has a line face,b0,b1,b2 for each point (a header line is allowed), as for `heatskin query`: a triangle of the file and
barycentric coordinates for its corners. The output has a column for every channel of every group, and three for a vector: x, y
and z in the axes of the scene. `normal` is the shading normal on the outside of the surface, `clearcoat_normal` that of the
clearcoat, `anisotropy` a direction in the plane of shading. As a module:

    product = Product.open("model_fit.glb")               # or, for a material variant, Product.open("model_fit.glb", "midnight")
    values = product.evaluate([7], [[0.2, 0.3, 0.5]])     # {"base_color": array([[r, g, b]]), ...}

Only files with charts are read (`fit` writes them unless told otherwise), with uncompressed geometry.
"""
import json
import struct
import sys
import zlib

import numpy as np

NAME = "HSK_kernel_texture"
VARIANTS = "KHR_materials_variants"
NONE = 0xFFFFFFFF
KEPT = 30  # kernels that contribute to a point
MOST_TRIANGLES = 1 << 22  # of a scene that this reader takes: instances make many of few bytes


class FormatError(Exception):
    """The file is not what the specification describes, or needs what this reader does not have."""


def require(condition, message):
    if not condition:
        raise FormatError(message)


# ---------------------------------------------------------------------------------------------------------------- glTF

def open_glb(path):
    """The JSON document and the binary chunk."""
    data = open(path, "rb").read()
    require(len(data) >= 20 and data[:4] == b"glTF", "is not a GLB file")
    length, kind = struct.unpack_from("<II", data, 12)
    require(kind == 0x4E4F534A and 20 + length <= len(data), "has no JSON")
    document = json.loads(data[20:20 + length], parse_constant=lambda name: require(False, f"has the number {name}"))
    rest = 20 + length
    binary = b""
    if rest + 8 <= len(data):
        size, kind = struct.unpack_from("<II", data, rest)
        require(kind == 0x004E4942 and rest + 8 + size <= len(data), "has a broken binary chunk")
        binary = data[rest + 8:rest + 8 + size]
    return document, binary


def inflate(view, size, what, more=0):
    """The `size` bytes of a zlib stream that is the whole view; `more` bytes of it are justified by other parts of the file."""
    require(size // 64 < len(view) + more, f"the buffer of {what} is too small")
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(view, size + 1)
    except zlib.error:
        data = b""
    require(len(data) == size and stream.eof and not stream.unused_data, f"the buffer of {what} is no zlib stream of {size} bytes")
    return data


def unit(vectors):
    """Vectors of length 1, or 0 where they were 0."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1)


def cofactors(m):
    """The inverse transpose, up to a positive factor; flat transforms have it, too."""
    out = np.stack([np.cross(m[:, 1], m[:, 2]), np.cross(m[:, 2], m[:, 0]), np.cross(m[:, 0], m[:, 1])], 1)
    return -out if np.linalg.det(m) < 0 else out


class Gltf:
    """As much of glTF 2.0 as geometry needs."""

    TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
    WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}

    def __init__(self, path, variant=None, level=0):
        self.root, self.binary = open_glb(path)
        if level > 0:
            self.choose_level(level)
        names = [v["name"] for v in self.root.get("extensions", {}).get(VARIANTS, {}).get("variants", [])]
        require(variant is None or variant in names, f"has no material variant {variant}; it has {names}")
        self.variant = None if variant is None else names.index(variant)

    def choose_level(self, level):
        """A level of detail in the place of the scene. Specification: "Levels of detail"."""
        extensions = self.root.get("extensions", {})
        levels = extensions.get(NAME, {}).get("levels", [])
        require(level <= len(levels), f"has no level of detail {level}; the last one is {len(levels)}")
        chosen = levels[level - 1]
        require("levels" not in chosen["extension"], "a level has levels")
        extensions[NAME] = chosen["extension"]
        self.root["scene"], self.root["scenes"] = 0, [{"nodes": [chosen["node"]]}]

    def material(self, primitive):
        """The primitive's material in the chosen variant; -1: none."""
        for mapping in primitive.get("extensions", {}).get(VARIANTS, {}).get("mappings", []):
            if self.variant is not None and self.variant in mapping["variants"]:
                return mapping["material"]
        return primitive.get("material", -1)

    def view(self, index):
        view = self.root["bufferViews"][index]
        require(view.get("buffer", 0) == 0 and "uri" not in self.root["buffers"][0], "has buffers outside of the file")
        require("EXT_meshopt_compression" not in view.get("extensions", {}), "has compressed geometry")
        start = view.get("byteOffset", 0)
        require(0 <= start <= start + view["byteLength"] <= len(self.binary), "a buffer view leaves the file")
        return self.binary[start:start + view["byteLength"]]

    def accessor(self, index):
        """[count, width] in double precision; integers that are normalised become numbers in [-1, 1]."""
        accessor = self.root["accessors"][index]
        require("sparse" not in accessor and "bufferView" in accessor, "has sparse accessors")
        kind = np.dtype(self.TYPES[accessor["componentType"]])
        width, count = self.WIDTHS[accessor["type"]], accessor["count"]
        view = self.root["bufferViews"][accessor["bufferView"]]
        stride = view.get("byteStride", width * kind.itemsize)
        data = np.ndarray((count, width), kind, self.view(accessor["bufferView"]), accessor.get("byteOffset", 0),
                          (stride, kind.itemsize))
        values = data.astype(np.float64)
        if accessor.get("normalized"):
            values = np.maximum(values / np.iinfo(kind).max, -1)
        return values

    @staticmethod
    def matrix(node):
        """The local transform of a node, 4 x 4."""
        if "matrix" in node:
            return np.array(node["matrix"], np.float64).reshape(4, 4).T
        x, y, z, w = node.get("rotation", (0, 0, 0, 1))
        length = np.sqrt(x * x + y * y + z * z + w * w)
        x, y, z, w = (x / length, y / length, z / length, w / length) if length > 0 else (0, 0, 0, 1)
        rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                             [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                             [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        out = np.eye(4)
        out[:3, :3] = rotation * np.array(node.get("scale", (1, 1, 1)), np.float64)
        out[:3, 3] = node.get("translation", (0, 0, 0))
        return out

    def corners(self):
        """Of all triangles in the scene: the positions of their corners, [T, 3, 3]; their materials, [T]; the normals of
        their corners, [T, 3, 3], 0 where the file has none; and whether their nodes mirror, [T]."""
        positions, materials, normals, mirrored = [], [], [], []
        nodes, visited, total = self.root.get("nodes", []), set(), 0

        def visit(index, parent):
            nonlocal total
            require(0 <= index < len(nodes) and index not in visited, "nodes do not form trees")
            visited.add(index)
            node = nodes[index]
            here = parent @ self.matrix(node)
            if "mesh" in node:
                require("EXT_mesh_gpu_instancing" not in node.get("extensions", {}), "has instances of meshes")
                for primitive in self.root["meshes"][node["mesh"]]["primitives"]:
                    triangles = self.triangles(primitive)
                    if triangles is None:
                        continue
                    total += len(triangles)
                    require(total <= MOST_TRIANGLES, f"has more than {MOST_TRIANGLES} triangles")
                    local = self.accessor(primitive["attributes"]["POSITION"])
                    require(len(triangles) == 0 or triangles.max() < len(local), "a triangle has a vertex that does not exist")
                    world = local @ here[:3, :3].T + here[:3, 3]
                    require(np.isfinite(world).all(), "a position is not a number")
                    positions.append(world[triangles])
                    materials.append(np.full(len(triangles), self.material(primitive)))
                    mirrored.append(np.full(len(triangles), np.linalg.det(here[:3, :3]) < 0))
                    normal = np.zeros_like(local)
                    if "NORMAL" in primitive["attributes"]:
                        normal = unit(self.accessor(primitive["attributes"]["NORMAL"]) @ cofactors(here[:3, :3]).T)
                    normals.append(normal[triangles])
            for child in node.get("children", []):
                visit(child, here)

        scenes = self.root.get("scenes", [])
        roots = scenes[self.root.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
        for root in roots:
            visit(root, np.eye(4))
        require(positions, "has no triangles")
        return [np.concatenate(lists) for lists in (positions, materials, normals, mirrored)]

    def triangles(self, primitive):
        """[n, 3] vertices, or nothing for points and lines."""
        require("KHR_draco_mesh_compression" not in primitive.get("extensions", {}), "has compressed geometry")
        mode = primitive.get("mode", 4)
        if mode not in (4, 5, 6):
            return None
        if "indices" in primitive:
            require(self.root["accessors"][primitive["indices"]]["componentType"] in (5121, 5123, 5125), "has indices that are no integers")
            indices = self.accessor(primitive["indices"])[:, 0].astype(np.int64)
        else:
            indices = np.arange(len(self.accessor(primitive["attributes"]["POSITION"])))
        if mode == 4:
            return indices[:len(indices) // 3 * 3].reshape(-1, 3)
        i = np.arange(len(indices) - 2)
        if mode == 5:  # strip: every other triangle is turned
            found = np.stack([indices[i], indices[i + 1 + i % 2], indices[i + 2 - i % 2]], 1)
        else:
            found = np.stack([indices[i + 1], indices[i + 2], np.full(len(i), indices[0])], 1)
        # Strips jump by repeating vertices; these triangles do not count.
        return found[(found[:, 0] != found[:, 1]) & (found[:, 1] != found[:, 2]) & (found[:, 2] != found[:, 0])]


# ------------------------------------------------------------------------------------------------ the extension's object

def check(parent, name, low, high, whole=True):
    value = parent.get(name)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(number and low <= value <= high and (not whole or value == int(value)), f"{name} is not a number from {low} to {high}")


def check_ends(parent, name, low, high):
    ends = parent.get(name)
    require(isinstance(ends, list) and len(ends) == 2, f"{name} is not two numbers")
    for i in range(2):
        check({name: ends[i]}, name, low, high, whole=False)
    require(ends[0] < ends[1], f"{name} does not increase")


def check_extension(extension):
    """What the rest relies on. Specification: "The extension's object"."""
    check(extension, "triangles", 1, 2 ** 32 - 2)
    kernels, options, total = extension["kernels"], extension["evaluator"], 0
    check(kernels, "count", 1, 52428800)
    for name in ("triangle", "barycentric", "angle", "anisotropy", "threshold", "sharpness", "length"):
        check(kernels["bits"], name, 1, 32 if name == "triangle" else 16)
    for name, low, high in (("anisotropy", 1, 200), ("threshold", 0.3, 1 - 2 ** -24), ("sharpness", 10, 200), ("length", 2 ** -10, 16)):
        check_ends(kernels, name, low, high)
    for name, low, high in (("diffusionTime", 1e-6, 1e3), ("windowSigma", 0, 10), ("maxRadius", 1e-4, 10), ("supportTail", 1e-4, 0.5)):
        check(options, name, low, high, whole=False)
    check(options, "candidates", 1, 256)
    require(options["candidateRule"] in ("perQuery", "perFace", "byReach"), "candidateRule is none")
    for name in ("isotropic", "euclidean", "joinCorners"):
        require(isinstance(options[name], bool), f"{name} is not a boolean")
    for group in extension["channels"]:
        check(group, "count", 1, 32)
        check(group, "bits", 2, 16)
        check_ends(group, "range", -1e6, 1e6)
        check_means(group, group)
        require(not is_tangent(group) or group["count"] == 2, "a vector does not have two channels")
        total += group["count"]
    first = extension["channels"][0]
    require(first["name"] == "base_color" and first["count"] == 3 and total <= 32, "channels do not begin with base_color, or are too many")
    for variant in extension.get("variants", []):
        by_name = {group["name"]: group for group in extension["channels"]}
        for group in variant["channels"]:
            require(group["name"] in by_name, "a variant has a group that does not exist")
            check_means(group, by_name[group["name"]])
    for about in (extension.get("charts"), extension.get("proxyCharts")):
        for name in ("steps", "orders", "neighbours", "vertices", "faces", "faceNeighbours", "listed") if about else ():
            if about is extension.get("proxyCharts") or name in ("steps", "orders", "neighbours"):
                check(about, name, 0, 2 ** 32 - 1)
    require("charts" not in extension or "proxyCharts" not in extension, "has charts and proxyCharts")


def check_means(group, described):
    require(isinstance(group.get("mean"), list) and len(group["mean"]) == described["count"], "mean does not fit its group")
    for value in group["mean"]:
        check({"mean": value}, "mean", 0, 1, whole=False)


# ------------------------------------------------------------------------------------------------ the kernels' buffer

def read_codes(planes, n):
    """The codes of a column of n bits."""
    upper = next(planes)
    require((upper < 1 << min(n, 8)).all(), "a code has too many bits")
    if n <= 8:
        return upper
    lower = next(planes)
    require((lower < 1 << (n - 8)).all(), "a code has too many bits")
    return (upper << (n - 8)) + lower


def read_values(groups, codes, variant, view):
    """Puts the codes of a variant in the place of those of the kernels. Specification: "Variants"."""
    listed = [group["name"] for group in variant["channels"]]
    channels = [(c, group["bits"]) for c, group in enumerate(g for g in groups for _ in range(g["count"]))
                if group["name"] in listed]
    count = len(codes[0])
    needed = sum(2 if n > 8 else 1 for _, n in channels)
    data = inflate(view, count * needed, "a variant")
    planes = iter(np.frombuffer(data, np.uint8).reshape(needed, count).astype(np.int64))
    read = {c: read_codes(planes, n) for c, n in channels}
    for c, n in channels:
        code = read[c] + (read[1] if c in (0, 2) else 0) + (codes[c] if variant["differences"] else 0)
        codes[c] = code % (1 << n)


def read_kernels(extension, view, variant=None, variant_view=None):
    """A dictionary of columns. Specification: "The kernels' buffer"."""
    about, groups = extension["kernels"], extension["channels"]
    count, bits = about["count"], about["bits"]
    columns = [("b0", bits["barycentric"]), ("b1", bits["barycentric"])]
    columns += [(name, bits[name]) for name in ("angle", "anisotropy", "threshold", "sharpness", "length")]
    channels = [group["bits"] for group in groups for _ in range(group["count"])]
    columns += [(c, n) for c, n in enumerate(channels)]
    triangle_planes = (bits["triangle"] + 7) // 8
    planes_needed = triangle_planes + sum(2 if n > 8 else 1 for _, n in columns)
    data = inflate(view, count * planes_needed, "kernels")
    planes = iter(np.frombuffer(data, np.uint8).reshape(planes_needed, count).astype(np.int64))

    difference = sum(next(planes) << (8 * p) for p in range(triangle_planes))
    codes = {name: read_codes(planes, n) for name, n in columns}
    triangle = np.cumsum(difference)
    # b0 is a difference within a triangle: add up, and take away what came before the triangle.
    first = (difference != 0) | (np.arange(count) == 0)
    total = np.cumsum(codes["b0"])
    start = np.maximum.accumulate(np.where(first, np.arange(count), 0))
    codes["b0"] = total - (total[start] - codes["b0"][start])
    for c in (0, 2):
        codes[c] = (codes[c] + codes[1]) % (1 << channels[c])
    if variant is not None:
        read_values(groups, codes, variant, variant_view)

    def geometric(name):
        low, high = about[name]
        return low * (high / low) ** (codes[name] / ((1 << bits[name]) - 1))

    require(all((codes[c] < (1 << n) - 1).all() for c, n in enumerate(channels)), "a residual has a code that is not used")
    most = (1 << bits["barycentric"]) - 1
    require((codes["b0"] + codes["b1"] <= most).all(), "barycentric coordinates are out of range")
    low, high = about["threshold"]
    share = codes["threshold"] / ((1 << bits["threshold"]) - 1)
    return {
        "triangle": triangle,
        "barycentric": np.stack([codes["b0"], codes["b1"], most - codes["b0"] - codes["b1"]], 1) / most,
        "angle": np.pi * codes["angle"] / (1 << bits["angle"]),
        "anisotropy": geometric("anisotropy"),
        "threshold": 1 - (1 - low) * ((1 - high) / (1 - low)) ** share,
        "sharpness": geometric("sharpness"),
        "length": geometric("length"),
        "residual": np.stack([codes[c] / ((1 << (n - 1)) - 1) - 1 for c, n in enumerate(channels)], 1),
    }


# -------------------------------------------------------------------------------------------------------- neighbours

def weld(corners):
    """Numbers of the vertices of the corners, [T, 3]: equal positions as float32."""
    positions = corners.reshape(-1, 3).astype(np.float32) + np.float32(0)
    _, vertex = np.unique(positions, axis=0, return_inverse=True)
    return vertex.reshape(-1, 3)


def find_neighbours(corners, changes):
    """The half-edge behind each half-edge, or NONE, [3 T]; which triangle each one repeats (or itself) and which of its
    corners is corner 0 of that one, [T, 2]; and which triangles take part. Specification: "Neighbours"."""
    vertex = weld(corners)
    count = len(vertex)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    longest = np.max([((b - a) ** 2).sum(1), ((c - b) ** 2).sum(1), ((a - c) ** 2).sum(1)], axis=0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    proper = (vertex[:, 0] != vertex[:, 1]) & (vertex[:, 1] != vertex[:, 2]) & (vertex[:, 2] != vertex[:, 0])
    proper &= area >= 1e-9 * longest
    shift = vertex.argmin(1)[:, None]
    rotated = np.take_along_axis(vertex, (np.arange(3) + shift) % 3, 1)
    repeats, seen = np.arange(count), {}
    for t in np.nonzero(proper)[0]:
        repeats[t] = seen.setdefault(tuple(rotated[t]), t)
    turns = (shift - shift[repeats])[:, 0] % 3
    part = proper & (repeats == np.arange(count))
    return change_neighbours(pair_half_edges(vertex, part), changes), np.stack([repeats, turns], 1), part


def pair_half_edges(vertex, part):
    """Of triangles that take part those half-edges that alone share their two vertices, [3 T]."""
    ends = np.stack([vertex, np.roll(vertex, -1, 1)], 2).reshape(-1, 2)
    ends.sort(1)
    half_edges = np.nonzero(np.repeat(part, 3))[0]
    order = half_edges[np.lexsort((ends[half_edges, 1], ends[half_edges, 0]))]
    new = np.append((ends[order][1:] != ends[order][:-1]).any(1), True)
    last = np.nonzero(new)[0]
    start = np.append(0, last[:-1] + 1)
    pair = start[last - start == 1]
    neighbour = np.full(3 * len(vertex), NONE, np.int64)
    neighbour[order[pair]] = order[pair + 1]
    neighbour[order[pair + 1]] = order[pair]
    return neighbour


def change_neighbours(neighbour, changes):
    count = len(neighbour)
    for edge, other in changes:
        require(edge < count and (other == NONE or other < count), "neighbours are not edges of the file")
        neighbour[edge] = other
    mutual = neighbour != NONE
    require((neighbour[neighbour[mutual]] == np.nonzero(mutual)[0]).all(), "neighbours are not mutual")
    return neighbour


def pair_corners(corners, neighbour):
    """For every half-edge with a neighbour whether both run along their edge in the same direction, [3 T]: which ends
    coincide in space says it."""
    flat = corners.reshape(-1, 3)
    index = np.arange(len(neighbour))
    other = np.where(neighbour == NONE, index, neighbour)
    to_same = ((flat[index] - flat[other]) ** 2).sum(1)
    to_opposite = ((flat[next_half_edge(index)] - flat[other]) ** 2).sum(1)
    return to_same < to_opposite


def find_outside(corners, mirrored, neighbour, same, part):
    """1 where the outside of a triangle is the side from which its corners are counter-clockwise, else -1; [T].
    Specification: "Normals"."""
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    front, side = np.where(mirrored, -1, 1), np.zeros(len(corners), np.int64)
    neighbour, same = neighbour.tolist(), same.tolist()
    for seed in np.nonzero(part)[0]:
        if side[seed] != 0:
            continue
        side[seed], component = front[seed], [int(seed)]
        for t in component:
            for h in range(3 * t, 3 * t + 3):
                other = neighbour[h]
                if other != NONE and side[other // 3] == 0:
                    side[other // 3] = -side[t] if same[h] else side[t]
                    component.append(other // 3)
        agrees = side[component] == front[component]
        if area[component][~agrees].sum() > area[component][agrees].sum():
            side[component] *= -1
    return np.where(side == 0, front, side)


def next_half_edge(half_edge):
    return half_edge - half_edge % 3 + (half_edge + 1) % 3


def find_vertices(neighbour, same):
    """Numbers of the vertices of the corners, [T, 3]: corners at which neighbours meet are one vertex."""
    parent = list(range(len(neighbour)))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    for h in np.nonzero(neighbour != NONE)[0].tolist():
        g = int(neighbour[h])
        ends, others = (h, next_half_edge(h)), (g, next_half_edge(g))
        if not same[h]:
            others = others[::-1]
        for x, y in zip(ends, others):
            parent[find(x)] = find(y)
    return np.array([find(x) for x in range(len(parent))]).reshape(-1, 3)


# -------------------------------------------------------------------------------------------------------------- charts

def lay_flat(corners):
    """Triangles in their planes, [T, 3, 2]: corner 0 at the origin, corner 1 on the x axis, corner 2 above it."""
    e, f = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    length = np.linalg.norm(e, axis=1)
    length[length == 0] = 1
    out = np.zeros((len(corners), 3, 2))
    out[:, 1, 0] = length
    out[:, 2, 0] = (e * f).sum(1) / length
    out[:, 2, 1] = np.linalg.norm(np.cross(e, f), axis=1) / length
    return out


def edge_shapes(corners):
    """For every half-edge where the third corner lies: along the edge and beside it, in lengths of the edge, [3 T, 2]."""
    a = corners.reshape(-1, 3)
    b, c = np.roll(corners, -1, 1).reshape(-1, 3), np.roll(corners, -2, 1).reshape(-1, 3)
    squared = ((b - a) ** 2).sum(1)
    squared[squared == 0] = 1
    return np.stack([((c - a) * (b - a)).sum(1), np.linalg.norm(np.cross(b - a, c - a), axis=1)], 1) / squared[:, None]


class Proxy:
    """A simplified copy of the surface. Specification: "Charts on a proxy"."""

    def __init__(self, about, data, corners, kernels):
        """`data` is what follows the trees; `corners` are those of the file, normalised."""
        self.data, self.at = data, 0
        vertices = self.differences(about["vertices"])
        require(((vertices >= 0) & (vertices < 3 * len(corners))).all(), "a vertex of the proxy does not exist")
        codes, met, faces = self.column(3 * about["faces"]).tolist(), 0, []
        for code in codes:
            require(code <= met and (code > 0 or met < len(vertices)), "a face of the proxy has a corner that does not exist")
            faces.append(met - code)
            met += code == 0
        self.faces = np.array(faces).reshape(-1, 3)
        self.corners = corners.reshape(-1, 3)[vertices[self.faces]]
        require(len(set(map(tuple, np.sort(self.faces, 1).tolist()))) == len(self.faces), "faces of the proxy are equal")
        words = np.frombuffer(self.take(8 * about["faceNeighbours"]), "<u4").astype(np.int64).reshape(-1, 2)
        self.neighbour = change_neighbours(pair_half_edges(self.faces, np.ones(len(self.faces), bool)), words)
        counts = np.frombuffer(self.take(len(corners)), np.uint8).astype(np.int64)
        require((counts // 2 <= 13).all(), "a list of faces of the proxy is too long")
        self.begin = np.append(0, np.cumsum(counts // 2))
        self.orientation = 1 - 2 * (counts % 2)  # -1 where the surface has the corners of a triangle in the other direction
        self.listed = self.differences(about["listed"])
        require(self.begin[-1] == len(self.listed), "lists of faces of the proxy do not end")
        self.kernel_faces = self.differences(kernels)
        for numbers in (self.listed, self.kernel_faces):
            require(((numbers >= 0) & (numbers < len(self.faces))).all(), "a face of the proxy does not exist")
        e, f = self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0]
        require((np.linalg.norm(np.cross(e, f), axis=1) > 0).all(), "a face of the proxy has no area")
        self.first = unit(e)
        self.second = unit(f - self.first * (f * self.first).sum(1)[:, None])
        self.normal = np.cross(self.first, self.second)
        order = np.argsort(self.faces.reshape(-1), kind="stable")
        self.around = np.split(order // 3, np.cumsum(np.bincount(self.faces.reshape(-1)))[:-1])

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def column(self, count):
        """Numbers in four planes of bytes."""
        planes = np.frombuffer(self.take(4 * count), np.uint8).reshape(4, count).astype(np.int64)
        return planes[0] + (planes[1] << 8) + (planes[2] << 16) + (planes[3] << 24)

    def differences(self, count):
        codes = self.column(count)
        return np.cumsum(np.where(codes % 2 == 1, -(codes + 1) // 2, codes // 2))

    def nearest(self, faces, q):
        """For each of the faces the squared distance of a point from it, the barycentric coordinates of the nearest point,
        and whether that is the foot of the perpendicular."""
        c = self.corners[faces]
        to = q - c[:, 0]
        height = (to * self.normal[faces]).sum(1)
        foot = q - height[:, None] * self.normal[faces]
        areas = np.stack([(np.cross(c[:, (i + 2) % 3] - c[:, (i + 1) % 3], foot - c[:, (i + 1) % 3])
                           * self.normal[faces]).sum(1) for i in range(3)], 1)
        inside = (areas >= 0).all(1)
        best, squared = areas / areas.sum(1)[:, None], np.where(inside, 0, np.inf)
        for e in range(3):  # the nearest point of the sides that the foot is outside of
            side, away = c[:, (e + 1) % 3] - c[:, e], foot - c[:, e]
            along = np.clip((side * away).sum(1) / (side ** 2).sum(1), 0, 1)
            d = ((away - along[:, None] * side) ** 2).sum(1)
            better = ~inside & (areas[:, (e + 2) % 3] < 0) & (d < squared)
            on_side = np.zeros((len(faces), 3))
            on_side[:, e], on_side[:, (e + 1) % 3] = 1 - along, along
            best, squared = np.where(better[:, None], on_side, best), np.where(better, d, squared)
        return squared + height ** 2, best, inside

    def place(self, triangle, q):
        """The face and the barycentric coordinates on it that stand for a point of a triangle; or nothing."""
        faces = self.listed[self.begin[triangle]:self.begin[triangle + 1]]
        if len(faces) == 0:
            return None
        face, least, b, inside = self.nearer(faces, q, (None, np.inf, None, False))
        normal, start = self.normal[face], None
        while start != face and not inside and least > 1e-12:
            start = face
            ring = np.unique(np.concatenate([self.around[v] for v in self.faces[face]]))
            ring = ring[(self.normal[ring] @ normal >= -0.25)]
            face, least, b, inside = self.nearer(ring, q, (face, least, b, inside))
        return face, b

    def nearer(self, faces, q, best):
        """One after the other becomes the best face that is nearer by 1e-6 than the best so far."""
        for face, squared, b, inside in zip(faces, *self.nearest(faces, q)):
            if best[0] is None or squared < best[1] - 2e-6 * np.sqrt(best[1]):
                best = int(face), squared, b, inside
        return best

    def put(self, kernels, first, second, space):
        """Where kernels are on the proxy: their centres' barycentric coordinates on kernel_faces and the directions of their
        axes there; vectors of their residuals are turned with them by the functions returned."""
        faces, n = self.kernel_faces, len(self.kernel_faces)
        barycentric = np.array([self.nearest(faces[i:i + 1], space[i])[1][0] for i in range(n)]).reshape(-1, 3)
        x, y = self.first[faces], self.second[faces]
        # An orthogonal projection; between planes at right angles, the smallest rotation.
        normal, to = np.cross(first, second) * self.orientation[kernels["triangle"]][:, None], self.normal[faces]
        cosine = (normal * to).sum(1)
        steep = np.abs(cosine) <= 1e-3
        c = np.cross(normal, to)

        def moved(v):
            turned = np.cross(c, v)
            rotated = v + turned + np.cross(c, turned) / (1 + np.where(steep, cosine, 0))[:, None]
            v = np.where(steep[:, None], rotated, v)
            return np.stack([(v * x).sum(1), (v * y).sum(1)], 1)

        angle = kernels["angle"][:, None]
        axis = unit(moved(np.cos(angle) * first + np.sin(angle) * second))
        side = self.orientation[kernels["triangle"]]
        return barycentric, axis, nearest_turns(moved(first), moved(second) * side[:, None]), side

    def turn_to(self, face, triangle, first, second):
        """What takes vectors from the plane of a face to that of a triangle with these axes, [2, 2]."""
        side = self.orientation[triangle]
        columns = [np.array([[first @ v, side * (second @ v)]]) for v in (self.first[face], self.second[face])]
        return np.diag([1, side]) @ nearest_turns(*columns)[0]


def nearest_turns(x, y):
    """The rotations nearest to the maps with the columns x and y, [n, 2, 2]."""
    cosine, sine = x[:, 0] + y[:, 1], x[:, 1] - y[:, 0]
    length = np.hypot(cosine, sine)
    cosine = np.where(length > 1e-6, cosine / np.maximum(length, 1e-6), 1)
    sine = np.where(length > 1e-6, sine / np.maximum(length, 1e-6), 0)
    return np.stack([np.stack([cosine, -sine], 1), np.stack([sine, cosine], 1)], 1)


class Charts:
    """Which kernels reach a triangle (or a face of the proxy), and where its corners lie in their planes. Specification:
    "Charts"."""

    def __init__(self, about, view, corners, kernels):
        trees = size = about["steps"] + 4 * (about["orders"] + 2 * about["neighbours"])
        proxied = "faces" in about
        if proxied:
            size += 4 * (about["vertices"] + 3 * about["faces"] + 2 * about["faceNeighbours"] + about["listed"] + kernels)
            size += len(corners)
        data = inflate(view, size, "charts", len(corners) if proxied else 0)
        self.steps = data[:about["steps"]]
        words = np.frombuffer(data[about["steps"]:trees], "<u4").astype(np.int64)
        self.order_words = words[:about["orders"]]
        self.neighbour, self.repeats, self.part = find_neighbours(corners, words[about["orders"]:].reshape(-1, 2))
        require(self.part.any(), "no triangle has area")
        used = corners[self.part].reshape(-1, 3)
        self.scale = 2 / (used.max(0) - used.min(0)).max()  # scene units to normalised ones
        self.file_corners = self.corners = corners * self.scale
        self.same = pair_corners(corners, self.neighbour)
        self.proxy = Proxy(about, data[trees:], self.corners, kernels) if proxied else None

    def choose_faces(self):
        """From here on triangles are those that trees are on: of the file, or of the proxy."""
        if self.proxy is not None:
            self.corners, self.neighbour = self.proxy.corners, self.proxy.neighbour
            self.same = pair_corners(self.corners, self.neighbour)
        self.flat = lay_flat(self.corners)
        self.vertex = find_vertices(self.neighbour, self.same)

    def unfold(self, roots, centers, joined):
        """Walks the trees of all kernels and gives, for each triangle, the kernels [n], the places of its corners in
        their planes [n, 3, 2], and the same without joining."""
        reached, at = [], 0
        lists = self.neighbour.tolist(), self.same.tolist(), edge_shapes(self.corners).tolist(), self.flat.tolist()
        for root in roots.tolist():
            faces, places, at = self.walk(root, at, *lists)
            reached.append((np.array(faces), np.array(places)))
        require(at == len(self.steps), "steps are left over")
        orders = self.read_orders([len(faces) for faces, _ in reached])
        e, f = self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0]
        sliver = np.linalg.norm(np.cross(e, f), axis=1) <= 1e-5 * ((e ** 2).sum(1) + (f ** 2).sum(1))
        table = {}
        for k, (faces, own) in enumerate(reached):
            places = own
            if joined and len(faces) > 1:
                order = orders.get(k)
                if order is None:
                    distance = ((own.mean(1) - centers[k]) ** 2).sum(1)
                    distance[0] = -1
                    order = np.argsort(distance, kind="stable")
                places = join_corners(own.tolist(), self.vertex[faces].tolist(), centers[k].tolist(), order.tolist())
                places[sliver[faces]] = own[sliver[faces]]
            for i, face in enumerate(faces.tolist()):
                table.setdefault(face, []).append((k, places[i], own[i]))
        return {face: (np.array([k for k, _, _ in pairs]), np.array([p for _, p, _ in pairs]),
                       np.array([o for _, _, o in pairs])) for face, pairs in table.items()}

    def turns(self, face, places, own):
        """What takes vectors from the planes of kernels to that of a triangle, [n, 2, 2]. Specification: "Tangent groups"."""
        flat = self.flat[face]
        edges = np.stack([flat[1] - flat[0], flat[2] - flat[0]], 1)
        mirror = np.where(self.cross(own) < 0, -1.0, 1.0)  # a triangle wound against the kernel's is laid out mirrored
        linear = np.stack([places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]], 2) @ np.linalg.inv(edges)
        linear[:, :, 1] *= mirror[:, None]
        cosine, sine = linear[:, 0, 0] + linear[:, 1, 1], linear[:, 1, 0] - linear[:, 0, 1]
        length = np.hypot(cosine, sine)
        cosine = np.where(length > 1e-6, cosine / np.maximum(length, 1e-6), 1)
        sine = np.where(length > 1e-6, sine / np.maximum(length, 1e-6), 0)
        return np.stack([np.stack([cosine, sine], 1), np.stack([-sine * mirror, cosine * mirror], 1)], 1)

    @staticmethod
    def cross(places):
        e, f = places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]
        return e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]

    def walk(self, root, at, neighbour, same, shapes, flat):
        """The tree of one kernel from step `at` on: its triangles, their corners in the kernel's plane, the next step."""
        faces, places, start = [], [], at
        pending = [(root, 0, flat[root])]  # triangle, the edge it was entered through, its corners
        first = True
        while pending:
            require(at < len(self.steps), "the steps of a kernel do not end")
            byte = self.steps[at]
            at += 1
            require(at - start <= 2 * len(flat), "a kernel has more steps than the triangles can need")
            require(byte < 8 and (first or byte != 4), "a step is none")
            face, through, corners = pending.pop()
            if first or byte < 4:
                faces.append(face)
                places.append(corners)
            edges = [e for e in range(3) if byte >> e & 1] if first else \
                [(through + 1 + bit) % 3 for bit in range(2) if byte >> bit & 1]
            first = False
            for e in reversed(edges):
                h = 3 * face + e
                other = neighbour[h]
                require(other != NONE, "a step crosses an edge without a neighbour")
                p, q, apex = corners[e], corners[(e + 1) % 3], corners[(e + 2) % 3]
                if not same[h]:
                    p, q = q, p
                dx, dy = q[0] - p[0], q[1] - p[1]
                along, beside = shapes[other]
                if dx * (apex[1] - p[1]) - dy * (apex[0] - p[0]) > 0:  # the present triangle is on the left
                    beside = -beside
                triangle, f = divmod(other, 3)
                there = [None, None, None]
                there[f], there[(f + 1) % 3] = p, q
                there[(f + 2) % 3] = [p[0] + along * dx - beside * dy, p[1] + along * dy + beside * dx]
                pending.append((triangle, f, there))
        require(len(set(faces)) == len(faces), "a kernel counts a triangle twice")
        return faces, places, at

    def read_orders(self, counts):
        orders, at = {}, 0
        while at < len(self.order_words):
            k = int(self.order_words[at])
            require(k < len(counts), "an order belongs to no kernel")
            order = self.order_words[at + 1:at + 1 + counts[k]]
            require(len(order) == counts[k] and (np.sort(order) == np.arange(counts[k])).all(),
                    "an order is no permutation")
            orders[k] = order
            at += 1 + counts[k]
        return orders


def join_corners(own, vertex, center, order):
    """Specification: "Joined corners". own is [n, 3, 2], vertex [n, 3]; lists. An array [n, 3, 2]."""
    joint = np.array(own)
    at_vertex = {}
    for i in order:
        for c in range(3):
            at_vertex.setdefault(vertex[i][c], []).append((i, c))
    for left in at_vertex.values():
        while left:
            x, y = own[left[0][0]][left[0][1]]
            limit = (x - center[0]) ** 2 + (y - center[1]) ** 2
            near, rest, sum_x, sum_y = [], [], 0.0, 0.0
            for n, (i, c) in enumerate(left):
                px, py = own[i][c]
                if n == 0 or (px - x) ** 2 + (py - y) ** 2 <= limit:
                    near.append((i, c))
                    sum_x, sum_y = sum_x + px, sum_y + py
                else:
                    rest.append((i, c))
            for place in near:
                joint[place] = sum_x / len(near), sum_y / len(near)
            left = rest
    return joint


# ---------------------------------------------------------------------------------------------------------- the texture

def logistic(z):
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


class Filter:
    """The soft threshold of kernels. Specification: "The colour of a point", step 4."""

    def __init__(self, sharpness, threshold):
        self.sharpness, self.threshold = sharpness, threshold
        self.floor = logistic(-sharpness * threshold)
        self.range = logistic(sharpness * (1 - threshold)) - self.floor + 1e-8

    def __call__(self, kernels, x):
        a = logistic(self.sharpness[kernels] * (x - self.threshold[kernels]))
        return np.clip((a - self.floor[kernels]) / self.range[kernels], 0, 1)

    def radii(self, options):
        """Support radii of kernels of length 1."""
        a = options["supportTail"] * self.range + self.floor
        x = self.threshold + np.log(a / (1 - a)) / self.sharpness
        rate = 1 / (4 * options["diffusionTime"])
        if options["windowSigma"] > 0:
            rate += 1 / (2 * options["windowSigma"] ** 2)
        radius = np.sqrt(-np.log(np.clip(x, 1e-300, 1)) / rate)
        return np.where(x <= 0, options["maxRadius"], np.minimum(options["maxRadius"], radius))


class Product:
    """A texture. `groups` lists its channels by name; evaluate() gives their values."""

    @classmethod
    def open(cls, path, variant=None, level=0):
        """`level`: of detail. Raises FormatError, or OSError if there is no such file."""
        try:
            return cls(Gltf(path, variant, level), variant)
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError, struct.error) as error:
            raise FormatError(f"is damaged: {type(error).__name__}: {error}") from error

    def __init__(self, gltf, variant=None):
        extension = gltf.root.get("extensions", {}).get(NAME)
        require(extension is not None, f"has no {NAME}")
        major, minor = (int(part) for part in extension["version"].split("."))
        require(major == 2, f"version {major}.{minor} is not supported")
        about = extension.get("charts", extension.get("proxyCharts"))
        require(extension["evaluator"]["method"] == "local" and about is not None, "has no charts")
        check_extension(extension)
        self.gltf, self.extension, self.options = gltf, extension, extension["evaluator"]
        values = next((v for v in extension.get("variants", []) if variant in v["names"]), None)
        means = {group["name"]: group["mean"] for group in values["channels"]} if values else {}
        self.groups = [dict(group, mean=means.get(group["name"], group["mean"])) for group in extension["channels"]]
        corners, self.materials, normals, mirrored = gltf.corners()
        require(len(corners) == extension["triangles"], "the geometry was edited")
        self.kernels = k = read_kernels(extension, gltf.view(extension["kernels"]["bufferView"]), values,
                                        gltf.view(values["bufferView"]) if values else None)
        require(k["triangle"].max() < len(corners), "a kernel is on a triangle that does not exist")
        self.charts = charts = Charts(about, gltf.view(about["bufferView"]), corners, len(k["triangle"]))
        self.corners, self.repeats = charts.file_corners, charts.repeats
        require(charts.part[k["triangle"]].all(), "a kernel is on a triangle without area")
        if any(group["name"] in SHADED for group in self.groups):
            side = find_outside(self.corners, mirrored, charts.neighbour, charts.same, charts.part)
            self.prepare_normals(normals, side)
        charts.choose_faces()
        self.space = (k["barycentric"][:, :, None] * self.corners[k["triangle"]]).sum(1)
        faces, barycentric = k["triangle"], k["barycentric"]
        self.axis = np.stack([np.cos(k["angle"]), np.sin(k["angle"])], 1)
        if charts.proxy is not None:
            require(not self.options["euclidean"], "has charts on a proxy with distances in space")
            faces = charts.proxy.kernel_faces
            barycentric, self.axis, turns, side = charts.proxy.put(k, *self.axes(k["triangle"]), self.space)
            for first in self.vectors():
                k["residual"][:, first + 1] *= side
                k["residual"][:, first:first + 2] = np.einsum("nij,nj->ni", turns, k["residual"][:, first:first + 2])
        self.center = (barycentric[:, :, None] * charts.flat[faces]).sum(1)
        joined = self.options["joinCorners"] and not self.options["euclidean"]
        self.table = charts.unfold(faces, self.center, joined)
        self.filter = Filter(k["sharpness"], k["threshold"])
        radius = np.maximum(k["length"] * self.filter.radii(self.options), 1e-3 * k["length"])
        by_reach = self.options["candidateRule"] == "byReach"
        self.weight = 1 / radius ** 2 if by_reach else np.ones(len(radius))
        if self.options["candidateRule"] == "perFace":
            self.keep_nearest_to_centroids()

    def vectors(self):
        """Where the vectors of tangent groups begin among the channels."""
        first, found = 0, []
        for group in self.groups:
            found += [first] if is_tangent(group) else []
            first += group["count"]
        return found

    def prepare_normals(self, normals, side):
        """Normals of triangles and of their corners, on the outside. Specification: "Normals", steps 1 and 2."""
        first, second = self.axes(np.arange(len(normals)))
        self.flat_normals = np.cross(first, second) * side[:, None]
        inwards = (normals.sum(1) * self.flat_normals).sum(1) < 0
        normals = np.where(inwards[:, None, None], -normals, normals)
        missing = (normals == 0).all(2, keepdims=True)
        self.corner_normals = np.where(missing, self.flat_normals[:, None], normals)

    def axes(self, triangles):
        """The first and second axis of triangles in space, [n, 3] each."""
        corners = self.corners[triangles]
        first = unit(corners[:, 1] - corners[:, 0])
        to = corners[:, 2] - corners[:, 0]
        return first, unit(to - first * (to * first).sum(1)[:, None])

    def shading_normal(self, triangle, b, group, value):
        """Specification: "Normals"."""
        flat = self.flat_normals[triangle]
        n0 = b @ self.corner_normals[triangle]
        n0 = unit(n0) if n0.any() else flat
        if group == "object_normal":
            return unit(n0 + value)
        # Anisotropy is turned as slopes are, and stays as long as it is.
        v, cosine = value if group == "anisotropy" else flat + value, flat @ n0
        if 1 + cosine < 1e-12:
            first = self.axes([triangle])[0][0]
            v = 2 * (first @ v) * first - v
        else:
            c = np.cross(flat, n0)
            turned = np.cross(c, v)
            v = v + turned + np.cross(c, turned) / (1 + cosine)
        return v if group == "anisotropy" else unit(v)

    def keep_nearest_to_centroids(self):
        most = self.options["candidates"]
        for face, (kernels, places, own) in self.table.items():
            if len(kernels) > most:
                distance = ((own.mean(1) - self.center[kernels]) ** 2).sum(1)
                keep = np.sort(np.argsort(distance, kind="stable")[:most])
                self.table[face] = kernels[keep], places[keep], own[keep]

    def evaluate(self, triangles, barycentrics):
        """Values of every group, {name: [points, count]}, and the coverage, {"coverage": [points]}. Vectors are in the axes of
        the scene; `normal`, `object_normal` and `clearcoat_normal` are shading normals."""
        triangles, barycentrics = np.asarray(triangles), np.asarray(barycentrics, np.float64)
        # A triangle that repeats another one has its values at the same corners.
        shown = self.repeats[triangles, 0]
        barycentrics = np.take_along_axis(barycentrics, (np.arange(3) + self.repeats[triangles, 1][:, None]) % 3, 1)
        count = sum(group["count"] for group in self.groups)
        relative, coverage = np.empty((len(triangles), count)), np.empty(len(triangles))
        for i, (t, b) in enumerate(zip(shown, barycentrics)):
            relative[i], coverage[i] = self.at(int(t), b)
        out, first = {}, 0
        for group in self.groups:
            low, high = group["range"]
            part = relative[:, first:first + group["count"]]
            first += group["count"]
            out[group["name"]] = low * (1 - part) + high * part
        for i, t in enumerate(triangles):
            constant, all_of_them = self.constant(int(t))
            if all_of_them:
                coverage[i] = 1
            for name, value in constant.items():
                out[name][i] = value
        for group in self.groups:
            name = group["name"]
            if is_tangent(group):
                axes = np.stack(self.axes(shown), 1)
                out[name] = np.einsum("nc,ncd->nd", out[name], axes)
            if name in SHADED:
                out[name] = np.array([self.shading_normal(t, b, name, v)
                                      for t, b, v in zip(shown, barycentrics, out[name])]).reshape(-1, 3)
        out["coverage"] = coverage
        return out

    def at(self, triangle, b):
        """Channels relative to their ranges, and the coverage."""
        mean = np.concatenate([group["mean"] for group in self.groups])
        q, face, proxy = b @ self.corners[triangle], triangle, self.charts.proxy
        if proxy is not None:
            face, b = proxy.place(triangle, q) or (None, b)
        if face not in self.table:
            return mean, 0.0
        o = self.options
        kernels, places, own = self.table[face]
        chord = q - self.space[kernels]
        chord2 = (chord ** 2).sum(1)
        if o["euclidean"]:
            to = self.project(kernels, chord)
        else:
            to = np.einsum("c,ncd->nd", b, places) - self.center[kernels]
        plane2 = (to ** 2).sum(1)
        d2 = np.where(chord2 > 1.0001 * plane2, chord2, plane2)
        if len(kernels) > o["candidates"]:
            keep = np.sort(np.argsort(d2 * self.weight[kernels], kind="stable")[:o["candidates"]])
            kernels, to, plane2, d2, places, own = (x[keep] for x in (kernels, to, plane2, d2, places, own))
        k = self.kernels
        across = self.axis[kernels, 0] * to[:, 1] - self.axis[kernels, 1] * to[:, 0]
        share = np.divide(across ** 2, plane2, out=np.zeros_like(plane2), where=plane2 > 1e-18)
        eta = 0 if o["isotropic"] else k["anisotropy"][kernels]
        rate = (1 + eta * share) / (4 * o["diffusionTime"])
        if o["windowSigma"] > 0:
            rate = rate + 1 / (2 * o["windowSigma"] ** 2)
        f = self.filter(kernels, np.exp(-d2 * rate / k["length"][kernels] ** 2))
        if len(f) > KEPT:
            keep = np.argsort(-f, kind="stable")[:KEPT]
            kernels, f, places, own = kernels[keep], f[keep], places[keep], own[keep]
        total = f.sum()
        residual, vectors = k["residual"][kernels], [slice(first, first + 2) for first in self.vectors()]
        for part in vectors:
            residual[:, part] = np.einsum("nij,nj->ni", self.charts.turns(face, places, own), residual[:, part])
        value = mean + f @ residual / max(total, 1)
        for part in vectors:  # not longer than R, which is 1/2 relative to the range
            value[part] = 0.5 + (value[part] - 0.5) / max(2 * np.linalg.norm(value[part] - 0.5), 1)
            if proxy is not None:
                first, second = (axis[0] for axis in self.axes([triangle]))
                value[part] = 0.5 + proxy.turn_to(face, triangle, first, second) @ (value[part] - 0.5)
        return np.clip(value, 0, 1), total

    def project(self, kernels, v):
        """Vectors in space in the planes of the kernels' triangles."""
        x, y = self.axes(self.kernels["triangle"][kernels])
        return np.stack([(v * x).sum(1), (v * y).sum(1)], 1)

    def constant(self, triangle):
        """Values of the groups that the triangle's material decides, and whether these are all."""
        material, values = int(self.materials[triangle]), {}
        everywhere = material in self.extension.get("constantMaterials", [])
        for group in self.groups:
            if everywhere or material in group.get("constantMaterials", []):
                value = np.array(factor_of(self.gltf.root["materials"][material], group["name"]), np.float64)
                values[group["name"]] = np.clip(value, *group["range"])
        return values, len(values) == len(self.groups)


def is_tangent(group):
    return group.get("kind", "plain") == "tangent"


# Specification: "Channels". Where a material has the factor of a channel, and what it is if it has none.
FACTORS = {
    "metallic": (["pbrMetallicRoughness", "metallicFactor"], 1),
    "roughness": (["pbrMetallicRoughness", "roughnessFactor"], 1),
    "occlusion": ([], 1),
    "emissive": (["emissiveFactor"], [0, 0, 0]),
    "clearcoat": (["extensions", "KHR_materials_clearcoat", "clearcoatFactor"], 0),
    "clearcoat_roughness": (["extensions", "KHR_materials_clearcoat", "clearcoatRoughnessFactor"], 0),
    "sheen_color": (["extensions", "KHR_materials_sheen", "sheenColorFactor"], [0, 0, 0]),
    "sheen_roughness": (["extensions", "KHR_materials_sheen", "sheenRoughnessFactor"], 0),
    "transmission": (["extensions", "KHR_materials_transmission", "transmissionFactor"], 0),
    "thickness": (["extensions", "KHR_materials_volume", "thicknessFactor"], 0),
    "specular": (["extensions", "KHR_materials_specular", "specularFactor"], 1),
    "specular_color": (["extensions", "KHR_materials_specular", "specularColorFactor"], [1, 1, 1]),
    "iridescence": (["extensions", "KHR_materials_iridescence", "iridescenceFactor"], 0),
    "iridescence_thickness": (["extensions", "KHR_materials_iridescence", "iridescenceThicknessMaximum"], 400),
    "diffuse_transmission": (["extensions", "KHR_materials_diffuse_transmission", "diffuseTransmissionFactor"], 0),
    "diffuse_transmission_color":
        (["extensions", "KHR_materials_diffuse_transmission", "diffuseTransmissionColorFactor"], [1, 1, 1]),
}


def srgb(linear):
    linear = np.clip(np.array(linear, np.float64), 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


# Vectors that are turned with the shading normal. Specification: "Normals", "Anisotropy".
SHADED = ("normal", "object_normal", "clearcoat_normal", "anisotropy")


def factor_of(material, name):
    """A channel's value for a material without texture."""
    def find(path, default):
        value = material
        for key in path:
            value = value.get(key, {}) if isinstance(value, dict) else {}
        return default if not path or isinstance(value, dict) else value

    base = find(["pbrMetallicRoughness", "baseColorFactor"], [1, 1, 1, 1])
    if name == "base_color":
        return srgb(base[:3])
    if name == "alpha":
        return 1 if material.get("alphaMode", "OPAQUE") == "OPAQUE" else min(max(base[3], 0), 1)
    if name in SHADED:
        return 0
    if name not in FACTORS:
        raise FormatError(f"materials say nothing about {name}")
    value = np.array(find(*FACTORS[name]), np.float64)
    if name == "emissive":
        value = value * find(["extensions", "KHR_materials_emissive_strength", "emissiveStrength"], 1)
    return srgb(value) if name in ("sheen_color", "diffuse_transmission_color") else value


def main():
    arguments, level = list(sys.argv), 0
    if "--level" in arguments[:-1]:
        at = arguments.index("--level")
        level = arguments[at + 1]
        del arguments[at:at + 2]
    if len(arguments) not in (3, 4) or not str(level).isdecimal():
        sys.exit(__doc__.strip())
    try:
        product = Product.open(arguments[1], *arguments[3:], level=int(level))
    except FormatError as error:
        sys.exit(f"{arguments[1]}: {error}")
    lines = [line.split(",") for line in open(arguments[2]).read().split()]
    if lines and lines[0][0].strip().lower() == "face":
        lines = lines[1:]
    points = np.array(lines, np.float64).reshape(-1, 4)
    values = product.evaluate(points[:, 0].astype(np.int64), points[:, 1:])
    names = [(group["name"], c) for group in product.groups for c in range(values[group["name"]].shape[1])]
    print(",".join([f"{name}_{c}" for name, c in names] + ["coverage"]))
    for i in range(len(points)):
        print(",".join([f"{values[name][i, c]:.7g}" for name, c in names] + [f"{values['coverage'][i]:.7g}"]))


if __name__ == "__main__":
    main()
