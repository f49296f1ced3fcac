#!/bin/bash
# lint.sh BUILD_DIR [JOBS]: clang-tidy over the library and the command line. A file that passed is not looked at
# again until it, a header, or the configuration changes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
jobs=${2:-$(nproc)}
passed=$build/lint-passed
mkdir -p "$passed"

shared=$( (cat .clang-tidy; find src cli bench -name '*.h' | sort | xargs cat) | sha256sum | cut -c1-16)
todo=()
while IFS= read -r source; do
  stamp=$(sha256sum "$source" | cut -c1-16)-$shared
  [ -e "$passed/$stamp" ] || todo+=("$source:$passed/$stamp")
done < <(find src cli bench -name '*.cpp' ! -name '*_test.cpp' | sort)
if [ ${#todo[@]} -eq 0 ]; then
  echo "lint: nothing changed since the last time"
  exit 0
fi

echo "lint: clang-tidy on ${#todo[@]} files"
export build
# The sources are compiled by GCC; clang does not know some of its warning options.
check_one() {
  local source=${1%%:*} stamp=${1#*:} output
  if output=$(timeout 1800 clang-tidy -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option "$source" 2>/dev/null); then
    touch "$stamp"
  else
    echo "$source: clang-tidy is not content (or took more than 1800 s)"
    head -n 40 <<<"$output"
    return 1
  fi
}
export -f check_one
if printf '%s\0' "${todo[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'check_one "$1"' _ {}; then
  echo "lint: clean"
else
  echo "lint: clang-tidy found something (see above)" >&2
  exit 1
fi
