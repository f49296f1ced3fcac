"""The cases of the campaign. Each group is a function that yields (name, function of a Trial, whether it is quick)."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import mutations
import shapes
from harness import DONE, FAILED, INPUT, USAGE, Failure, Interruption, Limits, Skip, snapshot

FIT = ("fit", "pumpkin.glb", "--config", "small.toml", "--no-eval")

CONFIG = """base = "draft"
steps = 300
batch = 256
[sampling]
pool = 5000
[start]
kernels = 100
[density]
max_kernels = 300
"""

FIELD_CONFIG = """base = "draft"
steps = 20
batch = 256
[thermal]
rank = 32
oversampling = 16
routing_dimensions = 32
[spectral]
modes = 32
[sampling]
pool = 5000
[start]
kernels = 60
[density]
max_kernels = 80
"""


def make_fixtures(trial):
    """Files many cases start from; `trial` is in the folder they stay in."""
    trial.write("small.toml", CONFIG)
    trial.write("field.toml", FIELD_CONFIG)
    trial.write("ball.obj", shapes.obj(*shapes.ball(5)))
    trial.write("points.csv", "x,y,z\n0,0,1\n0.2,0.1,0.4\n-1,0,0\n")
    trial.write("a.png", shapes.png(48, 48, shapes.checker))
    trial.write("b.png", shapes.png(48, 48, lambda x, y: (x * 5, y * 5, 90)))
    trial.run("demo-asset", "-o", "pumpkin.glb", "--resolution", "500", "--texture", "256", "-q", makes=["pumpkin.glb"])
    trial.run(*FIT, "-o", "product.glb", "--steps", "60", "-q", makes=["product.glb", "product.toml"])


# --- kills ----------------------------------------------------------------------------------------------------------


def kills(quick):
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        name = signal.Signals(number).name
        yield f"fit, {name} at random moments", lambda t, n=number: kill_and_resume(t, n, 2 if quick else 6), True
    yield "fit, SIGKILL while every step saves", lambda t: kill_and_resume(t, signal.SIGKILL, 12), False
    for method in ("thermal", "spectral"):
        yield (
            f"fit --method {method}, SIGTERM and SIGKILL",
            lambda t, m=method: kill_and_resume(t, None, 4, method=m),
            False,
        )
    for verb, command, made in (
        ("render", ("render", "product.glb", "-o", "o.png", "--size", "700"), ["o.png"]),
        ("demo-asset", ("demo-asset", "-o", "o.glb", "--resolution", "20000"), ["o.glb"]),
        ("eval --report", ("eval", "product.glb", "--reference", "pumpkin.glb", "--report", "page"), ["page"]),
        ("query", ("query", "product.glb", "--points", "many.csv", "-o", "o.csv"), ["o.csv"]),
    ):
        yield f"{verb}, SIGTERM at random moments", lambda t, c=command, m=made: kill_verb(t, c, m, 3), False
    yield "two fits into one output", two_fits, False


def kill_and_resume(t, number, times, method="local"):
    """However often a fit is stopped, resumed it ends with the bytes of one that nobody stopped."""
    t.take("pumpkin.glb", "small.toml", "ball.obj", "field.toml")
    if method == "local":
        command = FIT + ("--steps", "1500")
    else:
        command = ("fit", "ball.obj", "--config", "field.toml", "--no-eval", "--method", method, "--steps", "400")
    whole = t.run(*command, "-o", "whole.glb", makes=["whole.glb", "whole.toml"])
    again = command + ("-o", "o.glb", "--resume=auto", "--checkpoint-every", "0")
    inputs = ["pumpkin.glb", "small.toml", "ball.obj", "field.toml", "whole.glb", "whole.toml"]
    for _ in range(times):
        which = number or t.rng.choice((signal.SIGTERM, signal.SIGKILL))
        # Handlers are installed before the first word; until then the system's default applies.
        moment = Interruption(which, t.rng.uniform(0, 1.1 * whole.seconds), lambda said: said > 0)
        if which == signal.SIGKILL:
            before = {name: t.read(name) for name in inputs}
            stopped = t.run(*again, judge=False, interruption=moment)
            t.check(stopped.code in (0, -signal.SIGKILL), f"ends by itself: {stopped}")
            t.check(all(t.read(name) == data for name, data in before.items()), "a killed fit changes its inputs")
            t.check(
                not t.exists("o.glb") or t.read("o.glb") == t.read("whole.glb"), "a killed fit leaves part of a product"
            )
        else:
            # What a run before was killed over may be cleared away.
            stale = sorted(set(os.listdir(t.folder)) - set(inputs))
            files = ["o.glb", "o.toml", "o.glb.checkpoint"] + stale
            stopped = t.run(*again, expect=(DONE, 128 + which), may_make=files, interruption=moment, says="interrupted")
            t.check(
                (stopped.code == DONE) == t.exists("o.glb") or t.exists("o.glb.checkpoint"),
                f"code {stopped.code} says otherwise than the product: {stopped}",
            )
        if t.exists("o.glb") and not t.exists("o.glb.checkpoint"):
            for name in ("o.glb", "o.toml"):
                t.check(t.exists(name), f"'{name}' is missing after the end")
                os.remove(t.folder / name)
    t.run(*again, "-q", may_make=os.listdir(t.folder), makes=["o.glb", "o.toml"])
    t.check(t.read("o.glb") == t.read("whole.glb"), "the resumed fit ends with other bytes")
    t.check(t.read("o.toml") == t.read("whole.toml"), "the resumed fit ends with another configuration")
    left = sorted(set(os.listdir(t.folder)) - set(inputs) - {"o.glb", "o.toml"})
    t.check(not left, f"the last of several killed fits leaves {left}")


def kill_verb(t, command, makes, times):
    t.take("product.glb", "pumpkin.glb")
    t.write("many.csv", "".join(f"{i % 100 / 100},{i % 77 / 77},{i % 31 / 31}\n" for i in range(200000)))
    whole = t.run(*command, makes=makes)
    finished = snapshot(t.folder)
    for _ in range(times):
        for name in makes:
            path = t.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            elif path.exists():
                path.unlink()
        moment = Interruption(signal.SIGTERM, t.rng.uniform(0.05, 1) * whole.seconds, lambda said: said > 0)
        stopped = t.run(*command, expect=(DONE, 143), may_make=makes, interruption=moment, says="interrupted")
        # Between the last file and the end there is a moment in which all is there already.
        for path, what in snapshot(t.folder).items():
            complete = path in finished and (finished[path] == what or path.endswith(".html"))
            t.check(complete, f"leaves part of '{path}': {stopped}")


def two_fits(t):
    """The second of two fits into one file says so and stops; the first is not disturbed."""
    t.take("pumpkin.glb", "small.toml")
    second = []

    def start_second(said):
        checkpoint = t.folder / "o.glb.checkpoint"
        if not checkpoint.exists():
            return False
        if not second:
            other = t.run(*FIT, "-o", "o.glb", "--steps", "20", judge=False)
            # The first may have ended meanwhile; then there is nothing to refuse.
            second.append((other, checkpoint.exists()))
        return False

    t.run(
        *FIT, "-o", "o.glb", "--steps", "3000", "--checkpoint-every", "0",
        makes=["o.glb", "o.toml"], interruption=Interruption(signal.SIGCONT, 0, start_second),
    )  # fmt: skip
    t.check(second, "the fit made no checkpoint")
    other, running = second[0]
    if running:
        t.check(other.code in (FAILED, USAGE), f"the second fit does not stop: {other}")
        t.check(len(other.errors) == 1, f"the second fit does not say why: {other}")


# --- full disks and limits -------------------------------------------------------------------------------------------

WRITERS = {
    "inspect --json": (("inspect", "pumpkin.glb", "--json", "o.json"), ["o.json"]),
    "render": (("render", "pumpkin.glb", "-o", "o.png", "--size", "200"), ["o.png"]),
    "demo-asset": (("demo-asset", "-o", "o.glb", "--resolution", "500", "--texture", "256"), ["o.glb"]),
    "compare": (("compare", "a.png", "b.png", "-o", "o.png"), ["o.png"]),
    "query": (("query", "product.glb", "--points", "points.csv", "-o", "o.csv"), ["o.csv"]),
    "fit": (FIT + ("-o", "o.glb", "--steps", "20"), ["o.glb", "o.toml"]),
    "fit --json": (FIT + ("-o", "o.glb", "--steps", "20", "--json", "o.json"), ["o.glb", "o.toml", "o.json"]),
    "eval --report": (
        ("eval", "product.glb", "--reference", "pumpkin.glb", "--samples", "1000", "--report", "page"),
        ["page"],
    ),
}
INPUTS = ("pumpkin.glb", "product.glb", "small.toml", "points.csv", "a.png", "b.png")


def disks(quick):
    for name, (command, makes) in WRITERS.items():
        fast = name in ("inspect --json", "render", "fit", "query")
        for limit in (0, 1, 100, 5000, 40000):
            yield (
                f"{name}, files of at most {limit} bytes",
                lambda t, c=command, m=makes, n=limit: limited_files(t, c, m, n),
                fast and limit in (1, 5000),
            )
        yield f"{name}, full disk", lambda t, c=command, m=makes: full_disk(t, c, m), fast
    for command in (
        ("inspect", "pumpkin.glb", "--json", "/dev/full"),
        ("query", "product.glb", "--points", "points.csv", "-o", "/dev/full"),
    ):
        yield f"{command[0]} into /dev/full", lambda t, c=command: into_dev_full(t, c), True
    for command in (
        ("inspect", "pumpkin.glb"),
        ("inspect", "pumpkin.glb", "--json", "-"),
        ("query", "product.glb", "--points", "points.csv"),
        ("fit", "--list-options"),
        ("--help",),
        ("render", "--help"),
    ):
        yield f"{' '.join(command)} with a full stdout", lambda t, c=command: full_stdout(t, c), True


def limited_files(t, command, makes, limit):
    t.take(*INPUTS)
    limits = Limits(file_size=max(limit, 1))
    t.run(*command, expect=(DONE, FAILED), makes=makes, limits=limits)


def full_disk(t, command, makes):
    """A small file system with less and less room; every run either has room or leaves nothing."""
    if os.geteuid() != 0:
        raise Skip("a small file system needs root")
    small = t.folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=777", "tmpfs", small], capture_output=True)
    if mounted.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    outer = t.folder
    try:
        t.folder = small
        t.take(*INPUTS)
        for room in (0, 4096, 12288, 65536, 200000):
            filler = small / "filler"
            free = os.statvfs(small)
            filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
            t.run(*command, expect=(DONE, FAILED), makes=makes)
            for name in makes:
                path = small / name
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            filler.unlink()
    finally:
        t.folder = outer
        subprocess.run(["umount", "-l", small], capture_output=True)


def into_dev_full(t, command):
    t.take(*INPUTS)
    t.run(*command, expect=(FAILED, USAGE))


def full_stdout(t, command):
    t.take(*INPUTS)
    t.run(*command, expect=FAILED, stdout="/dev/full")


# --- outputs ----------------------------------------------------------------------------------------------------------


def outputs(quick):
    refused = (
        ("inspect", "pumpkin.glb", "--json", "pumpkin.glb"),
        ("inspect", "pumpkin.glb", "--json", "./pumpkin.glb"),
        FIT + ("-o", "pumpkin.glb"),
        FIT + ("-o", "o.glb", "--json", "pumpkin.glb"),
        FIT + ("-o", "o.glb", "--json", "o.glb"),
        FIT + ("-o", "o.glb", "--json", "o.toml"),
        FIT + ("-o", "o.glb", "--json", "small.toml"),
        FIT + ("-o", "o.glb", "--checkpoint", "pumpkin.glb"),
        FIT + ("-o", "o.glb", "--checkpoint", "o.glb"),
        FIT + ("-o", "o.glb", "--checkpoint", "small.toml"),
        FIT + ("-o", "small.glb"),
        ("eval", "product.glb", "--reference", "pumpkin.glb", "--json", "product.glb"),
        ("eval", "product.glb", "--reference", "pumpkin.glb", "--json", "pumpkin.glb"),
        ("query", "product.glb", "--points", "points.csv", "-o", "points.csv"),
        ("query", "product.glb", "--points", "points.csv", "-o", "o.csv", "--json", "o.csv"),
        ("query", "product.glb", "--points", "points.csv", "--json", "product.glb"),
        ("query", "product.glb", "--points", "points.csv", "--json", "points.csv"),
        ("render", "pumpkin.glb", "-o", "o.png", "--json", "pumpkin.glb"),
        ("render", "pumpkin.glb", "-o", "o.png", "--json", "o.png"),
        ("render", "product.glb", "-o", "o.png", "--mode", "error", "--reference", "pumpkin.glb", "--json", "pumpkin.glb"),
        ("compare", "a.png", "b.png", "-o", "a.png"),
        ("compare", "a.png", "b.png", "-o", "b.png"),
        ("compare", "a.png", "b.png", "--json", "a.png"),
        ("compare", "a.png", "b.png", "--json", "o.png", "-o", "o.png"),
        ("compare", "a.png", "b.png", "--mask", "c.png", "-o", "c.png"),
        ("demo-asset", "-o", "o.glb", "--json", "o.glb"),
        ("bench", "load", "--asset", "pumpkin.glb", "--json", "pumpkin.glb"),
    )
    for command in refused:
        yield f"{' '.join(command)} destroys nothing", lambda t, c=command: output_is_input(t, c), True
    for command in refused:
        target = command[-1].removeprefix("./")
        if target not in INPUTS + ("c.png",) and command.count(target) < 2:
            continue  # the file it would destroy comes into being with it
        for kind in ("hard link", "symlink"):
            yield (
                f"{' '.join(command)} through a {kind} destroys nothing",
                lambda t, c=command, k=kind: output_is_linked_input(t, c, k),
                command[0] in ("inspect", "compare"),
            )
    for name, (command, makes) in WRITERS.items():
        if name == "eval --report":
            continue
        yield f"{name} through a symlink", lambda t, c=command, m=makes: symlinked_output(t, c, m), True
        yield f"{name} over a dangling symlink", lambda t, c=command, m=makes: dangling_output(t, c, m), False
        yield f"{name} over a symlink to itself", lambda t, c=command, m=makes: circular_output(t, c, m), True
        yield f"{name} over a read-only file", lambda t, c=command, m=makes: read_only(t, c, m, "file"), True
        yield f"{name} into a read-only folder", lambda t, c=command, m=makes: read_only(t, c, m, "folder"), True
        for what in ("a folder", "a missing folder", "a folder that is a file", "a name too long", "a path too long"):
            yield f"{name} onto {what}", lambda t, c=command, m=makes, w=what: impossible_output(t, c, m, w), (
                name in ("fit", "render") or what == "a name too long"
            )
    yield "the output folder vanishes during a fit", vanishing_folder, False


def output_is_input(t, command):
    t.take(*INPUTS)
    t.write("c.png", shapes.png(48, 48, lambda x, y: (255, 255, 255)))
    t.run(*command, expect=USAGE)


def output_is_linked_input(t, command, kind):
    """The same through another name for the last file of the command."""
    t.take(*INPUTS)
    t.write("c.png", shapes.png(48, 48, lambda x, y: (255, 255, 255)))
    target = command[-1].removeprefix("./")
    if not t.exists(target):
        t.write(target, "an earlier result")
    alias = "alias" + pathlib.Path(target).suffix
    (os.link if kind == "hard link" else os.symlink)(
        t.folder / target if kind == "hard link" else target, t.folder / alias
    )
    t.run(*command[:-1], alias, expect=USAGE)


def symlinked_output(t, command, makes):
    """The link stays, its target becomes the result."""
    t.take(*INPUTS)
    direct = t.run(*command, makes=makes)
    t.check(direct.code == DONE, "")
    expected = t.read(makes[0])
    for name in makes:
        (t.folder / name).unlink()
    elsewhere = t.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "real").write_bytes(b"an earlier result")
    os.symlink("elsewhere/real", t.folder / makes[0])
    t.run(*command, may_make=makes + ["elsewhere/real"])
    t.check((t.folder / makes[0]).is_symlink(), "the symlink is replaced by a file")
    written = (elsewhere / "real").read_bytes()
    if makes[0].endswith((".json",)):
        t.check(json.loads(written), "the target of the symlink is not the result")
    else:
        t.check(written == expected, "the target of the symlink is not the result")
    t.check(os.listdir(elsewhere) == ["real"], f"leaves {os.listdir(elsewhere)} beside the target")


def dangling_output(t, command, makes):
    t.take(*INPUTS)
    os.symlink("nowhere/real", t.folder / makes[0])
    t.run(*command, expect=(DONE, FAILED, USAGE), may_make=makes)


def circular_output(t, command, makes):
    t.take(*INPUTS)
    os.symlink(makes[0], t.folder / makes[0])
    t.run(*command, expect=(FAILED, USAGE))


NOBODY = 65534


def read_only(t, command, makes, what):
    """Refused before the work. Root may write anywhere, so it becomes nobody first."""
    t.take(*INPUTS)
    user = None
    if os.geteuid() == 0:
        user = NOBODY
        os.chown(t.folder, user, user)
        for name in os.listdir(t.folder):
            os.chown(t.folder / name, user, user)
        try:
            sees = t.run("--version", judge=False, user=user).code == DONE
        except OSError:
            sees = False
        if not sees:
            raise Skip("nobody may not run the program where it is")
    if what == "file":
        t.write(makes[0], "an earlier result")
        if user is not None:
            os.chown(t.folder / makes[0], user, user)
        os.chmod(t.folder / makes[0], 0o444)
    else:
        os.chmod(t.folder, 0o555)
    try:
        t.run(*command, expect=(FAILED, USAGE), user=user)
    finally:
        os.chmod(t.folder, 0o755)


def impossible_output(t, command, makes, what):
    t.take(*INPUTS)
    suffix = pathlib.Path(makes[0]).suffix
    path = {
        "a folder": "folder" + suffix,
        "a missing folder": "missing/o" + suffix,
        "a folder that is a file": "a.png/o" + suffix,
        "a name too long": "n" * 300 + suffix,
        "a path too long": "./" * 3000 + "o" + suffix,
    }[what]
    if what == "a folder":
        (t.folder / path).mkdir()
    t.run(*[path if part == makes[0] else part for part in command], expect=(FAILED, USAGE))


def vanishing_folder(t):
    t.take("pumpkin.glb", "small.toml")
    folder = t.folder / "gone"
    folder.mkdir()

    def remove(said):
        if not (folder / "o.glb.checkpoint").exists():
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    t.run(
        *FIT, "-o", "gone/o.glb", "--steps", "3000", "--checkpoint-every", "0",
        expect=FAILED, may_make=["gone"], interruption=Interruption(signal.SIGCONT, 0, remove),
    )  # fmt: skip


# --- options ----------------------------------------------------------------------------------------------------------

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


# --- pictures and materials ------------------------------------------------------------------------------------------


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


SHORT_FIT = ("--preset", "draft", "--steps", "20", "--kernels", "60", "--set", "sampling.pool=4000")


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


# --- same bytes -------------------------------------------------------------------------------------------------------


def threads(quick):
    for name, (command, makes) in WRITERS.items():
        if "--json" in name or "report" in name:
            continue
        yield f"{name} with 1, 2 and 5 threads", lambda t, c=command, m=makes: same_bytes(t, c, m), True
    for method in ("thermal", "spectral"):
        command = ("fit", "ball.obj", "--config", "field.toml", "--no-eval", "--method", method, "-o", "o.glb")
        yield f"fit --method {method} with 1, 2 and 5 threads", lambda t, c=command: same_bytes(t, c, ["o.glb", "o.toml"]), False


def same_bytes(t, command, makes):
    t.take(*INPUTS, "ball.obj", "field.toml")
    results = []
    for count in ("1", "2", "5"):
        t.run(*command, "--threads", count, makes=makes)
        results.append([t.read(name) for name in makes])
        for name in makes:
            (t.folder / name).unlink()
    t.check(all(result == results[0] for result in results), "other bytes with other threads")


# --- little memory ----------------------------------------------------------------------------------------------------


def memory(quick):
    for name, (command, makes) in WRITERS.items():
        fast = name in ("fit", "render", "inspect --json")
        for size in (100, 200, 300, 500, 1000):
            yield f"{name} with {size} MB of address space", lambda t, c=command, m=makes, s=size: little(t, c, m, s), (
                fast and size in (200, 500)
            )
    yield "a large picture in little memory", lambda t: little(
        t, ("render", "pumpkin.glb", "-o", "o.png", "--size", "8192"), ["o.png"], 400
    ), True


def little(t, command, makes, megabytes):
    t.take(*INPUTS)
    started = t.run("--version", judge=False, limits=Limits(address_space=megabytes << 20))
    if started.code != DONE:
        raise Skip(f"the program does not start in {megabytes} MB of address space")
    t.run(*command, expect=(DONE, FAILED, INPUT), makes=makes, limits=Limits(address_space=megabytes << 20))


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


def all_cases(quick, program, assets):
    """[(group, name, function, quick)]"""
    groups = (
        ("kills", kills(quick)),
        ("disks", disks(quick)),
        ("outputs", outputs(quick)),
        ("options", options(quick, program)),
        ("shapes", odd_shapes(quick)),
        ("products", products(quick)),
        ("materials", materials(quick)),
        ("threads", threads(quick)),
        ("memory", memory(quick)),
        ("bad", bad_files(quick, assets)),
    )
    return [
        (name, case, function, fast) for name, cases in groups for case, function, fast in cases if fast or not quick
    ]
