#!/bin/bash
# run_ctest.sh BUILD_DIR LABEL [ctest options]: runs tests, shows what failed and a closing line, and keeps the whole
# story in BUILD_DIR/LABEL.log. Adds "LABEL passed failed skipped" to $HEATSKIN_TEST_TALLY if that is set.
set -uo pipefail
build=$1
label=$2
shift 2
log=$build/$label.log

# Tests that passed are counted, not listed; a flood of failures is cut after 400 lines (all of it is in the log).
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$log" | awk -v label="$label" '
  /^ *Start +[0-9]+:/ { next }
  /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:.* Passed / {
    if (++passed % 100 == 0) { print label ": " passed " passed so far"; fflush() }
    next
  }
  /^[0-9]+% tests passed/ { closing = 1 }
  shown < 400 || closing { print; fflush(); ++shown }'
status=${PIPESTATUS[0]}

# CTest says "97% tests passed, 2 tests failed out of 68"; skipped tests count as passed there.
read -r failed total < <(sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log" | tail -n 1)
skipped=$(grep -cE 'Test +#[0-9]+:.*\*\*\*Skipped' "$log")
if [ -z "${total:-}" ]; then
  failed=1 total=1
  status=1
fi
if [ -n "${HEATSKIN_TEST_TALLY:-}" ]; then
  echo "$label $((total - failed - skipped)) $failed $skipped" >>"$HEATSKIN_TEST_TALLY"
fi
exit "$status"
