#pragma once

// Mesh primitives: attributes and indices become triangles.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_accessor.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin::gltf {

/// Reads meshes of one document; counts what it left out.
class MeshReader {
 public:
  /// All references outlive the object.
  MeshReader(const Document& document, Buffers& buffers, Accessors& accessors, MemoryBudget& budget,
             const LoadOptions& options, NoticeList& notices);

  /// The triangle primitives of mesh `index`; a mesh without any comes back empty. Points, lines and
  /// primitives without positions are skipped with a notice.
  Result<Mesh> readMesh(std::size_t index);

  /// Vertices of the triangle primitives read so far, as stored: also those no triangle uses.
  std::size_t storedVertices() const { return stored_vertices_; }

  std::size_t skippedLinesAndPoints() const { return skipped_modes_; }
  std::size_t skippedWithoutPositions() const { return skipped_no_position_; }

 private:
  struct Source;  ///< one primitive being read

  Result<std::optional<Primitive>> readPrimitive(const Json& json, const std::string& where);
  std::optional<Error> openSource(Source& source);
  std::optional<Error> openDraco(Source& source, const Json& extension);
  std::optional<Error> readTriangles(Source& source, Primitive& primitive);
  std::optional<Error> readPositions(const Source& source, Primitive& primitive);
  std::optional<Error> readTexcoords(const Source& source, Primitive& primitive);
  std::optional<Error> readColors(const Source& source, Primitive& primitive);
  std::optional<Error> readNormals(const Source& source, Primitive& primitive);
  std::optional<Error> readTangents(const Source& source, Primitive& primitive);
  Result<std::vector<float>> readDirections(const Source& source, const char* name, std::size_t components);
  Result<AccessorView> attribute(const Source& source, const std::string& name, std::size_t accessor);

  const Document& document_;
  Buffers& buffers_;
  Accessors& accessors_;
  MemoryBudget& budget_;
  const LoadOptions& options_;
  NoticeList& notices_;
  bool quantization_ = false;
  std::unordered_map<std::size_t, std::size_t> position_uses_;  ///< POSITION accessor -> primitives
  std::size_t stored_vertices_ = 0;
  std::size_t skipped_modes_ = 0;
  std::size_t skipped_no_position_ = 0;
};

}  // namespace heatskin::gltf
