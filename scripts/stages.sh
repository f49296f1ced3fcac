# Sourced by test.sh and sanitize.sh: their stages, how long each took, and as the last line "N passed, M failed".

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

# in_time PART [SECONDS]: whether PART, which takes about SECONDS, may still begin; says so if not.
in_time() {
  if [ -z "${HEATSKIN_DEADLINE:-}" ] || [ $(($(date +%s) + ${2:-0})) -lt "$HEATSKIN_DEADLINE" ]; then return 0; fi
  echo "not run, the time of this machine is over: $1"
  return 1
}

# The times and the count; fails if anything did.
report() {
  say end
  echo
  cat "$times"
  awk '{ passed += $2; failed += $3; skipped += $4
         if ($3 > 0) print "failed: " $1 " (" $3 ")" }
       END { if (skipped > 0) print skipped " skipped (each said why above)"
             print passed " passed, " failed " failed"
             exit failed > 0 }' "$tally"
}
