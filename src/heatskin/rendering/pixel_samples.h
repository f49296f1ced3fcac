#pragma once

// Random numbers for the samples of a pixel: well spread within a pixel, independent between pixels and
// between dimensions, and a pure function of (seed, pixel, sample, dimension), so that threads do not matter.
//
// The first two dimensions of Sobol's sequence, a (0, 2)-sequence, with Owen's nested scrambling by a hash
// and the order of samples shuffled the same way for every pair of dimensions: Burley, "Practical hash-based
// Owen scrambling", JCGT 2020. The hash is that of Laine and Karras, "Stratified sampling for stochastic
// transparency", EGSR 2011, with Burley's constants. Any 2^k samples of a pixel lie one each in the cells of
// every grid of 2^k cells.

#include <array>
#include <cstdint>

#include "heatskin/base/rng.h"
#include "heatskin/base/vec.h"

namespace heatskin {

inline std::uint32_t reversedBits(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
  return (x >> 16) | (x << 16);
}

/// A permutation in which every bit is flipped depending on the less significant ones alone.
inline std::uint32_t lowToHighHash(std::uint32_t x, std::uint32_t seed) {
  x += seed;
  x ^= x * 0x6c50b47cu;
  x ^= x * 0xb82f1e52u;
  x ^= x * 0xc7afe638u;
  x ^= x * 0x8d22f6e6u;
  return x;
}

/// Number `index` of Sobol's second dimension, as the bits after the point.
inline std::uint32_t sobolSecond(std::uint32_t index) {
  std::uint32_t result = 0;
  for (std::uint32_t column = 1u << 31; index != 0; index >>= 1, column ^= column >> 1) {
    if ((index & 1u) != 0) result ^= column;
  }
  return result;
}

/// See the head of the file.
class PixelSamples {
 public:
  PixelSamples(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  /// Two numbers in [0, 1) for a sample of a pixel; `dimension` counts pairs.
  Vec2 pair(std::uint32_t pixel, std::uint32_t sample, std::uint32_t dimension) const {
    const auto keys = random_.words((static_cast<std::uint64_t>(dimension) << 32) | pixel);
    const std::uint32_t index = reversedBits(lowToHighHash(reversedBits(sample), keys[0]));
    const std::uint32_t x = reversedBits(lowToHighHash(index, keys[1]));
    const std::uint32_t y = reversedBits(lowToHighHash(reversedBits(sobolSecond(index)), keys[2]));
    return {static_cast<double>(x) * 0x1.0p-32, static_cast<double>(y) * 0x1.0p-32};
  }

 private:
  RandomStream random_;
};

}  // namespace heatskin
