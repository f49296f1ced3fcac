#!/bin/bash
# get_npm_packages.sh LISTS FOLDER: installs the npm packages of LISTS/package-lock.json, versions and checksums as there, into FOLDER. Does
# nothing when they are there. Exit code 77: they cannot be had here.
set -uo pipefail
lists=$(cd "$1" && pwd) || exit 1
folder=$2
for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "get_npm_packages: there is no $program; 'make deps' installs it"
    exit 77
  fi
done
mkdir -p "$folder" && cd "$folder" || exit 1
exec 9>lock && flock 9
if cmp -s package-lock.json "$lists/package-lock.json" && [ -d node_modules ]; then exit 0; fi
rm -f package-lock.json
cp "$lists/package.json" "$lists/package-lock.json" . || exit 1
if ! npm ci --no-audit --no-fund --ignore-scripts >npm.log 2>&1; then
  rm -f package-lock.json
  echo "get_npm_packages: npm could not install $(basename "$lists") (no network?): $(grep -m1 'npm ERR! \|npm error ' npm.log)"
  exit 77
fi
