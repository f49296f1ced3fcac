#!/bin/bash
# build.sh PRESET [JOBS] [TARGET...]: configures if needed and builds quietly; on failure shows the first errors.
set -uo pipefail
cd "$(dirname "$0")/.."
preset=$1
jobs=${2:-$(nproc)}
shift
shift || true
case $preset in
release) build=build ;;
*) build=build-$preset ;;
esac
mkdir -p "$build"

# A cache made from another place (a moved or copied tree) cannot be used.
if [ -f "$build/CMakeCache.txt" ] &&
  ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$build/CMakeCache.txt"; then
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
fi
if ! cmake --preset "$preset" ${HEATSKIN_CMAKE_OPTIONS:-} >"$build/configure.log" 2>&1; then
  tail -n 30 "$build/configure.log" >&2
  echo "build: CMake could not configure the preset '$preset' (see above)" >&2
  exit 1
fi

targets=()
if [ $# -gt 0 ]; then targets=(--target "$@"); fi
log=$build/build.log
# On a terminal ninja's own display; elsewhere every twentieth step and the first errors.
show() {
  if [ -t 1 ]; then cat; else awk '
    /^\[[0-9]+\/[0-9]+\]/ { n = $1; gsub(/[^0-9\/]/, "", n); sub(/\/.*/, "", n)
                            if (n % 20 == 0) { print substr($0, 1, 120); fflush() }
                            next }
    shown < 120 { print substr($0, 1, 400); fflush(); ++shown }'; fi
}
cmake --build "$build" -j "$jobs" "${targets[@]}" 2>&1 | tee "$log" | show
if [ "${PIPESTATUS[0]}" -ne 0 ]; then
  echo "build: the preset '$preset' does not build; everything the compiler said is in $log" >&2
  exit 1
fi
