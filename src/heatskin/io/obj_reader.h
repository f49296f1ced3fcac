#pragma once

// OBJ: polygons, texture coordinates, vertex colours and materials. Normals, groups and smoothing are not
// needed; lines, points and free-form geometry are skipped with a notice.

#include <cstdint>
#include <filesystem>
#include <span>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Reads an OBJ file with its material files and textures. One mesh, one instance; see appendMesh for how it
/// is divided. Errors name the line. The asset may be without triangles.
Result<Asset> readObj(const std::filesystem::path& path, const LoadOptions& options = {});

/// readObj for bytes in memory; `path` serves messages and the folder of references.
Result<Asset> parseObj(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                       const LoadOptions& options = {});

}  // namespace heatskin
