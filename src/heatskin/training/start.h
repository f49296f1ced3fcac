#pragma once

#include <cstdint>

#include "heatskin/appearance/appearance.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/options.h"

namespace heatskin {

/// The kernels a fit begins with (METHOD section 2), where there is something to fit (sampleVisible()).
/// `surface_mean` is the mean colour of that, for StartMean::kSurface.
KernelSet startKernels(const Surface& surface, const Appearance& appearance, const StartOptions& options,
                       const Vec3f& surface_mean, std::uint64_t seed, Filter filter = Filter::kPaper);

}  // namespace heatskin
