#pragma once

// Covering gaps between kernels by making kernels longer instead of adding some.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/probes.h"

namespace heatskin {

/// A kernel, and by how much it should grow.
struct Stretch {
  std::uint32_t kernel = 0;
  float factor = 1;
};

/// What stretchOver() does, without doing it.
std::vector<Stretch> stretchesOver(const KernelSet& kernels, const Probes& probes,
                                   std::span<std::uint8_t> uncovered);

/// Lengthens each kernel by the largest of its factors. Returns how many kernels changed.
std::size_t lengthen(KernelSet& kernels, std::span<const std::vector<Stretch>> stretches);

/// Lengthens kernels of method local whose rims uncovered probes lie on: at each, the kernel with the largest
/// weight, until the sum of weights is kCovered. That is exact: x = exp(-(d / h)^2 ...) for a kernel that
/// stays where it is. `uncovered` ([P]) says which probes are; those that are covered afterwards are set to
/// 0, and the others lie too far from every kernel. Returns how many kernels changed.
std::size_t stretchOver(KernelSet& kernels, const Probes& probes, std::span<std::uint8_t> uncovered);

}  // namespace heatskin
