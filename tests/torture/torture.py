#!/usr/bin/python3
"""The torture campaign: kills, full disks, odd outputs, options, shapes, materials and hostile products.

Started by scripts/torture.sh. Every case runs the real program in a folder of its own and holds it to what holds for all
verbs: a documented exit code, one error line, no signal, nothing left behind, inputs as they were, bounded memory. The
last line is "N passed, M failed".
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zlib

import cases
import fixtures
import self_test
from harness import Failure, Skip, Trial

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def assets_folder():
    """As tests/support/assets.h finds it."""
    given = os.environ.get("HEATSKIN_ASSETS")
    folders = [pathlib.Path(given)] if given else []
    return next((folder for folder in folders + [PROJECT.parent / "shared" / "assets"] if folder.is_dir()), None)


def try_case(program, fixtures, root, number, name, function, seed):
    """(number, verdict, text, seconds) of one case."""
    folder = tempfile.mkdtemp(prefix=f"{number:04d}_", dir=root)
    os.chmod(folder, 0o755)
    begin = time.monotonic()
    # The same case does the same each time, whichever others are run.
    trial = Trial(program, fixtures, folder, random.Random(seed ^ zlib.crc32(name.encode())))
    try:
        function(trial)
        verdict, text = "passed", ""
    except Failure as failure:
        verdict, text = "failed", str(failure)
    except Skip as reason:
        verdict, text = "skipped", str(reason)
    except Exception:  # a fault of the case itself is a failure, too
        verdict, text = "failed", traceback.format_exc()
    shutil.rmtree(folder, ignore_errors=True)
    return number, verdict, text, time.monotonic() - begin


CAMPAIGN = []  # filled before the workers are forked


def try_number(number, program, fixtures, root, seed):
    _, name, function, _ = CAMPAIGN[number]
    return try_case(program, fixtures, root, number, name, function, seed)


def campaign(arguments):
    program = pathlib.Path(arguments.binary).resolve()
    if not os.access(program, os.X_OK):
        sys.exit(f"torture: there is no program '{program}'; `make build` makes it")
    begin = time.monotonic()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    times = {}
    with tempfile.TemporaryDirectory(prefix="torture_") as root:
        os.chmod(root, 0o755)
        folder = pathlib.Path(root, "fixtures")
        folder.mkdir()
        fixtures.make_fixtures(Trial(program, folder, folder, random.Random(arguments.seed)))
        CAMPAIGN[:] = [
            case
            for case in cases.all_cases(arguments.quick, str(program), assets_folder())
            if not arguments.only or arguments.only in f"{case[0]}: {case[1]}"
        ]
        if arguments.list:
            for kind, name, _, quick in CAMPAIGN:
                print(f"{kind}: {name}")
            return 0
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            futures = [
                pool.submit(try_number, number, program, folder, root, arguments.seed) for number in range(len(CAMPAIGN))
            ]
            try:
                for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                    number, verdict, text, seconds = future.result()
                    kind, name = CAMPAIGN[number][:2]
                    counts[verdict] += 1
                    times[kind] = times.get(kind, 0) + seconds
                    if verdict != "passed":
                        print(f"{verdict}: {kind}: {name}: {text}", flush=True)
                    elif arguments.verbose:
                        print(f"passed: {kind}: {name} ({seconds:.1f} s)", flush=True)
                    if done % 100 == 0:
                        print(f"torture: {done} of {len(futures)} cases ({time.monotonic() - begin:.0f} s)", flush=True)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    print("torture: " + ", ".join(f"{kind} {seconds:.0f} s" for kind, seconds in times.items()) + f"; {time.monotonic() - begin:.0f} s in all")
    if arguments.tally:
        with open(arguments.tally, "a") as file:
            file.write(f"torture {counts['passed']} {counts['failed']} {counts['skipped']}\n")
    if counts["skipped"]:
        print(f"{counts['skipped']} skipped (each said why above)")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] or not counts["passed"] else 0


def stop(number, frame):
    """Someone ends us: files and processes go, too."""
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the part that `make test` runs, about a minute")
    parser.add_argument("--self-test", action="store_true", help="check the checks with planted faults")
    parser.add_argument("--binary", default=PROJECT / "build" / "heatskin", help="the program (build/heatskin)")
    parser.add_argument("--only", metavar="TEXT", help="only cases whose 'group: name' contains TEXT")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="cases at a time (all cores)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of random moments and mutations (1)")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    parser.add_argument("--verbose", action="store_true", help="also name the cases that pass")
    parser.add_argument("--tally", metavar="FILE", help="add the counts to this file, for scripts/test.sh")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    sys.exit(self_test.run() if arguments.self_test else campaign(arguments))


if __name__ == "__main__":
    main()
