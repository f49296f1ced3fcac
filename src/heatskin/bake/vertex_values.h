#pragma once

// Values of kernels at the vertices of a mesh, or of its faces: colours as glTF's vertex colours, other
// channels as attributes of their own (_METALLIC, _ROUGHNESS, ...), which viewers ignore and tools may read.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/bake/baked_primitives.h"
#include "heatskin/base/result.h"
#include "heatskin/io/gltf_vertices.h"
#include "heatskin/product/product.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

struct VertexBakeOptions {
  bool per_face = false;  ///< every face has one value, its mean

  /// Edges are cut in two until colours in the middle of edges and at many points of faces, interpolated as
  /// renderers do, are this near to the kernels, in 8-bit levels; 0: no edge is.
  double max_error = 0;
  std::size_t max_faces = 4'000'000;
  std::vector<std::uint8_t> fixed;  ///< [primitives] nonzero: its edges are not cut; or empty
};

struct VertexBake {
  std::vector<std::vector<VertexAttribute>> attributes;  // [primitives]
  std::size_t rounds = 0;                                ///< of cutting
  std::vector<Notice> notices;
};

/// Fills vertices and triangles of the primitives and makes the attributes of these vertices. `appearance` is
/// the product's. Equal for any number of threads.
Result<VertexBake> bakeVertexValues(const Product& product, const KernelTexture& texture,
                                    const Appearance& appearance, std::vector<BakedPrimitive>& primitives,
                                    const VertexBakeOptions& options);

}  // namespace heatskin
