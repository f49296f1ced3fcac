#!/bin/bash
# fuzz.sh [SECONDS] [NAME...]: builds the libFuzzer entries of tests/fuzz with clang, AddressSanitizer and UBSan and runs each for
# the given time, starting from the hostile shared assets where they are. Findings are left in out/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
if ! command -v clang++ >/dev/null; then
  echo "fuzz: clang++ is needed: apt-get install clang libclang-rt-14-dev" >&2
  exit 1
fi
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for entry in tests/fuzz/fuzz_*.cpp; do names+=("$(basename "$entry" .cpp | sed s/^fuzz_//)"); done
fi
mkdir -p out/fuzz
assets=${HEATSKIN_ASSETS:-../shared/assets}
flags=(-std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined
  -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all -DHWY_COMPILE_ONLY_STATIC -Isrc -Itests
  -isystem /usr/include/eigen3)

compiler=(clang++)
if command -v ccache >/dev/null; then compiler=(ccache clang++); fi # entries share most sources
mkdir -p out/fuzz/objects

for name in "${names[@]}"; do
  echo "== $name: building"
  modules=(base surface io) # surface: io makes surfaces of assets
  libraries=($(pkg-config --libs tbb fmt libpng libjpeg libwebp draco zlib) -lmeshoptimizer)
  if [ "$name" = product ] || [ "$name" = charts ]; then
    modules+=(kernels operators evaluators texture appearance product)
    libraries+=($(pkg-config --libs libhwy) -lxxhash -lgtest -lpthread)
  fi
  mapfile -t sources < <(find "${modules[@]/#/src/heatskin/}" -name '*.cpp' ! -name '*_test.cpp')
  sources+=("tests/fuzz/fuzz_$name.cpp")
  objects=("${sources[@]//\//_}")
  printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -I{} bash -c \
    'source=$1; shift; "$@" -c "$source" -o "out/fuzz/objects/${source//\//_}.o"' _ {} "${compiler[@]}" "${flags[@]}"
  objects=("${objects[@]/#/out/fuzz/objects/}")
  clang++ "${flags[@]}" "${objects[@]/%/.o}" -o "out/fuzz/$name" "${libraries[@]}"
  mkdir -p "out/fuzz/corpus_$name"
  seeds=()
  if [ -d "$assets/bad" ]; then seeds+=("$assets/bad"); fi
  if [ "$name" = product ] || [ "$name" = charts ]; then
    HEATSKIN_FUZZ_SEEDS="out/fuzz/corpus_$name" "out/fuzz/$name" -runs=0 >/dev/null 2>&1
  fi
  echo "== $name: $seconds s"
  "out/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="out/fuzz/${name}_" "out/fuzz/corpus_$name" "${seeds[@]}" 2>&1 | tail -n 3
done
