"""A baked product in Blender looks as our own picture without light does. Skipped (77) without Blender.

    blender_test.py HEATSKIN FOLDER"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

LEAST_PSNR = 35  # dB over the pixels that both pictures cover wholly
LEAST_SHARE = 0.95
SIZE = 384


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def main():
    heatskin, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    blender = shutil.which("blender")
    if blender is None:
        print("skipped: Blender is not installed (apt-get install --no-install-recommends blender python3-numpy)")
        sys.exit(77)
    folder.mkdir(parents=True, exist_ok=True)
    product, baked = folder / "product.glb", folder / "baked.glb"
    if not product.exists():
        asset = folder / "pumpkin.glb"
        run(heatskin, "demo-asset", "-o", asset, "--resolution", "5000")
        run(heatskin, "fit", asset, "-o", product, "--preset", "draft", "--kernels", "2000", "--steps", "150")
    run(heatskin, "bake", product, "-o", baked, "--to", "atlas", "--size", "2048")
    ours, theirs = folder / "ours.png", folder / "blender.png"
    run(heatskin, "render", product, "-o", ours, "--mode", "albedo", "--view", "0", "--size", SIZE, "--aa", "4",
        "--background", "transparent")
    script = pathlib.Path(__file__).with_name("render_baked.py")
    # Blender looks for its Python by way of PATH, and must not find another one.
    plain = {**os.environ, "PATH": "/usr/bin:/bin"}
    drawn = run(blender, "-b", "--factory-startup", "-P", script, "--", baked, theirs, SIZE, "0", ours, env=plain)
    found = re.search(r"PSNR ([0-9.]+) SHARE ([0-9.]+)", drawn.stdout)
    if not found and "No module named 'numpy'" in drawn.stdout + drawn.stderr:
        print("skipped: Blender has no numpy (apt-get install python3-numpy)")
        sys.exit(77)
    if not found:
        sys.exit(f"Blender did not compare the pictures\n{drawn.stdout[-2000:]}\n{drawn.stderr[-2000:]}")
    psnr, share = map(float, found.groups())
    print(f"{psnr:.1f} dB; both pictures cover {100 * share:.1f} % of the pixels that either covers")
    if share < LEAST_SHARE:
        sys.exit("the pictures do not show the same outline")
    if psnr < LEAST_PSNR:
        sys.exit(f"less than {LEAST_PSNR} dB")


if __name__ == "__main__":
    main()
