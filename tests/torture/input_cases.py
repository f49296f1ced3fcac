"""What is read: odd shapes, hostile products, odd materials, the collection of bad files."""

import json
import random
import re

import mutations
import shapes
from fixtures import SHORT_FIT
from harness import DONE, FAILED, INPUT, Failure, Limits, Skip


# --- shapes -----------------------------------------------------------------------------------------------------------


def odd_shapes(quick):
    for name, text, fits in shapes.all_shapes(quick):
        yield f"shape: {name}", lambda t, x=text, f=fits: shape(t, x, f), name not in (
            "polygon of many corners", "the same ball many times",
        )  # fmt: skip


def shape(t, text, fits):
    t.write("shape.obj", text)
    t.take("small.toml")
    codes = {True: (DONE,), False: (INPUT,), None: (DONE, INPUT)}[fits]
    report = t.run("inspect", "shape.obj", "--json", "-", expect=(DONE, INPUT))
    if report.code == DONE:
        t.check("NaN" not in report.out and json.loads(report.out), "the report is not JSON")
    fitted = t.run(
        "fit", "shape.obj", "-o", "o.glb", "--config", "small.toml", "--steps", "20", "--json", "o.json",
        "--set", "start.kernels=40", "--kernels", "60",
        expect=codes, makes=["o.glb", "o.toml", "o.json"],
    )  # fmt: skip
    drawn = t.run("render", "shape.obj", "-o", "o.png", "--size", "64", expect=(DONE, INPUT), makes=["o.png"])
    t.check(drawn.code == report.code, f"drawn with {drawn.code}, inspected with {report.code}")
    if fitted.code == DONE:
        figures = json.loads(t.read("o.json"))
        t.check(isinstance(figures["surface_psnr"], (int, float, type(None))), "a figure that is not a number")
        t.run("inspect", "o.glb")
        t.run("render", "o.glb", "-o", "p.png", "--size", "64", makes=["p.png"])
        t.write("points.csv", "0.1,0.2,0.3\n1e30,0,0\n-5,4,0.5\n")
        t.run("query", "o.glb", "--points", "points.csv", expect=(DONE, INPUT))


# --- hostile products -------------------------------------------------------------------------------------------------


def products(quick):
    for kind, maker, count in (
        ("fields", mutations.changed_fields, 700),
        ("bytes", mutations.changed_bytes, 300),
        ("buffers", mutations.changed_buffers, 90),
        ("planes", mutations.changed_planes, 70),
    ):
        batches = 10
        for batch in range(batches):
            # The quick campaign looks at the first few of the first batches.
            some = 12 if quick else count // batches
            yield f"product with changed {kind}, batch {batch}", lambda t, m=maker, b=batch, n=some: hostile(t, m, b, n), (
                batch < 2
            )


def hostile(t, maker, batch, count):
    """Read or refused, by every verb alike, in bounded time and memory."""
    t.take("product.glb", "points.csv", "pumpkin.glb")
    rng = random.Random(1000 + batch)
    limits = Limits(memory=2 << 30)
    for name, data in maker(t.read("product.glb"), rng, count):
        t.write("hostile.glb", data)
        try:
            t.run("inspect", "hostile.glb", "--json", "-", expect=(DONE, INPUT), limits=limits)
            t.run("query", "hostile.glb", "--points", "points.csv", expect=(DONE, INPUT), limits=limits)
            if rng.random() < 0.9:  # an evaluation takes as long as all the others
                t.run("render", "hostile.glb", "-o", "o.png", "--size", "48", expect=(DONE, INPUT), makes=["o.png"], limits=limits)
            else:
                t.run("eval", "hostile.glb", "--reference", "pumpkin.glb", "--samples", "1000", expect=(DONE, INPUT), limits=limits)
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None


# --- pictures and materials -------------------------------------------------------------------------------------------


def materials(quick):
    tile = shapes.png(64, 64, shapes.checker)
    for low, high in ((0, 4), (30, 34), (-3, 1), (1000, 1004), (30.25, 30.5)):
        yield f"tiled UVs {low}..{high}", lambda t, a=low, b=high: tiled(t, tile, a, b), (low, high) == (30, 34)
    for low, high in ((0, 1e5), (0, 1e6), (-1e6, 1e6), (1e6, 1e6 + 4), (1e30, 2e30)):
        yield f"UVs {low:g}..{high:g}", lambda t, a=low, b=high: wide(t, tile, a, b), high == 1e6
    for mode in ("MASK", "BLEND"):
        yield f"fully transparent, {mode}", lambda t, m=mode: transparent(t, m), True
        yield f"half transparent, {mode}", lambda t, m=mode: half_transparent(t, m), mode == "MASK"
    for wrap in (33071, 33648, 10497, 12345):
        for filters in (9728, 9729, 9987, 1):
            yield f"sampler {wrap}, {filters}", lambda t, w=wrap, f=filters: sampled(t, tile, w, f), False


def picture_difference(t, a, b):
    """PSNR of two pictures, None if they are equal."""
    return json.loads(t.run("compare", a, b, "--json", "-").out).get("psnr")


def tiled(t, tile, low, high):
    """A tile looks the same wherever whole repeats put it."""
    t.write("here.glb", shapes.card(tile, ((low % 1, low % 1), (low % 1 + high - low, low % 1 + high - low))))
    t.write("there.glb", shapes.card(tile, ((low, low), (high, high))))
    for name in ("here", "there"):
        t.run("render", f"{name}.glb", "-o", f"{name}.png", "--size", "128", makes=[f"{name}.png"])
    psnr = picture_difference(t, "here.png", "there.png")
    t.check(psnr is None or psnr == "inf" or psnr > 35, f"a shifted tile is drawn otherwise: {psnr} dB")
    t.run("fit", "there.glb", "-o", "o.glb", *SHORT_FIT, "--json", "fit.json", makes=["o.glb", "o.toml", "fit.json"])
    t.run("eval", "o.glb", "--reference", "there.glb", "--samples", "5000", "--json", "eval.json", makes=["eval.json"])


def wide(t, tile, low, high):
    t.write("wide.glb", shapes.card(tile, ((low, low), (high, high))))
    limits = Limits(memory=2 << 30)
    t.run("inspect", "wide.glb", expect=(DONE, INPUT), limits=limits)
    t.run("render", "wide.glb", "-o", "o.png", "--size", "64", expect=(DONE, INPUT), makes=["o.png"], limits=limits)
    t.run(
        "render", "wide.glb", "-o", "atlas.png", "--atlas", expect=(DONE, FAILED, INPUT), makes=["atlas.png"], limits=limits
    )
    t.run(
        "fit", "wide.glb", "-o", "o.glb", *SHORT_FIT, expect=(DONE, FAILED, INPUT), makes=["o.glb", "o.toml"], limits=limits
    )


def transparent(t, mode):
    t.write("t.glb", shapes.card(shapes.png(16, 16, lambda x, y: (x * 9, 90, 10, 0)), material={"alphaMode": mode}))
    inspected = t.run("inspect", "t.glb", expect=(DONE, INPUT))
    fitted = t.run("fit", "t.glb", "-o", "o.glb", *SHORT_FIT, expect=(DONE, INPUT), makes=["o.glb", "o.toml"])
    said = inspected.out + inspected.err + fitted.out + fitted.err
    t.check(re.search("transparent|nothing visible|invisible", said), f"does not say that nothing is visible: {fitted}")
    t.run("render", "t.glb", "-o", "o.png", "--size", "64", expect=(DONE, INPUT), makes=["o.png"])


def half_transparent(t, mode):
    half = shapes.png(32, 32, lambda x, y: (220, 60, 40, 255) if x < 16 else (0, 0, 0, 0))
    t.write("t.glb", shapes.card(half, material={"alphaMode": mode}))
    t.run("fit", "t.glb", "-o", "o.glb", *SHORT_FIT, "--json", "fit.json", makes=["o.glb", "o.toml", "fit.json"])
    t.run("eval", "o.glb", "--reference", "t.glb", "--samples", "5000", "--json", "e.json", makes=["e.json"])
    # The visible half has one colour: nothing of the black that nobody sees may be in it.
    psnr = json.loads(t.read("e.json"))["surface_psnr"]
    t.check(psnr is None or psnr == "inf" or psnr > 30, f"invisible texels count: {psnr} dB for one colour")
    for name in ("t", "o"):
        t.run("render", f"{name}.glb", "-o", f"{name}.png", "--size", "64", makes=[f"{name}.png"])


def sampled(t, tile, wrap, filters):
    sampler = {"wrapS": wrap, "wrapT": wrap, "magFilter": filters, "minFilter": filters}
    t.write("s.glb", shapes.card(tile, ((-1.5, -1.5), (2.5, 2.5)), sampler=sampler))
    t.run("inspect", "s.glb", expect=(DONE, INPUT))
    t.run("render", "s.glb", "-o", "o.png", "--size", "64", expect=(DONE, INPUT), makes=["o.png"])


# --- the collection of bad files --------------------------------------------------------------------------------------


def bad_files(quick, assets):
    table = assets / "bad" / "expected.json" if assets else None
    if not table or not table.exists():
        yield "assets/bad", no_assets, True
        return
    rows = json.loads(table.read_text())
    for i, row in enumerate(rows):
        yield f"bad/{row['file']}", lambda t, r=row: bad(t, assets / "bad", r), i % 12 == 0


def no_assets(t):
    raise Skip("the collection of bad files is not here (HEATSKIN_ASSETS names the folder of assets)")


def bad(t, folder, row):
    """inspect, render and fit agree on whether a file can be used, and on what the collection says."""
    path = folder / row["file"]
    lenient = re.search("or warning|or load|or drop", row["should"])
    codes = {"ok": (DONE,), "warn": (DONE, INPUT), "error": (DONE, INPUT) if lenient else (INPUT,)}[row["expect"]]
    limits = Limits(memory=1 << 30)
    inspected = t.run("inspect", path, expect=codes, limits=limits)
    drawn = t.run("render", path, "-o", "o.png", "--size", "48", expect=codes, makes=["o.png"], limits=limits)
    t.check(drawn.code == inspected.code, f"drawn with {drawn.code}, inspected with {inspected.code}")
    fitted = t.run(
        "fit", path, "-o", "o.glb", *SHORT_FIT, "--no-eval",
        expect=(DONE, INPUT) if inspected.code == DONE else (INPUT,), makes=["o.glb", "o.toml"], limits=limits,
    )  # fmt: skip
    if fitted.code == DONE:
        t.run("inspect", "o.glb")
