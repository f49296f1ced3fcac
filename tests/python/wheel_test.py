"""The wheel in a clean virtual environment: wheel_test.py BUILD_FOLDER

pip makes and installs it without network and without build isolation (what was compiled in BUILD_FOLDER is used), then the first example,
the command line and an import of everything, with nothing else there but numpy. Exits with 77 (skipped) and says why where
pip, venv or numpy are not to be had.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

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
        # `pip install .` is these two steps; what the first one makes is looked at in between.
        run([python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", wheels, ROOT], env=clean)
        [wheel] = os.listdir(wheels)
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            names = archive.namelist()
        assert "heatskin/py.typed" in names and "heatskin/_native.pyi" in names and "heatskin/bin/heatskin" in names, names
        run([python, "-m", "pip", "install", "--no-compile", os.path.join(wheels, wheel)], env=clean)
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

        print(f"{wheel}: {os.path.getsize(os.path.join(wheels, wheel))} bytes")


main()
