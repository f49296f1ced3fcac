"""heatskin: textures without UVs. Kernels that live on the surface of a mesh, fitted to what it looks like.

    import heatskin
    texture = heatskin.fit(vertices, faces, colors)      # numpy arrays, or heatskin.fit("model.glb")
    texture.color_at(points)                             # [n, 3]
    texture.save("model_fit.glb")

docs/python.md is a tour. Everything releases the GIL; `threads` limits a single call.
"""

from . import _native
from ._errors import Cancelled, Error, InputError, UsageError
from ._fit import Option, fit, fit_options, presets
from ._geometry import (WALK_STOPS, LogMap, Points, SparseMatrix, Surface, Walk, anisotropic_laplacian, closest_points,
                        eigenpairs, exact_distance, farthest_points, geodesic_walk, heat_action, log_map)
from ._texture import (KERNEL_RANGES, METHODS, Asset, Channel, Gradients, Kernels, Texture, inspect, load, save_png)

__version__: str = _native.VERSION

__all__ = [
    "Asset", "Cancelled", "Channel", "Error", "Gradients", "InputError", "KERNEL_RANGES", "Kernels", "LogMap", "METHODS",
    "Option", "Points", "SparseMatrix", "Surface", "Texture", "UsageError", "WALK_STOPS", "Walk", "anisotropic_laplacian",
    "closest_points", "eigenpairs", "exact_distance", "farthest_points", "fit", "fit_options", "geodesic_walk", "heat_action",
    "inspect", "load", "log_map", "presets", "save_png", "set_memory_limit",
]


def set_memory_limit(size: int) -> None:
    """Bytes this process may take; work that needs more is refused before it begins. 0: four fifths of what there is."""
    from ._arrays import whole

    _native.set_memory_budget(whole(size, "size"))
