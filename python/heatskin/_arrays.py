"""Arguments to arrays as the native module takes them; messages name the argument, what it is and what was expected."""

import operator
import os
from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def describe(array: NDArray[Any]) -> str:
    return f"got shape {array.shape} and dtype {array.dtype}"


def _numbers(value: ArrayLike, name: str, expected: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name}: expected {expected}, got a ragged sequence") from None
    if array.dtype.kind not in "iuf":
        if array.dtype == object:
            raise TypeError(f"{name}: expected {expected}, got {type(value).__name__} ({describe(array)})")
        raise TypeError(f"{name}: expected {expected}, {describe(array)}")
    return array


def _finite(array: NDArray[Any], name: str) -> None:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[0]
        where = ", ".join(str(i) for i in bad)
        raise ValueError(f"{name}: all values must be finite, {name}[{where}] is {array[tuple(bad)]}")


def floats(value: ArrayLike, name: str, shape: Tuple[Optional[int], ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Finite numbers of this shape (None: any length) in C order; no copy if they are so already."""
    text = "(" + ", ".join("n" if s is None else str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"
    expected = f"numbers of shape {text}"
    array = _numbers(value, name, expected)
    if array.ndim != len(shape) or any(s is not None and s != a for s, a in zip(shape, array.shape)):
        raise ValueError(f"{name}: expected {expected}, {describe(array)}")
    _finite(array, name)
    out = np.require(array, dtype=dtype, requirements=["C", "A"])
    if np.dtype(dtype).itemsize < array.dtype.itemsize:
        _finite(out, name)
    return out


def vertices(value: ArrayLike, name: str = "vertices") -> Floats:
    array = floats(value, name, (None, 3))
    if len(array) == 0:
        raise ValueError(f"{name}: expected numbers of shape (n, 3) with n > 0, {describe(array)}")
    return array


def _integers(array: NDArray[Any], name: str, expected: str) -> NDArray[Any]:
    if array.dtype.kind == "f":
        _finite(array, name)
        if array.size and not (array == np.floor(array)).all():
            raise TypeError(f"{name}: expected {expected}, {describe(array)} with fractions")
    return array


def _indices(array: NDArray[Any], name: str, count: int, of: str) -> Ints:
    if array.size:
        low, high = array.min(), array.max()
        if low < 0 or high >= count:
            wrong = low if low < 0 else high
            raise ValueError(f"{name}: indices of {of} must be in 0 ... {count - 1}, got {int(wrong)}")
    return np.require(array, dtype=np.int64, requirements=["C", "A"])


def faces(value: ArrayLike, count: int, name: str = "faces", of: str = "vertices") -> Ints:
    expected = f"integers of shape (m, 3), indices of {of}"
    array = _numbers(value, name, expected)
    if array.ndim != 2 or array.shape[1] != 3 or array.shape[0] == 0:
        raise ValueError(f"{name}: expected {expected}, {describe(array)}")
    return _indices(_integers(array, name, expected), name, count, of)


def index(value: Any, name: str, count: int, of: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}") from None
    if not 0 <= number < count:
        raise ValueError(f"{name}: indices of {of} must be in 0 ... {count - 1}, got {number}")
    return number


def whole(value: Any, name: str, least: int = 0, most: Optional[int] = None) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}") from None
    if number < least or (most is not None and number > most):
        limits = f"at least {least}" if most is None else f"{least} ... {most}"
        raise ValueError(f"{name}: expected an integer, {limits}, got {number}")
    return number


def number(value: Any, name: str, least: float, most: float = float("inf"), infinite: bool = False) -> float:
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}") from None
    if not least <= result <= most or (result == float("inf") and not infinite):
        raise ValueError(f"{name}: expected a number in {least:g} ... {most:g}, got {value}")
    return result


def choice(value: Any, name: str, allowed: Tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")
    return str(value)


def surface_points(face: ArrayLike, barycentric: ArrayLike, count: int) -> Tuple[Ints, Floats, bool]:
    """Faces [n], barycentric coordinates [n, 3], and whether it was a single point."""
    expected = "integers of shape (n,), indices of faces, or a single one"
    where = _numbers(face, "face", expected)
    single = where.ndim == 0
    if where.ndim > 1:
        raise ValueError(f"face: expected {expected}, {describe(where)}")
    where = np.atleast_1d(where)
    bary = np.asarray(barycentric)
    if single and bary.ndim == 1:
        bary = bary[None]
    rows = floats(bary, "barycentric", (None, 3))
    if len(rows) != len(where):
        raise ValueError(f"barycentric: expected shape ({len(where)}, 3), one row for each face, got shape {rows.shape}")
    faces_ = _indices(_integers(where, "face", expected), "face", count, "faces")
    # What is a little off (numbers with four decimals) is normalised by the library.
    wrong = (rows.min(axis=1, initial=0) < -2e-4) | (np.abs(rows.sum(axis=1) - 1) > 2e-4)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"barycentric: rows must be at least 0 and add up to 1, row {at} is {rows[at].tolist()}")
    return faces_, rows, single


def points(value: ArrayLike, name: str = "points") -> Tuple[Floats, bool]:
    """Positions [n, 3], and whether it was a single one."""
    array = _numbers(value, name, "numbers of shape (n, 3) or (3,)")
    if array.ndim == 1 and array.shape == (3,):
        return floats(array[None], name, (None, 3)), True
    return floats(array, name, (None, 3)), False


def colors(value: ArrayLike, name: str, shape: Tuple[Optional[int], ...], low: float, high: float) -> NDArray[np.float32]:
    """Values of channels; those of type uint8 or uint16 are parts of the range."""
    array = np.asarray(value)
    if array.dtype == np.uint8 or array.dtype == np.uint16:
        most = np.float32(np.iinfo(array.dtype).max)
        unit = floats(array, name, shape, np.float32) / most
        return unit if (low, high) == (0.0, 1.0) else np.float32(low) + np.float32(high - low) * unit
    out = floats(value, name, shape, np.float32)
    slack = 1e-4 * (high - low)  # what other programs compute is a little off
    if out.size and (out.min() < low - slack or out.max() > high + slack):
        raise ValueError(f"{name}: values must be in {low:g} ... {high:g} (or of type uint8 or uint16), "
                         f"got {out.min():g} ... {out.max():g}")
    if out.size and (out.min() < low or out.max() > high):
        out = np.clip(out, np.float32(low), np.float32(high))
    return out


def threads(value: Optional[int]) -> int:
    """At most one per core, as the command line has it; 0: all cores."""
    return 0 if value is None else min(whole(value, "threads", 1, 1024), os.cpu_count() or 1)
