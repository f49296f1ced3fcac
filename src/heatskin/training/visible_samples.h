#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Points that kernels are fitted to: drawn with a density proportional to visibility, so that plain means
/// over them are means over the surface weighted by alpha, and points nobody sees are never drawn. Faces of
/// one colour (FitTarget::faceConstant) get none: there is nothing to fit, unless all faces are so. A target
/// with channels that matter everywhere (ChannelLayout::everywhere()) gets points everywhere, whatever is
/// visible.
///
/// `count` points, or fewer where next to nothing is visible, and none if nothing was found. Without alpha
/// and without faces of one colour these are exactly the points of sampleSurface(). Deterministic.
std::vector<SurfacePoint> sampleVisible(const Surface& surface, const FitTarget& target, std::size_t count,
                                        std::uint64_t seed, std::uint64_t stream);

}  // namespace heatskin
