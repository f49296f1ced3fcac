#pragma once

// Levels of detail of a product: fewer triangles, fewer kernels, the same look from farther away.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/carried_looks.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/transfer/refit_kernels.h"

namespace heatskin {

struct LodOptions {
  int levels = 4;             ///< the product itself included
  double face_ratio = 0.25;   ///< triangles of a level as a part of the one before
  double kernel_ratio = 0.5;  ///< kernels, from the level `merge_from` on
  int merge_from = 2;         ///< levels before it have all kernels
  bool refit = true;
  bool bare = false;  ///< levels after the first with triangles, materials and kernels alone, as joinLevels()
                      ///< takes them
  std::size_t samples = 200'000;
  std::uint64_t seed = 1;
  bool charts = true;
  OpenOptions open;
};

/// A viewer's screen, for errors in pixels: lines of a picture, and its field of view from top to bottom.
inline constexpr double kScreenLines = 1080;
inline constexpr double kScreenField = 60;  // degrees

struct LodLevel {
  std::vector<std::uint8_t> bytes;  ///< a product, a GLB; that of level 0 is the given one, if it was a file
  std::optional<LoadedProduct> stored;  ///< nothing for level 0
  std::size_t triangles = 0, kernels = 0;
  double mean_distance = 0, largest_distance = 0;  ///< from the first level, in units of the asset; largest:
                                                   ///< of 99 % of both surfaces
  double surface_psnr_source = 0;                  ///< of the base colour against the first level
  double pixels = 0;           ///< of the distance when the longest side is as high as the screen
  double switch_distance = 0;  ///< from which on the distance is less than a pixel, in units of the asset
  double screen_coverage = 1;  ///< part of the height of the screen that the object then fills
  bool bare = false;           ///< without the hierarchy, skins and animations of the first level
  RefitReport refit;
  std::vector<LookFigure> variants;  ///< against those of the first level
};

struct LodOutcome {
  std::vector<LodLevel> levels;
  std::vector<Notice> notices;
};

/// Levels of a product: its file with fewer triangles, at some of its own vertices. Where meshes are placed
/// several times, or their primitives are joined in ways that cannot be kept, levels after the first have
/// positions and materials, but neither hierarchy nor skins nor animations: LodLevel::bare, and a notice
/// where the product has them.
Result<LodOutcome> lodProduct(const LoadedProduct& product, const LodOptions& options = {});

/// All levels in one file: the first one in the scene, the others as its MSFT_lod, all with kernels
/// (product/levels.h).
Result<std::vector<std::uint8_t>> joinLevels(const LodOutcome& outcome);

}  // namespace heatskin
