#!/usr/bin/python3
"""Fits assets with several settings and seeds, and prints a Markdown table of surface PSNR.

Every column is an asset, every row a setting; cells are means over seeds, in dB. Rows of docs/results are made with it:

  scripts/fit_table.py --seeds 3 --asset spot=../shared/assets/spot/spot_triangulated.obj \
      --row paper "--preset paper" --row default "--preset default"

With --json FILE every fit is noted there as soon as it is done, and one that is there already is not run again: an
interrupted table goes on where it was.
"""

import argparse
import concurrent.futures
import itertools
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading


def fit(program, asset, options, seed):
    """One fit; returns its figures."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder, "fit.json")
        command = [program, "fit", asset, "-o", str(pathlib.Path(folder, "fit.glb")), "--quiet", "--seed", str(seed),
                   "--json", str(result), *shlex.split(options)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}\n{done.stderr.strip()}")
        return json.loads(result.read_text())


class Results:
    """The fits done so far, in a file when there is one."""

    def __init__(self, path):
        self.path = path and pathlib.Path(path)
        self.fits = json.loads(self.path.read_text()) if self.path and self.path.exists() else []
        self.lock = threading.Lock()

    def find(self, key):
        with self.lock:
            return next((fit["figures"] for fit in self.fits if fit["key"] == key), None)

    def add(self, key, figures):
        with self.lock:
            self.fits.append({"key": key, "figures": figures})
            if self.path:
                part = self.path.with_suffix(".part")
                part.write_text(json.dumps(self.fits, indent=1))
                part.replace(self.path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/heatskin")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0 .. SEEDS-1")
    parser.add_argument("--asset", action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--row", action="append", nargs=2, required=True, metavar=("NAME", "OPTIONS"))
    parser.add_argument("--key", default="surface_psnr", help="figure of `fit --json` to print")
    parser.add_argument("--json", metavar="FILE", help="all figures of all fits; see above")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time, each on one thread if more than one")
    arguments = parser.parse_args()
    assets = [entry.split("=", 1) for entry in arguments.asset]
    results = Results(arguments.json)
    threads = " --threads 1" if arguments.jobs > 1 else ""

    def note_fit(key):
        options, file, seed = key
        results.add(key, fit(arguments.program, file, options + threads, seed))

    print("| | " + " | ".join(name for name, _ in assets) + " | s per fit |", flush=True)
    print("|---" * (len(assets) + 2) + "|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = [[[options, file, seed] for _, file in assets for seed in range(arguments.seeds)]
                for _, options in arguments.row]
        running = {}  # also across rows, so that no core waits for the last fit of one
        for key in itertools.chain(*rows):
            if results.find(key) is None and tuple(key) not in running:
                running[tuple(key)] = pool.submit(note_fit, key)
        for (row, options), keys in zip(arguments.row, rows):
            try:
                for key in keys:
                    if tuple(key) in running:
                        running[tuple(key)].result()
            except RuntimeError as error:
                pool.shutdown(cancel_futures=True)
                sys.exit(str(error))
            cells = []
            for _, file in assets:
                values = [results.find([options, file, seed])[arguments.key] for seed in range(arguments.seeds)]
                spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
                cells.append(f"{statistics.mean(values):.2f}{spread}")
            seconds = statistics.median(results.find(key)["optimise_s"] for key in keys)
            print(f"| {row} | " + " | ".join(cells) + f" | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
