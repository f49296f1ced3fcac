#pragma once

// PLY (ascii and binary of both byte orders): polygons, triangle strips, vertex colours and texture
// coordinates per vertex or per corner.

#include <cstdint>
#include <filesystem>
#include <span>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Reads a PLY file and the textures its comments name. Vertex colours are display (sRGB) values. Elements
/// and properties that are not about shape or colour are skipped. The asset may be without triangles.
Result<Asset> readPly(const std::filesystem::path& path, const LoadOptions& options = {});

/// readPly for bytes in memory; `path` serves messages and the folder of references.
Result<Asset> parsePly(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                       const LoadOptions& options = {});

}  // namespace heatskin
