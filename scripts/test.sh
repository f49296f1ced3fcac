#!/bin/bash
# test.sh [JOBS]: what `make test` runs once the packages are there: all tests in release, a part of the torture
# campaign, the format.
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
. scripts/stages.sh

say "viewer's page"
scripts/viewer.sh || [ $? -eq 77 ] || exit 1
say "build, release"
export HEATSKIN_CMAKE_OPTIONS="${HEATSKIN_CMAKE_OPTIONS:-} -D HEATSKIN_PYTHON=ON"
if stage build_release scripts/build.sh release "$jobs"; then
  say "tests, release"
  scripts/run_ctest.sh build release -j "$jobs"
  say "torture"
  stage torture_self_test scripts/torture.sh --self-test
  stage torture_campaign scripts/torture.sh --quick --jobs "$jobs" --tally "$tally"
fi
say "format"
stage format scripts/format.sh check
report
