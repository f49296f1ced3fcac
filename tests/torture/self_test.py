"""Checks the checks: a pretended program with one planted fault at a time, each of which must be reported."""

import os
import pathlib
import random
import sys
import tempfile

import harness
from harness import DONE, FAILED, Failure, Limits, Trial

# (name, what the pretended program does, exit codes expected of it, part of the report; empty: it must pass)
PLANTED = (
    ("success", "echo fine > o.png", DONE, ""),
    ("refusal", "echo 'heatskin: error: no' >&2; exit 1", FAILED, ""),
    ("warning", "echo 'heatskin: warning: hm' >&2; echo fine > o.png", DONE, ""),
    ("crash", "kill -SEGV $$", (DONE, FAILED), "signal 11"),
    ("wrong code", "echo 'heatskin: error: no' >&2; exit 7", FAILED, "exit code 7"),
    ("success where a refusal is due", "exit 0", FAILED, "exit code 0"),
    ("refusal without a word", "exit 1", FAILED, "0 error lines"),
    ("two errors", "echo 'heatskin: error: a' >&2; echo 'heatskin: error: b' >&2; exit 1", FAILED, "2 error lines"),
    ("talk after the error", "echo 'heatskin: error: a' >&2; echo 'heatskin: by the way' >&2; exit 1", FAILED, "goes on"),
    ("error and success", "echo 'heatskin: error: a' >&2; echo fine > o.png", DONE, "ends with 0"),
    ("a stack trace", "echo 'terminate called after' >&2; exit 1", FAILED, "crashes"),
    ("a foreign line", "echo 'libpng: oops' >&2; echo 'heatskin: error: a' >&2; exit 1", FAILED, "something else"),
    ("another message", "echo 'heatskin: error: the moon' >&2; exit 3", 3, "does not say"),
    ("a temporary file", "touch .o.png.tmp; echo 'heatskin: error: no' >&2; exit 1", FAILED, "leaves"),
    ("a temporary file beside a result", "touch o.png.part; echo fine > o.png", DONE, "leaves"),
    ("a changed input", "echo x >> input; echo 'heatskin: error: no' >&2; exit 1", FAILED, "changes or removes 'input'"),
    ("a removed input", "rm input; echo fine > o.png", DONE, "changes or removes 'input'"),
    ("part of a result", "echo half > o.png; echo 'heatskin: error: no' >&2; exit 1", FAILED, "leaves"),
    ("no result", "exit 0", DONE, "does not write 'o.png'"),
    ("a hang", "sleep 30", DONE, "hangs"),
    ("much memory", f"{sys.executable} -c 'b = bytearray(200 << 20)'; echo fine > o.png", DONE, "MiB"),
)


def run():
    wrong = 0
    for name, script, expect, report in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text("#!/bin/sh\n" + script + "\n")
            os.chmod(program, 0o755)
            place = pathlib.Path(folder, "place")
            place.mkdir()
            trial = Trial(program, place, place, random.Random(1))
            trial.write("input", "precious")
            limits = Limits(seconds=1 if name == "a hang" else harness.HANG_SECONDS, memory=100 << 20)
            says = "the sun" if name == "another message" else None
            try:
                trial.run("verb", expect=expect, makes=["o.png"], limits=limits, says=says)
                found = ""
            except Failure as failure:
                found = str(failure)
            if (report == "") != (found == "") or report not in found:
                wrong += 1
                print(f"failed: planted '{name}': expected '{report or 'no report'}', got '{found or 'no report'}'")
    print(f"{len(PLANTED) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0
