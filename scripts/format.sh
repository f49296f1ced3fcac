#!/bin/bash
# format.sh [check]: brings all C++ sources into the project's format, or says which are not.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(find src cli bench python tests -name '*.cpp' -o -name '*.h' | sort)
if [ "${1:-}" = check ]; then
  if ! clang-format --dry-run -Werror --ferror-limit=1 "${sources[@]}" 2>&1 | head -n 60; then
    echo "format: run 'make format'" >&2
    exit 1
  fi
  echo "format: ${#sources[@]} files are well formatted"
else
  clang-format -i "${sources[@]}"
fi
