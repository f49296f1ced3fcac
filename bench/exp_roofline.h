#pragma once

#include <cstddef>
#include <cstdint>

namespace heatskin::bench {

/// Evaluates the library's vectorised exponential `rounds` times on a table that stays in the first-level
/// cache; returns the number of exponentials. What a loop of nothing but exponentials can reach.
std::size_t runExponentials(std::size_t rounds);

}  // namespace heatskin::bench
