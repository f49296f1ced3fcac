#pragma once

// New vertices for primitives of a glTF document: split, or in between the old ones. Every attribute and
// morph target follows; types stay as they are unless values have to be interpolated. Internal: includes the
// JSON library.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/gltf_document.h"

namespace heatskin {

/// A vertex made of up to three vertices of a primitive's POSITION; weights sum to 1.
struct VertexBlend {
  std::array<std::uint32_t, 3> from = {0, 0, 0};
  std::array<float, 3> weight = {1, 0, 0};

  bool plain() const { return weight[0] == 1; }
};

/// Values that a primitive gets, one row for each of its new vertices.
struct VertexAttribute {
  std::string name;           ///< "TEXCOORD_1", "COLOR_0", "_ROUGHNESS"
  int components = 2;         ///< 1 .. 4
  std::vector<float> rows;    // [vertices, components]
  bool normalized16 = false;  ///< stored as unsigned shorts, 0 .. 1
};

class GltfVertices {
 public:
  /// Of a file that readGltfBytes() accepts; `bytes` outlive this.
  static Result<GltfVertices> open(std::span<const std::uint8_t> bytes, const std::filesystem::path& path);

  ~GltfVertices();
  GltfVertices(GltfVertices&&) noexcept;
  GltfVertices& operator=(GltfVertices&&) noexcept;

  /// Notes which accessors the document uses, for dropUnused().
  void noteUsed(const GltfDocument& document);

  /// Gives primitive `primitive` of mesh `mesh` in `document`, which was opened from the same bytes, these
  /// vertices and triangles ([3 T]), the attributes in `added` and none of those in `removed`. Compressed
  /// data come out plain. Each primitive at most once. Vertices in between cannot be made of joints.
  Result<void> rewrite(GltfDocument& document, std::size_t mesh, std::size_t primitive,
                       std::span<const VertexBlend> vertices, std::span<const std::uint32_t> triangles,
                       std::span<const VertexAttribute> added, std::span<const std::string> removed = {});

  /// Accessors that were used at noteUsed() and no longer are lose their data (GltfDocument::dropUnused()
  /// then drops the bytes).
  void dropUnused(GltfDocument& document) const;

 private:
  struct Impl;
  explicit GltfVertices(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
