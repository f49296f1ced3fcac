#pragma once

// How a texture is read between texels. Here because configurations name it without ever seeing an image.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heatskin {

/// How a texture is read between texels.
enum class Filter : std::uint8_t {
  kAuto,      ///< kNearest or kBilinear, as each texture's sampler says
  kNearest,   ///< glTF: wrap first, then texel floor(u W); texel i covers [i / W, (i + 1) / W)
  kBilinear,  ///< glTF: wrap first, texel centres at (i + 0.5) / W, blended in linear light
  kPaper,     ///< METHOD section 1: x = round(u (W - 1)), then wrapped. Right for coordinates in [0, 1] only:
              ///< a repeated texture shifts by about a texel per repeat. The paper's tables use it.
};

/// Names of the filters, in the order of the enum; as on the command line and in configurations.
inline constexpr std::string_view kFilterNames[] = {"auto", "nearest", "bilinear", "paper"};

constexpr std::string_view filterName(Filter filter) {
  return kFilterNames[static_cast<std::size_t>(filter)];
}

}  // namespace heatskin
