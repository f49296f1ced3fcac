"""Programs that lack something: full disks, limited files, little memory."""

import os
import shutil
import subprocess

from fixtures import INPUTS, WRITERS
from harness import DONE, FAILED, INPUT, USAGE, Limits, Skip


# --- full disks and limits --------------------------------------------------------------------------------------------


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
