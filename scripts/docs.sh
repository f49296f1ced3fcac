#!/bin/bash
# docs.sh [--self-test]: the documentation as a web site, from the program in build/. Exit code 77: Sphinx is not here.
set -uo pipefail
cd "$(dirname "$0")/.."
for program in sphinx-build doxygen; do
  if ! command -v $program >/dev/null; then
    echo "docs: skipped, $program is not installed (packages-dev.txt)" >&2
    exit 77
  fi
done
# Debian's Sphinx belongs to Debian's Python, whatever comes first in PATH.
if [ "${1:-}" = --self-test ]; then exec /usr/bin/python3 scripts/docs.py --self-test; fi
exec /usr/bin/python3 scripts/docs.py build/docs build/heatskin
