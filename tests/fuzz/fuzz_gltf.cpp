// libFuzzer entry for the glTF reader. Build with clang:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -Itests -I/usr/include/eigen3
//     tests/fuzz/fuzz_gltf.cpp src/heatskin/base/*.cpp <io sources without tests>
//     -lpng -ljpeg -lwebp -ldraco -lmeshoptimizer -ltbb -lfmt
// and run with a folder of small .glb files as corpus.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "heatskin/io/gltf_reader.h"

#include "support/asset_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heatskin::LoadOptions options;
  options.max_image_pixels = options.max_total_pixels = std::size_t{1} << 20;
  options.max_vertices = options.max_triangles = std::size_t{1} << 20;
  // A folder that does not exist: external references find nothing.
  const bool glb = size >= 4 && data[0] == 'g' && data[1] == 'l';
  const heatskin::Result<heatskin::Asset> asset = heatskin::readGltfBytes(
      std::span(data, size), glb ? "/nonexistent/a.glb" : "/nonexistent/a.gltf", options);
  if (asset) {
    if (const std::string problem = heatskin::testing::assetProblem(*asset); !problem.empty()) {
      std::fprintf(stderr, "broken promise: %s\n", problem.c_str());
      std::abort();
    }
  }
  return 0;
}
