"""The examples of examples/python, and docs/python.md against the tour: examples_test.py BUILD_FOLDER

Exits with 77 (skipped) and says why where the package was not built or numpy is not to be had.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "python")

build = os.path.abspath(sys.argv[1])
package = os.path.join(build, "python")
if importlib.util.find_spec("numpy") is None:
    print(f"skipped: {sys.executable} has no numpy (Debian: python3-numpy)")
    sys.exit(77)
if not any(name.startswith("_native.") and name.endswith(".so") for name in os.listdir(os.path.join(package, "heatskin"))):
    print("skipped: the Python package was not built (make python)")
    sys.exit(77)
tour = os.path.join(ROOT, "scripts", "python_tour.py")
commands = [[tour, "--self-test"], [tour, "check"]]
commands += [[os.path.join(EXAMPLES, name)] for name in sorted(os.listdir(EXAMPLES)) if name.endswith(".py") and name != "tour.py"]
assert len(commands) >= 6, commands
environment = {**os.environ, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1", "HEATSKIN_CACHE": "off"}
failed = 0
with tempfile.TemporaryDirectory() as folder:
    for command in commands:
        done = subprocess.run([sys.executable, "-W", "ignore", *command], cwd=folder, env=environment, capture_output=True, text=True)
        print(f"== {os.path.relpath(command[0], ROOT)} {' '.join(command[1:])}: {'passed' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            failed += 1
            print(done.stdout[-3000:], done.stderr[-3000:])
sys.exit(failed)
