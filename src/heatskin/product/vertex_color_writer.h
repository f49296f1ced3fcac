#pragma once

// Vertex colours that come into a glTF document. Internal: includes the JSON library.

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/product/color_slots.h"

namespace heatskin {

/// Vertex colours of the primitives that share a POSITION accessor, as the file holds them: RGBA, normalised
/// integers of 8 bits where nobody sees the difference, else of 16.
class VertexColorWriter {
 public:
  explicit VertexColorWriter(GltfDocument& document) : document_(document) {}

  /// Notes the colours of a primitive that was read from `key`.
  void add(const PrimitiveKey& key, const Primitive& primitive);

  /// Writes all that were noted.
  void write();

 private:
  struct Shared {
    std::vector<PrimitiveKey> users;
    std::vector<Vec4f> colors;
  };

  std::optional<std::size_t> colorsOf(const Shared& shared);
  std::size_t place(std::optional<std::size_t> number, const std::vector<Vec4f>& colors);

  GltfDocument& document_;
  std::map<std::size_t, Shared> shared_;  // by POSITION accessor
};

}  // namespace heatskin
