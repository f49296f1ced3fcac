"""Fit a mesh made of numpy arrays: a bumpy sphere with a colour at every vertex.

    python3 fit_mesh.py [OUT.glb]
"""
import sys

import numpy as np

import heatskin

# A sphere of 96 x 48 places, closed at the poles: any integer and float types, any order will do.
rings, segments = 48, 96
theta = np.linspace(0, np.pi, rings + 1)[1:-1, None]
phi = np.linspace(0, 2 * np.pi, segments, endpoint=False)[None]
directions = np.stack(np.broadcast_arrays(np.sin(theta) * np.cos(phi), np.cos(theta) + 0 * phi, np.sin(theta) * np.sin(phi)), -1)
directions = np.concatenate([directions.reshape(-1, 3), [[0, 1, 0], [0, -1, 0]]])
vertices = directions * (1 + 0.1 * np.sin(5 * directions).prod(axis=1, keepdims=True))

i, j = np.meshgrid(np.arange(rings - 2), np.arange(segments), indexing="ij")
a, b = (i * segments + j).ravel(), (i * segments + (j + 1) % segments).ravel()
c, d = a + segments, b + segments
ring, around = np.arange(segments), np.roll(np.arange(segments), -1)
last = (rings - 2) * segments
north, south = np.full(segments, len(vertices) - 2), np.full(segments, len(vertices) - 1)
faces = np.concatenate([np.stack(f, 1) for f in ([a, b, c], [b, d, c], [north, around, ring], [south, last + ring, last + around])])

colors = 0.5 + 0.4 * np.sin(6 * directions[:, [2, 0, 1]] + [0, 1, 2])

texture = heatskin.fit(vertices, faces, colors, preset="draft", kernels=800, steps=200)
print(texture)
print(f"surface PSNR {texture.fit['psnr']:.1f} dB")
assert texture.fit["psnr"] > 35

# A colour anywhere: on a face, or at the nearest point of a place in space.
print(texture.color(1000, [0.2, 0.3, 0.5]), texture.color_at([0, 0, 2]))
error = np.abs(texture.color_at(vertices) - colors)
assert error.mean() < 0.02

out = sys.argv[1] if len(sys.argv) > 1 else "bumpy_fit.glb"
texture.save(out)
again = heatskin.load(out)
assert np.array_equal(again.color_at(vertices), texture.color_at(vertices))
