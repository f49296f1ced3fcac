#pragma once

// Kernels back into a file that other programs have worked on: they drop extensions they do not know, and
// reorder and round what stays.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

struct AttachOptions {
  bool extras = false;                  ///< the kernels also as text in the scene's extras
  std::size_t check_samples = 100'000;  ///< points at which colours before and after are compared
  std::uint64_t seed = 1;               ///< of these
  OpenOptions open;                     ///< but for `surface` and `method`
};

struct AttachOutcome {
  std::vector<std::uint8_t> bytes;  ///< the model with the kernels, a GLB
  std::size_t kernels = 0, triangles = 0;
  std::size_t lost_triangles = 0;  ///< without area in the model
  std::size_t moved_kernels = 0;   ///< from these to the nearest point
  double largest_move = 0;         ///< of a corner, as a part of the longest side
  double tolerance = 0;            ///< what was allowed
  double mean_difference = 0;      ///< of colours before and after, in 8-bit levels; over points and channels
  double p99_difference = 0, largest_difference = 0;  ///< the same: of the channel that differs most
  std::vector<Notice> notices;                        ///< of the model
};

/// Colours that differ by more than this many 8-bit levels in the mean are not the same texture.
inline constexpr double kMostMeanDifference = 2;

/// The file of `model` with the kernels of `product` and nothing else changed, except that a material gets a
/// copy where parts with kernels and parts without share it. Refuses a model of another shape
/// (error_code::kOtherShape), one that joined parts with kernels and parts of one colour, and kernels whose
/// colours are not the same there (kMostMeanDifference).
Result<AttachOutcome> attachKernels(const LoadedProduct& product, Asset model,
                                    const AttachOptions& options = {});

/// A small product with the kernels of another one and nothing but the positions and triangles they are on:
/// to be kept beside files that other programs work on. A GLB.
Result<std::vector<std::uint8_t>> encodeSidecar(const Product& product);

}  // namespace heatskin
