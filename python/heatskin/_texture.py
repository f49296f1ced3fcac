"""Assets and textures."""

import dataclasses
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _native
from ._arrays import Floats, Ints
from ._progress import Progress, handler

Path = Union[str, "os.PathLike[str]"]
Floats32 = NDArray[np.float32]

#: Smallest and largest value of every parameter of a kernel.
KERNEL_RANGES: Dict[str, Tuple[float, float]] = _native.KERNEL_RANGES

#: How a method evaluates kernels: "local" (LocalHK), "thermal" (ThermalRF), "spectral" (HKTex).
METHODS: Tuple[str, ...] = _native.METHODS

_MODES = ("shaded", "albedo", "pbr", "normals", "coverage")


def _one(rows: Floats32, single: bool) -> Floats32:
    """The answer for a single point is a row, not a table."""
    return np.asarray(rows[0]) if single else rows


def _path(path: Path) -> str:
    return os.fspath(path)


@dataclasses.dataclass(frozen=True)
class Channel:
    """A group of channels of a texture."""

    name: str
    count: int
    first: int  #: number of its first channel
    low: float  #: least value
    high: float  #: largest value
    tangent: bool  #: a vector of the tangent plane


@dataclasses.dataclass
class Kernels:
    """The kernels of a texture as arrays, N of them with C channels: a copy, for Texture.with_kernels()."""

    face: Ints  #: [N] triangle of the file
    barycentric: Floats  #: [N, 3]
    angle: Floats32  #: [N] radians, of the long axis against the first axis of its face (Texture.kernel_axes)
    anisotropy: Floats32  #: [N]
    threshold: Floats32  #: [N]
    sharpness: Floats32  #: [N]
    length: Floats32  #: [N] distances count in units of it
    values: Floats32  #: [N, C] added to the mean, as parts of the channels' ranges, in [-1, 1]
    mean: Floats32  #: [C] as a part of the channels' ranges, in [0, 1]

    def __len__(self) -> int:
        return len(self.face)

    def __getitem__(self, which: Any) -> "Kernels":
        """Some of them: a slice, a mask or indices."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return Kernels(**{k: v if k == "mean" else np.atleast_1d(np.asarray(v)[which]) for k, v in fields.items()})

    def copy(self) -> "Kernels":
        return Kernels(*(np.array(getattr(self, f.name)) for f in dataclasses.fields(self)))

    def clip(self) -> "Kernels":
        """Everything within KERNEL_RANGES (angles modulo pi), as after a step of an optimiser."""
        out = self.copy()
        out.angle = np.mod(out.angle, np.float32(np.pi)).astype(np.float32)
        for name, (low, high) in KERNEL_RANGES.items():
            setattr(out, name, np.clip(np.asarray(getattr(out, name), np.float32), np.float32(low), np.float32(high)))
        return out


@dataclasses.dataclass
class Gradients:
    """Derivatives of a number by the parameters of N kernels (lengths have none)."""

    position: Floats  #: [N, 3] vectors in the plane of the kernel's face, per unit of the asset
    angle: Floats32  #: [N]
    anisotropy: Floats32  #: [N]
    threshold: Floats32  #: [N]
    sharpness: Floats32  #: [N]
    values: Floats32  #: [N, C]
    mean: Floats32  #: [C]


class _OnMesh:
    """What assets and textures have in common."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._arrays: Optional[Tuple[Floats, Ints]] = None

    def _read_arrays(self) -> Tuple[Floats, Ints]:
        raise NotImplementedError

    def _draw(self, options: Dict[str, Any], threads: int) -> NDArray[np.uint8]:
        raise NotImplementedError

    def _both(self) -> Tuple[Floats, Ints]:
        if self._arrays is None:
            self._arrays = self._read_arrays()
        return self._arrays

    @property
    def vertices(self) -> Floats:
        """[V, 3] of all instances, in space."""
        return self._both()[0]

    @property
    def faces(self) -> Ints:
        """[F, 3]"""
        return self._both()[1]

    def render(self, width: int = 512, height: Optional[int] = None, mode: str = "shaded", *, azimuth: Optional[float] = None,
               elevation: Optional[float] = None, view: Optional[int] = None, supersampling: int = 3,
               background: Optional[Sequence[float]] = None, transparent: bool = False,
               threads: Optional[int] = None) -> NDArray[np.uint8]:
        """A picture: [height, width, 3] of 8-bit sRGB, or with `transparent` [height, width, 4].

        mode: "shaded" (studio light), "albedo" (colours as they are), "pbr" (whole materials), "normals", and for textures
        "coverage". Unless azimuth and elevation (degrees) or one of the 8 standard views is given, a good view from the front.
        """
        width = _arrays.whole(width, "width", 1, 8192)
        height = width if height is None else _arrays.whole(height, "height", 1, 8192)
        if background is not None:
            background = _arrays.colors(background, "background", (3,), 0, 1).tolist()
        options = {
            "width": width, "height": height, "mode": _arrays.choice(mode, "mode", _MODES),
            "azimuth": None if azimuth is None else _arrays.number(azimuth, "azimuth", -360, 360),
            "elevation": None if elevation is None else _arrays.number(elevation, "elevation", -90, 90),
            "view": -1 if view is None else _arrays.whole(view, "view", 0, 7),
            "supersampling": _arrays.whole(supersampling, "supersampling", 1, 8),
            "background": background, "transparent": bool(transparent),
        }
        return self._draw(options, _arrays.threads(threads))


class Asset(_OnMesh):
    """A file without kernels (.glb, .gltf, .obj, .ply), or a mesh made of arrays: what is fitted and compared with."""

    @staticmethod
    def load(path: Path, *, threads: Optional[int] = None) -> "Asset":
        return Asset(_native.asset_open(_path(path), _arrays.threads(threads)))

    @staticmethod
    def from_arrays(vertices: ArrayLike, faces: ArrayLike) -> "Asset":
        """vertices [V, 3], faces [F, 3]; without a material."""
        positions = _arrays.vertices(vertices)
        return Asset(_native.asset_from_arrays(positions, _arrays.faces(faces, len(positions))))

    @staticmethod
    def pumpkin(resolution: int = 3000, texture_size: int = 1024, seed: int = 1, *,
                threads: Optional[int] = None) -> "Asset":
        """The built-in pumpkin of `heatskin demo-asset`."""
        return Asset(_native.asset_pumpkin(_arrays.whole(resolution, "resolution", 500, 1000000),
                                           _arrays.whole(texture_size, "texture_size", 256, 4096),
                                           _arrays.whole(seed, "seed"), _arrays.threads(threads)))

    def _read_arrays(self) -> Tuple[Floats, Ints]:
        return _native.asset_arrays(self._native)

    @property
    def info(self) -> Dict[str, Any]:
        """What the file holds: format, meshes, materials, images, variants, extensions, notices."""
        return _native.asset_info(self._native)

    def surface_info(self, *, threads: Optional[int] = None) -> Dict[str, Any]:
        """The mesh after welding, and every problem with its count, as `heatskin inspect` says it."""
        return _native.asset_surface_info(self._native, _arrays.threads(threads))

    def color(self, face: ArrayLike, barycentric: ArrayLike, *, filter: str = "auto",
              threads: Optional[int] = None) -> Floats32:
        """The asset's own colours at points: [n, 3] sRGB in [0, 1] ([3] for a single point)."""
        where, bary, single = _arrays.surface_points(face, barycentric, len(self.faces))
        filter = _arrays.choice(filter, "filter", _native.FILTERS)
        out = _native.asset_colors(self._native, where, bary, filter, _arrays.threads(threads))
        return _one(out, single)

    def color_at(self, points: ArrayLike, *, filter: str = "auto", threads: Optional[int] = None) -> Floats32:
        """The same at the surface points nearest to places in space, points [n, 3]."""
        places, single = _arrays.points(points)
        filter = _arrays.choice(filter, "filter", _native.FILTERS)
        where, bary, _ = _native.asset_nearest(self._native, places, _arrays.threads(threads))
        out = _native.asset_colors(self._native, where, bary, filter, _arrays.threads(threads))
        return _one(out, single)

    def save(self, path: Path, *, threads: Optional[int] = None) -> None:
        """As a GLB."""
        _native.asset_save(self._native, _path(path), _arrays.threads(threads))

    def _draw(self, options: Dict[str, Any], threads: int) -> NDArray[np.uint8]:
        if options["mode"] == "coverage":
            raise ValueError("mode: an asset has no kernels, so there is no coverage to draw")
        return _native.asset_render(self._native, options, threads)

    def __repr__(self) -> str:
        info = self.info
        name = f" {os.path.basename(info['path'])}" if info["path"] else ""
        return f"<heatskin.Asset{name}: {info['faces']} faces, {len(info['materials'])} materials, {len(info['images'])} images>"


class Texture(_OnMesh):
    """A finished texture: kernels on a mesh, and a colour for every point of it. Immutable; calls may run concurrently.

    Points are given as faces (of `faces`, the triangles of the file in order) and barycentric coordinates, or as places in
    space, which are moved to the nearest point of the surface.
    """

    def __init__(self, native: Any, fit: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(native)
        #: What the fit said, if this texture comes from fit(): steps, losses, psnr, evaluation, config, notices.
        self.fit: Dict[str, Any] = fit or {}
        self._face_count = int(_native.texture_info(native)["faces"])

    # ----------------------------------------------------------------------------------------------------- files

    @staticmethod
    def load(path: Path, *, method: Optional[str] = None, variant: str = "", progress: Progress = None,
             threads: Optional[int] = None) -> "Texture":
        """A product (`fit`, `heatskin fit`), evaluated as it was fitted, or with another `method` (METHODS)."""
        name = "" if method is None else _arrays.choice(method, "method", METHODS)
        return Texture(_native.texture_open(_path(path), name, variant, handler(progress), _arrays.threads(threads)))

    @staticmethod
    def from_bytes(data: bytes, *, method: Optional[str] = None, variant: str = "",
                   threads: Optional[int] = None) -> "Texture":
        name = "" if method is None else _arrays.choice(method, "method", METHODS)
        return Texture(_native.texture_from_bytes(data, name, variant, _arrays.threads(threads)))

    def to_bytes(self, *, threads: Optional[int] = None) -> bytes:
        """The product's file, a GLB."""
        return _native.texture_bytes(self._native, _arrays.threads(threads))

    def save(self, path: Path, *, progress: Progress = None, threads: Optional[int] = None) -> None:
        """Writes the product, atomically. Kernels that were edited are quantised."""
        _native.texture_save(self._native, _path(path), handler(progress), _arrays.threads(threads))

    def __reduce__(self) -> Any:
        return (_unpickled, (self.to_bytes(), self.method, self.info["variant"], self.fit))

    def with_method(self, method: str, *, threads: Optional[int] = None) -> "Texture":
        """The same kernels evaluated with another method's default options."""
        return Texture.from_bytes(self.to_bytes(threads=threads), method=method, threads=threads)

    # --------------------------------------------------------------------------------------------------- what it is

    @property
    def info(self) -> Dict[str, Any]:
        """method, kernels, faces, preset, steps, model_bytes, variants, edited, notices, ..."""
        return _native.texture_info(self._native)

    @property
    def method(self) -> str:
        return str(self.info["method"])

    @property
    def channels(self) -> List[Channel]:
        """The groups of channels: base_color first."""
        return [Channel(*group) for group in _native.texture_layout(self._native)]

    def _read_arrays(self) -> Tuple[Floats, Ints]:
        return _native.texture_arrays(self._native)

    def __repr__(self) -> str:
        info = self.info
        names = ", ".join(c.name for c in self.channels)
        return f"<heatskin.Texture: {info['kernels']} kernels ({info['method']}) on {info['faces']} faces, {names}>"

    # ------------------------------------------------------------------------------------------------------- values

    def values(self, face: ArrayLike, barycentric: ArrayLike, *, threads: Optional[int] = None) -> Floats32:
        """All channels at points, face [n] and barycentric [n, 3]: [n, C], or [C] for a single point. Vectors of tangent
        groups are in coordinates of the face; see values_by_name()."""
        where, bary, single = _arrays.surface_points(face, barycentric, self._face_count)
        out, _ = _native.texture_values(self._native, where, bary, False, _arrays.threads(threads))
        return _one(out, single)

    def values_by_name(self, face: ArrayLike, barycentric: ArrayLike, *,
                       threads: Optional[int] = None) -> Dict[str, Floats32]:
        """The same by groups: {"base_color": [n, 3], ...}; vectors of tangent groups are in space, [n, 3]."""
        where, bary, single = _arrays.surface_points(face, barycentric, self._face_count)
        out, _ = _native.texture_values(self._native, where, bary, True, _arrays.threads(threads))
        named: Dict[str, Floats32] = {}
        first = 0
        for channel in self.channels:
            count = 3 if channel.tangent else channel.count
            group = out[:, first:first + count]
            named[channel.name] = _one(group, single)
            first += count
        return named

    def color(self, face: ArrayLike, barycentric: ArrayLike, *, threads: Optional[int] = None) -> Floats32:
        """Colours at points, face [n] and barycentric [n, 3]: [n, 3] sRGB in [0, 1], or [3] for a single point."""
        group = self._group("base_color")
        return self.values(face, barycentric, threads=threads)[..., group.first:group.first + 3]

    def coverage(self, face: ArrayLike, barycentric: ArrayLike, *, threads: Optional[int] = None) -> Any:
        """Sums of weights at points: [n]. Below 1, colours lean towards the mean."""
        where, bary, single = _arrays.surface_points(face, barycentric, self._face_count)
        _, weights = _native.texture_values(self._native, where, bary, False, _arrays.threads(threads))
        return weights[0] if single else weights

    def closest(self, points: ArrayLike, *, threads: Optional[int] = None) -> Tuple[Ints, Floats, float]:
        """The surface points nearest to places in space: face [n], barycentric [n, 3], the largest distance."""
        places, _ = _arrays.points(points)
        return _native.texture_nearest(self._native, places, _arrays.threads(threads))

    def color_at(self, points: ArrayLike, *, threads: Optional[int] = None) -> Floats32:
        """Colours at the surface points nearest to places in space, points [n, 3]: [n, 3]."""
        places, single = _arrays.points(points)
        face, bary, _ = self.closest(places, threads=threads)
        out = self.color(face, bary, threads=threads)
        return _one(out, single)

    def _group(self, name: str) -> Channel:
        for channel in self.channels:
            if channel.name == name:
                return channel
        raise KeyError(f"the texture has no channels {name!r}, only {', '.join(c.name for c in self.channels)}")

    def gradients(self, face: ArrayLike, barycentric: ArrayLike, d_values: ArrayLike, *,
                  threads: Optional[int] = None) -> Gradients:
        """Derivatives of sum(d_values * values(face, barycentric)) by the kernels' parameters: what a loss sends back.

        d_values is [n, C], or [n, 3] for the colours alone. Which kernels a point sees is held fast.
        """
        where, bary, _ = _arrays.surface_points(face, barycentric, self._face_count)
        count = sum(c.count for c in self.channels)
        given = np.asarray(d_values)
        if given.ndim == 1 and len(where) == 1:
            given = given[None]
        if given.ndim == 2 and given.shape[1] == 3 != count:
            group = self._group("base_color")
            colors = _arrays.floats(given, "d_values", (len(where), 3), np.float32)
            given = np.zeros((len(where), count), np.float32)
            given[:, group.first:group.first + 3] = colors
        back = _arrays.floats(given, "d_values", (len(where), count), np.float32)
        return Gradients(**_native.texture_gradients(self._native, where, bary, back, _arrays.threads(threads)))

    # ------------------------------------------------------------------------------------------------------ kernels

    @property
    def kernels(self) -> Kernels:
        """A copy of the kernels, to look at or to edit for with_kernels()."""
        return Kernels(**_native.texture_kernels(self._native))

    @property
    def kernel_positions(self) -> Floats:
        """[N, 3] where the kernels are, in space."""
        return _native.texture_kernel_geometry(self._native)[0]

    @property
    def kernel_axes(self) -> Floats:
        """[N, 3] unit vectors along the kernels' long axes."""
        return _native.texture_kernel_geometry(self._native)[1]

    def with_kernels(self, kernels: Kernels, *, threads: Optional[int] = None) -> "Texture":
        """Another texture of the same mesh with these kernels, as many as you like, as they are (save() quantises).

        Other `values` and `mean` alone cost next to nothing. Refuses what is outside of KERNEL_RANGES (Kernels.clip()).
        """
        if not isinstance(kernels, Kernels):
            raise TypeError(f"kernels: expected heatskin.Kernels, got {type(kernels).__name__}")
        old = self.kernels
        count, channels = len(kernels.face), old.values.shape[1]
        if count == 0:
            raise ValueError("kernels: there must be at least one")
        face, bary, _ = _arrays.surface_points(kernels.face, kernels.barycentric, self._face_count)
        arrays: Dict[str, Any] = {"face": face, "barycentric": bary}
        for name, (low, high) in KERNEL_RANGES.items():
            shape = (count, channels) if name == "values" else (channels,) if name == "mean" else (count,)
            values = _arrays.floats(getattr(kernels, name), f"kernels.{name}", shape, np.float32)
            if values.size and not (values.min() >= np.float32(low) and values.max() <= np.float32(high)):
                raise ValueError(f"kernels.{name}: values must be in {low:g} ... {high:g}, got {values.min():g} ... "
                                 f"{values.max():g}; Kernels.clip() brings them there")
            arrays[name] = values
        moved = not (np.array_equal(face, old.face) and np.array_equal(bary, old.barycentric))
        shapes = moved or any(not np.array_equal(arrays[name], getattr(old, name))
                              for name in ("angle", "anisotropy", "threshold", "sharpness", "length"))
        native = _native.texture_with_kernels(self._native, arrays, moved, shapes, _arrays.threads(threads))
        return Texture(native)

    # ------------------------------------------------------------------------------------------- what is made of it

    def bake(self, path: Optional[Path] = None, *, to: Optional[str] = None, size: int = 0, supersampling: int = 2,
             format: str = "png", quality: int = 90, max_error: float = 0.0, evaluate: bool = True,
             progress: Progress = None, threads: Optional[int] = None) -> Dict[str, Any]:
        """An ordinary GLB with images or vertex colours (to: "uv", "atlas", "vertex", "face"), written to `path` or returned
        as `bytes` of the answer, which also has `psnr` against the kernels, `width`, `height`, `images`."""
        name = "" if to is None else _arrays.choice(to, "to", ("uv", "atlas", "vertex", "face"))
        options = {"size": _arrays.whole(size, "size", 0, 16384),
                   "supersampling": _arrays.whole(supersampling, "supersampling", 1, 8),
                   "format": _arrays.choice(format, "format", ("png", "jpeg", "webp", "ktx2")),
                   "quality": _arrays.whole(quality, "quality", 1, 100),
                   "max_error": _arrays.number(max_error, "max_error", 0, 255), "evaluate": bool(evaluate)}
        data, report = _native.texture_bake(self._native, name, options, handler(progress), _arrays.threads(threads))
        if path is None:
            report["bytes"] = data
        else:
            _native.write_file(_path(path), data)
        return dict(report)

    def transfer(self, onto: Union[Path, Asset, ArrayLike], faces: Optional[ArrayLike] = None, *, refit: bool = True,
                 seed: int = 1, progress: Progress = None, threads: Optional[int] = None) -> "Texture":
        """The same look on another mesh of the shape: a file, an Asset, or vertices [V, 3] and faces [F, 3].

        The answer's `fit` says how many kernels were kept, refitted, dropped and added.
        """
        mesh = as_asset(onto, faces, "onto")
        native, report = _native.texture_transfer(self._native, mesh._native, bool(refit), _arrays.whole(seed, "seed"),
                                                  handler(progress), _arrays.threads(threads))
        return Texture(native, dict(report))

    def evaluate(self, reference: Union[Path, Asset], *, samples: int = 200_000, view_size: int = 512,
                 atlas_size: int = 1024, flip: bool = False, filter: Optional[str] = None, seed: int = 1,
                 progress: Progress = None, threads: Optional[int] = None) -> Dict[str, Any]:
        """How near the texture is to the asset it was made from, with the names of `heatskin eval --json`: surface_psnr,
        view_psnr, view_ssim, atlas_psnr, coverage_below_half, seam_jump_p99, ... A size of 0 leaves pictures out."""
        asset = as_asset(reference, None, "reference")
        options = {"samples": _arrays.whole(samples, "samples", 1), "view_size": _arrays.whole(view_size, "view_size", 0, 4096),
                   "atlas_size": _arrays.whole(atlas_size, "atlas_size", 0, 8192), "flip": bool(flip),
                   "filter": "" if filter is None else _arrays.choice(filter, "filter", _native.FILTERS),
                   "seed": _arrays.whole(seed, "seed")}
        return _native.texture_evaluate(self._native, asset._native, options, handler(progress), _arrays.threads(threads))

    def _draw(self, options: Dict[str, Any], threads: int) -> NDArray[np.uint8]:
        return _native.texture_render(self._native, options, threads)


def _unpickled(data: bytes, method: str, variant: str, fit: Dict[str, Any]) -> Texture:
    texture = Texture.from_bytes(data, method=method, variant=variant)
    texture.fit = fit
    return texture


def as_asset(source: Any, faces: Optional[ArrayLike], name: str) -> Asset:
    if isinstance(source, Asset):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Asset.load(source)
    if faces is None:
        raise TypeError(f"{name}: expected a file, an Asset, or vertices and faces, got {type(source).__name__}")
    positions = _arrays.vertices(source)
    return Asset(_native.asset_from_arrays(positions, _arrays.faces(faces, len(positions))))


def load(path: Path, *, method: Optional[str] = None, variant: str = "", progress: Progress = None,
         threads: Optional[int] = None) -> Union[Texture, Asset]:
    """A product as a Texture, any other file as an Asset."""
    asset = Asset.load(path, threads=threads)
    if asset.info["product"]:
        return Texture.load(path, method=method, variant=variant, progress=progress, threads=threads)
    return asset


def inspect(path: Path, *, threads: Optional[int] = None) -> Dict[str, Any]:
    """What a file holds, and problems of its mesh: Asset.info with `surface`."""
    asset = Asset.load(path, threads=threads)
    info = asset.info
    info["surface"] = asset.surface_info(threads=threads)
    return info


def save_png(path: Path, pixels: ArrayLike) -> None:
    """Writes pixels [height, width, 3 or 4] of type uint8, atomically."""
    array = np.asarray(pixels)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] not in (3, 4):
        raise ValueError(f"pixels: expected shape (height, width, 3 or 4) and dtype uint8, {_arrays.describe(array)}")
    _native.save_png(np.require(array, requirements=["C", "A"]), _path(path))
