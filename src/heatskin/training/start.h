#pragma once

#include <cstdint>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// The kernels a fit begins with (METHOD section 2), where there is something to fit (sampleVisible()).
/// `surface_mean` is the mean over that, for StartMean::kSurface.
KernelSet startKernels(const Surface& surface, const FitTarget& target, const TrainOptions& options,
                       const ChannelValues& surface_mean);

}  // namespace heatskin
