#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heatskin {

/// The assignment of columns to rows with the largest sum of gains: result[row] = column, a permutation.
/// `gains` is [n, n] row-major and finite. Shortest augmenting paths with dual prices (Kuhn, Munkres; Jonker
/// and Volgenant 1987), O(n^3). Among equal sums the choice depends on the gains only.
std::vector<std::uint32_t> bestAssignment(std::size_t n, std::span<const double> gains);

}  // namespace heatskin
