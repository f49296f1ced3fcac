#pragma once

// The metrics of one picture, and where the points of an evaluation come from: what every evaluation shares.

#include <cstdint>
#include <span>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/image_f.h"

namespace heatskin {

/// The stream of random numbers of an evaluation's surface points: not one of a fit, so no sample was trained
/// on on purpose.
inline constexpr std::uint64_t kEvaluationStream = 40;

/// The metrics that the options ask for, over the foreground of `truth`. Fails if a metric refuses its input
/// (a picture too small).
Result<PictureQuality> pictureQuality(const ImageF& truth, const ImageF& test,
                                      const EvaluationOptions& options);

/// Arithmetic means, view by view; zeros without views.
PictureQuality meanQuality(std::span<const PictureQuality> views);

}  // namespace heatskin
