#!/bin/bash
# viewer.sh: builds the viewer's page (viewer/) into build/viewer/index.html, if it changed. Exit code 77: npm or its packages
# cannot be had here.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/viewer
packages=$PWD/build/viewer_packages
bash scripts/get_npm_packages.sh viewer "$packages" || exit $?
mkdir -p "$out"
sources=$(cat viewer/package-lock.json viewer/*.js viewer/*.json viewer/*.html viewer/src/* packages/three/src/* examples/read_product.js | sha256sum)
if [ -f "$out/index.html" ] && [ "$(cat "$out.sources" 2>/dev/null)" = "$sources" ]; then exit 0; fi

# The bundler wants its packages beside the sources, which stay clean.
work=$PWD/build/viewer_work
rm -rf "$work" && mkdir -p "$work/packages" "$work/examples" || exit 1
cp -r viewer "$work/viewer" && rm -rf "$work/viewer/node_modules" && ln -s "$packages/node_modules" "$work/viewer/node_modules" || exit 1
cp -r packages/three "$work/packages/three" && cp examples/read_product.js "$work/examples/" || exit 1
if ! (cd "$work/viewer" && HEATSKIN_VIEWER_OUT=$out npm run --silent build) >"$out.log" 2>&1; then
  tail -n 30 "$out.log" >&2
  echo "viewer: the page does not build (see above)" >&2
  exit 1
fi
printf '%s' "$sources" >"$out.sources"
# The library embeds the page: CMake has to see that it is there.
if [ -f build/CMakeCache.txt ]; then cmake build >/dev/null || exit 1; fi
echo "viewer: build/viewer/index.html, $(wc -c <"$out/index.html") bytes"
