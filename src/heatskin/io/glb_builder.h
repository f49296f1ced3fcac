#pragma once

// A GLB under construction: the JSON document and the BIN chunk it points into. Internal: includes the JSON
// library, so only sources that write glTF include it.
//
//   GlbBuilder builder;
//   addAsset(builder, asset, options);
//   const int view = builder.addBufferView(bytes);
//   builder.useExtension("HSK_example");
//   builder.root()["extensions"]["HSK_example"]["bufferView"] = view;
//   Result<std::vector<std::uint8_t>> glb = builder.finish();

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_writer.h"

namespace heatskin {

/// Keys keep the order of insertion, so the same calls give the same bytes.
using GltfJson = nlohmann::ordered_json;

class GlbBuilder {
 public:
  /// What a buffer view holds, for graphics APIs (glTF bufferView.target).
  enum class Target { kUnspecified = 0, kVertices = 34962, kIndices = 34963 };

  GlbBuilder();

  /// A document that is complete, `buffers` included, and its BIN chunk.
  GlbBuilder(GltfJson root, std::vector<std::uint8_t> bin);

  /// The document. `asset` is filled in; `buffers`, `bufferViews`, `accessors` and `extensionsUsed` belong to
  /// the builder.
  GltfJson& root() { return root_; }

  /// Appends the element to the top-level array `name` ("meshes", "nodes", ...); returns its index.
  int append(std::string_view name, GltfJson element);

  /// Copies `bytes` to a 4-byte border of the BIN chunk; returns the index of the new buffer view. `bytes` is
  /// not empty.
  int addBufferView(std::span<const std::uint8_t> bytes, Target target = Target::kUnspecified);

  /// Tightly packed float vectors in their own buffer view; `values` is [count, components], components 1..4.
  /// Returns the accessor's index. `bounds` adds min and max, which POSITION needs.
  int addFloats(std::span<const float> values, int components, bool bounds);

  /// Triangle indices, 16 bit where `vertex_count` allows; returns the accessor's index.
  int addIndices(std::span<const std::uint32_t> indices, std::size_t vertex_count);

  /// Lists the extension in extensionsUsed (and extensionsRequired), once.
  void useExtension(std::string_view name, bool required = false);

  std::size_t binBytes() const { return bin_.size(); }

  /// The file. The builder is spent afterwards. Text that is not UTF-8 gets replacement characters.
  Result<std::vector<std::uint8_t>> finish();

 private:
  GltfJson root_;
  std::vector<std::uint8_t> bin_;
};

/// Adds meshes, materials, textures, images and nodes of `asset` and one scene with all nodes.
Result<void> addAsset(GlbBuilder& builder, const Asset& asset, const GlbOptions& options);

/// Unit normals, one per position of `primitive`, as GlbOptions describes them; +y where no face has area.
std::vector<Vec3f> shadingNormals(const Primitive& primitive, double crease_degrees);

}  // namespace heatskin
