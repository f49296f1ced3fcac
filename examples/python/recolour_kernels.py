"""Kernels as arrays: repaint a texture by its own kernels, and fit their colours to a loss of one's own.

    python3 recolour_kernels.py [OUT.glb]
"""
import sys

import numpy as np

import heatskin

pumpkin = heatskin.Asset.pumpkin(resolution=1500, texture_size=512)
texture = heatskin.fit(pumpkin, preset="draft", kernels=1500, steps=150, evaluate=False)
kernels = texture.kernels  # a copy: angles, sizes, values, ... of all kernels
print(f"{len(kernels)} kernels, values {kernels.values.shape}, mean colour {kernels.mean}")

# 1. A blue pumpkin: swap red and blue everywhere. Only values change, so nothing is computed anew.
kernels.values = kernels.values[:, ::-1].copy()
kernels.mean = kernels.mean[::-1].copy()
blue = texture.with_kernels(kernels)
face, bary = heatskin.Surface(pumpkin.vertices, pumpkin.faces, weld=True).sample(3000)
assert np.allclose(blue.color(face, bary), texture.color(face, bary)[:, ::-1], atol=1e-6)

# 2. Only the upper half: kernels know where they are.
kernels = texture.kernels
height = texture.kernel_positions[:, 1]
upper = height > np.median(height)
kernels.values[upper] = np.clip(kernels.values[upper] + 0.2, -1, 1)
frosted = texture.with_kernels(kernels)
places = np.einsum("ni,nij->nj", bary, pumpkin.vertices[pumpkin.faces[face]])
brighter = frosted.color(face, bary).mean(axis=1) - texture.color(face, bary).mean(axis=1)
middle = np.median(height)
assert brighter[places[:, 1] > middle + 0.03].mean() > 0.1 and abs(brighter[places[:, 1] < middle - 0.03].mean()) < 0.02

# 3. Towards a target: gradient descent with a loss of one's own (here, the picture in grey). gradients() is the
#    vector-Jacobian product that a framework with automatic differentiation would ask for.
grey = texture.color(face, bary).mean(axis=1, keepdims=True) * np.ones(3)
first = losses = None
current = texture
for step in range(40):
    residual = current.color(face, bary) - grey
    loss = np.mean(residual ** 2)
    first = loss if first is None else first
    gradient = current.gradients(face, bary, 2 * residual / residual.size)
    kernels = current.kernels
    kernels.values -= 600 * gradient.values
    kernels.mean -= 0.5 * gradient.mean
    current = current.with_kernels(kernels.clip())
print(f"loss {first:.5f} -> {loss:.5f}")
assert loss < 0.3 * first

if len(sys.argv) > 1:
    blue.save(sys.argv[1])
    assert heatskin.load(sys.argv[1]).info["kernels"] == len(kernels)
