#pragma once

#include <cstddef>
#include <string_view>

namespace heatskin {

/// Levenshtein distance: how many letters must be put in, taken out or replaced to get from one word to the
/// other. For "did you mean".
std::size_t editDistance(std::string_view a, std::string_view b);

}  // namespace heatskin
