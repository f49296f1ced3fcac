#pragma once

// Counter-based random numbers: number i of stream s is a pure function of (seed, s, i), so any thread can
// draw any part of a sequence and the result does not depend on how the work is divided.
//
// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

#include <array>
#include <cstdint>

namespace heatskin {

/// Ten rounds of Philox 4x32: a bijection of the 128-bit counter for each 64-bit key.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53u;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

/// Uniform in [0, 1): the top 53 bits of the two words.
inline double unitDouble(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(high) << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Uniform in [0, 1): the top 24 bits of the word.
inline float unitFloat(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1.0p-24f;
}

/// A random stream addressed by index. Different purposes use different `stream` numbers (training/streams.h
/// lists those of a fit).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stream)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_{static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)} {}

  /// The four random words at `index`.
  std::array<std::uint32_t, 4> words(std::uint64_t index) const {
    return philox4x32(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream_[0], stream_[1]},
        key_);
  }

  /// Two independent uniforms in [0, 1) at `index`.
  std::array<double, 2> uniform2(std::uint64_t index) const {
    const auto w = words(index);
    return {unitDouble(w[0], w[1]), unitDouble(w[2], w[3])};
  }

  double uniform(std::uint64_t index) const { return uniform2(index)[0]; }

  /// Uniform integer in [0, bound) by multiply-shift (Lemire); bias below bound / 2^64. `bound` > 0.
  std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    const auto w = words(index);
    const std::uint64_t bits = (static_cast<std::uint64_t>(w[0]) << 32) | w[1];
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> stream_;
};

}  // namespace heatskin
