#pragma once

// The order of points along a space-filling curve: what is close together in the order is close together in
// space.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// Position of a cell of the cube [0, 2^bits)^3 on the Hilbert curve through all of them; at most 21 bits.
std::uint64_t hilbertIndex(std::array<std::uint32_t, 3> cell, int bits);

/// The numbers of the points in the order of the curve; equal places in the order of their numbers.
std::vector<std::uint32_t> hilbertOrder(std::span<const Vec3> points);

}  // namespace heatskin
