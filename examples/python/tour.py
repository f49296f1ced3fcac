# %% [markdown]
# # heatskin in Python: a tour
#
# Numpy in, numpy out. Every piece of code below was run, in this order, to write this page; the grey boxes are what it printed
# (`examples/python/tour.py`; `scripts/python_tour.py` makes the page, and a test of `make test` runs it again and compares).
#
# `make python` builds the package: `build/python` for `PYTHONPATH`, and a wheel in `build/wheels`. `pip install .` works without
# a network, with build isolation or without it. Needed are Debian's `python3-dev`, `pybind11-dev` and `python3-numpy`; the wheel
# needs numpy and the libraries that the command line needs (it is made for the machine it is built on, not for PyPI).
# `python3 -m heatskin` is the command line.

# %%
import numpy as np

import heatskin

# %% [markdown]
# ## Fit a mesh of your own
#
# A mesh is two arrays, of any integer or float type, in C or Fortran order. Colours are sRGB in [0, 1] (or uint8, uint16): at the
# vertices `[V, 3]`, at the corners of faces `[F, 3, 3]`, or a function of positions. Here is a torus with a function.

# %%
u, v = np.meshgrid(np.arange(96), np.arange(48), indexing="ij")
a, b = 2 * np.pi * u / 96, 2 * np.pi * v / 48
ring = 1 + 0.4 * np.cos(b)
vertices = np.stack([ring * np.cos(a), 0.4 * np.sin(b), ring * np.sin(a)], axis=-1).reshape(-1, 3)
p, q, r, s = (((u + i) % 96 * 48 + (v + j) % 48).ravel() for i, j in [(0, 0), (1, 0), (1, 1), (0, 1)])
faces = np.concatenate([np.stack([p, r, q], axis=1), np.stack([p, s, r], axis=1)])


def paint(points):
    """Stripes that wind around: [n, 3] from [n, 3]."""
    around = np.arctan2(points[:, 2], points[:, 0])
    along = np.arctan2(points[:, 1], np.hypot(points[:, 0], points[:, 2]) - 1)
    stripe = np.clip(3 * np.sin(5 * around + 2 * along), -0.5, 0.5) + 0.5
    return stripe[:, None] * [0.95, 0.75, 0.2] + (1 - stripe[:, None]) * [0.1, 0.25, 0.5]


texture = heatskin.fit(vertices, faces, paint, preset="draft", kernels=1500, steps=300)
print(texture)
print(f"{texture.fit['psnr']:.1f} dB after {texture.fit['steps']} steps")

# %% [markdown]
# `progress=True` shows a bar (tqdm's, if it is installed); a function `progress(phase, done, total, text)` of yours is called now
# and then and stops the work by returning `False`. Ctrl-C works, too: with `checkpoint=FILE`, `resume=True` goes on where it was,
# and ends with the same bytes. All calls release the GIL; `threads=N` limits this call and no other, and no result depends on it.
#
# ## Ask for colours

# %%
print(texture.color(1000, [0.2, 0.3, 0.5]).round(2))            # a face and barycentric coordinates
print(texture.color_at([[1.4, 0, 0], [0, 0, -1.4]]).round(2))    # the nearest points of places in space
print(texture.coverage([0, 1, 2], np.full((3, 3), 1 / 3)) > 0.5)  # whether kernels reach there
picture = texture.render(360, elevation=35, azimuth=20)
print(picture.shape, picture.dtype)

# %% [picture] python_torus.png The torus with 1,500 kernels
picture

# %% [markdown]
# ## Files
#
# A product is a GLB that every program opens and that carries its kernels. `heatskin.load()` gives a `Texture` for a product
# and an `Asset` for any other file (`.glb`, `.gltf`, `.obj`, `.ply`); `heatskin.fit()` takes either a file or an `Asset`.

# %%
texture.save("torus.glb")
again = heatskin.load("torus.glb")
print(np.array_equal(again.color_at(vertices), texture.color_at(vertices)))
baked = texture.bake("torus_baked.glb", size=512)                # ordinary textures, for every program
print(baked["to"], baked["width"], f"{baked['psnr']:.0f} dB against the kernels")

pumpkin = heatskin.Asset.pumpkin(resolution=1500, texture_size=512)
print(pumpkin)
fitted = heatskin.fit(pumpkin, preset="draft", kernels=1500, steps=200)
figures = fitted.evaluate(pumpkin, view_size=128, atlas_size=0)
print(f"on the surface {figures['surface_psnr']:.1f} dB, in views {figures['view_psnr']:.1f} dB")

# %% [markdown]
# ## Kernels are arrays
#
# `texture.kernels` is a copy with everything a kernel has; `with_kernels()` gives another texture, unquantised. Textures never
# change, may be asked from many threads, and share what they have in common: delete them in any order.

# %%
kernels = fitted.kernels
print(len(kernels), kernels.values.shape, kernels.angle.dtype)
kernels.values[:] = kernels.values[:, [2, 1, 0]]                 # red for blue
kernels.mean[:] = kernels.mean[[2, 1, 0]]
blue = fitted.with_kernels(kernels)
long = fitted.kernels[fitted.kernels.anisotropy > 5]             # or only some of them
print(len(long), "kernels are long and thin")

# %% [picture] python_blue.png The pumpkin with its kernels recoloured
blue.render(360)

# %% [markdown]
# `gradients()` is the vector-Jacobian product for a loss of your own: derivatives by values, positions (vectors in space),
# angles, anisotropies, thresholds and sharpnesses of all kernels. They are those that fits use.

# %%
face, bary = heatskin.Surface(pumpkin.vertices, pumpkin.faces, weld=True).sample(2000)
residual = fitted.color(face, bary) - pumpkin.color(face, bary)
gradient = fitted.gradients(face, bary, 2 * residual / residual.size)
print(gradient.values.shape, gradient.position.shape, gradient.angle.shape)

# %% [markdown]
# ## The same look on another mesh

# %%
coarse = heatskin.Asset.pumpkin(resolution=700, texture_size=256)
moved = fitted.transfer(coarse)
print(len(moved.faces), "faces instead of", len(fitted.faces))
difference = moved.color_at(coarse.vertices) - fitted.color_at(coarse.vertices)
print(f"colours differ by {np.abs(difference).mean():.3f} on average")

# %% [markdown]
# ## Geometry
#
# The tools behind the methods, on plain `V, F`. For several questions about one mesh make a `heatskin.Surface` once, as one makes a
# solver in potpourri3d; the functions of the same names do it for one question. Everything is in the units of the vertices and
# for their indices, whatever had to be repaired (`surface.report`).
#
# | here | elsewhere |
# |---|---|
# | `exact_distance(V, F, source)`: exact polyhedral distances | `igl.exact_geodesic` |
# | `log_map(V, F, source, radius)`: LocalHK's unfolding | `potpourri3d.MeshVectorHeatSolver.compute_log_map` (heat) |
# | `geodesic_walk(V, F, face, bary, direction)`, `Surface.trace()` | `potpourri3d.GeodesicTracer` |
# | `anisotropic_laplacian(V, F, angle, anisotropy)`: `(L, M)` | `-igl.cotmatrix`, `igl.massmatrix`; `potpourri3d.cotan_laplacian` for anisotropy 0 |
# | `heat_action(V, F, x, time)`, `eigenpairs(V, F, k)` | a sparse solver, `scipy.sparse.linalg.eigsh` |
# | `closest_points(V, F, P)`, `farthest_points(P, n)` | `igl.point_mesh_squared_distance`, `potpourri3d` / `fpsample` |

# %%
surface = heatskin.Surface(vertices, faces)
distance = surface.exact_distance(0)
print(f"the farthest vertex is {distance.max():.2f} away")
log = surface.log_map(0, radius=0.5)
near = ~np.isnan(log.coordinates[:, 0])
print(near.sum(), "vertices unfold to the plane, distances off by at most",
      np.abs(np.linalg.norm(log.coordinates[near], axis=1) - distance[near]).max().round(3))
path = surface.trace(0, [1 / 3, 1 / 3, 1 / 3], [0.0, 3.0, 4.0], samples=200)
print(path.shape)
L, M = heatskin.anisotropic_laplacian(vertices, faces)
print(L.shape, len(L.data), f"area {M.sum():.2f}, exactly {4 * np.pi ** 2 * 0.4:.2f}")
values, vectors = surface.eigenpairs(6)
print(values.round(2))
spot = np.zeros(len(vertices))
spot[0] = 1 / M[0]
along = surface.heat(spot, time=0.02, angle=0.0, anisotropy=20.0)  # spreads along the principal directions
print(f"{M @ along:.3f} is what there was before: 1")

# %% [picture] python_distance.png Distance from a vertex as colours at the vertices: a fit of 3,000 kernels
heatskin.fit(vertices, faces, np.stack([np.cos(20 * distance) * 0.4 + 0.5, 0.3 + 0 * distance, 1 - distance / distance.max()], 1),
             preset="draft", kernels=3000, steps=250).render(360, elevation=35)

# %% [markdown]
# ## Errors
#
# Wrong arguments are a `ValueError` or `TypeError` that names the argument, what it is and what was expected. What cannot be done is a
# `heatskin.Error` (`InputError` for files and meshes, `UsageError` for options, `Cancelled`), with a `code` that stays the same
# from version to version.

# %%
for attempt in (lambda: heatskin.exact_distance(vertices[:, :2], faces, 0),
                lambda: heatskin.exact_distance(vertices, faces + 1, 0),
                lambda: texture.color(99999, [1, 0, 0]),
                lambda: heatskin.Texture.load("torus_baked.glb")):
    try:
        attempt()
    except ValueError as error:
        print(f"{type(error).__name__}: {error}")
