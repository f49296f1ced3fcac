// libFuzzer harness of the OBJ and MTL readers:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc -I/usr/include/eigen3
//     tests/fuzz/fuzz_obj.cpp src/heatskin/base/*.cpp src/heatskin/io/*.cpp (without *_test.cpp) and the
//     libraries of the io module; seeds: any folder of small .obj files.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "heatskin/io/mtl_reader.h"
#include "heatskin/io/obj_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heatskin;
  LoadOptions options;
  options.max_triangles = options.max_vertices = 1 << 20;
  const std::span<const std::uint8_t> bytes(data, size);
  if (const Result<Asset> asset = parseObj(bytes, "/nonexistent/fuzz.obj", options)) {
    for (const Primitive& primitive : asset->meshes.at(0).primitives) {
      for (const std::uint32_t vertex : primitive.triangles) {
        if (vertex >= primitive.positions.size()) std::abort();
      }
      for (const Vec3& p : primitive.positions) {
        if (!p.allFinite()) std::abort();
      }
    }
  }
  parseMtl(bytes, "fuzz.mtl");
  return 0;
}
