#pragma once

// A file that has colours on a surface: an asset with its own appearance, or a product with kernels.

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/product/product.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/render.h"
#include "heatskin/texture/kernel_texture.h"

#include "cli/subject.h"
#include "cli/verb.h"

namespace heatskin::cli {

/// A product, ready to be asked for colours. Stays where it was made: the texture refers to nothing else.
struct FittedSubject {
  Product product;
  KernelTexture texture;
};

/// Reads a product, with progress. Warnings are the caller's to show. With a `method` its kernels are
/// evaluated with that one's standard options, whatever they were fitted with. `progress` may stand in for
/// the session's console.
Result<std::unique_ptr<FittedSubject>> loadFitted(Session& session, const std::filesystem::path& path,
                                                  std::optional<Method> method = {},
                                                  Progress* progress = nullptr);

/// Either of both.
struct TexturedSubject {
  std::unique_ptr<Subject> plain;         ///< an asset; or null
  std::unique_ptr<FittedSubject> fitted;  ///< a product; or null

  const Surface& surface() const { return plain ? plain->surface : fitted->texture.surface(); }
  const Asset& asset() const { return plain ? plain->asset : fitted->product.asset; }
  const std::vector<Notice>& notices() const { return plain ? plain->notices : fitted->product.notices; }

  /// The asset's own colours or those of the kernels. The subject must outlive the source.
  ColorSource colors(Filter filter) const;

  /// Which parts of the surface let through what is behind them: the asset's materials, or those a product
  /// has kept. The subject must outlive the result.
  Transparency transparency(Filter filter) const;

  /// Texture coordinates for drawing an atlas: those the asset's textures use, or what a product has kept.
  AtlasBuffer atlas(const AtlasOptions& options) const;
};

/// Reads a file and decides by what is in it. `options` are those of an asset's surface.
Result<TexturedSubject> loadTextured(Session& session, const std::filesystem::path& path,
                                     const SurfaceOptions& options = {});

}  // namespace heatskin::cli
