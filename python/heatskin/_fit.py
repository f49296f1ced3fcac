"""Fits."""

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _native
from ._progress import Progress, handler
from ._texture import METHODS, Asset, Path, Texture, as_asset, _path

#: Values at vertices [V, C], at corners [F, 3, C], or a function of positions [n, 3] that gives [n, C].
Appearance = Union[ArrayLike, Callable[[NDArray[np.float64]], ArrayLike]]


class Option(NamedTuple):
    """An option of a fit, for fit(options={key: value})."""

    key: str
    type: str
    range: str
    help: str
    default: str  #: in the preset "default"


def fit_options() -> List[Option]:
    """All options of a fit (docs/fitting.md)."""
    return [Option(*option) for option in _native.fit_options()]


def presets() -> List[str]:
    """Names of the built-in presets, "default" first."""
    return list(_native.preset_names())


def _toml(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value)


def _settings(preset: Path, method: Optional[str], kernels: Union[None, int, str], steps: Optional[int],
              seed: Optional[int], options: Optional[Mapping[str, Any]], max_kernels: Optional[int],
              target_psnr: Optional[float], max_bytes: Optional[int], max_seconds: Optional[float], keep_budget: bool,
              output: Optional[Path], fallback: str, checkpoint: Optional[Path], checkpoint_interval: float,
              resume: Union[bool, str], evaluate: bool) -> Dict[str, Any]:
    assignments = [f"{key}={_toml(value)}" for key, value in (options or {}).items()]
    if method is not None:
        assignments.append("method=" + _arrays.choice(method, "method", METHODS))
    if steps is not None:
        assignments.append(f"steps={_arrays.whole(steps, 'steps', 1)}")
    if seed is not None:
        assignments.append(f"seed={_arrays.whole(seed, 'seed')}")
    if kernels == "auto":
        count = 0
    else:
        count = -1 if kernels is None else _arrays.whole(kernels, "kernels", 1, 1000000)
    bounds = {"max_kernels": max_kernels, "target_psnr": target_psnr, "max_bytes": max_bytes, "max_seconds": max_seconds}
    for name, bound in bounds.items():
        if bound is not None and count > 0:
            raise ValueError(f"{name}: has no effect with a fixed number of kernels; leave out kernels={count}")
    if resume not in (False, True, "auto"):
        raise ValueError(f"resume: expected True, False or 'auto', got {resume!r}")
    if resume and checkpoint is None:
        raise ValueError("resume: needs checkpoint=FILE")
    return {
        "preset": _path(preset), "assignments": assignments, "kernels": count,
        "max_kernels": 0 if max_kernels is None else _arrays.whole(max_kernels, "max_kernels", 1, 1000000),
        "target_psnr": 0.0 if target_psnr is None else _arrays.number(target_psnr, "target_psnr", 1, 100),
        "max_bytes": 0 if max_bytes is None else _arrays.whole(max_bytes, "max_bytes", 1),
        "max_seconds": 0.0 if max_seconds is None else _arrays.number(max_seconds, "max_seconds", 0.001, 1e9),
        "keep_budget": bool(keep_budget), "output": "" if output is None else _path(output),
        "fallback": _arrays.choice(fallback, "fallback", _native.FALLBACKS),
        "checkpoint": "" if checkpoint is None else _path(checkpoint),
        "checkpoint_interval": _arrays.number(checkpoint_interval, "checkpoint_interval", 0, 1e6),
        "resume": "auto" if resume == "auto" else "yes" if resume else "no", "evaluate": bool(evaluate),
    }


_KNOWN = {"base_color": 3, "alpha": 1}
Group = Tuple[str, int, float, float]


def _tables(groups: Mapping[str, ArrayLike], ranges: Mapping[str, Tuple[float, float]], vertices: int,
            faces: NDArray[np.int64]) -> Tuple[List[Group], NDArray[np.float32]]:
    layout: List[Group] = []
    corners: List[NDArray[np.float32]] = []
    for name, given in groups.items():
        argument = "colors" if name == "base_color" and len(groups) == 1 else f"colors[{name!r}]"
        array = np.asarray(given)
        at_corners = array.ndim == 3 or (array.ndim == 2 and array.shape == (len(faces), 3) and name != "base_color"
                                         and array.shape[0] != vertices)
        if not at_corners and array.ndim == 1:
            array = array[:, None]
        if at_corners and array.ndim == 2:
            array = array[:, :, None]
        low, high = ranges.get(name, (0.0, 1.0))
        columns = _KNOWN.get(name, array.shape[-1] if array.ndim else 1)
        shape: Tuple[Optional[int], ...] = (len(faces), 3, columns) if at_corners else (vertices, columns)
        if array.ndim not in (2, 3) or array.shape != shape:
            raise ValueError(f"{argument}: expected one row for each vertex, shape ({vertices}, {columns}), or for each corner, "
                             f"shape ({len(faces)}, 3, {columns}), or a function of positions; {_arrays.describe(array)}")
        values = _arrays.colors(array, argument, shape, low, high)
        layout.append((name, columns, float(low), float(high)))
        corners.append(values if at_corners else values[faces])
    joined = corners[0] if len(corners) == 1 else np.concatenate(corners, axis=2)
    return layout, np.require(joined, np.float32, ["C", "A"])


def _formula(groups: Mapping[str, Callable[..., ArrayLike]], ranges: Mapping[str, Tuple[float, float]],
             vertices: NDArray[np.float64]) -> Tuple[List[Group], Callable[[NDArray[np.float64]], NDArray[np.float32]]]:
    layout: List[Group] = []
    for name, function in groups.items():
        low, high = ranges.get(name, (0.0, 1.0))
        sample = np.asarray(function(vertices[:2].copy()))
        columns = _KNOWN.get(name, 1 if sample.ndim < 2 else sample.shape[1])
        layout.append((name, columns, float(low), float(high)))

    def values(points: NDArray[np.float64]) -> NDArray[np.float32]:
        parts = []
        for (name, columns, low, high), function in zip(layout, groups.values()):
            argument = "colors(points)" if len(layout) == 1 else f"colors[{name!r}](points)"
            answer = np.asarray(function(points))
            if columns == 1 and answer.ndim == 1:
                answer = answer[:, None]
            parts.append(_arrays.colors(answer, argument, (len(points), columns), low, high))
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return np.require(joined, np.float32, ["C", "A"])

    values(vertices[:2].copy())  # complains before the work begins
    return layout, values


def fit(source: Union[Path, Asset, ArrayLike], faces: Optional[ArrayLike] = None,
        colors: Union[None, Appearance, Mapping[str, Appearance]] = None, *,
        ranges: Optional[Mapping[str, Tuple[float, float]]] = None, channels: Sequence[str] = (), preset: Path = "default",
        method: Optional[str] = None, kernels: Union[None, int, str] = None, steps: Optional[int] = None,
        seed: Optional[int] = None, options: Optional[Mapping[str, Any]] = None, max_kernels: Optional[int] = None,
        target_psnr: Optional[float] = None, max_bytes: Optional[int] = None, max_seconds: Optional[float] = None,
        keep_budget: bool = False, output: Optional[Path] = None, fallback: Optional[str] = None,
        checkpoint: Optional[Path] = None, checkpoint_interval: float = 10.0, resume: Union[bool, str] = False,
        evaluate: bool = True, progress: Progress = None, threads: Optional[int] = None) -> Texture:
    """Fits kernels and returns the texture, whose `fit` says how it went.

    fit(FILE or Asset): to what the file looks like today; `channels` chooses (by default all that vary).

    fit(vertices [V, 3], faces [F, 3], colors): to values of your own, sRGB in [0, 1] (or uint8, uint16): at vertices [V, 3], at
    corners [F, 3, 3], or a function of positions [n, 3] that gives [n, 3] (called by one thread at a time, with any n). A dict
    gives further channels names: {"base_color": ..., "roughness": ...}, with `ranges` other than (0, 1) by name.

    preset, kernels ("auto" or a number), steps, options ({"rates.color": 0.01}, see fit_options()) and the bounds of an automatic
    budget are those of `heatskin fit`. `output` also writes the product; with `checkpoint` a fit that was stopped (Ctrl-C, a
    progress function that returns False) goes on with resume=True, or resume="auto" if the file is there, to the same bytes. The
    result does not depend on `threads`.
    """
    from_arrays = colors is not None or faces is not None
    settings = _settings(preset, method, kernels, steps, seed, options, max_kernels, target_psnr, max_bytes, max_seconds,
                         keep_budget, output, fallback or ("vertex" if from_arrays else "texture"), checkpoint,
                         checkpoint_interval, resume, evaluate)
    if not from_arrays:
        if ranges is not None:
            raise ValueError("ranges: an asset's materials say what the ranges are; leave it out")
        asset = as_asset(source, None, "source")
        native, report = _native.fit_asset(asset._native, list(channels), settings, handler(progress),
                                           _arrays.threads(threads))
        return Texture(native, dict(report))
    if faces is None:
        raise TypeError("faces: expected integers of shape (m, 3) beside vertices and colors, got None")
    if colors is None:
        raise TypeError("colors: expected values at vertices, at corners, or a function of positions, got None")
    if channels:
        raise ValueError("channels: is for assets; name channels of arrays in colors={name: values}")
    positions = _arrays.vertices(source, "vertices")  # type: ignore[arg-type]
    triangles = _arrays.faces(faces, len(positions))
    groups: Dict[str, Any] = dict(colors) if isinstance(colors, Mapping) else {"base_color": colors}
    if "base_color" not in groups:
        raise ValueError(f"colors: a texture needs 'base_color' among its channels, got {', '.join(groups) or 'none'}")
    ranges = ranges or {}
    for name in ranges:
        if name not in groups:
            raise ValueError(f"ranges: there are no channels {name!r} in colors")
    formulas = [callable(value) for value in groups.values()]
    appearance: Any
    if all(formulas):
        layout, appearance = _formula(groups, ranges, positions)
    elif any(formulas):
        raise TypeError("colors: functions and arrays cannot be mixed")
    else:
        layout, appearance = _tables(groups, ranges, len(positions), triangles)
    native, report = _native.fit_arrays(positions, triangles, layout, appearance, settings, handler(progress),
                                        _arrays.threads(threads))
    return Texture(native, dict(report))
