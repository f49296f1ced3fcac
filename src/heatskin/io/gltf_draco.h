#pragma once

// KHR_draco_mesh_compression: one compressed triangle mesh becomes indices and attribute views.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/gltf_accessor.h"

namespace heatskin::gltf {

struct DracoMesh {
  std::size_t vertex_count = 0;
  std::vector<std::uint32_t> indices;              // [3 T], all below vertex_count
  std::map<std::string, AccessorView> attributes;  // [vertex_count] each, by glTF name
};

/// An attribute to take out of the compressed mesh.
struct DracoAttribute {
  std::string name;  ///< "POSITION"
  std::uint32_t unique_id = 0;
  bool normalized = false;  ///< of the accessor it stands for
};

/// Decodes `bytes`. The sizes in the stream's header are held against the budget before the decoder, which
/// trusts them, allocates anything. Messages begin with the cause; the caller says where.
Result<DracoMesh> decodeDraco(std::span<const std::uint8_t> bytes, std::span<const DracoAttribute> attributes,
                              MemoryBudget& budget);

}  // namespace heatskin::gltf
