#pragma once

// A file that has colours on a surface: an asset with its own appearance, or a product with kernels.

#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/surface_material.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin {

/// Either of both.
struct LoadedFile {
  std::unique_ptr<LoadedAsset> plain;     ///< an asset; or null
  std::unique_ptr<LoadedProduct> fitted;  ///< a product; or null

  const Surface& surface() const { return plain ? *plain->surface : fitted->texture.surface(); }
  const Asset& asset() const { return plain ? plain->asset : fitted->product.asset; }
  const std::vector<Notice>& notices() const { return plain ? plain->notices : fitted->product.notices; }

  /// The asset's own colours or those of the kernels. The file must outlive the source.
  ColorSource colors(Filter filter) const;

  /// Materials for light: what the asset's materials say and, in a product, kernels instead of the textures
  /// they stand for. The file must outlive the source.
  MaterialSource materials(Filter filter) const;

  /// Normals of the file's vertices at the corners of faces, see cornerNormals(); [F].
  std::vector<std::array<Vec3f, 3>> normals() const;

  /// Which parts of the surface let through what is behind them: the asset's materials, or those a product
  /// has kept. The file must outlive the result.
  Transparency transparency(Filter filter) const;

  /// Texture coordinates for drawing an atlas: those the asset's textures use, or what a product has kept.
  AtlasBuffer atlas(const AtlasOptions& options) const;
};

/// Reads a file and decides by what is in it.
Result<LoadedFile> openFile(const std::filesystem::path& path, const OpenOptions& options = {});
Result<LoadedFile> openFile(Asset asset, const OpenOptions& options = {});

}  // namespace heatskin
