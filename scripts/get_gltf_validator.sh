#!/bin/bash
# get_gltf_validator.sh FOLDER: installs the Khronos glTF validator into FOLDER with npm, the version and checksum of
# tests/gltf_validator/package-lock.json. Does nothing when it is there. Exit code 77: it cannot be had here.
set -uo pipefail
folder=$1
lists=$(cd "$(dirname "$0")/../tests/gltf_validator" && pwd)
for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "get_gltf_validator: there is no $program; 'make deps' installs it"
    exit 77
  fi
done
mkdir -p "$folder" && cd "$folder" || exit 1
exec 9>lock && flock 9
if cmp -s package-lock.json "$lists/package-lock.json" && [ -f node_modules/gltf-validator/index.js ]; then exit 0; fi
rm -f package-lock.json
cp "$lists/package.json" "$lists/package-lock.json" . || exit 1
if ! npm ci --no-audit --no-fund --ignore-scripts >npm.log 2>&1; then
  rm -f package-lock.json
  echo "get_gltf_validator: npm could not install gltf-validator (no network?): $(grep -m1 'npm ERR! \|npm error ' npm.log)"
  exit 77
fi
