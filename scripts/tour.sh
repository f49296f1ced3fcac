#!/bin/bash
# tour.sh: takes the pictures of docs/images/tour_*.jpg anew, in headless Chromium. Needs a program with the viewer's page and the packages of
# tests/viewer (both: make test).
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/build/viewer_tests
bash scripts/get_npm_packages.sh tests/viewer "$packages"
folder=$(mktemp -d)
fit=
trap 'kill $fit 2>/dev/null || true; rm -rf "$folder"' EXIT
heatskin=$PWD/build/heatskin
drive() { node tests/viewer/drive.js "$packages" "$(command -v chromium)" docs/images "$@" >/dev/null; }

"$heatskin" demo-asset -o "$folder/pumpkin.glb" --resolution 6000 --texture 1024 -q
"$heatskin" fit "$folder/pumpkin.glb" -o "$folder/pumpkin_fit.glb" --preset compact --kernels 12000 --steps 400 --report "$folder/report" -q
"$heatskin" view "$folder/pumpkin_fit.glb" --reference "$folder/pumpkin.glb" --single "$folder/page.html" -q
drive tour "file://$folder/page.html" "file://$folder/report/report.html"

"$heatskin" fit "$folder/pumpkin.glb" -o "$folder/live.glb" --preset compact --kernels 4000 --steps 8000 --no-eval --live -q 2>"$folder/address" &
fit=$!
while [ ! -s "$folder/address" ]; do sleep 0.1; done
drive tour_live "$(head -n 1 "$folder/address")"
# A fit that is done by then needs no word.
curl -fsS -d '' -X POST "$(head -n 1 "$folder/address")live/finish" || true
wait "$fit"
