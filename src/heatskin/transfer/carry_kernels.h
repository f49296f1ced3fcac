#pragma once

// Kernels carried from one surface to another one of the same shape.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/transfer/correspondence.h"

namespace heatskin {

struct CarriedKernels {
  KernelSet kernels;
  std::vector<std::uint32_t> source;  // [kernels] which of the given ones each was
  std::size_t dropped = 0;            ///< that have no counterpart
};

/// Kernels of `there.from()` at their counterparts on `there.to()`, in the same order; axes and vectors are
/// turned with the surface, lengths stay what they are in space. Kernels without a counterpart are dropped.
/// `has_lengths`: of the method (MethodTraits); otherwise lengths stay 1.
CarriedKernels carryKernels(const KernelSet& kernels, const Correspondence& there, bool has_lengths = true);

}  // namespace heatskin
