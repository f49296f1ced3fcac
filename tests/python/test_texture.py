"""Textures: values, kernels, gradients, files, and what is made of them."""
import pickle
import subprocess
import sys

import numpy as np
import pytest

import heatskin
from shapes import grid, icosphere, psnr, waves


def random_points(count, faces, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(faces, size=count), rng.dirichlet([1, 1, 1], size=count)


def test_fit_of_vertices_learns_their_colours(small):
    vertices, faces = icosphere(3)
    texture = heatskin.fit(vertices, faces, waves(vertices), **{**small, "steps": 150, "evaluate": True})
    face, bary = random_points(500, len(faces))
    places = np.einsum("ni,nij->nj", bary, vertices[faces[face]])
    expected = np.einsum("ni,nij->nj", bary, waves(vertices)[faces[face]])
    got = texture.color(face, bary)
    assert got.dtype == np.float32 and got.shape == (500, 3)
    assert psnr(got, expected) > 32
    assert texture.fit["psnr"] == pytest.approx(psnr(got, expected), abs=3)
    np.testing.assert_allclose(texture.color_at(places), got, atol=1e-4)
    np.testing.assert_allclose(texture.color(int(face[3]), bary[3]), got[3], atol=1e-6)
    assert texture.color(int(face[3]), bary[3]).shape == (3,) == texture.color_at(places[0]).shape
    np.testing.assert_allclose(texture.vertices, vertices, atol=1e-6)
    np.testing.assert_array_equal(texture.faces, faces)


def test_fit_of_a_function(small):
    vertices, faces = icosphere(2)
    calls = []

    def colors(points):
        assert points.shape[1] == 3 and points.dtype == np.float64
        calls.append(len(points))
        return waves(2 * points)

    texture = heatskin.fit(100 + 7 * vertices, faces, lambda p: colors((p - 100) / 7), **{**small, "steps": 150, "kernels": 600})
    face, bary = random_points(300, len(faces))
    places = np.einsum("ni,nij->nj", bary, vertices[faces[face]])
    assert psnr(texture.color(face, bary), waves(2 * places)) > 30
    assert psnr(texture.color_at(100 + 7 * places), waves(2 * places)) > 30
    assert len(calls) > 10


def test_corner_colours_may_jump(small):
    vertices, faces = grid(4)
    corners = np.repeat(((vertices[faces].mean(axis=1)[:, :1] > 0.5) * 0.8 + 0.1)[:, None], 3, axis=1) * np.ones(3)
    texture = heatskin.fit(vertices, faces, corners, **{**small, "steps": 200, "kernels": 500})
    left, right = texture.color_at([[0.3, 0.52, 0], [0.7, 0.52, 0]])
    np.testing.assert_allclose(left, 0.1, atol=0.05)
    np.testing.assert_allclose(right, 0.9, atol=0.05)


def test_channels_of_all_kinds(small):
    vertices, faces = icosphere(2)
    height = 40 * vertices[:, 0]
    texture = heatskin.fit(vertices, faces, {"base_color": waves(vertices), "roughness": 0.5 + 0.5 * vertices[:, 2], "height": height},
                           ranges={"height": (-50, 50)}, **{**small, "steps": 150, "kernels": 600})
    assert [c.name for c in texture.channels] == ["base_color", "roughness", "height"]
    assert texture.channels[2].low == -50 and texture.channels[2].first == 4
    face, bary = random_points(200, len(faces))
    values = texture.values_by_name(face, bary)
    assert values["height"].shape == (200, 1)
    expected = np.einsum("ni,ni->n", bary, height[faces[face]])
    np.testing.assert_array_equal(texture.values(face, bary)[:, 4], values["height"][:, 0])
    assert np.abs(values["height"][:, 0] - expected).mean() < 4
    np.testing.assert_array_equal(texture.values(face, bary)[:, :3], values["base_color"])
    again = heatskin.Texture.from_bytes(texture.to_bytes())
    np.testing.assert_array_equal(again.values(face, bary), texture.values(face, bary))


def test_faces_keep_their_numbers_when_some_have_no_area(small):
    vertices, faces = icosphere(1)
    broken = np.insert(faces, 10, [[5, 5, 6], [3, 3, 3]], axis=0)
    texture = heatskin.fit(vertices, broken, waves(vertices), **small)
    np.testing.assert_array_equal(texture.faces, broken)
    assert texture.color(10, [0.2, 0.3, 0.5]).shape == (3,)
    far = [0.2, 0.3, 0.5] @ vertices[broken[40]]
    np.testing.assert_allclose(texture.color(40, [0.2, 0.3, 0.5]), texture.color_at(far), atol=1e-4)


def test_the_same_on_any_number_of_threads(small):
    vertices, faces = icosphere(2)
    one = heatskin.fit(vertices, faces, waves(vertices), threads=1, **small)
    two = heatskin.fit(vertices, faces, waves(vertices), threads=2, **small)
    assert one.to_bytes() == two.to_bytes()
    face, bary = random_points(3000, len(faces))
    np.testing.assert_array_equal(one.color(face, bary, threads=1), two.color(face, bary, threads=2))
    d = np.random.default_rng(1).normal(size=(3000, 3))
    for name in ("values", "position", "angle"):
        np.testing.assert_array_equal(getattr(one.gradients(face, bary, d, threads=1), name),
                                      getattr(one.gradients(face, bary, d, threads=2), name))


def test_files(fitted, pumpkin, tmp_path):
    fitted.save(tmp_path / "a.glb")
    assert (tmp_path / "a.glb").read_bytes() == fitted.to_bytes()
    again = heatskin.load(tmp_path / "a.glb")
    assert isinstance(again, heatskin.Texture) and again.info["kernels"] == len(fitted.kernels)
    face, bary = random_points(100, len(fitted.faces))
    np.testing.assert_array_equal(again.color(face, bary), fitted.color(face, bary))
    pumpkin.save(tmp_path / "p.glb")
    asset = heatskin.load(str(tmp_path / "p.glb"))
    assert isinstance(asset, heatskin.Asset) and asset.info["images"][0]["width"] == 256
    np.testing.assert_allclose(asset.color(face, bary), pumpkin.color(face, bary), atol=0.02)
    info = heatskin.inspect(tmp_path / "p.glb")
    assert info["surface"]["components"] == 1 and info["surface"]["boundary_edges"] == 0
    with pytest.raises(heatskin.InputError) as caught:
        heatskin.Texture.load(tmp_path / "p.glb")
    assert caught.value.code == "no_kernels"
    with pytest.raises(heatskin.Error, match="nowhere.glb"):
        heatskin.load(tmp_path / "nowhere.glb")
    with pytest.raises(heatskin.InputError) as caught:
        heatskin.fit(tmp_path / "a.glb")
    assert caught.value.code == "already_fitted"
    (tmp_path / "b.glb").write_bytes(fitted.to_bytes()[:-100])
    with pytest.raises(heatskin.InputError):
        heatskin.Texture.load(tmp_path / "b.glb")


def test_colours_are_those_of_the_command_line(fitted, tmp_path):
    fitted.save(tmp_path / "a.glb")
    face, bary = random_points(50, len(fitted.faces))
    np.savetxt(tmp_path / "p.csv", np.column_stack([face, bary]), delimiter=",", header="face,b0,b1,b2", comments="", fmt=["%d"] + ["%.17g"] * 3)
    subprocess.run([sys.executable, "-m", "heatskin", "query", tmp_path / "a.glb", "--points", tmp_path / "p.csv", "-o",
                    tmp_path / "c.npy", "-q"], check=True)
    np.testing.assert_allclose(np.load(tmp_path / "c.npy")[:, :3], fitted.color(face, bary), atol=1e-6)


def test_pickle(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    face, bary = random_points(20, len(fitted.faces))
    np.testing.assert_array_equal(again.color(face, bary), fitted.color(face, bary))
    assert again.fit["psnr"] == fitted.fit["psnr"]


def test_values_of_kernels_are_edited_and_written_back(fitted, tmp_path):
    face, bary = random_points(400, len(fitted.faces))
    kernels = fitted.kernels
    assert len(kernels) == len(kernels.values) == fitted.info["kernels"]
    kernels.values[:] = 0
    kernels.mean[:] = [0.25, 0.5, 0.75]
    flat = fitted.with_kernels(kernels)
    np.testing.assert_allclose(flat.color(face, bary), np.tile([0.25, 0.5, 0.75], (400, 1)), atol=1e-6)
    # The one before is as it was, and a file holds the new one.
    assert np.ptp(fitted.color(face, bary)) > 0.3 and flat.info["edited"] and not fitted.info["edited"]
    flat.save(tmp_path / "flat.glb")
    np.testing.assert_allclose(heatskin.load(tmp_path / "flat.glb").color(face, bary), flat.color(face, bary), atol=0.01)
    # Nothing changed, nothing moves.
    same = fitted.with_kernels(fitted.kernels)
    np.testing.assert_array_equal(same.color(face, bary), fitted.color(face, bary))
    np.testing.assert_allclose(heatskin.Texture.from_bytes(same.to_bytes()).color(face, bary), fitted.color(face, bary), atol=2e-3)


def test_kernels_may_move_come_and_go(fitted):
    kernels = fitted.kernels
    half = fitted.with_kernels(kernels[::2])
    assert len(half.kernels) == (len(kernels) + 1) // 2
    moved = kernels.copy()
    moved.face = np.roll(kernels.face, 1)
    moved.barycentric = np.roll(kernels.barycentric, 1, axis=0)
    other = fitted.with_kernels(moved)
    np.testing.assert_array_equal(other.kernels.face, moved.face)
    np.testing.assert_allclose(other.kernel_positions, np.roll(fitted.kernel_positions, 1, axis=0), atol=1e-9)
    face, bary = random_points(200, len(fitted.faces))
    again = heatskin.Texture.from_bytes(other.to_bytes())
    assert psnr(again.color(face, bary), other.color(face, bary)) > 40
    axes = fitted.kernel_axes
    np.testing.assert_allclose(np.linalg.norm(axes, axis=1), 1, rtol=1e-9)
    normals = np.cross(*(np.moveaxis(fitted.vertices[fitted.faces[kernels.face]][:, 1:] - fitted.vertices[fitted.faces[kernels.face]][:, :1], 1, 0)))
    assert np.abs(np.einsum("ni,ni->n", axes, normals / np.linalg.norm(normals, axis=1, keepdims=True))).max() < 1e-4


def test_kernels_out_of_range_are_refused(fitted):
    kernels = fitted.kernels
    kernels.anisotropy[3] = 500
    with pytest.raises(ValueError, match=r"kernels.anisotropy: values must be in 1 ... 200, got .* 500; Kernels.clip\(\)"):
        fitted.with_kernels(kernels)
    fitted.with_kernels(kernels.clip())
    kernels = fitted.kernels
    kernels.angle[0] = np.nan
    with pytest.raises(ValueError, match=r"kernels.angle\[0\] is nan"):
        fitted.with_kernels(kernels)
    kernels = fitted.kernels
    kernels.values = kernels.values[:, :2]
    with pytest.raises(ValueError, match=r"kernels.values: expected numbers of shape \(\d+, 3\), got shape"):
        fitted.with_kernels(kernels)


def directional(texture, face, bary, d, name, index, step):
    """d/dp of sum(d * values) by central differences."""
    def loss(sign):
        kernels = texture.kernels
        getattr(kernels, name)[index] += sign * step
        return float(np.sum(d * texture.with_kernels(kernels).values(face, bary).astype(float)))
    return (loss(1) - loss(-1)) / (2 * step)


@pytest.mark.parametrize("name,step", [("values", 2e-3), ("mean", 1e-3), ("sharpness", 0.05), ("threshold", 1e-4), ("anisotropy", 0.01), ("angle", 1e-3)])
def test_gradients_against_differences(name, step):
    # In the middle of every range, where nothing is clamped and no two parameters are alike.
    vertices, faces = icosphere(1)
    rng = np.random.default_rng(3)
    start = heatskin.fit(vertices, faces, waves(vertices), preset="draft", steps=5, kernels=80, keep_budget=True, evaluate=False)
    kernels = start.kernels
    n = len(kernels)
    kernels.values = rng.uniform(-0.2, 0.2, kernels.values.shape).astype(np.float32)
    kernels.mean[:] = 0.5
    kernels.angle = rng.uniform(0.5, 2.5, n).astype(np.float32)
    kernels.anisotropy = rng.uniform(3, 10, n).astype(np.float32)
    kernels.threshold = rng.uniform(0.5, 0.7, n).astype(np.float32)
    kernels.sharpness = rng.uniform(20, 40, n).astype(np.float32)
    kernels.length = np.full(n, 2.5, np.float32)
    texture = start.with_kernels(kernels)
    face, bary = random_points(600, len(faces), seed=4)
    d = rng.normal(size=(600, 3)).astype(np.float32)
    gradient = getattr(texture.gradients(face, bary, d), name)
    # The parameters that matter most.
    flat = np.argsort(-np.abs(gradient), axis=None)[:6]
    checked = [np.unravel_index(i, gradient.shape) for i in flat]
    expected = np.array([directional(texture, face, bary, d, name, index, step) for index in checked])
    got = np.array([gradient[index] for index in checked])
    np.testing.assert_allclose(got, expected, rtol=0.05, atol=0.02 * np.abs(expected).max())


def test_gradient_descent_on_colours_lowers_a_loss(sphere_texture):
    face, bary = random_points(2000, len(sphere_texture.faces), seed=6)
    places = np.einsum("ni,nij->nj", bary, sphere_texture.vertices[sphere_texture.faces[face]])
    target = waves(-places).astype(np.float32)
    texture, losses = sphere_texture, []
    for _ in range(30):
        residual = texture.color(face, bary) - target
        losses.append(float(np.mean(residual ** 2)))
        kernels = texture.kernels
        kernels.values -= 30 * texture.gradients(face, bary, 2 * residual / residual.size).values
        texture = texture.with_kernels(kernels.clip())
    assert losses[-1] < 0.3 * losses[0]


def test_position_gradients_against_walks(sphere_texture):
    face, bary = random_points(1500, len(sphere_texture.faces), seed=8)
    d = np.random.default_rng(8).normal(size=(1500, 3)).astype(np.float32)
    kernels = sphere_texture.kernels
    gradient = sphere_texture.gradients(face, bary, d).position
    surface = heatskin.Surface(sphere_texture.vertices, sphere_texture.faces)
    inner = np.flatnonzero(kernels.barycentric.min(axis=1) > 0.15)
    chosen = inner[np.argsort(-np.linalg.norm(gradient[inner], axis=1))[:5]]
    step = 2e-3
    got, expected = [], []
    for k in chosen:
        direction = gradient[k] / np.linalg.norm(gradient[k])
        losses = []
        for sign in (1, -1):
            walk = surface.walk(kernels.face[k], kernels.barycentric[k], sign * step * direction)
            assert walk.face[0] == kernels.face[k]  # angles count in the same frame
            moved = sphere_texture.kernels
            moved.barycentric[k] = walk.barycentric[0]
            losses.append(float(np.sum(d * sphere_texture.with_kernels(moved).values(face, bary).astype(float))))
        expected.append((losses[0] - losses[1]) / (2 * step))
        got.append(gradient[k] @ direction)
    np.testing.assert_allclose(got, expected, rtol=0.15)


def test_gradients_vanish_where_nothing_is_asked(fitted):
    face, bary = random_points(50, len(fitted.faces))
    gradient = fitted.gradients(face, bary, np.zeros((50, 3)))
    assert not gradient.values.any() and not gradient.position.any() and not gradient.mean.any()
    assert len(fitted.gradients(np.empty(0, int), np.empty((0, 3)), np.empty((0, 3))).angle) == len(fitted.kernels)


def test_coverage(fitted):
    face, bary = random_points(500, len(fitted.faces))
    coverage = fitted.coverage(face, bary)
    assert coverage.shape == (500,) and (coverage >= 0).all() and np.mean(coverage > 0.5) > 0.8


def test_bake(fitted, tmp_path):
    report = fitted.bake(tmp_path / "baked.glb", size=128)
    assert report["width"] == 128 and report["psnr"] > 25 and "bytes" not in report
    baked = heatskin.load(tmp_path / "baked.glb")
    points = fitted.vertices[:50]
    assert psnr(baked.color_at(points), fitted.color_at(points)) > 22
    inside = fitted.bake(to="vertex")
    assert inside["bytes"][:4] == b"glTF" and inside["to"] == "vertex"


def test_transfer_to_another_mesh_of_the_shape(sphere_texture):
    vertices, faces = icosphere(3)
    other = sphere_texture.transfer(vertices, faces)
    assert len(other.faces) == len(faces) and other.fit["unmatched_area"] < 0.05
    assert psnr(other.color_at(vertices), sphere_texture.color_at(vertices)) > 30


def test_evaluate(fitted, pumpkin):
    figures = fitted.evaluate(pumpkin, samples=20000, view_size=64, atlas_size=64)
    assert figures["surface_psnr_filtered"] == pytest.approx(fitted.fit["psnr"], abs=0.5)
    assert figures["surface_psnr"] == pytest.approx(fitted.fit["evaluation"]["surface_psnr"], abs=0.5)
    assert figures["view_psnr"] > 15 and figures["atlas_psnr"] > 15
    assert fitted.evaluate(pumpkin, samples=1000, view_size=0, atlas_size=0)["view_psnr"] is None
    with pytest.raises(heatskin.Error):
        fitted.evaluate(heatskin.Asset.from_arrays(*icosphere(1)))


def test_methods(small):
    vertices, faces = icosphere(2)
    textures = {m: heatskin.fit(vertices, faces, waves(vertices), method=m, **small) for m in heatskin.METHODS}
    for method, texture in textures.items():
        assert texture.method == method and psnr(texture.color_at(vertices), waves(vertices)) > 18
        face, bary = random_points(30, len(faces))
        gradient = texture.gradients(face, bary, np.ones((30, 3)))
        assert np.abs(gradient.values).max() > 0 and np.isfinite(gradient.position).all()
    other = textures["local"].with_method("thermal")
    assert other.method == "thermal" and other.info["fitted_method"] == "local"


def test_pictures(fitted, pumpkin, tmp_path):
    for mode in ("shaded", "albedo", "pbr", "normals", "coverage"):
        picture = fitted.render(64, 48, mode=mode, supersampling=1)
        assert picture.shape == (48, 64, 3) and picture.dtype == np.uint8 and picture.std() > 5
    clear = fitted.render(64, mode="albedo", transparent=True, supersampling=1)
    assert clear.shape == (64, 64, 4) and clear[0, 0, 3] == 0 and clear[32, 32, 3] == 255
    black = fitted.render(64, mode="albedo", background=(0, 0, 0), view=3)
    assert not black[0, 0].any()
    assert (fitted.render(64, mode="albedo", azimuth=0) != fitted.render(64, mode="albedo", azimuth=120)).any()
    theirs, ours = pumpkin.render(128, mode="albedo"), fitted.render(128, mode="albedo")
    assert psnr(theirs / 255, ours / 255) > 22
    heatskin.save_png(tmp_path / "a.png", clear)
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ValueError, match=r"pixels: expected shape \(height, width, 3 or 4\) and dtype uint8"):
        heatskin.save_png(tmp_path / "a.png", clear / 255)
    with pytest.raises(ValueError, match="no kernels"):
        pumpkin.render(mode="coverage")


def test_asset_channels_and_options(pumpkin):
    texture = heatskin.fit(pumpkin, preset="draft", steps=10, kernels=500, seed=3, options={"rates.color": 0.01}, evaluate=False)
    assert "color = 0.01" in texture.fit["config"] and texture.info["seed"] == 3 and len(texture.fit["losses"]) == 10
    assert any(o.key == "rates.color" and o.help for o in heatskin.fit_options())
    assert heatskin.presets()[0] == "default"
    with pytest.raises(heatskin.Error):
        heatskin.fit(pumpkin, channels=["base_color", "nonsense"], steps=5)
