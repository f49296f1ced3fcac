"""Meshes that tests know everything about."""
import numpy as np


def grid(n=8, size=1.0):
    """A flat square in the plane z = 0: (n + 1)^2 vertices, 2 n^2 faces."""
    x, y = np.meshgrid(np.linspace(0, size, n + 1), np.linspace(0, size, n + 1), indexing="ij")
    vertices = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    a = (i * (n + 1) + j).ravel()
    b, c, d = a + n + 1, a + n + 2, a + 1
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def icosphere(subdivisions=2):
    """A unit sphere."""
    t = (1 + 5 ** 0.5) / 2
    vertices = np.array([[-1, t, 0], [1, t, 0], [-1, -t, 0], [1, -t, 0], [0, -1, t], [0, 1, t], [0, -1, -t], [0, 1, -t],
                         [t, 0, -1], [t, 0, 1], [-t, 0, -1], [-t, 0, 1]])
    faces = np.array([[0, 11, 5], [0, 5, 1], [0, 1, 7], [0, 7, 10], [0, 10, 11], [1, 5, 9], [5, 11, 4], [11, 10, 2],
                      [10, 7, 6], [7, 1, 8], [3, 9, 4], [3, 4, 2], [3, 2, 6], [3, 6, 8], [3, 8, 9], [4, 9, 5], [2, 4, 11],
                      [6, 2, 10], [8, 6, 7], [9, 8, 1]])
    for _ in range(subdivisions):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, inverse = np.unique(edges, axis=0, return_inverse=True)
        middle = len(vertices) + inverse.reshape(-1, 3)
        vertices = np.concatenate([vertices, vertices[unique].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle.T
        faces = np.concatenate([np.stack(f, 1) for f in ([a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca])])
    return vertices / np.linalg.norm(vertices, axis=1, keepdims=True), faces


def waves(points):
    """A smooth colour for every place in space."""
    p = np.asarray(points)
    return 0.5 + 0.4 * np.sin(3 * p + np.array([0.0, 1.0, 2.0]))


def psnr(a, b):
    return -10 * np.log10(np.mean((np.asarray(a, float) - np.asarray(b, float)) ** 2))
