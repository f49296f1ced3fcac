#pragma once

// What figures were made on, and what they took.

#include <cstddef>
#include <string>

namespace heatskin {

/// The machine and the build; figures say on which they were measured.
struct Machine {
  std::string cpu;   ///< model name as the system tells it
  int cores = 0;     ///< usable by this process
  std::string simd;  ///< level in use: "AVX3" (AVX-512), "AVX2", "SSE4", "NEON", ...
  std::string compiler;
  std::string build;  ///< "release", or "debug" when assertions are on; figures of a debug build mean nothing
  double memory_gb = 0;
};

/// `simd`: what simdLevel() says (kernels/simd_level.h).
Machine describeMachine(std::string simd);

/// Largest resident size of this process so far, in bytes; 0 where the system does not tell.
std::size_t peakResidentBytes();

}  // namespace heatskin
