#!/usr/bin/python3
"""Runs `heatskin rd` on the assets of docs/results/rd.md and writes their figures into it.

  scripts/rd_table.py --assets ../shared/assets [--kernels LIST and other options of heatskin rd]

What is between the two marks of docs/results/rd.md is replaced, and docs/images/rd_NAME.svg. Reports go to out/rd/NAME. An
asset whose out/rd/NAME/rd.json exists is not run again unless --again is given.
"""

import argparse
import json
import math
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- figures: scripts/rd_table.py -->", "<!-- end of figures -->"
ASSETS = {
    "spot": "spot/spot_triangulated.obj",
    "pumpkin": None,  # made by heatskin demo-asset
    "fox": "fox.glb",
    "boombox": "boombox.glb",
    "water_bottle": "water_bottle.glb",
    "abalone": "abalone.glb",
}


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 999500 else f"{count / 1e3:.{1 if count < 9950 else 0}f} kB"


def psnr(row):
    return "exact" if row.get("surface_psnr_infinite") else f"{row['surface_psnr']:.1f}"


def value(row):
    return math.inf if row.get("surface_psnr_infinite") else row["surface_psnr"]


def best(rows, kinds, most):
    """The row of these kinds with the highest PSNR and at most so many bytes."""
    return max((r for r in rows if r["kind"] in kinds and r["bytes"] <= most), key=value, default=None)


def section(name, result):
    """An asset's part of the document."""
    rows = result["rows"]
    lines = [f"## {name.replace('_', ' ').capitalize()}", ""]
    lines += [sentence for sentence in result["verdict"]]
    lines += ["", f"![PSNR over bytes, {name}](../images/rd_{name}.svg)", ""]
    lines += ["| kernels | bytes | seconds | PSNR | SSIM | FLIP | best image with as many bytes | PSNR | SSIM | FLIP |",
              "|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|"]  # fmt: skip
    for row in rows:
        if row["kind"] != "kernels":
            continue
        image = best(rows, ("png", "jpeg", "webp"), row["bytes"])
        other = "none | | |" if image is None else (
            f"{image['name']}, {size(image['bytes'])} | {psnr(image)} | {image['view_ssim']:.3f} | {image['view_flip']:.3f}"
        )
        lines.append(f"| {row['kernels']:,} | {size(row['bytes'])} | {row['seconds']:.0f} | {psnr(row)} "
                     f"| {row['view_ssim']:.3f} | {row['view_flip']:.3f} | {other} |")  # fmt: skip
    colors = [r for r in rows if r["kind"] == "vertex_colors"]
    if colors:
        text = "; ".join(f"{r['name']}: {size(r['bytes'])}, {psnr(r)} dB" for r in colors)
        lines += ["", f"Vertex colours: {text}."]
    uv = result["uv"]
    lines += ["", f"Texture coordinates: {uv['vertices']:,} vertices, {uv['seam_vertices']:,} of them because of seams, "
              f"{size(uv['bytes'])} ({size(uv['raw_bytes'])} raw).", ""]  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assets", required=True, type=pathlib.Path, help="folder of the asset set")
    parser.add_argument("--program", default=str(ROOT / "build" / "heatskin"))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "rd")
    parser.add_argument("--again", action="store_true", help="run assets again that were run before")
    arguments, options = parser.parse_known_args()

    arguments.out.mkdir(parents=True, exist_ok=True)
    pumpkin = arguments.out / "pumpkin.glb"
    subprocess.run([arguments.program, "demo-asset", "-o", pumpkin, "--quiet"], check=True)
    sections = []
    for name, file in ASSETS.items():
        folder = arguments.out / name
        if arguments.again or not (folder / "rd.json").exists():
            asset = arguments.assets / file if file else pumpkin
            command = [arguments.program, "rd", str(asset), "-o", str(folder), *options]
            print(shlex.join(command), flush=True)
            subprocess.run(command, check=True)
        result = json.loads((folder / "rd.json").read_text())
        (ROOT / "docs" / "images" / f"rd_{name}.svg").write_text((folder / "rd.svg").read_text())
        sections.append(section(name, result))

    document = ROOT / "docs" / "results" / "rd.md"
    text = document.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    document.write_text(head + BEGIN + "\n\n" + "\n".join(sections) + "\n" + END + tail)
    print(f"wrote {document}")


if __name__ == "__main__":
    sys.exit(main())
