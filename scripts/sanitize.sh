#!/bin/bash
# sanitize.sh [JOBS]: what `make sanitize` runs once the packages are there: the unit tests and the command line under
# AddressSanitizer and UBSan, what runs on threads under ThreadSanitizer. With HEATSKIN_DEADLINE (seconds since 1970), which
# continuous integration sets, parts that would begin later are named and not run: machines differ by a factor of two.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
. scripts/stages.sh

# Modules whose unit tests are sanitised, too; the others (long numerical tests, pictures, whole fits that the command line
# repeats below) only in `make asan`.
modules=(base io surface appearance geodesic kernels evaluators training transfer product bake viewing)
say "build, AddressSanitizer and UBSan"
if stage build_asan scripts/build.sh asan "$jobs" heatskin_cli "${modules[@]/#/test_}"; then
  say "tests, AddressSanitizer and UBSan"
  for module in "${modules[@]}"; do
    in_time "$module under AddressSanitizer" && scripts/run_ctest.sh build-asan "asan_$module" -j "$jobs" -R "^$module/"
  done
fi

# The Python package: lifetimes, threads, arrays. The interpreter itself is not sanitised: it loads the sanitiser first, and what
# it leaks itself does not count.
say "Python, AddressSanitizer and UBSan"
if in_time "the Python package under AddressSanitizer" && [ -f build-asan/build.ninja ]; then
  HEATSKIN_CMAKE_OPTIONS="${HEATSKIN_CMAKE_OPTIONS:-} -D HEATSKIN_PYTHON=ON" scripts/build.sh asan "$jobs" heatskin_cli >/dev/null
  if grep -q "The Python package is not built" build-asan/configure.log; then
    echo "skipped: $(grep "The Python package is not built" build-asan/configure.log)"
  elif stage build_asan_python scripts/build.sh asan "$jobs" heatskin_python; then
    stage asan_python scripts/sanitized_python.sh build-asan
  fi
fi

# Compiling for ThreadSanitizer takes about ten minutes from nothing.
say "build, ThreadSanitizer"
if in_time "ThreadSanitizer" 720 && stage build_tsan scripts/build.sh tsan "$jobs" test_base test_threads planted_race; then
  say "tests, ThreadSanitizer"
  scripts/run_ctest.sh build-tsan tsan -j "$jobs" -R '^(threads/|base/Parallel)'
fi

# The release tests of the command line drive the sanitised program: what they do themselves needs no sanitiser.
say "command line, AddressSanitizer and UBSan"
if [ -x build-asan/heatskin ] && stage build_cli_tests scripts/build.sh release "$jobs" test_cli; then
  # Not those that are mostly about other programs, or many fits in a row of what others fit, too: they would take longer
  # than everything else together.
  for letters in A-D E-H I-O P-Z; do
    in_time "command line, tests $letters, under AddressSanitizer" || continue
    HEATSKIN_BINARY=$PWD/build-asan/heatskin HEATSKIN_BINARY_SANITIZED=1 \
      scripts/run_ctest.sh build "asan_cli_$letters" -j "$jobs" -R "^cli/[$letters]" \
      -E 'OtherToolsTest|MikkTSpace|BenchCli|StudyCli|RdTest|ChannelsTest.TheSameBytes|EvalTest.TheFallback|NormalMapsTest.AreFittedAsResiduals|NodePackages'
  done
fi
report
