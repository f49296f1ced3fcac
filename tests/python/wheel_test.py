"""The wheel in a clean virtual environment: wheel_test.py BUILD_FOLDER

`pip install .` without network and without build isolation (what was compiled in BUILD_FOLDER is used), then the first example,
the command line and an import of everything, with nothing else there but numpy. Exits with 77 (skipped) and says why where
pip, venv or numpy are not to be had.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def main():
    build = os.path.abspath(sys.argv[1])
    try:
        import ensurepip  # noqa: F401
        import numpy
        import venv
    except ImportError as problem:
        skip(f"{sys.executable} has no {problem.name} (Debian: python3-venv, python3-pip, python3-numpy)")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.path.join(folder, "venv")
        try:
            venv.create(environment, with_pip=True)
        except subprocess.CalledProcessError:
            skip("python3 -m venv cannot make an environment with pip here (Debian: python3-venv)")
        python = os.path.join(environment, "bin", "python")
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        clean.update(HEATSKIN_BUILD=build, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INDEX="1", HEATSKIN_CACHE="off")
        site = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], env=clean).strip()
        # numpy cannot be had without a network: that of the system, and nothing else of it.
        where = os.path.dirname(os.path.dirname(numpy.__file__))
        for name in os.listdir(where):
            if name == "numpy" or name.startswith("numpy-") or name == "numpy.libs":
                os.symlink(os.path.join(where, name), os.path.join(site, name))

        wheels = os.path.join(folder, "wheels")
        run([python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", wheels, ROOT], env=clean)
        [wheel] = os.listdir(wheels)
        run([python, "-m", "pip", "install", os.path.join(wheels, wheel)], env=clean)
        run([python, "-m", "pip", "check"], env=clean)
        # Out of the sources' sight.
        away = os.path.join(folder, "away")
        os.mkdir(away)
        files = run([python, "-c", "import heatskin; print(heatskin.__file__)"], env=clean, cwd=away)
        assert files.startswith(environment), files
        for command in ([python, "-m", "heatskin"], [os.path.join(environment, "bin", "heatskin")]):
            assert run(command + ["--version"], env=clean, cwd=away).startswith("heatskin ")
        shutil.copy(os.path.join(ROOT, "examples", "python", "fit_mesh.py"), away)
        said = run([python, "fit_mesh.py"], env=clean, cwd=away)
        assert "PSNR" in said and os.path.getsize(os.path.join(away, "bumpy_fit.glb")) > 1000, said

        # The same directly, over what is there.
        run([python, "-m", "pip", "uninstall", "-y", "heatskin"], env=clean)
        run([python, "-m", "pip", "install", "--no-build-isolation", ROOT], env=clean)
        print(run([python, "-c", "import heatskin; print(heatskin.Asset.pumpkin(500, 256))"], env=clean, cwd=away).strip())
        print(f"{wheel}: {os.path.getsize(os.path.join(wheels, wheel))} bytes")


main()
