"""Arrays of any type and order are taken as they are; what cannot be taken is named."""
import numpy as np
import pytest

import heatskin
from heatskin import _arrays
from shapes import grid, icosphere, waves

FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_vertices_of_any_type(dtype):
    vertices, faces = grid(4, size=4.0)
    expected = heatskin.exact_distance(vertices, faces, 3)
    np.testing.assert_allclose(heatskin.exact_distance(vertices.astype(dtype), faces, 3), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", INTEGERS + [np.float32, np.float64])
def test_faces_of_any_type(dtype):
    vertices, faces = grid(4)
    expected = heatskin.exact_distance(vertices, faces, 3)
    np.testing.assert_array_equal(heatskin.exact_distance(vertices, faces.astype(dtype), 3), expected)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: a[::-1][::-1],
                                    lambda a: a.astype(a.dtype.newbyteorder(">")), lambda a: a.tolist(),
                                    lambda a: np.ma.masked_array(a)])
def test_orders_strides_and_lists(change):
    vertices, faces = grid(4)
    expected = heatskin.exact_distance(vertices, faces, 3)
    np.testing.assert_array_equal(heatskin.exact_distance(change(vertices), change(faces), 3), expected)


def test_read_only_and_unaligned():
    vertices, faces = grid(4)
    expected = heatskin.exact_distance(vertices, faces, 3)
    vertices.setflags(write=False)
    faces.setflags(write=False)
    np.testing.assert_array_equal(heatskin.exact_distance(vertices, faces, 3), expected)
    raw = np.empty(vertices.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(vertices.shape)
    unaligned[:] = vertices
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(heatskin.exact_distance(unaligned, faces, 3), expected)


def test_nothing_is_copied_or_changed_without_need():
    vertices, faces = grid(4)
    assert _arrays.vertices(vertices) is vertices
    assert _arrays.faces(faces.astype(np.int64), len(vertices)) is not None
    whole = faces.astype(np.int64)
    assert _arrays.faces(whole, len(vertices)) is whole
    points = np.random.default_rng(0).uniform(size=(10, 3))
    assert _arrays.points(points)[0] is points
    before = vertices.copy()
    heatskin.exact_distance(vertices, faces, 0)
    heatskin.Surface(vertices, faces).heat(np.ones(len(vertices), np.float32), 0.1)
    np.testing.assert_array_equal(vertices, before)
    # What comes back is ours and may be written.
    out = heatskin.exact_distance(vertices, faces, 0)
    out[0] = 7
    assert out.flags.owndata or out.base is not None


BAD = [
    ("vertices", lambda v, f: (v[:, :2], f, 0), ValueError, r"vertices: expected numbers of shape \(n, 3\), got shape \(25, 2\)"),
    ("vertices", lambda v, f: (v.ravel(), f, 0), ValueError, r"vertices: .* got shape \(75,\) and dtype float64"),
    ("vertices", lambda v, f: (v[:0], f, 0), ValueError, r"vertices: .*n > 0"),
    ("vertices", lambda v, f: (v.astype(complex), f, 0), TypeError, r"vertices: expected numbers .* dtype complex128"),
    ("vertices", lambda v, f: (v.astype(str), f, 0), TypeError, r"vertices: expected numbers"),
    ("vertices", lambda v, f: (v > 0, f, 0), TypeError, r"vertices: .*dtype bool"),
    ("vertices", lambda v, f: ([[0, 0, 0], [1, 2]], f, 0), ValueError, r"vertices: .*ragged"),
    ("vertices", lambda v, f: (None, f, 0), TypeError, r"vertices: .*NoneType"),
    ("vertices", lambda v, f: (np.where(v == v[7], np.nan, v), f, 0), ValueError, r"vertices: all values must be finite, vertices\[\d+, \d\] is nan"),
    ("faces", lambda v, f: (v, f[:, :2], 0), ValueError, r"faces: expected integers of shape \(m, 3\), indices of vertices, got shape \(32, 2\)"),
    ("faces", lambda v, f: (v, f[:0], 0), ValueError, r"faces: expected .* got shape \(0, 3\)"),
    ("faces", lambda v, f: (v, f + 1, 0), ValueError, r"faces: indices of vertices must be in 0 ... 24, got 25"),
    ("faces", lambda v, f: (v, f - 1, 0), ValueError, r"faces: indices of vertices must be in 0 ... 24, got -1"),
    ("faces", lambda v, f: (v, f + 0.5, 0), TypeError, r"faces: .*fractions"),
    ("faces", lambda v, f: (v, f * 1e300, 0), ValueError, r"faces: indices of vertices must be in"),
    ("source", lambda v, f: (v, f, 25), ValueError, r"source: indices of vertices must be in 0 ... 24, got 25"),
    ("source", lambda v, f: (v, f, 1.5), TypeError, r"source: expected an integer, got float"),
    ("source", lambda v, f: (v, f, (99, [1, 0, 0])), ValueError, r"face: indices of faces must be in 0 ... 31, got 99"),
    ("source", lambda v, f: (v, f, (1, [1, 1, 0])), ValueError, r"barycentric: rows must be at least 0 and add up to 1, row 0 is \[1.0, 1.0, 0.0\]"),
    ("source", lambda v, f: (v, f, (1, [1, 0])), ValueError, r"barycentric: expected numbers of shape \(n, 3\), got shape \(1, 2\)"),
    ("source", lambda v, f: (v, f, ([1, 2], [[1, 0, 0]])), ValueError, r"barycentric: expected shape \(2, 3\)"),
]


@pytest.mark.parametrize("name,make,error,message", BAD)
def test_errors_name_the_argument(name, make, error, message):
    with pytest.raises(error, match=message):
        heatskin.exact_distance(*make(*grid(4)))


def test_meshes_without_area():
    with pytest.raises(heatskin.InputError) as caught:
        heatskin.Surface(np.zeros((3, 3)), [[0, 1, 2]])
    assert caught.value.code == "bad_input" and isinstance(caught.value, ValueError)


def test_colours_of_integers():
    unit = _arrays.colors(np.array([[0, 128, 255]], np.uint8), "colors", (1, 3), 0, 1)
    np.testing.assert_allclose(unit, [[0, 128 / 255, 1]])
    np.testing.assert_allclose(_arrays.colors(np.array([[65535, 0, 0]], np.uint16), "colors", (1, 3), 0, 1), [[1, 0, 0]])
    np.testing.assert_allclose(_arrays.colors(np.array([[255, 0, 0]], np.uint8), "c", (1, 3), -2, 2), [[2, -2, -2]])
    with pytest.raises(ValueError, match=r"colors: values must be in 0 ... 1 \(or of type uint8 or uint16\), got 0 ... 255"):
        _arrays.colors(np.array([[0, 128, 255]]), "colors", (1, 3), 0, 1)
    np.testing.assert_array_equal(_arrays.colors([[1.00001, -1e-6, 0.5]], "colors", (1, 3), 0, 1), np.float32([[1, 0, 0.5]]))


def test_colours_of_every_type_give_the_same_texture(small):
    vertices, faces = icosphere(1)
    colors = np.round(255 * waves(vertices)).astype(np.uint8)
    textures = [heatskin.fit(vertices, faces, c, **small)
                for c in (colors, np.asfortranarray(colors), (colors / 255).astype(np.float32), (colors * 257).astype(np.uint16))]
    assert textures[0].to_bytes() == textures[1].to_bytes()
    for other in textures[2:]:
        np.testing.assert_allclose(other.color_at(vertices), textures[0].color_at(vertices), atol=2e-3)


@pytest.mark.parametrize("colors,error,message", [
    (np.zeros((5, 3)), ValueError, r"colors: expected one row for each vertex, shape \(42, 3\), or for each corner, shape \(80, 3, 3\), "
                                   r"or a function of positions; got shape \(5, 3\) and dtype float64"),
    (np.zeros((42, 4)), ValueError, r"colors: .*got shape \(42, 4\)"),
    (np.full((42, 3), 2.0), ValueError, r"colors: values must be in 0 ... 1"),
    (np.full((42, 3), np.nan), ValueError, r"colors: all values must be finite, colors\[0, 0\] is nan"),
    (lambda p: np.zeros((len(p), 2)), ValueError, r"colors\(points\): expected numbers of shape \(2, 3\), got shape \(2, 2\)"),
    ({"roughness": np.zeros(42)}, ValueError, r"colors: a texture needs 'base_color'"),
    ({"base_color": np.zeros((42, 3)), "height": np.zeros(7)}, ValueError, r"colors\['height'\]: expected one row for each vertex, shape \(42, 1\)"),
    ({"base_color": np.zeros((42, 3)), "height": lambda p: p[:, 0]}, TypeError, r"functions and arrays cannot be mixed"),
])
def test_wrong_colours_are_named(colors, error, message):
    vertices, faces = icosphere(1)
    with pytest.raises(error, match=message):
        heatskin.fit(vertices, faces, colors, steps=5)


def test_wrong_points_are_named(sphere_texture):
    with pytest.raises(ValueError, match=r"points: expected numbers of shape \(n, 3\), got shape \(4, 2\)"):
        sphere_texture.color_at(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"face: indices of faces must be in 0 ... 319, got 320"):
        sphere_texture.color(320, [1, 0, 0])
    with pytest.raises(ValueError, match=r"face: expected integers of shape \(n,\)"):
        sphere_texture.color(np.zeros((2, 2), int), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"d_values: expected numbers of shape \(1, 3\), got shape \(1, 5\)"):
        sphere_texture.gradients([0], [[1, 0, 0]], np.zeros((1, 5)))
    with pytest.raises(ValueError, match=r"threads: expected an integer, 1 ... 1024, got 0"):
        sphere_texture.color(0, [1, 0, 0], threads=0)
    with pytest.raises(ValueError, match=r"mode: expected one of shaded, .*, got 'shady'"):
        sphere_texture.render(mode="shady")
    assert sphere_texture.color(np.empty(0, int), np.empty((0, 3))).shape == (0, 3)
    assert sphere_texture.color_at(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("options,message", [
    ({"kernels": 0}, "kernels: expected an integer, 1 ... 1000000, got 0"),
    ({"preset": "nice"}, "nice"),
    ({"method": "magic"}, "method: expected one of local, thermal, spectral, got 'magic'"),
    ({"options": {"rates.colour": 1}}, "rates.colour"),
    ({"resume": True}, "resume: needs checkpoint=FILE"),
    ({"kernels": 100, "target_psnr": 30}, "target_psnr: has no effect with a fixed number of kernels"),
    ({"fallback": "x"}, "fallback: expected one of vertex, original, none, texture"),
])
def test_wrong_options_are_named(options, message):
    vertices, faces = icosphere(1)
    with pytest.raises(ValueError, match=message):
        heatskin.fit(vertices, faces, waves(vertices), **options)
