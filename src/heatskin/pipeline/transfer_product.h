#pragma once

// The same look on another mesh of the shape: kernels of a product, or the textures of an asset.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/image_f.h"
#include "heatskin/pipeline/carried_looks.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/transfer/correspondence.h"
#include "heatskin/transfer/refit_kernels.h"

namespace heatskin {

struct TransferOptions {
  bool refit = true;  ///< of what came out wrong
  RefitOptions refit_options;
  double most_apart = kMostApart;  ///< points further apart than this part of the longest side do not match
  std::size_t samples = 200'000;   ///< for the figures
  std::uint64_t seed = 1;          ///< of these and of the refit
  bool error_map = false;          ///< draw TransferOutcome::error_map
  Fallback fallback = Fallback::kVertex;
  bool extras = false, charts = true;
  const LoadedAsset* reference = nullptr;  ///< ground truth for surface_psnr; null: the source is
  std::optional<Filter> filter;            ///< of the reference; nothing: the fit's
  OpenOptions open;                        ///< progress, cache, notify
};

struct TransferOutcome {
  std::vector<std::uint8_t> bytes;  ///< of the product, a GLB
  std::optional<LoadedProduct> stored;
  double surface_psnr_source = 0;    ///< of the base colour against the source, where there is a counterpart
  double surface_psnr = 0;           ///< against the reference, or without one the same
  std::size_t kernels_kept = 0;      ///< carried over, with the values they had
  std::size_t kernels_changed = 0;   ///< refitted or new
  std::size_t kernels_dropped = 0;   ///< on parts of the source that the mesh does not have
  std::size_t kernels_added = 0;     ///< on parts of the mesh that the source does not have
  double unmatched_area = 0;         ///< of the mesh, without a counterpart in the source; a part of 1
  double source_unmatched_area = 0;  ///< of the source, without a counterpart in the mesh
  RefitReport refit;
  std::vector<LookFigure> variants;  ///< of the source, or those that the mesh has, too
  ImageF error_map;
  std::vector<Notice> notices;  ///< of the mesh and of the transfer
};

/// A mesh must have counterparts in this part of its area at least: otherwise it is another shape.
inline constexpr double kLeastInCommon = 0.1;

/// Kernels of a product on another mesh, with the values of its material variants, whose names the mesh gets.
/// Everything the mesh's file has besides base colours stays. Refuses a
/// mesh that has (next to) nothing in common with the product (error_code::kOtherShape).
Result<TransferOutcome> transferProduct(const LoadedProduct& product, Asset mesh,
                                        const TransferOptions& options = {});

/// Kernels for a mesh that look as `source` does, fitted with `config` to its default materials, and values
/// for its material variants; channels are those of `layout` (fitChannels() of the source).
Result<TransferOutcome> transferLook(const LoadedAsset& source, Asset mesh, FitConfig config,
                                     const ChannelLayout& layout, const TransferOptions& options = {});

}  // namespace heatskin
