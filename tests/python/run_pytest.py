"""The tests of the Python package, for ctest: run_pytest.py BUILD_FOLDER FILE...

Exits with 77 (skipped) and says why where the package was not built or pytest is not to be had.
"""
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
build, files = sys.argv[1], sys.argv[2:]
for module, package in (("numpy", "python3-numpy"), ("pytest", "python3-pytest")):
    if importlib.util.find_spec(module) is None:
        print(f"skipped: {sys.executable} has no {module} (Debian: {package})")
        sys.exit(77)
package = os.path.join(build, "python")
if not any(name.startswith("_native.") and name.endswith(".so") for name in os.listdir(os.path.join(package, "heatskin"))):
    print("skipped: the Python package was not built (make python)")
    sys.exit(77)
environment = {**os.environ, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}
sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-warnings",
                         *[os.path.join(HERE, file) for file in files]], env=environment).returncode)
