"""Texture a surface that never had coordinates: an isosurface of a field, with colours from another field.

Marching tetrahedra in numpy, then a fit to a function of positions.

    python3 marching_tetrahedra.py [OUT.glb] [OUT.png]
"""
import itertools
import sys

import numpy as np

import heatskin


def marching_tetrahedra(field, low, high, cells):
    """The surface field(points) = 0 as vertices [V, 3] and faces [F, 3], seen from where the field is positive."""
    axes = [np.linspace(low, high, cells + 1)] * 3
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    values = field(points)
    # A value of exactly 0 would make triangles without area.
    values[values == 0] = 1e-12
    strides = np.array([(cells + 1) ** 2, cells + 1, 1])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3, indexing="ij"), -1).reshape(-1, 3) @ strides
    tetrahedra = []
    for order in itertools.permutations(range(3)):  # a cube is six tetrahedra around a diagonal
        steps = np.concatenate([[0], np.cumsum(strides[list(order)])])
        # All of them with the same orientation.
        even = np.linalg.det(np.eye(3)[list(order)]) > 0
        tetrahedra.append(corners[:, None] + (steps if even else steps[[0, 2, 1, 3]]))
    tetrahedra = np.concatenate(tetrahedra)
    inside = values[tetrahedra] < 0
    triangles = []
    for case in itertools.product([False, True], repeat=4):
        chosen = tetrahedra[(inside == case).all(axis=1)]
        within = [c for c in range(4) if case[c]]
        outside = [c for c in range(4) if not case[c]]
        if len(chosen) == 0 or len(within) in (0, 4):
            continue
        if len(within) == 2:
            (p, q), (r, s) = within, outside
            polygons = [[(p, r), (p, s), (q, s)], [(p, r), (q, s), (q, r)]]
            flip = np.linalg.det(np.eye(4)[[p, q, r, s]]) < 0
        else:
            one, others = (within[0], outside) if len(within) == 1 else (outside[0], within)
            polygons = [[(one, c) for c in others]]
            flip = (np.linalg.det(np.eye(4)[[one, *others]]) < 0) != (len(within) == 3)
        for polygon in polygons:
            edges = np.stack([np.sort(chosen[:, edge], axis=1) for edge in polygon], axis=1)
            triangles.append(edges[:, ::-1] if flip else edges)
    edges = np.concatenate(triangles)  # [F, 3, 2] pairs of grid points
    unique, faces = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
    a, b = values[unique].T
    part = (a / (a - b))[:, None]
    vertices = (1 - part) * points[unique[:, 0]] + part * points[unique[:, 1]]
    return vertices, faces.reshape(-1, 3)


def blob(points):
    """Three balls that have grown together."""
    centers = np.array([[-0.45, 0, 0], [0.45, 0.1, 0], [0, 0.55, 0.1]])
    distance = np.linalg.norm(points[:, None] - centers, axis=2)
    return 0.62 - np.exp(-4 * distance ** 2).sum(axis=1)


def rock(points):
    """Layers, warped: sRGB for every place in space."""
    bend = 0.15 * np.sin(5 * points[:, [2]]) + 0.1 * np.sin(9 * points[:, [0]] + 3 * points[:, [1]])
    layer = 0.5 + 0.5 * np.sin(22 * (points[:, [1]] + bend))
    return (1 - layer) * [0.23, 0.18, 0.16] + layer * [0.85, 0.68, 0.45]


vertices, faces = marching_tetrahedra(blob, -1.3, 1.3, 26)
report = heatskin.Surface(vertices, faces, principal_axes=False).report
print(f"{len(vertices)} vertices, {len(faces)} faces, {report['components']} part, {report['boundary_edges']} boundary edges")
assert report["components"] == 1 and report["boundary_edges"] == 0 and report["flipped_faces"] == 0

texture = heatskin.fit(vertices, faces, rock, preset="draft", kernels=1500, steps=250)
print(f"{texture}, surface PSNR {texture.fit['psnr']:.1f} dB")
assert texture.fit["psnr"] > 28

points = heatskin.Surface(vertices, faces).sample(2000)
places = np.einsum("ni,nij->nj", points[1], vertices[faces[points[0]]])
assert np.abs(texture.color(*points) - rock(places)).mean() < 0.03

if len(sys.argv) > 1:
    texture.save(sys.argv[1])
if len(sys.argv) > 2:
    heatskin.save_png(sys.argv[2], texture.render(640))
