#pragma once

// Deterministic damage to small files: flipped and replaced bytes, cuts, doubled and moved pieces.

#include <cstdint>
#include <string>
#include <string_view>

#include "heatskin/base/rng.h"

namespace heatskin::testing {

/// Calls `check(text)` for every prefix of `seed` and for `count` random damages of it; always the same ones.
template <class Check>
void forEachMutation(const std::string& seed, std::size_t count, const Check& check) {
  for (std::size_t length = 0; length <= seed.size(); ++length)
    check(std::string_view(seed).substr(0, length));
  const RandomStream random(0x6D757461, seed.size());
  std::uint64_t index = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(random.below(index++, bound));
  };
  // Bytes that mean something in text formats, and the corner values of binary numbers.
  using namespace std::string_view_literals;
  constexpr std::string_view kTelling = "0123456789-+.eE/ \n\r\t\\#\0\xFF\x7F\x80naif"sv;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = seed;
    const std::size_t damages = 1 + below(4);
    for (std::size_t d = 0; d < damages && !text.empty(); ++d) {
      const std::size_t at = below(text.size());
      switch (below(6)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
          break;
        case 1:
          text[at] = kTelling[below(kTelling.size())];
          break;
        case 2:
          text.insert(at, 1, kTelling[below(kTelling.size())]);
          break;
        case 3:
          text.erase(at, 1 + below(8));
          break;
        case 4:
          text.insert(below(text.size()), text.substr(at, 1 + below(40)));
          break;
        default:
          text.resize(at);
          break;
      }
    }
    check(text);
  }
}

}  // namespace heatskin::testing
