"""The readers of examples/, written from docs/format.md, give what `heatskin query --channels` gives, and the extension of written
products fits docs/schema.

    readers_test.py HEATSKIN python|javascript|schema

Exits with 77 (skipped) and says why when numpy or node is missing. The built-in pumpkin and a mesh with a normal map are always
tried; files of $HEATSKIN_ASSETS (or ../shared/assets) where they are.
"""
import copy
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import bumpy_mesh

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import kept_fits  # noqa: E402

LEVEL = 1 / 255
TOLERANCE = 0.5 * LEVEL  # what the specification promises, of the range of a channel
DEGREES = 0.2            # and of shading normals
POINTS = 300
SKIPPED = 77

SMALL = ["--preset", "compact", "--kernels", "1500", "--steps", "40", "--no-eval"]
PROXY = SMALL + ["--set", "local.proxy_faces=800"]  # kernels on a simplified copy
PAPER = ["--preset", "paper", "--kernels", "600", "--steps", "15", "--no-eval"]
ASSETS = ["spot/spot_triangulated.obj", "fox.glb", "pbr/water_bottle/WaterBottle.gltf"]


NORMALS = ["bumpy mesh", "fine bumpy mesh", "pbr/water_bottle/WaterBottle.gltf"]  # whose products must have them


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def reader_command(kind):
    if kind == "javascript":
        if not shutil.which("node"):
            skip("node is not installed")
        return ["node", os.path.join(ROOT, "examples", "read_product.js")]
    for python in ("/usr/bin/python3", sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return [python, os.path.join(ROOT, "examples", "read_product.py")]
    return skip("numpy is not installed (python3-numpy)")


def document_of(path):
    data = open(path, "rb").read()
    return json.loads(data[20:20 + struct.unpack_from("<I", data, 12)[0]])


def extension_of(path, level=0):
    extension = document_of(path)["extensions"]["HSK_kernel_texture"]
    return extension["levels"][level - 1]["extension"] if level else extension


def make_products(heatskin, folder):
    """(name, product) of everything that is tried."""
    pumpkin = os.path.join(folder, "pumpkin.glb")
    run([heatskin, "demo-asset", "-o", pumpkin, "--resolution", "1200", "--texture", "256"])
    bumpy = os.path.join(folder, "bumpy.glb")
    open(bumpy, "wb").write(bumpy_mesh.glb())
    variants = os.path.join(folder, "variants.glb")
    open(variants, "wb").write(bumpy_mesh.glb(variants=True))
    fine_pumpkin, fine_bumpy = os.path.join(folder, "fine_pumpkin.glb"), os.path.join(folder, "fine_bumpy.glb")
    run([heatskin, "demo-asset", "-o", fine_pumpkin, "--resolution", "4000", "--texture", "256"])
    open(fine_bumpy, "wb").write(bumpy_mesh.glb(side=40))
    coated = os.path.join(folder, "coated.glb")
    open(coated, "wb").write(bumpy_mesh.glb(coated=True))
    jobs = [("pumpkin", pumpkin, SMALL), ("pumpkin, preset paper", pumpkin, PAPER), ("bumpy mesh", bumpy, SMALL),
            ("coated and brushed", coated, SMALL),
            ("material variants", variants, SMALL), ("fine pumpkin", fine_pumpkin, PROXY),
            ("fine bumpy mesh", fine_bumpy, PROXY)]
    assets = os.environ.get("HEATSKIN_ASSETS") or os.path.join(ROOT, "..", "shared", "assets")
    for name in ASSETS:
        path = os.path.join(assets, name)
        if os.path.exists(path):
            jobs.append((name, path, SMALL))
        else:
            print(f"not tried, because it is not here: {path}")
    for i, (name, path, options) in enumerate(jobs):
        out = os.path.join(folder, f"{i}.glb")
        kept_fits.fit(heatskin, path, out, options)
        assert ("proxyCharts" in extension_of(out)) == (options is PROXY), name
        names = {group["name"] for group in extension_of(out)["channels"]}
        assert ({"clearcoat_normal", "anisotropy"} <= names) == (name == "coated and brushed"), names
        yield name, out
        if name == "material variants":
            levels = os.path.join(folder, "levels.glb")
            run([heatskin, "lod", out, "--levels", "3", "--face-ratio", "0.6", "--no-refit", "-o", levels, "-q"])
            assert len(extension_of(levels)["levels"]) == 2
            yield "levels of detail", levels


def random_points(product, level):
    generator = random.Random(3)
    triangles = extension_of(product, level)["triangles"]
    lines = ["face,b0,b1,b2"]
    for _ in range(POINTS):
        a, b = sorted((generator.random(), generator.random()))
        lines.append(f"{generator.randrange(triangles)},{a!r},{b - a!r},{1 - b!r}")
    return "\n".join(lines) + "\n"


def read_csv(text):
    lines = text.split()
    return lines[0].split(","), [[float(x) for x in line.split(",")] for line in lines[1:]]


def largest_differences(groups, theirs, ours):
    """Of plain channels, relative to their ranges; of normals, in degrees."""
    assert len(theirs) == len(ours) > 0
    plain, degrees = 0.0, 0.0
    for x, y in zip(theirs, ours):
        first = 0
        for group in groups:
            is_normal = group["name"] in ("normal", "object_normal", "clearcoat_normal")
            count = 3 if is_normal or group.get("kind") == "tangent" else group["count"]
            a, b = x[first:first + count], y[first:first + count]
            first += count
            apart = math.dist(a, b)
            if is_normal:
                degrees = max(degrees, math.degrees(2 * math.asin(min(apart / 2, 1))))
            else:
                width = group["range"][1] - group["range"][0]
                plain = max([plain] + [abs(p - q) / width for p, q in zip(a, b)])
    return plain, degrees


def with_variants(products):
    """(name, product, variant, level) for the default (an empty name) and every material variant, and for all levels of
    detail."""
    for name, product in products:
        extensions = document_of(product)["extensions"]
        variants = [v["name"] for v in extensions.get("KHR_materials_variants", {}).get("variants", [])]
        if variants:
            assert [v["names"] for v in extensions["HSK_kernel_texture"]["variants"]] == [["painted"]]
        for level in range(1 + len(extensions["HSK_kernel_texture"].get("levels", []))):
            for variant in [""] + variants:
                words = [name] + ([variant] if variant else []) + ([f"level {level}"] if level else [])
                yield ", ".join(words), product, variant, level


def check_reader(heatskin, kind):
    command = reader_command(kind)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, product, variant, level in with_variants(make_products(heatskin, folder)):
            points, colors = os.path.join(folder, "points.csv"), os.path.join(folder, "colors.csv")
            open(points, "w").write(random_points(product, level))
            run([heatskin, "query", product, "--points", points, "-o", colors, "--channels", "--coverage", "-q"] +
                (["--variant", variant] if variant else []) + (["--level", str(level)] if level else []))
            header, theirs = read_csv(run(command + [product, points] + ([variant] if variant else []) +
                                          (["--level", str(level)] if level else [])))
            columns, ours = read_csv(open(colors).read())
            groups = extension_of(product, level)["channels"]
            assert header[:3] == ["base_color_0", "base_color_1", "base_color_2"], header
            assert len(header) == len(columns) and header[-1] == "coverage", header
            difference, degrees = largest_differences(groups, theirs, ours)
            # A checker that sees nothing: the values of other points must differ.
            planted, planted_degrees = largest_differences(groups, theirs[1:] + theirs[:1], ours)
            print(f"{name}: at most {difference / LEVEL:.5f} levels and {degrees:.4f} degrees apart at {POINTS} points")
            failed |= not difference <= TOLERANCE or not planted > TOLERANCE or not degrees <= DEGREES
            if "normal_x" in columns:
                failed |= not planted_degrees > DEGREES
            elif name in NORMALS:
                print(f"{name}: has no normals: {columns}")
                failed = True
            if kind == "javascript" and level == 0 and not extension_of(product)["evaluator"]["candidateRule"] == "perFace":
                script = os.path.join(ROOT, "tests", "readers", "face_table_test.js")
                difference = float(run(["node", script, product]))
                print(f"{name}: the table for shaders gives at most {difference / LEVEL:.5f} levels more or less")
                failed |= not difference <= TOLERANCE
    return failed


# ------------------------------------------------------------------------------------------------------------ the schema

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def problems(value, schema, root, where="HSK_kernel_texture"):
    """What the value has that the schema does not allow. Of JSON Schema what our schema uses; any other keyword is a
    problem, and so is a property that the schema does not describe: it is the documentation."""
    known = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "items", "minItems",
             "maxItems", "uniqueItems", "minimum", "maximum", "maxLength", "pattern", "enum", "const", "oneOf"}
    found = [f"{where}: the schema has the unknown keyword {key}" for key in schema if key not in known]
    if "$ref" in schema:
        target = root if schema["$ref"] == "#" else root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return found + problems(value, target, root, where)
    if "oneOf" in schema:
        each = [problems(value, one, root, where) for one in schema["oneOf"]]
        fitting = sum(not one for one in each)
        return found + ([] if fitting == 1 else [f"{where}: fits {fitting} of {len(each)} alternatives"])
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: is not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: is none of {schema['enum']}")
    kind = schema.get("type")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in TYPES and not isinstance(value, TYPES[kind]) or kind == "number" and not number or \
            kind == "integer" and not (number and value == int(value)):
        return found + [f"{where}: is no {kind}"]
    if number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{where}: {value} is out of range")
    if isinstance(value, str):
        import re
        if len(value) > schema.get("maxLength", len(value)) or not re.search(schema.get("pattern", ""), value):
            found.append(f"{where}: '{value}' does not fit")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: has {len(value)} items")
        if schema.get("uniqueItems") and len(set(map(str, value))) < len(value):
            found.append(f"{where}: has equal items")
        for i, item in enumerate(value):
            found += problems(item, schema.get("items", {}), root, f"{where}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        found += [f"{where}: has no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            if name not in schema["properties"]:
                found.append(f"{where}: {name} is not described")
            else:
                found += problems(item, schema["properties"][name], root, f"{where}.{name}")
    return found


def planted_errors(extension):
    """Copies of an extension with an error each: every property missing, of another type, or unknown."""
    def places(value, path=()):
        for key, item in (value.items() if isinstance(value, dict) else enumerate(value)):
            yield path + (key,)
            if isinstance(item, (dict, list)):
                yield from places(item, path + (key,))

    optional = {"charts", "proxyCharts", "constantMaterials", "filter", "kind", "variants", "levels"}
    for path in places(extension):
        for damage in ("missing", "type", "unknown"):
            if damage == "missing" and (path[-1] in optional or isinstance(path[-1], int)):
                continue
            damaged = copy.deepcopy(extension)
            inside = damaged
            for key in path[:-1]:
                inside = inside[key]
            if damage == "missing":
                del inside[path[-1]]
            elif damage == "type":
                inside[path[-1]] = None
            elif isinstance(inside[path[-1]], dict):
                inside[path[-1]]["surprise"] = 1
            else:
                continue
            yield f"{damage} {'.'.join(map(str, path))}", damaged


def check_schema(heatskin):
    schema = json.load(open(os.path.join(ROOT, "docs", "schema", "HSK_kernel_texture.schema.json")))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, product in make_products(heatskin, folder):
            extension = extension_of(product)
            wrong = problems(extension, schema, schema)
            print(f"{name}: {'fits' if not wrong else wrong}")
            missed = [what for what, damaged in planted_errors(extension) if not problems(damaged, schema, schema)]
            if missed:
                print(f"{name}: errors that are not noticed: {missed}")
            failed |= bool(wrong or missed)
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        bad = check_schema(sys.argv[1]) if sys.argv[2] == "schema" else check_reader(sys.argv[1], sys.argv[2])
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: {error.returncode}\n{error.stdout}{error.stderr}")
    sys.exit(1 if bad else 0)
