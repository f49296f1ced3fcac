#!/bin/bash
# test.sh [JOBS]: what `make test` runs once the packages are there. Everything in release; the unit tests and the command
# line under AddressSanitizer and UBSan; what runs on threads under ThreadSanitizer; a part of the torture campaign; the
# format. At the end the time of every stage, and as the last line "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
tally=$(mktemp)
times=$(mktemp)
trap 'rm -f "$tally" "$times"' EXIT
export HEATSKIN_TEST_TALLY=$tally

# say STAGE: its headline, and what the stage before took.
stage_name=
stage_begin=0
say() {
  [ -z "$stage_name" ] || printf '  %4ds  %s\n' $((SECONDS - stage_begin)) "$stage_name" >>"$times"
  stage_name=$1
  stage_begin=$SECONDS
  [ "$1" = end ] || printf '\n== %s (%ds)\n' "$1" "$SECONDS"
}

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
  say "torture"
  stage torture_self_test scripts/torture.sh --self-test
  stage torture_campaign scripts/torture.sh --quick --jobs "$jobs" --tally "$tally"
fi

# Modules whose unit tests are sanitised, too; operators, metrics and demo (long numerical tests) only in `make asan`.
modules=(base io surface appearance geodesic kernels evaluators training product rendering evaluation pipeline)
say "build, AddressSanitizer and UBSan"
if stage build_asan scripts/build.sh asan "$jobs" heatskin_cli "${modules[@]/#/test_}"; then
  say "tests, AddressSanitizer and UBSan"
  scripts/run_ctest.sh build-asan asan -j "$jobs" -R "^($(IFS='|' && echo "${modules[*]}"))/"
  # The release tests of the command line drive the sanitised program: what they do themselves needs no sanitiser.
  say "command line, AddressSanitizer and UBSan"
  HEATSKIN_BINARY=$PWD/build-asan/heatskin HEATSKIN_BINARY_SANITIZED=1 \
    scripts/run_ctest.sh build asan_cli -j "$jobs" -R '^cli/'
fi

say "build, ThreadSanitizer"
if stage build_tsan scripts/build.sh tsan "$jobs" test_base test_threads planted_race; then
  say "tests, ThreadSanitizer"
  scripts/run_ctest.sh build-tsan tsan -j "$jobs" -R '^(threads/|base/Parallel)'
fi

say "format"
stage format scripts/format.sh check
say end

echo
cat "$times"
awk '{ passed += $2; failed += $3; skipped += $4
       if ($3 > 0) print "failed: " $1 " (" $3 ")" }
     END { if (skipped > 0) print skipped " skipped (each said why above)"
           print passed " passed, " failed " failed"
           exit failed > 0 }' "$tally"
