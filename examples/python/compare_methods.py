"""The three methods on one mesh with the same budget: LocalHK, ThermalRF, HKTex.

    python3 compare_methods.py
"""
import time

import numpy as np

import heatskin

pumpkin = heatskin.Asset.pumpkin(resolution=600, texture_size=256)
face, bary = heatskin.Surface(pumpkin.vertices, pumpkin.faces, weld=True).sample(20000)
truth = pumpkin.color(face, bary)

print("method     PSNR     coverage<0.5   seconds of steps   points per second")
quality = {}
for method in heatskin.METHODS:
    texture = heatskin.fit(pumpkin, preset="compact", method=method, kernels=500, steps=40, evaluate=False)
    begin = time.perf_counter()
    colors = texture.color(face, bary)
    rate = len(face) / (time.perf_counter() - begin)
    quality[method] = -10 * np.log10(np.mean((colors - truth) ** 2))
    print(f"{method:<9}{quality[method]:>6.2f} dB   {np.mean(texture.coverage(face, bary) < 0.5):>9.3f}"
          f"{texture.fit['optimise_seconds']:>16.2f}{rate:>20.0f}")
assert all(psnr > 20 for psnr in quality.values())

# The same kernels, read by another method: colours agree only roughly, as kernels are shaped by their method.
other = heatskin.fit(pumpkin, preset="compact", kernels=500, steps=40, evaluate=False).with_method("thermal")
print(f"LocalHK's kernels read by ThermalRF: {-10 * np.log10(np.mean((other.color(face, bary) - truth) ** 2)):.2f} dB")
