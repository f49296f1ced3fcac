"""Threads, progress, interruptions, lifetimes, the end of the process."""
import gc
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import heatskin
from heatskin import _native
from shapes import grid, icosphere, waves

HERE = os.path.dirname(os.path.abspath(__file__))


def run(code, **options):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(heatskin.__file__)), HERE,
                                                                  os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True,
                          timeout=600, **options)


def test_threads_are_chosen_per_call():
    assert _native.thread_count(1) == 1 and _native.thread_count(3) == 3
    assert _native.thread_count(0) == os.cpu_count() or _native.thread_count(0) == len(os.sched_getaffinity(0))
    seen = {}

    def ask(count):
        for _ in range(200):
            seen.setdefault(count, set()).add(_native.thread_count(count))

    workers = [threading.Thread(target=ask, args=(n,)) for n in (1, 2, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == {1: {1}, 2: {2}, 5: {5}}


def test_others_run_meanwhile():
    vertices, faces = icosphere(5)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    worker = threading.Thread(target=tick)
    worker.start()
    begin = time.monotonic()
    heatskin.Surface(vertices, faces).exact_distance(0)
    end = time.monotonic()
    stop.set()
    worker.join()
    # With the GIL held, none would fall inside.
    inside = [t for t in ticks if begin < t < end]
    assert end - begin < 0.02 or len(inside) > 3


def test_many_threads_ask_one_texture(sphere_texture):
    rng = np.random.default_rng(0)
    face, bary = rng.integers(len(sphere_texture.faces), size=4000), rng.dirichlet([1, 1, 1], size=4000)
    expected = sphere_texture.color(face, bary)
    wrong = []

    def ask(threads):
        for _ in range(10):
            if not np.array_equal(sphere_texture.color(face, bary, threads=threads), expected):
                wrong.append(threads)

    workers = [threading.Thread(target=ask, args=(n,)) for n in (1, 2, None, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_two_fits_beside_each_other(small):
    vertices, faces = icosphere(1)
    expected = heatskin.fit(vertices, faces, waves(vertices), **small).to_bytes()
    results = {}

    def work(threads, colors):
        results[threads] = heatskin.fit(vertices, faces, colors, threads=threads, **small).to_bytes()

    workers = [threading.Thread(target=work, args=(1, waves(vertices))), threading.Thread(target=work, args=(2, waves(vertices)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results[1] == results[2] == expected


def test_a_function_may_ask_another_texture(sphere_texture, small):
    # The GIL is taken for the function and given back inside of it.
    vertices, faces = icosphere(2)
    copy = heatskin.fit(vertices, faces, lambda p: sphere_texture.color_at(p), **small)
    assert np.abs(copy.color_at(vertices) - sphere_texture.color_at(vertices)).mean() < 0.05


def test_progress_is_told(pumpkin):
    calls = []
    heatskin.fit(pumpkin, preset="draft", steps=60, kernels=500, evaluate=False, progress=lambda *c: calls.append(c))
    phases = [c[0] for c in calls]
    assert "fitting" in phases and any(c[2] == 60 for c in calls)
    steps = [c[1] for c in calls if c[0] == "fitting"]
    assert steps == sorted(steps) and "psnr" in calls[-1][3] + "".join(c[3] for c in calls)


def test_progress_of_tqdm_and_without(pumpkin, capsys, monkeypatch):
    heatskin.fit(pumpkin, preset="draft", steps=30, kernels=500, evaluate=False, progress=True)
    assert "fitting" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    heatskin.fit(pumpkin, preset="draft", steps=30, kernels=500, evaluate=False, progress=True)
    assert "fitting" in capsys.readouterr().err
    with pytest.raises(TypeError, match="progress: expected True, a function or None, got int"):
        heatskin.fit(pumpkin, steps=3, progress=5)


def test_false_stops_and_resume_gives_the_same_bytes(small, tmp_path):
    vertices, faces = icosphere(2)
    job = {**small, "steps": 200}
    expected = heatskin.fit(vertices, faces, waves(vertices), **job).to_bytes()
    checkpoint = tmp_path / "c"
    begin = time.monotonic()
    with pytest.raises(heatskin.Cancelled, match="steps; they are saved in") as caught:
        heatskin.fit(vertices, faces, waves(vertices), checkpoint=checkpoint,
                     progress=lambda phase, done, total, text: not (phase == "fitting" and done > 20), **job)
    assert caught.value.code == "cancelled" and checkpoint.exists() and time.monotonic() - begin < 60
    texture = heatskin.fit(vertices, faces, waves(vertices), checkpoint=checkpoint, resume=True, output=tmp_path / "o.glb", **job)
    assert 0 < texture.fit["resumed_at"] < 200
    assert texture.to_bytes() == expected == (tmp_path / "o.glb").read_bytes() and not checkpoint.exists()
    with pytest.raises(heatskin.Error) as caught:
        heatskin.fit(vertices, faces, waves(vertices), checkpoint=checkpoint, resume=True, **job)
    assert caught.value.code == "no_checkpoint"


def test_errors_of_callbacks_come_back(small):
    vertices, faces = icosphere(1)

    def broken(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        heatskin.fit(vertices, faces, waves(vertices), progress=broken, **small)
    calls = []

    def colors(points):
        calls.append(len(points))
        if len(calls) > 5:
            raise ZeroDivisionError("yours")
        return waves(points)

    with pytest.raises(ZeroDivisionError, match="yours"):
        heatskin.fit(vertices, faces, colors, **small)
    with pytest.raises(ValueError, match=r"colors\(points\): expected numbers of shape"):
        heatskin.fit(vertices, faces, lambda p: waves(p) if len(p) < 5 else waves(p)[1:], **small)


INTERRUPTED = """
    import os, signal, threading, time, numpy as np, heatskin
    from shapes import icosphere, waves
    v, f = icosphere(3)
    def signal_soon():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=signal_soon, daemon=True).start()
    begin = time.monotonic()
    try:
        heatskin.fit(v, f, {colors}, kernels=3000, steps=1000000, preset="compact", checkpoint={checkpoint!r})
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begin)
"""


@pytest.mark.parametrize("colors", ["waves(v)", "waves"])
def test_ctrl_c(colors, tmp_path):
    checkpoint = str(tmp_path / "c")
    done = run(INTERRUPTED.format(colors=colors, checkpoint=checkpoint))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("interrupted") and float(done.stdout.split()[1]) < 60
    assert os.path.exists(checkpoint)


def test_ctrl_c_stops_a_single_long_call():
    # Tens of seconds of work in one call; the signal comes while it runs.
    done = run("""
    import os, signal, threading, time, numpy as np, heatskin
    from shapes import icosphere
    v, f = icosphere(7)
    surface = heatskin.Surface(v * [1, 1.3, 0.8], f)
    def signal_soon():
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=signal_soon, daemon=True).start()
    try:
        surface.exact_distance(0)
        print("done")
    except KeyboardInterrupt:
        print("interrupted")
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted"]


def test_everything_may_be_deleted_in_any_order(small):
    vertices, faces = icosphere(1)
    names = ["asset", "texture", "edited", "kernels", "surface", "other", "array"]

    def make():
        asset = heatskin.Asset.pumpkin(500, 256)
        texture = heatskin.fit(vertices, faces, waves(vertices), **small)
        kernels = texture.kernels
        edited = texture.with_kernels(kernels)
        return {"asset": asset, "texture": texture, "edited": edited, "kernels": kernels,
                "surface": heatskin.Surface(vertices, faces), "other": heatskin.Texture.from_bytes(texture.to_bytes()),
                "array": edited.vertices}

    first = make()
    expected = first["edited"].color_at(vertices)
    orders = list(itertools.permutations(names))
    rng = np.random.default_rng(0)
    for order in [orders[i] for i in rng.choice(len(orders), 4, replace=False)] + [names, names[::-1]]:
        alive = make()
        for name in order:
            del alive[name]
            gc.collect()
            # What is left works.
            if "edited" in alive:
                np.testing.assert_array_equal(alive["edited"].color_at(vertices), expected)
            if "other" in alive:
                alive["other"].gradients([0], [[1, 0, 0]], [[1, 1, 1]])
            if "surface" in alive:
                alive["surface"].exact_distance(0)
            if "asset" in alive:
                alive["asset"].color(0, [1, 0, 0])
            if "array" in alive:
                alive["array"].sum()
            if "kernels" in alive:
                alive["kernels"].values.sum()


def test_a_texture_dies_while_it_is_asked(small):
    vertices, faces = icosphere(2)
    box = [heatskin.fit(vertices, faces, waves(vertices), **small)]
    rng = np.random.default_rng(0)
    face, bary = rng.integers(len(faces), size=300000), rng.dirichlet([1, 1, 1], size=300000)
    expected = box[0].color(face, bary)
    ask = box[0].color
    out = []
    worker = threading.Thread(target=lambda: out.append(ask(face, bary)))
    worker.start()
    box.clear()
    del ask
    gc.collect()
    worker.join()
    np.testing.assert_array_equal(out[0], expected)


@pytest.mark.parametrize("colors", ["waves(v)", "waves"])
def test_the_process_ends_while_threads_work(colors):
    done = run(f"""
        import threading, time, heatskin
        from shapes import icosphere, waves
        v, f = icosphere(3)
        threading.Thread(target=lambda: heatskin.fit(v, f, {colors}, kernels=2000, steps=100000, preset="compact"), daemon=True).start()
        time.sleep(1.0)
        print("end")
    """)
    assert done.stdout == "end\n" and done.returncode == 0, (done.returncode, done.stderr)


def test_the_process_ends_after_work():
    done = run("""
        import heatskin
        from shapes import icosphere, waves
        v, f = icosphere(1)
        texture = heatskin.fit(v, f, waves(v), kernels=100, steps=5, preset="draft", keep_budget=True)
        surface = heatskin.Surface(v, f)
        print(texture)
    """)
    assert done.returncode == 0 and "kernels (local) on 80 faces" in done.stdout, done.stderr


def _colors(texture):
    return texture.color_at([[0, 0, 1.0]])


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_other_processes(sphere_texture, start):
    sphere_texture.color_at(np.random.default_rng(0).normal(size=(5000, 3)))  # threads are there already
    with multiprocessing.get_context(start).Pool(2) as pool:
        results = pool.map(_colors, [sphere_texture] * 3, chunksize=1)
    for result in results:
        np.testing.assert_array_equal(result, _colors(sphere_texture))


def test_memory_is_refused_before_it_is_taken():
    vertices, faces = grid(40)
    heatskin.set_memory_limit(1 << 20)
    try:
        with pytest.raises(heatskin.Error) as caught:
            heatskin.Surface(vertices, faces)
        assert caught.value.code in ("memory_limit", "machine_memory")
    finally:
        heatskin.set_memory_limit(0)
    heatskin.Surface(vertices, faces)


def test_command_line():
    done = subprocess.run([sys.executable, "-m", "heatskin", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(f"heatskin {heatskin.__version__}")
    done = subprocess.run([sys.executable, "-m", "heatskin", "fit"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("heatskin: error:")


def test_warnings_are_warnings():
    vertices, faces = icosphere(1)
    with pytest.warns(UserWarning, match="too few to cover") as caught:
        heatskin.fit(vertices, faces, waves(vertices), kernels=5, steps=3, preset="draft", evaluate=False)
    assert caught[0].filename == __file__ or len(caught) > 0
