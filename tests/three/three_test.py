"""The three.js plugin (packages/three) in headless Chromium shows what `heatskin query --channels` says.

    three_test.py HEATSKIN PACKAGES_FOLDER

Exits with 77 (skipped) and says why when node, npm, the packages or Chromium are not to be had. A mesh with a normal map and the
built-in pumpkin are always tried; files of $HEATSKIN_ASSETS (or ../shared/assets) where they are.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "readers"))
import bumpy_mesh  # noqa: E402
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import kept_fits  # noqa: E402

LEVEL = 1 / 255
TOLERANCE = LEVEL     # shaders count in float32
DEGREES = 0.5         # edges of triangles come from differences on the screen
SIZE = 128            # pixels; software renderers are slow
LEAST_POINTS = 1000
SKIPPED = 77
SMALL = ["--preset", "compact", "--kernels", "1500", "--steps", "40", "--no-eval"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def get_packages(folder):
    command = ["/bin/bash", os.path.join(ROOT, "scripts", "get_npm_packages.sh"), os.path.join(ROOT, "tests", "three"), folder]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if outcome.returncode == SKIPPED:
        skip(outcome.stdout.strip())
    if outcome.returncode != 0:
        sys.exit(outcome.stdout + outcome.stderr)


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return skip("chromium is not installed; 'make dev-deps' installs it")


def render(packages, chromium, product, size=SIZE, what=()):
    script = os.path.join(ROOT, "tests", "three", "render.js")
    return json.loads(run(["node", script, packages, chromium, product, str(size), *what]))


def query(heatskin, product, points, folder, more=()):
    """Rows by column name."""
    table, out = os.path.join(folder, "points.csv"), os.path.join(folder, "values.csv")
    lines = [f"{int(t)},{b0!r},{b1!r},{1 - b0 - b1!r}" for t, b0, b1, _ in points]
    open(table, "w").write("face,b0,b1,b2\n" + "\n".join(lines) + "\n")
    run([heatskin, "query", product, "--points", table, "-o", out, "--channels", "-q", *more])
    lines = open(out).read().split()
    return [dict(zip(lines[0].split(","), map(float, line.split(",")))) for line in lines[1:]]


# Column of query, output of the page, component.
COLUMNS = [("r", "base_color", 0), ("g", "base_color", 1), ("b", "base_color", 2), ("alpha", "base_color", 3),
           ("metallic", "material", 0), ("roughness", "material", 1),
           ("emissive_r", "emissive", 0), ("emissive_g", "emissive", 1), ("emissive_b", "emissive", 2)]


def differences(outputs, rows):
    """The largest differences of plain columns and of directions of anisotropy, and of normals in degrees (or None)."""
    plain, degrees = {}, None
    for column, output, component in COLUMNS:
        if column in rows[0] and output in outputs:
            plain[column] = max(abs(pixel[component] - row[column]) for pixel, row in zip(outputs[output], rows))
    if "anisotropy_x" in rows[0]:
        plain["anisotropy"] = max(math.dist(pixel[:3], [row[f"anisotropy_{axis}"] for axis in "xyz"])
                                  for pixel, row in zip(outputs["anisotropy"], rows))
    for name in ("normal", "clearcoat_normal"):
        if f"{name}_x" not in rows[0]:
            continue
        for pixel, row in zip(outputs[name], rows):
            there = [row[f"{name}_{axis}"] for axis in "xyz"]
            # The picture has the side that is seen, the query the outside.
            apart = min(math.dist(pixel[:3], there), math.dist(pixel[:3], [-x for x in there]))
            degrees = max(degrees or 0, math.degrees(2 * math.asin(min(apart / 2, 1))))
    return plain, degrees


def check(name, heatskin, packages, chromium, product, folder):
    found = render(packages, chromium, product)
    if found["problems"] or not found["shown"]:
        print(f"{name}: {found.get('reason')} {found['problems']}")
        return False
    outputs = found["outputs"]
    rows = query(heatskin, product, outputs["point"], folder)
    plain, degrees = differences(outputs, rows)
    planted, planted_degrees = differences(outputs, rows[1:] + rows[:1])
    levels = {column: round(value / LEVEL, 4) for column, value in plain.items()}
    print(f"{name}: {len(rows)} points, levels apart {levels}, degrees {degrees}")
    good = len(rows) >= LEAST_POINTS and max(plain.values()) <= TOLERANCE and max(planted.values()) > TOLERANCE
    return good and (degrees is None or degrees <= DEGREES < planted_degrees)


def check_fallback(heatskin, packages, chromium, asset, folder):
    """Files without kernels load as ever; kernels that cannot be shown leave the fallback, with a reason."""
    product = os.path.join(folder, "no_charts.glb")
    kept_fits.fit(heatskin, asset, product, SMALL + ["--no-charts"])
    plain, without = render(packages, chromium, asset), render(packages, chromium, product)
    print(f"without kernels: {plain}; without charts: {without}")
    return not plain["shown"] and "reason" not in plain and not plain["problems"] and \
        not without["shown"] and without["reason"] == "has no charts" and not without["problems"]


def check_shadows(heatskin, packages, chromium, folder):
    """The shadow of a square with holes is where its alpha says."""
    asset, product = os.path.join(folder, "flat.glb"), os.path.join(folder, "flat_fit.glb")
    open(asset, "wb").write(bumpy_mesh.flat_sheet())
    kept_fits.fit(heatskin, asset, product, ["--preset", "compact", "--kernels", "300", "--steps", "60", "--no-eval"])
    found = render(packages, chromium, product, 64, ["shadows"])
    good = not found["problems"]
    for light in ("directional", "point", "plain"):
        points, shadow = found[light]["points"], found[light]["shadow"]
        # Pixels beside the rim of a hole may lie on either side of it in the shadow's map.
        sure = [(row["alpha"] >= 0.5, s) for row, s in zip(query(heatskin, product, points, folder), shadow)
                if abs(row["alpha"] - 0.5) > 0.2]
        right = sum(wanted == is_there for wanted, is_there in sure) / len(sure)
        print(f"shadows, {light}: {right:.4f} of {len(sure)} points as alpha says")
        # Three's own shadows know of no holes: a checker that sees nothing would take them.
        good &= len(sure) >= LEAST_POINTS and (right < 0.9 if light == "plain" else right > 0.98)
    return good


def ways(packages, chromium, file, level=0, picture=None):
    script = os.path.join(ROOT, "tests", "three", "ways.js")
    return json.loads(run(["node", script, packages, chromium, file, str(SIZE), str(level)] + ([picture] if picture else [])))


def check_level(heatskin, packages, chromium, product, folder):
    """A level of detail in a file with all of them."""
    levels = os.path.join(folder, "levels.glb")
    run([heatskin, "lod", product, "--levels", "2", "--face-ratio", "0.5", "--no-refit", "-o", levels, "-q"])
    found = ways(packages, chromium, levels, 1)
    if found["problems"] or not found["shown"]:
        print(f"level 1: {found.get('reason')} {found['problems']}")
        return False
    points = found["outputs"]["point"]
    plain, _ = differences(found["outputs"], query(heatskin, levels, points, folder, ["--level", "1"]))
    scene, _ = differences(found["outputs"], query(heatskin, product, points, folder))
    print(f"level 1: {len(points)} points, levels apart {max(plain.values()) / LEVEL}; of level 0: {max(scene.values()) / LEVEL}")
    missing = ways(packages, chromium, levels, 2)
    return len(points) >= LEAST_POINTS and max(plain.values()) <= TOLERANCE < max(scene.values()) and \
        not missing["shown"] and "no level of detail 2" in missing["reason"]


def check_usdz(heatskin, packages, chromium, name, product, folder, least_meshes=1):
    """A USDZ file in three's reader: its meshes have textures, whose colours are those of the kernels."""
    model, table, out = (os.path.join(folder, n) for n in ("model.usdz", "places.csv", "colors.csv"))
    run([heatskin, "export", "--usdz", product, "-o", model, "-q"])
    found = ways(packages, chromium, model, picture=os.environ.get("HEATSKIN_USDZ_PICTURE"))
    if found["problems"] or not found["samples"]:
        print(f"{name} as USDZ: {found}")
        return False
    open(table, "w").write("x,y,z\n" + "\n".join(",".join(map(repr, s[:3])) for s in found["samples"]) + "\n")
    run([heatskin, "query", product, "--points", table, "-o", out, "-q"])
    colors = [list(map(float, line.split(",")[:3])) for line in open(out).read().split()[1:]]
    def apart(samples):
        return sum(abs(a - b) for s, c in zip(samples, colors) for a, b in zip(s[3:], c)) / (3 * len(colors)) / LEVEL
    mean, planted = apart(found["samples"]), apart(found["samples"][1:] + found["samples"][:1])
    print(f"{name} as USDZ: {len(colors)} places, {mean:.2f} levels apart in the mean (others {planted:.1f}), {found['meshes']}")
    return mean <= 3 and planted > 3 * mean + 3 and len(found["meshes"]) >= least_meshes and \
        all(m["uv"] and m["normal"] and m["map"] for m in found["meshes"])


def main():
    heatskin, packages = sys.argv[1], os.path.abspath(sys.argv[2])
    if not shutil.which("node"):
        skip("node is not installed")
    chromium = find_chromium()
    get_packages(packages)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        bumpy, pumpkin = os.path.join(folder, "bumpy.glb"), os.path.join(folder, "pumpkin.glb")
        open(bumpy, "wb").write(bumpy_mesh.glb())
        run([heatskin, "demo-asset", "-o", pumpkin, "--resolution", "1200", "--texture", "256"])
        fine = os.path.join(folder, "fine.glb")  # kernels on a simplified copy
        open(fine, "wb").write(bumpy_mesh.glb(side=40))
        coated = os.path.join(folder, "coated.glb")
        open(coated, "wb").write(bumpy_mesh.glb(coated=True))
        jobs = [("bumpy mesh", bumpy, []), ("coated and brushed", coated, []), ("pumpkin", pumpkin, []),
                ("fine bumpy mesh", fine, ["--set", "local.proxy_faces=800"])]
        assets = os.environ.get("HEATSKIN_ASSETS") or os.path.join(ROOT, "..", "shared", "assets")
        bottle = os.path.join(assets, "pbr", "water_bottle", "WaterBottle.gltf")
        if os.path.exists(bottle):
            jobs.append(("water bottle", bottle, []))
        for i, (name, asset, options) in enumerate(jobs):
            product = os.path.join(folder, f"{i}.glb")
            kept_fits.fit(heatskin, asset, product, SMALL + options)
            good &= check(name, heatskin, packages, chromium, product, folder)
        good &= check_shadows(heatskin, packages, chromium, folder)
        good &= check_level(heatskin, packages, chromium, os.path.join(folder, "1.glb"), folder)
        good &= check_usdz(heatskin, packages, chromium, "pumpkin", os.path.join(folder, "1.glb"), folder)
        # Two meshes, one of them mirrored, with a normal map.
        good &= check_usdz(heatskin, packages, chromium, "bumpy mesh", os.path.join(folder, "0.glb"), folder, 2)
        good &= check_fallback(heatskin, packages, chromium, bumpy, folder)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)}: {error.returncode}\n{error.stdout}{error.stderr}")
