#pragma once

// What density control knows of the kernels: sums over the steps since it last acted (METHOD section 5).

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/kernels/gradient_sums.h"

namespace heatskin {

/// See the head of the file; all arrays have one entry per kernel.
struct DensityStatistics {
  std::vector<double> hits;           // [N] times among the kept kernels of a query
  std::vector<double> contributions;  // [N] sum of f
  std::vector<double> errors;         // [N] sum of point error x share of f
  std::vector<double> costs;          // [N] by how much the loss would have been higher without the kernel

  /// Zero for `count` kernels.
  void reset(std::size_t count);

  /// Adds the use of a kernel in a step; hits and contributions only with `count_use`.
  void add(std::size_t kernel, const KernelUse& use, bool count_use);

  /// Keeps the kernels named in `kept` (increasing indices), in order.
  void select(const std::vector<std::uint32_t>& kept);

  /// Kernel k becomes what kernel order[k] was.
  void permute(std::span<const std::uint32_t> order);

  /// A new kernel inherits the use of kernel `i`; errors and costs are zeroed wherever kernels are added.
  void appendUseOf(std::size_t i);
};

}  // namespace heatskin
