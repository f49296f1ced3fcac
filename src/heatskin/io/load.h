#pragma once

// The front door of io: any supported file becomes an Asset.

#include <cstddef>
#include <filesystem>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Limits that keep hostile files from exhausting the machine; far above real assets.
struct LoadOptions {
  std::size_t max_image_pixels = std::size_t{1} << 28;  ///< 16384 x 16384, 1 GiB as RGBA
  std::size_t max_total_pixels = std::size_t{1} << 29;  ///< over all images of an asset
  std::size_t max_vertices = std::size_t{1}
                             << 25;  ///< over the whole asset, instances counted; 10 GB as a surface
  std::size_t max_triangles = std::size_t{1} << 25;  ///< over the whole asset, instances counted
  bool load_images = true;                           ///< false: geometry only

  /// Gets the other files an asset consists of (buffers, materials, images); null: nobody asks.
  std::vector<std::filesystem::path>* references = nullptr;
};

/// Reads .glb, .gltf, .obj or .ply, told apart by extension and checked against the content. The asset has at
/// least one triangle, finite positions and valid indices; everything that was repaired or skipped is in its
/// notices. External references are resolved only to regular files inside the folder of `path` (or below it).
Result<Asset> loadAsset(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace heatskin
