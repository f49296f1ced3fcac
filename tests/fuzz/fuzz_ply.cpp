// libFuzzer harness of the PLY reader; built like fuzz_obj.cpp.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "heatskin/io/ply_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heatskin;
  LoadOptions options;
  options.max_triangles = options.max_vertices = 1 << 20;
  if (const Result<Asset> asset = parsePly({data, size}, "/nonexistent/fuzz.ply", options)) {
    for (const Primitive& primitive : asset->meshes.at(0).primitives) {
      for (const std::uint32_t vertex : primitive.triangles) {
        if (vertex >= primitive.positions.size()) std::abort();
      }
      for (const Vec3& p : primitive.positions) {
        if (!p.allFinite()) std::abort();
      }
    }
  }
  return 0;
}
