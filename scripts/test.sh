#!/bin/bash
# test.sh [JOBS]: what `make test` runs once the packages are there. Everything in release, the parts that meet foreign
# files under AddressSanitizer and UBSan, then the format. The last line is "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
export HEATSKIN_TEST_TALLY=$tally

say() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

# One more "test" for each stage that is not a ctest run.
stage() {
  local name=$1
  shift
  if "$@"; then echo "$name 1 0 0" >>"$tally"; else
    echo "$name 0 1 0" >>"$tally"
    return 1
  fi
}

say "build, release"
if stage build_release scripts/build.sh release "$jobs"; then
  say "tests, release"
  scripts/run_ctest.sh build release -j "$jobs"
fi

say "build, AddressSanitizer and UBSan"
if stage build_asan scripts/build.sh asan "$jobs" heatskin_cli test_base test_io test_surface test_texture; then
  say "tests, AddressSanitizer and UBSan"
  scripts/run_ctest.sh build-asan asan -j "$jobs" -R '^(base|io|surface|texture)/'
  # The release tests of the command line drive the sanitised program: what they do themselves needs no sanitiser.
  HEATSKIN_BINARY=$PWD/build-asan/heatskin HEATSKIN_BINARY_SANITIZED=1 \
    scripts/run_ctest.sh build asan_cli -j "$jobs" -R '^cli/'
fi

say "format"
stage format scripts/format.sh check

echo
awk '{ passed += $2; failed += $3; skipped += $4
       if ($3 > 0) print "failed: " $1 " (" $3 ")" }
     END { if (skipped > 0) print skipped " skipped (each said why above)"
           print passed " passed, " failed " failed"
           exit failed > 0 }' "$tally"
