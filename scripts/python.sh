#!/bin/bash
# python.sh [JOBS]: what `make python` runs once the packages are there: the Python package in build/python (for PYTHONPATH) and
# as a wheel in build/wheels. Exits with 77 and says why where python3-dev or pybind11 are not to be had.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
HEATSKIN_CMAKE_OPTIONS="${HEATSKIN_CMAKE_OPTIONS:-} -D HEATSKIN_PYTHON=ON"
export HEATSKIN_CMAKE_OPTIONS
scripts/build.sh release "$jobs" heatskin_cli || exit 1
if grep -q "The Python package is not built" build/configure.log; then
  grep "The Python package is not built" build/configure.log >&2
  exit 77
fi
scripts/build.sh release "$jobs" heatskin_python || exit 1
python=$(sed -n 's/^HEATSKIN_PYTHON_EXECUTABLE:[A-Z]*=//p' build/CMakeCache.txt)
mkdir -p build/wheels
if ! HEATSKIN_BUILD=build HEATSKIN_JOBS=$jobs "$python" -c '
import sys
sys.path.insert(0, "python/backend")
import heatskin_build
print("build/wheels/" + heatskin_build.build_wheel("build/wheels"))'; then
  echo "python: the wheel could not be made (see above)" >&2
  exit 1
fi
echo "PYTHONPATH=build/python $python -m heatskin, or: $python -m pip install build/wheels/heatskin-*.whl"
