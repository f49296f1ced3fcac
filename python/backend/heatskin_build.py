"""Builds wheels of heatskin: a PEP 517 backend that calls CMake and needs nothing but Python.

HEATSKIN_BUILD names a build folder that exists or is to be made (`make python` gives its own, so that nothing is compiled
twice); unless given, it is build-python. HEATSKIN_JOBS limits parallel jobs.
"""
import base64
import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIME = (2020, 1, 1, 0, 0, 0)  # of all entries: the same build gives the same bytes
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "pyproject.toml", "bench", "cli", "cmake", "presets",
           "python", "src", "packages.txt")


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(heatskin VERSION ([0-9.]+)", file.read()).group(1)


def tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (f"Metadata-Version: 2.1\nName: heatskin\nVersion: {version()}\n"
            "Summary: Textures without UVs: anisotropic kernels that live on the surface of a mesh\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy>=1.20\n"
            "Provides-Extra: progress\nRequires-Dist: tqdm; extra == 'progress'\n"
            "Provides-Extra: sparse\nRequires-Dist: scipy; extra == 'sparse'\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def compile_package():
    """The folder with everything that was compiled."""
    build = os.path.abspath(os.path.join(ROOT, os.environ.get("HEATSKIN_BUILD", "build-python")))
    jobs = os.environ.get("HEATSKIN_JOBS") or str(os.cpu_count() or 1)
    configured = os.path.exists(os.path.join(build, "CMakeCache.txt"))
    configure = ["cmake", "-S", ROOT, "-B", build, "-D", "HEATSKIN_PYTHON=ON"]
    if not configured:
        configure += ["-D", "CMAKE_BUILD_TYPE=Release", "-D", "HEATSKIN_TESTS=OFF", "-D", f"HEATSKIN_PYTHON_EXECUTABLE={sys.executable}"]
        if shutil.which("ninja"):
            configure += ["-G", "Ninja"]
    run(configure)
    run(["cmake", "--build", build, "-j", jobs, "--target", "heatskin_python", "heatskin_cli"])
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not os.path.exists(os.path.join(build, "python", "heatskin", "_native" + suffix)):
        sys.exit(f"heatskin: {build} was built for another Python than {sys.executable} (HEATSKIN_PYTHON_EXECUTABLE)")
    return build, suffix


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-6000:]}\nheatskin: this failed: {' '.join(command)}\n"
                 "heatskin: needed are a C++20 compiler, CMake, the packages of packages.txt, pybind11 and the headers of Python")


class Wheel:
    def __init__(self, path):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        info = zipfile.ZipInfo(name, TIME)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        self.file.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        self.record.append(f"{info}/RECORD,,")
        self.file.writestr(zipfile.ZipInfo(f"{info}/RECORD", TIME), "\n".join(self.record) + "\n")
        self.file.close()


def stripped(path):
    """A program or library without what only debuggers read."""
    strip = shutil.which("strip")
    if strip is None:
        return read(path)
    copy = path + ".stripped"
    try:
        subprocess.run([strip, "--strip-unneeded", "-o", copy, path], check=True)
        return read(copy)
    finally:
        if os.path.exists(copy):
            os.remove(copy)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build, suffix = compile_package()
    name = f"heatskin-{version()}-{tag()}.whl"
    info = f"heatskin-{version()}.dist-info"
    package = os.path.join(ROOT, "python", "heatskin")
    wheel = Wheel(os.path.join(wheel_directory, name))
    for file in sorted(os.listdir(package)):
        if file.endswith((".py", ".pyi")) or file == "py.typed":
            wheel.add(f"heatskin/{file}", read(os.path.join(package, file)))
    wheel.add(f"heatskin/_native{suffix}", stripped(os.path.join(build, "python", "heatskin", "_native" + suffix)), True)
    wheel.add("heatskin/bin/heatskin", stripped(os.path.join(build, "heatskin")), True)
    add_metadata(lambda file, text: wheel.add(f"{info}/{file}", text.encode()))
    wheel.add(f"{info}/LICENSE", read(os.path.join(ROOT, "LICENSE")))
    wheel.close(info)
    return name


def add_metadata(add):
    add("METADATA", metadata())
    add("WHEEL", f"Wheel-Version: 1.0\nGenerator: heatskin_build\nRoot-Is-Purelib: false\nTag: {tag()}\n")
    add("entry_points.txt", "[console_scripts]\nheatskin = heatskin.__main__:main\n")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = f"heatskin-{version()}.dist-info"
    os.makedirs(os.path.join(metadata_directory, info), exist_ok=True)

    def add(file, text):
        with open(os.path.join(metadata_directory, info, file), "w", encoding="utf-8") as out:
            out.write(text)

    add_metadata(add)
    return info


def build_sdist(sdist_directory, config_settings=None):
    base = f"heatskin-{version()}"
    name = base + ".tar.gz"

    def clean(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return None if "__pycache__" in entry.name else entry

    with tarfile.open(os.path.join(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for source in SOURCES:
            archive.add(os.path.join(ROOT, source), f"{base}/{source}", filter=clean)
        text = metadata().encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []
