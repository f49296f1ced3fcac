#pragma once

// What a fit will take, told before it begins.

#include <cstddef>

#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// Bytes of the samples of a fit with these options (followBudget() has been called) and so many channels.
double poolBytes(const TrainOptions& options, std::size_t channels);

/// Bytes that a fit with method local takes at its peak on top of surface and target, about: the support
/// proxy while it is made; or samples, kernels, their supports and the batch, with `kernels` kernels. From
/// sizes alone; nothing is made. 0 for the other methods, whose preprocessing asks for itself.
double fitBytes(const Surface& surface, const FitConfig& config, const ChannelLayout& layout,
                std::size_t kernels);

}  // namespace heatskin
