"""Fits that several tests need, made once by each build of the program: the same input and options give the same bytes."""
import hashlib
import os
import shutil
import subprocess
import tempfile


def _digest(heatskin, asset, options):
    digest = hashlib.sha256(repr(options).encode())
    for path in (heatskin, asset):
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    # Textures and buffers beside the asset: by name, size and time.
    if not asset.endswith(".glb"):
        for entry in sorted(os.scandir(os.path.dirname(os.path.abspath(asset))), key=lambda e: e.name):
            digest.update(f"{entry.name} {entry.stat().st_size} {entry.stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def fit(heatskin, asset, out, options):
    """`heatskin fit ASSET -o OUT -q OPTIONS`, or the product that an earlier call of it made. Raises CalledProcessError."""
    store = os.path.join(os.path.dirname(os.path.abspath(heatskin)), "Testing", "kept_fits")
    kept = os.path.join(store, _digest(heatskin, asset, options) + ".glb")
    if not os.path.exists(kept):
        os.makedirs(store, exist_ok=True)
        # Tests run side by side: whole files appear, whoever is first.
        with tempfile.TemporaryDirectory(dir=store) as folder:
            made = os.path.join(folder, "fit.glb")
            subprocess.run([heatskin, "fit", asset, "-o", made, "-q"] + options, check=True, capture_output=True, text=True)
            os.replace(made, kept)
    shutil.copyfile(kept, out)
