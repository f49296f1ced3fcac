#!/bin/bash
# sanitized_python.sh BUILD_DIR: the tests of the Python package whose subject is memory, with an extension built for AddressSanitizer. That
# must be loaded before the interpreter, and so must the C++ library, whose exceptions it watches.
set -uo pipefail
cd "$(dirname "$0")/.."
build=$1
python=$(sed -n 's/^HEATSKIN_PYTHON_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
if ! "$python" -c 'import numpy, pytest' 2>/dev/null; then
  echo "skipped: $python has no numpy or pytest (Debian: python3-numpy, python3-pytest)"
  exit 0
fi
# Python's own leaks are many, and it never frees all modules. glibc's allocator is faster than Python's for finding errors.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc
export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)"
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -p no:cacheprovider --disable-warnings tests/python/test_running.py tests/python/test_geometry.py \
  -k "deleted or dies or many_threads or corner or walk or log_map or eigenpairs or nonmanifold or unused or progress_is or errors_of_callbacks"
