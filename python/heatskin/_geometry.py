"""Geometry of triangle meshes: exact distances, straightest walks, unfoldings, anisotropic Laplacians, heat."""

import importlib
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _arrays, _native
from ._arrays import Floats, Ints

#: A vertex, or a point of a face: (face, barycentric coordinates).
Source = Union[int, Tuple[int, ArrayLike]]

#: Why a walk ended; `Walk.stop` counts these.
WALK_STOPS = ("complete", "boundary", "slid", "max_crossings", "bad_input")


class Walk(NamedTuple):
    """Where straightest paths ended."""

    face: Ints  #: [n] faces
    barycentric: Floats  #: [n, 3]
    position: Floats  #: [n, 3] in space
    direction: Floats  #: [n, 3] the start direction, carried along the path
    length: Floats  #: [n] walked
    stop: NDArray[np.uint8]  #: [n] index into WALK_STOPS


class LogMap(NamedTuple):
    """The surface around a point, laid out in the plane."""

    coordinates: Floats  #: [V, 2]; NaN: further away than the radius, or not seen
    axes: Floats  #: [2, 3] the two axes of the coordinates, in space


class Points(NamedTuple):
    """Points of a surface."""

    face: Ints  #: [n]
    barycentric: Floats  #: [n, 3]
    position: Floats  #: [n, 3]


class SparseMatrix(NamedTuple):
    """A square matrix in compressed rows (CSR): `scipy.sparse.csr_matrix(m.csr, m.shape)`, or `m.to_scipy()`."""

    data: Floats  #: [nnz]
    indices: Ints  #: [nnz] columns, increasing within a row
    indptr: Ints  #: [V + 1]

    @property
    def shape(self) -> Tuple[int, int]:
        return (len(self.indptr) - 1, len(self.indptr) - 1)

    @property
    def csr(self) -> Tuple[Floats, Ints, Ints]:
        return (self.data, self.indices, self.indptr)

    def to_scipy(self) -> Any:
        """scipy.sparse.csr_matrix, where scipy is installed."""
        return importlib.import_module("scipy.sparse").csr_matrix(self.csr, shape=self.shape)

    def toarray(self) -> Floats:
        """[V, V], dense."""
        out = np.zeros(self.shape)
        out[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return out

    def dot(self, x: ArrayLike) -> Floats:
        """The product with x: [V] or [V, k]."""
        x = np.asarray(x, dtype=np.float64)
        if x.shape[:1] != self.shape[:1] or x.ndim > 2:
            raise ValueError(f"x: expected shape ({self.shape[1]},) or ({self.shape[1]}, k), got shape {x.shape}")
        out = np.zeros_like(x)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        product = self.data[:, None] * x[self.indices] if x.ndim == 2 else self.data * x[self.indices]
        np.add.at(out, rows, product)
        return out


class Surface:
    """A triangle mesh, prepared for many questions.

    vertices [V, 3] and faces [F, 3] are numbers of any type; they are copied. Answers are in their units and for their
    indices, whatever had to be repaired (see `report`). With `weld`, vertices at one place count as one; with
    `principal_axes=False` angles of operators count from edges instead of principal directions, which is faster.
    """

    def __init__(self, vertices: ArrayLike, faces: ArrayLike, *, weld: bool = False, principal_axes: bool = True) -> None:
        positions = _arrays.vertices(vertices)
        triangles = _arrays.faces(faces, len(positions))
        self._native = _native.mesh_build(positions, triangles, bool(weld), bool(principal_axes))

    @property
    def vertex_count(self) -> int:
        return self._native.vertex_count

    @property
    def face_count(self) -> int:
        return self._native.triangle_count

    @property
    def report(self) -> Dict[str, Any]:
        """What the mesh is like and what was done about it: components, boundary_edges, nonmanifold_edges, ..."""
        return _native.mesh_report(self._native)

    @property
    def frames(self) -> Tuple[Floats, Floats]:
        """Two axes in the plane of each face, [F, 3] each, from which operators count angles. NaN where a face has no area."""
        return _native.mesh_frames(self._native)

    def _source(self, source: Source) -> Tuple[int, Ints, Floats]:
        if isinstance(source, tuple):
            if len(source) != 2:
                raise ValueError(f"source: expected a vertex or (face, barycentric), got a tuple of {len(source)}")
            face, bary, _ = _arrays.surface_points(source[0], source[1], self.face_count)
            if len(face) != 1:
                raise ValueError(f"source: expected one point, got {len(face)}")
            return -1, face, bary
        vertex = _arrays.index(source, "source", self.vertex_count, "vertices")
        return vertex, np.empty(0, np.int64), np.empty((0, 3))

    def exact_distance(self, source: Source, radius: float = float("inf"), *, threads: Optional[int] = None) -> Floats:
        """Exact distances along the surface from a vertex or a point to all vertices: [V]; inf beyond `radius`."""
        radius = _arrays.number(radius, "radius", 0, infinite=True)
        return _native.mesh_distances(self._native, *self._source(source), radius, _arrays.threads(threads))

    def log_map(self, source: Source, radius: float, *, threads: Optional[int] = None) -> LogMap:
        """The unfolding of everything within `radius` of a vertex or a point, as LocalHK unfolds (single precision):
        coordinates [V, 2] and their axes [2, 3].

        Lengths of coordinates are distances, directions those in which straight paths leave the source.
        """
        radius = _arrays.number(radius, "radius", 0)
        return LogMap(*_native.mesh_log_map(self._native, *self._source(source), radius, _arrays.threads(threads)))

    def walk(self, face: ArrayLike, barycentric: ArrayLike, direction: ArrayLike, *, slide: bool = False,
             threads: Optional[int] = None) -> Walk:
        """Straightest paths from points (face [n], barycentric [n, 3]) along vectors in space, direction [n, 3], whose
        length is that of the path. A boundary ends a path, or with `slide` leads it on."""
        where, bary, _ = _arrays.surface_points(face, barycentric, self.face_count)
        vectors = np.asarray(direction)
        vectors = _arrays.floats(vectors[None] if vectors.ndim == 1 else vectors, "direction", (len(where), 3))
        return Walk(*_native.mesh_walk(self._native, where, bary, vectors, bool(slide), _arrays.threads(threads)))

    def trace(self, face: int, barycentric: ArrayLike, direction: ArrayLike, samples: int = 64, *,
              threads: Optional[int] = None) -> Floats:
        """One straightest path as a polyline: [samples, 3] places at equal distances."""
        samples = _arrays.whole(samples, "samples", 2)
        where, bary, _ = _arrays.surface_points(face, barycentric, self.face_count)
        vector = _arrays.floats(direction, "direction", (3,))
        parts = np.linspace(0, 1, samples)[:, None]
        return self.walk(np.repeat(where, samples), np.repeat(bary, samples, axis=0), parts * vector,
                         threads=threads).position

    def laplacian(self, angle: float = 0.0, anisotropy: float = 0.0, *, threads: Optional[int] = None) -> SparseMatrix:
        """The stiffness matrix L [V, V], positive semidefinite, of linear finite elements.

        Heat spreads freely along the axis that lies at `angle` (radians) in each face's frame and 1 / (1 + anisotropy) as
        fast across it. anisotropy=0 is the cotangent Laplacian (libigl's `-cotmatrix`, potpourri3d's `cotan_laplacian`).
        """
        angle, anisotropy = self._operator(angle, anisotropy)
        indptr, indices, data = _native.mesh_stiffness(self._native, angle, anisotropy, _arrays.threads(threads))
        return SparseMatrix(data, indices, indptr)

    @staticmethod
    def _operator(angle: float, anisotropy: float) -> Tuple[float, float]:
        return (_arrays.number(angle, "angle", -1e6, 1e6), _arrays.number(anisotropy, "anisotropy", 0, 1e6))

    @property
    def mass(self) -> Floats:
        """[V] a third of the area around each vertex."""
        return _native.mesh_mass(self._native)

    def heat(self, x: ArrayLike, time: float, angle: float = 0.0, anisotropy: float = 0.0, *,
             threads: Optional[int] = None) -> NDArray[np.float32]:
        """exp(-time M^-1 L) x for x [V] or [V, k], without eigenvectors, in single precision."""
        time = _arrays.number(time, "time", 0)
        angle, anisotropy = self._operator(angle, anisotropy)
        values = np.asarray(x)
        flat = values.ndim == 1
        columns = _arrays.floats(values[:, None] if flat else values, "x", (self.vertex_count, None), np.float32)
        out = _native.mesh_heat(self._native, columns, time, angle, anisotropy, _arrays.threads(threads))
        return out[:, 0] if flat else out

    def eigenpairs(self, count: int, angle: float = 0.0, anisotropy: float = 0.0, *,
                   threads: Optional[int] = None) -> Tuple[Floats, Floats]:
        """The smallest `count` pairs of L phi = lambda M phi: values [k], ascending, and vectors [V, k] with
        phi^T M phi = 1."""
        count = _arrays.whole(count, "count", 1)
        angle, anisotropy = self._operator(angle, anisotropy)
        return _native.mesh_eigenpairs(self._native, count, angle, anisotropy, _arrays.threads(threads))

    def closest_points(self, points: ArrayLike, *, threads: Optional[int] = None) -> Points:
        """The nearest points of the surface to places in space, points [n, 3]."""
        places, _ = _arrays.points(points)
        return Points(*_native.mesh_closest(self._native, places, _arrays.threads(threads)))

    def sample(self, count: int, seed: int = 1, *, threads: Optional[int] = None) -> Tuple[Ints, Floats]:
        """Area-uniform points: face [n] and barycentric [n, 3]."""
        return _native.mesh_sample(self._native, _arrays.whole(count, "count"), _arrays.whole(seed, "seed"),
                                   _arrays.threads(threads))


def exact_distance(vertices: ArrayLike, faces: ArrayLike, source: Source, radius: float = float("inf"), *,
                   threads: Optional[int] = None) -> Floats:
    """Surface.exact_distance() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=False).exact_distance(source, radius, threads=threads)


def log_map(vertices: ArrayLike, faces: ArrayLike, source: Source, radius: float, *,
            threads: Optional[int] = None) -> LogMap:
    """Surface.log_map() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=False).log_map(source, radius, threads=threads)


def geodesic_walk(vertices: ArrayLike, faces: ArrayLike, face: ArrayLike, barycentric: ArrayLike, direction: ArrayLike, *,
                  slide: bool = False, threads: Optional[int] = None) -> Walk:
    """Surface.walk() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=False).walk(face, barycentric, direction, slide=slide, threads=threads)


def anisotropic_laplacian(vertices: ArrayLike, faces: ArrayLike, angle: float = 0.0, anisotropy: float = 0.0, *,
                          threads: Optional[int] = None) -> Tuple[SparseMatrix, Floats]:
    """Surface.laplacian() and Surface.mass of a mesh that is needed once: (L, M [V])."""
    surface = Surface(vertices, faces, principal_axes=anisotropy != 0)
    return surface.laplacian(angle, anisotropy, threads=threads), surface.mass


def heat_action(vertices: ArrayLike, faces: ArrayLike, x: ArrayLike, time: float, angle: float = 0.0,
                anisotropy: float = 0.0, *, threads: Optional[int] = None) -> NDArray[np.float32]:
    """Surface.heat() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=anisotropy != 0).heat(x, time, angle, anisotropy, threads=threads)


def eigenpairs(vertices: ArrayLike, faces: ArrayLike, count: int, angle: float = 0.0, anisotropy: float = 0.0, *,
               threads: Optional[int] = None) -> Tuple[Floats, Floats]:
    """Surface.eigenpairs() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=anisotropy != 0).eigenpairs(count, angle, anisotropy, threads=threads)


def closest_points(vertices: ArrayLike, faces: ArrayLike, points: ArrayLike, *, threads: Optional[int] = None) -> Points:
    """Surface.closest_points() of a mesh that is needed once."""
    return Surface(vertices, faces, principal_axes=False).closest_points(points, threads=threads)


def farthest_points(points: ArrayLike, count: int, start: Optional[int] = None, *, threads: Optional[int] = None) -> Ints:
    """Indices of `count` points of points [n, 3], each the farthest (in space) from those before; the first is `start`,
    or the point nearest to the origin."""
    places = _arrays.floats(points, "points", (None, 3))
    count = _arrays.whole(count, "count", 0, len(places))
    first = -1 if start is None else _arrays.index(start, "start", len(places), "points")
    return _native.farthest_points(places, count, first, _arrays.threads(threads))
