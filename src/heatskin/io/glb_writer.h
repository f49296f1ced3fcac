#pragma once

// An Asset as a binary glTF 2.0 file (.glb) that opens in any viewer. glb_builder.h is the seam for code that
// adds extensions to such a file.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

struct GlbOptions {
  /// Writes NORMAL: the primitive's own, or angle-weighted means over the faces around a position, so that UV
  /// seams stay invisible. Without normals a viewer shades flat.
  bool normals = true;
  /// Faces tilted further than this against a vertex's own faces do not count in its normal: edges where the
  /// vertices are split anyway stay crisp. No vertex is ever split.
  double crease_degrees = 50;
};

/// The bytes of a GLB: meshes (float POSITION with bounds, TEXCOORD_n, COLOR_0, 16- or 32-bit indices),
/// materials, textures with wrap modes, images as embedded PNG, and instances as nodes. Deterministic: the
/// same asset gives the same bytes.
///
/// What glTF cannot say is said otherwise: a mesh so far from the origin that floats would blur it is stored
/// around its centre, and its nodes carry the offset; a sheared instance becomes two nested nodes. Left out:
/// primitives without triangles, and a base-colour texture on primitives without its texture coordinates.
/// Refused: positions that are not finite, indices out of range, more than 4 GiB.
Result<std::vector<std::uint8_t>> encodeGlb(const Asset& asset, const GlbOptions& options = {});

/// encodeGlb, then an atomic write.
Result<void> writeGlb(const std::filesystem::path& path, const Asset& asset, const GlbOptions& options = {});

}  // namespace heatskin
