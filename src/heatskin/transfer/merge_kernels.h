#pragma once

// Fewer kernels for the same look from farther away: neighbours that are alike become one.

#include <cstddef>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// About `wanted` kernels of `kernels`, in rounds: pairs of neighbours become one kernel that covers both,
/// those first that are near and alike. What comes out wants a refit. Deterministic.
KernelSet mergedKernels(const KernelSet& kernels, const Surface& surface, std::size_t wanted,
                        bool has_lengths = true);

}  // namespace heatskin
