"""What is written: outputs that are inputs, links, places that cannot be, the same bytes on any number of threads."""

import json
import os
import pathlib
import shutil
import signal

import shapes
from fixtures import FIT, INPUTS, WRITERS
from harness import DONE, FAILED, USAGE, Interruption, Skip


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
