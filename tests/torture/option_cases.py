"""Options: values that are none, contradictions, options without effect."""

import json
import os
import re
import shutil
import subprocess

import shapes
from fixtures import FIT, INPUTS
from harness import DONE, FAILED, INPUT, USAGE

VERBS = ("fit", "inspect", "eval", "rd", "query", "render", "compare", "demo-asset", "demo", "bench")

# Sound commands to which one nonsensical option is added.
SOUND = {
    "fit": FIT + ("-o", "o.glb", "--steps", "5"),
    "inspect": ("inspect", "pumpkin.glb"),
    "eval": ("eval", "product.glb", "--reference", "pumpkin.glb", "--samples", "1000"),
    "rd": ("rd", "pumpkin.glb", "-o", "page", "--kernels", "60", "--steps", "2", "--samples", "1000", "--view-size", "16"),
    "query": ("query", "product.glb", "--points", "points.csv"),
    "render": ("render", "pumpkin.glb", "-o", "o.png", "--size", "32"),
    "compare": ("compare", "a.png", "b.png"),
    "demo-asset": ("demo-asset", "-o", "o.glb", "--resolution", "500", "--texture", "256"),
    "demo": ("demo", "-o", "page", "--resolution", "500", "--texture", "256", "--steps", "5"),
    "bench": ("bench", "--names"),
}

# What an option's value is called in --help when it is not a number.
NOT_NUMBERS = re.compile(
    r"FILE|DIR|NAME|MODE|FILTER|KEY=VALUE|ASSET|METHOD|RRGGBB|OUT|PNG|GLB|CSV|PATH|TEXT|COLOU?R|LIST|VIEW\b|WHEN|\|", re.I
)
# Forms of memory sizes are numbers, too, but not only.
NO_NUMBER = ("", " ", "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "abc", "1x", "1 2", "0x", "--",
             "-", "1,5", "9" * 400)  # fmt: skip
EXTREME = ("-1", "0", "-0", "1e300", "99999999999999999999", "18446744073709551616", "-9223372036854775809",
           "2147483648", "1e-300", "0.5", "+1", "٣", "1_000")  # fmt: skip


def options_of(program, verb):
    """[(option, what its value is called)] of the options with a value, from --help."""
    text = subprocess.run([program, verb, "--help"], capture_output=True, text=True).stdout
    found = []
    for line in text.splitlines():
        match = re.match(r"  (?:-\w,)?(--[\w-]+) ([^\s(][^\s]*)(?: \(|  |$)", line)
        if match:
            found.append(match.groups())
    return found


def options(quick, program):
    for verb in VERBS:
        values = options_of(program, verb)
        for option, kind in values:
            number = not NOT_NUMBERS.search(kind)
            if number:
                yield f"{verb} {option}: not numbers", lambda t, v=verb, o=option: refuse(t, v, o, NO_NUMBER), (
                    option not in ("--seed", "--threads") or verb == "inspect"
                )
            yield f"{verb} {option}: extremes", lambda t, v=verb, o=option: survive(t, v, o, EXTREME), False
            yield f"{verb} {option}: without a value", lambda t, v=verb, o=option: without_value(t, v, o), (
                option in ("--json", "--threads", "--steps")
            )
            yield f"{verb} {option}: hostile texts", lambda t, v=verb, o=option: survive(
                t, v, o, ("", "\n", "a\nb", "\x1b[31m", "%s%n", "../../../../etc/passwd", "/dev/null", "/", ".", "x" * 5000)
            ), False
        yield f"{verb}: unknown options", lambda t, v=verb: unknown(t, v), True
    for name, command, code in CONFLICTS:
        yield name, lambda t, c=command, e=code: conflict(t, c, e), True
    yield "fit --set method=thermal is obeyed or refused", set_method, True
    for name, command, text in EFFECTLESS:
        yield name, lambda t, c=command, x=text: effectless(t, c, x), True


CONFLICTS = (
    ("fit --steps \"\"", FIT + ("-o", "o.glb", "--steps", ""), USAGE),
    ("fit --kernels 0", FIT + ("-o", "o.glb", "--kernels", "0"), USAGE),
    ("fit --seed -1", FIT + ("-o", "o.glb", "--seed", "-1"), USAGE),
    ("fit --seed 2^64", FIT + ("-o", "o.glb", "--seed", "18446744073709551616"), USAGE),
    ("fit --set without value", FIT + ("-o", "o.glb", "--set", "steps"), USAGE),
    ("fit --set with an unknown key", FIT + ("-o", "o.glb", "--set", "stepz=5"), USAGE),
    ("fit --set steps=nan", FIT + ("-o", "o.glb", "--set", "steps=nan"), USAGE),
    ("fit --set rates.color=inf", FIT + ("-o", "o.glb", "--set", "rates.color=inf"), USAGE),
    ("fit --set rates.color=nan", FIT + ("-o", "o.glb", "--set", "rates.color=nan"), USAGE),
    ("fit with preset and config", FIT + ("-o", "o.glb", "--preset", "draft"), USAGE),
    ("fit into a PNG", FIT + ("-o", "o.png"), USAGE),
    ("fit without output", FIT, USAGE),
    ("fit of a product", ("fit", "product.glb", "-o", "o.glb"), INPUT),
    ("fit of a picture", ("fit", "a.png", "-o", "o.glb"), INPUT),
    ("fit of nothing", ("fit", "", "-o", "o.glb"), (USAGE, INPUT)),
    ("fit --resume without a checkpoint", FIT + ("-o", "o.glb", "--resume"), INPUT),
    ("eval of an asset", ("eval", "pumpkin.glb", "--reference", "pumpkin.glb"), INPUT),
    ("eval with another asset", ("eval", "product.glb", "--reference", "ball.obj"), INPUT),
    ("eval without reference", ("eval", "product.glb"), USAGE),
    ("render coverage of an asset", ("render", "pumpkin.glb", "-o", "o.png", "--mode", "coverage"), (USAGE, INPUT)),
    ("render error without reference", ("render", "product.glb", "-o", "o.png", "--mode", "error"), USAGE),
    ("render atlas and turntable", ("render", "pumpkin.glb", "-o", "o.png", "--atlas", "--turntable", "4"), USAGE),
    ("render view and views", ("render", "pumpkin.glb", "-o", "o.png", "--view", "1", "--views", "4"), USAGE),
    ("render 0 pixels", ("render", "pumpkin.glb", "-o", "o.png", "--size", "0x10"), USAGE),
    ("render 2^31 pixels", ("render", "pumpkin.glb", "-o", "o.png", "--size", "2147483648"), USAGE),
    ("render one million pixels wide", ("render", "pumpkin.glb", "-o", "o.png", "--size", "1000000x1000000"), (FAILED, USAGE)),
    ("compare two sizes", ("compare", "a.png", "c.png"), INPUT),
    ("compare a mesh", ("compare", "a.png", "pumpkin.glb"), INPUT),
    ("query an empty file", ("query", "product.glb", "--points", "empty.csv"), (DONE, INPUT)),
    ("query words", ("query", "product.glb", "--points", "words.csv"), INPUT),
    ("query nan", ("query", "product.glb", "--points", "nan.csv"), INPUT),
    ("query a face that is not there", ("query", "product.glb", "--points", "faces.csv"), INPUT),
    ("query a mesh", ("query", "product.glb", "--points", "pumpkin.glb"), INPUT),
    ("demo-asset of 10^18 vertices", ("demo-asset", "-o", "o.glb", "--resolution", "1000000000000000000"), USAGE),
    ("bench of nothing", ("bench", ""), (DONE, USAGE)),
    ("no verb", ("",), USAGE),
)  # fmt: skip

EFFECTLESS = (
    ("render --elevation alone", ("render", "pumpkin.glb", "-o", "o.png", "--size", "32", "--view", "1", "--elevation", "30"), "elevation"),
    ("render --atlas --mode shaded", ("render", "pumpkin.glb", "-o", "o.png", "--size", "32", "--atlas", "--mode", "shaded"), "atlas|shaded"),
    ("render --atlas --wire", ("render", "pumpkin.glb", "-o", "o.png", "--size", "32", "--atlas", "--wire", "2"), "atlas|wire"),
    ("render --error-full without errors", ("render", "pumpkin.glb", "-o", "o.png", "--size", "32", "--error-full", "9"), "error-full"),
    ("threads beyond the machine's", ("inspect", "pumpkin.glb", "--threads", "100000"), "thread"),
)  # fmt: skip


def prepare_options(t):
    t.take(*INPUTS, "ball.obj")
    t.write("c.png", shapes.png(20, 20, shapes.checker))
    t.write("empty.csv", "")
    t.write("words.csv", "one,two,three\nfour,five,six\n")
    t.write("nan.csv", "nan,0,0\n")
    t.write("faces.csv", "99999999,0.2,0.3,0.5\n")


MAKES = ["o.glb", "o.toml", "o.png", "o.csv", "o.json", "page", "x"]


def clean(t):
    for name in MAKES + [f"o_{i}.png" for i in range(10)]:
        path = t.folder / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def refuse(t, verb, option, values):
    prepare_options(t)
    for value in values:
        t.run(*SOUND[verb], f"{option}={value}", expect=USAGE, says=re.escape(option) + "|" + option.strip("-"))
    # And as a word of its own, as people type it.
    t.run(*SOUND[verb], option, "nan", expect=USAGE)


def survive(t, verb, option, values):
    """Whatever it does, it does cleanly."""
    prepare_options(t)
    if verb in ("eval", "rd", "demo"):  # seconds each when they work
        values = values[::4]
    for value in values:
        if option == "--report" and value == ".":
            continue  # a folder like any other
        may = MAKES + [f"o_{i}.png" for i in range(10)]
        may += [part for part in (value, value + ".checkpoint") if option in ("--output", "--json", "--checkpoint", "--report")
                and part and "/" not in part and part.strip(".")]  # fmt: skip
        t.run(*SOUND[verb], f"{option}={value}", expect=(DONE, FAILED, USAGE, INPUT), may_make=may)
        clean(t)
        for part in may:
            if part not in INPUTS and part in os.listdir(t.folder) and (t.folder / part).is_file():
                (t.folder / part).unlink()


def without_value(t, verb, option):
    prepare_options(t)
    t.run(*SOUND[verb], option, expect=USAGE)


def unknown(t, verb):
    prepare_options(t)
    for extra in ("--nonsense", "--nonsense=1", "-Z", "extra", "--js", "--thread", "--Quiet", "---", "--=", "-"):
        if verb == "bench" and not extra.startswith("-"):
            continue
        t.run(*SOUND[verb], extra, expect=(USAGE, INPUT))


def conflict(t, command, code):
    prepare_options(t)
    makes = [command[command.index("-o") + 1]] if "-o" in command else []
    t.run(*command, expect=code, may_make=makes if code != USAGE else ())


def set_method(t):
    t.take("ball.obj", "field.toml")
    command = ("fit", "ball.obj", "--config", "field.toml", "--no-eval", "-o", "o.glb")
    fitted = t.run(*command, "--set", "method=thermal", "--json", "-", expect=(DONE, USAGE), makes=["o.glb", "o.toml"])
    if fitted.code == DONE:
        t.check(json.loads(fitted.out)["method"] == "thermal", f"--set method=thermal is ignored: {fitted}")


def effectless(t, command, text):
    """An option without effect is an error or a warning that names it."""
    prepare_options(t)
    outcome = t.run(*command, expect=(DONE, USAGE), may_make=MAKES)
    t.check(re.search(text, outcome.err), f"says nothing about an option without effect: {outcome}")
