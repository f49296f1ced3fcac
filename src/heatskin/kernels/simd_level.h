#pragma once

// Which of the compiled SIMD levels the vectorised loops use. Normally the widest the processor has; results
// of different levels differ by rounding.

#include <string>
#include <string_view>
#include <vector>

namespace heatskin {

/// Names of the levels this program has and this processor can run, widest first ("AVX3", "AVX2", "SSE4",
/// ...).
std::vector<std::string> simdLevels();

/// The level in use.
std::string simdLevel();

/// Uses a level from now on, or the widest one for an empty name. False, and no change, if the name is none
/// of simdLevels(). Not while loops are running.
bool setSimdLevel(std::string_view name);

}  // namespace heatskin
