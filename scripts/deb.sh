#!/bin/bash
# deb.sh: makes the Debian packages of what `make deb` has built, in out/ (HEATSKIN_DEB_OUT; compressed with
# HEATSKIN_DEB_COMPRESSION, xz), and shows them to lintian where that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
out=${HEATSKIN_DEB_OUT:-out}
mkdir -p "$out"
rm -f "$out"/heatskin_*.deb "$out"/libheatskin-dev_*.deb "$out"/python3-heatskin_*.deb
# The Python package where it was built, by `make python`, `make test` or `make deb` with python3-dev and pybind11-dev.
components="program;development"
compgen -G "build/python/heatskin/_native.*.so" >/dev/null && components="$components;python"
(cd build && cpack -G DEB -D "CPACK_COMPONENTS_ALL=$components" -D "CPACK_DEBIAN_COMPRESSION_TYPE=${HEATSKIN_DEB_COMPRESSION:-xz}" -B "$(cd .. && cd "$out" && pwd)" >cpack.log 2>&1) || {
  tail -n 20 build/cpack.log >&2
  echo "deb: CPack could not make the packages (see above)" >&2
  exit 1
}
rm -rf "$out/_CPack_Packages"
for package in "$out"/heatskin_*.deb "$out"/libheatskin-dev_*.deb "$out"/python3-heatskin_*.deb; do
  [ -e "$package" ] || continue
  echo "deb: $package, $(stat -c %s "$package") bytes"
  if command -v lintian >/dev/null; then lintian --allow-root --fail-on error "$package"; fi
done
