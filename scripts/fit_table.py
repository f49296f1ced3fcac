#!/usr/bin/python3
"""Fits assets with several settings and seeds, and prints a Markdown table of surface PSNR.

Every column is an asset, every row a setting; cells are means over seeds, in dB. Rows of docs/results are made with it:

  scripts/fit_table.py --seeds 3 --asset spot=../shared/assets/spot/spot_triangulated.obj \
      --row paper "--preset paper" --row default "--preset default"
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile


def fit(program, asset, options, seed, folder):
    """One fit; returns its figures."""
    result = folder / "fit.json"
    command = [program, "fit", asset, "-o", str(folder / "fit.glb"), "--quiet", "--seed", str(seed),
               "--json", str(result), *shlex.split(options)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stderr.strip()}")
    return json.loads(result.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/heatskin")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0 .. SEEDS-1")
    parser.add_argument("--asset", action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--row", action="append", nargs=2, required=True, metavar=("NAME", "OPTIONS"))
    parser.add_argument("--key", default="surface_psnr", help="figure of `fit --json` to print")
    parser.add_argument("--json", metavar="FILE", help="all figures of all fits")
    arguments = parser.parse_args()
    assets = [entry.split("=", 1) for entry in arguments.asset]

    everything = []
    print("| | " + " | ".join(name for name, _ in assets) + " | s per fit |", flush=True)
    print("|---" * (len(assets) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for row, options in arguments.row:
            cells, seconds = [], []
            for name, file in assets:
                values = []
                for seed in range(arguments.seeds):
                    figures = fit(arguments.program, file, options, seed, pathlib.Path(folder))
                    everything.append({"row": row, "asset": name, **figures})
                    values.append(figures[arguments.key])
                    seconds.append(figures["optimise_s"])
                spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
                cells.append(f"{statistics.mean(values):.2f}{spread}")
            print(f"| {row} | " + " | ".join(cells) + f" | {statistics.median(seconds):.0f} |", flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
