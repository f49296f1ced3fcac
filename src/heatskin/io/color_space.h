#pragma once

// sRGB transfer function (IEC 61966-2-1), scalar. Textures are stored in sRGB, factors and vertex colours of
// an Asset are linear; products are formed in linear light.

#include <array>
#include <cmath>
#include <cstddef>

namespace heatskin {

/// Linear light from an sRGB display value; exact at 0 and 1. Values below 0 continue the linear piece.
inline float linearFromSrgb(float srgb) {
  constexpr float kKnee = 0.04045f;  // end of the linear piece, sRGB side
  return srgb <= kKnee ? srgb / 12.92f : std::pow((srgb + 0.055f) / 1.055f, 2.4f);
}

/// sRGB display value from linear light; exact at 0 and 1. Values below 0 continue the linear piece.
inline float srgbFromLinear(float linear) {
  constexpr float kKnee = 0.0031308f;  // end of the linear piece, linear side
  if (linear <= kKnee) return 12.92f * linear;
  // The difference in double: in float 1.055 - 0.055 is not 1.
  return static_cast<float>(1.055 * static_cast<double>(std::pow(linear, 1.0f / 2.4f)) - 0.055);
}

/// srgbFromLinear() of [0, 1] without a power, for many colours at once: interpolated in a table over the
/// square root, in which the curve is smooth. Exact at 0 and 1, elsewhere within 1e-6.
class SrgbTable {
 public:
  SrgbTable() {
    for (std::size_t i = 0; i <= kSteps; ++i) {
      const double root = static_cast<double>(i) / kSteps, linear = root * root;
      values_[i] = static_cast<float>(linear <= 0.0031308 ? 12.92 * linear
                                                          : 1.055 * std::pow(linear, 1 / 2.4) - 0.055);
    }
    values_[kSteps] = values_[kSteps + 1] = 1;
  }

  /// `linear` is in [0, 1].
  float operator()(float linear) const {
    const float place = std::sqrt(linear) * kSteps;
    const auto below = static_cast<std::size_t>(place);
    const float part = place - static_cast<float>(below);
    return values_[below] + part * (values_[below + 1] - values_[below]);
  }

 private:
  static constexpr std::size_t kSteps = 2048;
  std::array<float, kSteps + 2> values_{};
};

/// linearFromSrgb8[t] is the linear light of the 8-bit sRGB value t, rounded from double.
inline const std::array<float, 256> linearFromSrgb8 = [] {
  std::array<float, 256> table{};
  for (std::size_t t = 0; t < table.size(); ++t) {
    const double srgb = static_cast<double>(t) / 255.0;
    table[t] = static_cast<float>(srgb <= 0.04045 ? srgb / 12.92 : std::pow((srgb + 0.055) / 1.055, 2.4));
  }
  return table;
}();

}  // namespace heatskin
