"""Geometry on plain arrays, against closed forms."""
import numpy as np
import pytest

import heatskin
from shapes import grid, icosphere


def test_exact_distance_on_a_plane_is_euclidean():
    vertices, faces = grid(9, size=7.0)  # units of the positions, not of anything normalised
    distance = heatskin.exact_distance(vertices, faces, 0)
    np.testing.assert_allclose(distance, np.linalg.norm(vertices - vertices[0], axis=1), rtol=1e-7, atol=1e-9)
    near = heatskin.exact_distance(vertices, faces, 0, radius=2.0)
    assert np.isinf(near[distance > 2.01]).all() and np.isfinite(near[distance < 1.99]).all()


def test_exact_distance_from_a_point_of_a_face():
    vertices, faces = grid(6)
    bary = np.array([0.2, 0.3, 0.5])
    place = bary @ vertices[faces[17]]
    distance = heatskin.exact_distance(vertices, faces, (17, bary))
    np.testing.assert_allclose(distance, np.linalg.norm(vertices - place, axis=1), rtol=1e-7)


def test_exact_distance_on_a_sphere_is_near_the_great_circle():
    vertices, faces = icosphere(3)
    distance = heatskin.exact_distance(vertices, faces, 5)
    circle = np.arccos(np.clip(vertices @ vertices[5], -1, 1))
    assert np.abs(distance - circle).max() < 0.03
    assert (distance <= circle * 1.001 + 1e-9).all()  # chords cut corners


def test_two_parts_have_no_way():
    vertices, faces = grid(3)
    both = np.concatenate([vertices, vertices + [0, 0, 1]])
    distance = heatskin.exact_distance(both, np.concatenate([faces, faces + len(vertices)]), 0)
    assert np.isfinite(distance[:len(vertices)]).all() and np.isinf(distance[len(vertices):]).all()


def test_unused_vertices_keep_their_numbers():
    vertices, faces = grid(4)
    with_unused = np.concatenate([[[9.0, 9.0, 9.0]], vertices])
    distance = heatskin.exact_distance(with_unused, faces + 1, 1)
    assert np.isinf(distance[0])
    np.testing.assert_allclose(distance[1:], heatskin.exact_distance(vertices, faces, 0), rtol=1e-9)
    with pytest.raises(heatskin.InputError, match="vertex 0 belongs to no triangle"):
        heatskin.exact_distance(with_unused, faces + 1, 0)


def test_walk_on_a_plane_is_straight():
    vertices, faces = grid(10)
    surface = heatskin.Surface(vertices, faces)
    face, bary = surface.sample(200, seed=3)
    start = np.einsum("ni,nij->nj", bary, vertices[faces[face]])
    direction = np.random.default_rng(0).normal(size=(200, 3)) * 0.1
    direction[:, 2] = 0
    walk = surface.walk(face, bary, direction)
    done = walk.stop == heatskin.WALK_STOPS.index("complete")
    assert done.sum() > 100
    np.testing.assert_allclose(walk.position[done], (start + direction)[done], atol=1e-9)
    np.testing.assert_allclose(walk.direction, direction, atol=1e-9)
    np.testing.assert_allclose(walk.length[done], np.linalg.norm(direction, axis=1)[done], rtol=1e-9)
    again = np.einsum("ni,nij->nj", walk.barycentric, vertices[faces[walk.face]])
    np.testing.assert_allclose(again, walk.position, atol=1e-9)
    # The others left the square, or slide along its side.
    slid = surface.walk(face, bary, direction, slide=True)
    assert (slid.stop[~done] != 0).all()
    assert (slid.length[~done] >= walk.length[~done] - 1e-9).all()


def test_trace_around_a_sphere_comes_back():
    vertices, faces = icosphere(4)
    bary = np.array([0.3, 0.3, 0.4])
    start = bary @ vertices[faces[7]]
    normal = np.cross(*(vertices[faces[7]][1:] - vertices[faces[7]][0]))
    direction = np.cross(normal, [0.1, 0.9, 0.3])
    direction *= 2 * np.pi / np.linalg.norm(direction)
    path = heatskin.Surface(vertices, faces).trace(7, bary, direction, samples=100)
    assert path.shape == (100, 3)
    np.testing.assert_allclose(path[0], start, atol=1e-9)
    assert np.linalg.norm(path[-1] - start) < 0.1
    # It stays in a plane through the centre.
    assert np.abs(np.linalg.svd(path)[1][-1]) / 10 < 0.05


def test_log_map_of_a_plane_is_the_plane():
    vertices, faces = grid(12, size=3.0)
    bary = np.array([0.25, 0.25, 0.5])
    source = bary @ vertices[faces[150]]
    log = heatskin.log_map(vertices, faces, (150, bary), 1.0)
    distance = np.linalg.norm(vertices - source, axis=1)
    inside = distance < 0.95
    assert inside.sum() > 20 and not np.isnan(log.coordinates[inside]).any()
    assert np.isnan(log.coordinates[distance > 1.001]).all()
    np.testing.assert_allclose(log.coordinates[inside] @ log.axes, (vertices - source)[inside], atol=1e-5)


def test_log_map_from_a_vertex_measures_distances():
    vertices, faces = icosphere(4)
    log = heatskin.log_map(vertices, faces, 20, 0.6)
    exact = heatskin.exact_distance(vertices, faces, 20)
    seen = ~np.isnan(log.coordinates[:, 0])
    assert seen.sum() > 100
    np.testing.assert_allclose(np.linalg.norm(log.coordinates[seen], axis=1), exact[seen], atol=0.01)


def dense_laplacian(vertices, faces):
    """The cotangent Laplacian, entry by entry."""
    out = np.zeros((len(vertices),) * 2)
    for face in faces:
        for c in range(3):
            i, j, k = face[c], face[(c + 1) % 3], face[(c + 2) % 3]
            u, v = vertices[i] - vertices[k], vertices[j] - vertices[k]
            w = 0.5 * (u @ v) / np.linalg.norm(np.cross(u, v))
            out[[i, j, i, j], [j, i, i, j]] += [-w, -w, w, w]
    return out


def test_laplacian_is_the_cotangent_laplacian():
    vertices, faces = icosphere(1)
    vertices = 3 * vertices * [1, 0.7, 1.3]
    matrix, mass = heatskin.anisotropic_laplacian(vertices, faces)
    np.testing.assert_allclose(matrix.toarray(), dense_laplacian(vertices, faces), atol=1e-10)
    area = np.linalg.norm(np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]],
                                   vertices[faces[:, 2]] - vertices[faces[:, 0]]), axis=1).sum() / 2
    assert mass.sum() == pytest.approx(area)
    x = np.random.default_rng(1).normal(size=(len(vertices), 2))
    np.testing.assert_allclose(matrix.dot(x), matrix.toarray() @ x, atol=1e-10)
    np.testing.assert_allclose(matrix.dot(x[:, 0]), (matrix.toarray() @ x)[:, 0], atol=1e-10)


@pytest.mark.parametrize("angle,anisotropy", [(0.0, 5.0), (0.4, 30.0), (1.3, 200.0), (0.7, 2.5)])
def test_anisotropic_laplacian_measures_directions(angle, anisotropy):
    # x^T L x of a linear function is area * g^T D g.
    vertices, faces = grid(5)
    surface = heatskin.Surface(vertices, faces)
    matrix = surface.laplacian(angle, anisotropy)
    x_axis, y_axis = surface.frames
    np.testing.assert_allclose(np.abs(x_axis), np.abs(np.broadcast_to(x_axis[0], x_axis.shape)), atol=1e-6)
    g = np.array([0.3, 0.8, 0.0])
    values = vertices @ g
    along = np.cos(angle) * x_axis + np.sin(angle) * y_axis
    across = -np.sin(angle) * x_axis + np.cos(angle) * y_axis
    expected = np.mean((along @ g) ** 2 + (across @ g) ** 2 / (1 + anisotropy))
    assert values @ matrix.dot(values) == pytest.approx(expected, rel=1e-9)
    assert np.linalg.eigvalsh(matrix.toarray()).min() > -1e-9
    np.testing.assert_allclose(matrix.toarray().sum(axis=1), 0, atol=1e-10)


def test_nonmanifold_edges_are_summed_up():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0.2], [0.3, 0.2, 1]])
    faces = np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]])
    matrix, _ = heatskin.anisotropic_laplacian(vertices, faces)
    np.testing.assert_allclose(matrix.toarray(), dense_laplacian(vertices, faces), atol=1e-10)
    report = heatskin.Surface(vertices, faces).report
    assert report["nonmanifold_edges"] == 1


@pytest.mark.parametrize("anisotropy", [0.0, 20.0])
def test_eigenpairs_and_heat_agree_with_dense_algebra(anisotropy):
    vertices, faces = icosphere(2)
    surface = heatskin.Surface(2.5 * vertices * [1, 0.8, 1.2], faces)
    matrix, mass = surface.laplacian(0.3, anisotropy).toarray(), surface.mass
    root = np.sqrt(mass)
    values, vectors = np.linalg.eigh(matrix / root[:, None] / root)
    ours, phi = surface.eigenpairs(12, 0.3, anisotropy)
    np.testing.assert_allclose(ours, values[:12], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(phi.T @ (mass[:, None] * phi), np.eye(12), atol=1e-4)
    np.testing.assert_allclose(matrix @ phi, mass[:, None] * phi * ours, atol=1e-3)
    x = np.random.default_rng(2).normal(size=(len(vertices), 3))
    expected = (vectors * np.exp(-0.1 * values)) @ (vectors.T @ (root[:, None] * x)) / root[:, None]
    np.testing.assert_allclose(surface.heat(x, 0.1, 0.3, anisotropy), expected, atol=2e-4)
    np.testing.assert_allclose(surface.heat(x[:, 0], 0.1, 0.3, anisotropy), expected[:, 0], atol=2e-4)
    np.testing.assert_array_equal(surface.heat(x, 0.0), x.astype(np.float32))


def test_heat_keeps_its_mean():
    vertices, faces = grid(8)
    surface = heatskin.Surface(vertices, faces)
    x = np.zeros(len(vertices))
    x[40] = 1
    for time in (1e-3, 1e-1, 10.0):
        warm = surface.heat(x, time, 0.2, 10.0)
        assert surface.mass @ warm == pytest.approx(surface.mass @ x, rel=1e-4)
    np.testing.assert_allclose(warm, (surface.mass @ x) / surface.mass.sum(), rtol=1e-3)


def test_farthest_points_are_greedy():
    points = np.random.default_rng(4).uniform(size=(300, 3))
    chosen = heatskin.farthest_points(points, 20, start=7)
    assert chosen[0] == 7 and len(set(chosen)) == 20
    distance = np.full(300, np.inf)
    for n, index in enumerate(chosen[:-1]):
        distance = np.minimum(distance, np.linalg.norm(points - points[index], axis=1))
        assert distance[chosen[n + 1]] == pytest.approx(distance.max())
    nearest = int(np.argmin(np.linalg.norm(points, axis=1)))
    assert heatskin.farthest_points(points, 1)[0] == nearest
    assert len(heatskin.farthest_points(points, 0)) == 0


def test_closest_points():
    vertices, faces = grid(6)
    points = np.random.default_rng(5).uniform(0.1, 0.9, size=(50, 3)) * [1, 1, 5]
    found = heatskin.closest_points(vertices, faces, points)
    np.testing.assert_allclose(found.position, points * [1, 1, 0], atol=1e-9)
    np.testing.assert_allclose(np.einsum("ni,nij->nj", found.barycentric, vertices[faces[found.face]]), found.position,
                               atol=1e-9)


def test_sampling_is_uniform_and_repeatable():
    vertices, faces = grid(4)
    surface = heatskin.Surface(vertices, faces)
    face, bary = surface.sample(20000, seed=9)
    counts = np.bincount(face, minlength=len(faces))
    assert counts.min() > 0.8 * 20000 / len(faces) and counts.max() < 1.2 * 20000 / len(faces)
    np.testing.assert_array_equal(face, surface.sample(20000, seed=9)[0])
    assert (face != surface.sample(20000, seed=10)[0]).any()


def test_welding():
    vertices, faces = grid(3)
    soup, triangles = vertices[faces.ravel()], np.arange(3 * len(faces)).reshape(-1, 3)
    apart = heatskin.Surface(soup, triangles)
    assert apart.report["components"] == len(faces)
    welded = heatskin.Surface(soup, triangles, weld=True)
    assert welded.report["components"] == 1
    distance = welded.exact_distance(0)
    np.testing.assert_allclose(distance, np.linalg.norm(soup - soup[0], axis=1), rtol=1e-7, atol=1e-9)
