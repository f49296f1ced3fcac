"""Programs that are stopped: kills and resumed fits, two fits at once."""

import os
import shutil
import signal

from fixtures import FIT
from harness import DONE, FAILED, USAGE, Interruption, snapshot


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
