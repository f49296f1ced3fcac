#include "heatskin/rendering/colormap.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

constexpr double kDegrees = std::numbers::pi / 180;
const Vec3f kUnknown(0.5f, 0.5f, 0.5f);

Vec3 linearFromOklch(double lightness, double chroma, double hue) {
  const double a = chroma * std::cos(hue), b = chroma * std::sin(hue);
  const double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
  const double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
  const double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
  const double l3 = l * l * l, m3 = m * m * m, s3 = s * s * s;
  return {4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3,
          -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3,
          -0.0041960863 * l3 - 0.7034186147 * m3 + 1.7076147010 * s3};
}

/// Rounding of the two matrices; a colour this little outside of sRGB is clamped without being seen.
constexpr double kGamutSlack = 1e-4;

bool inGamut(const Vec3& linear) {
  return linear.minCoeff() >= -kGamutSlack && linear.maxCoeff() <= 1 + kGamutSlack;
}

double mix(double a, double b, double t) {
  return a + (b - a) * t;
}

}  // namespace

Vec3f srgbFromOklch(double lightness, double chroma, double hue) {
  Vec3 linear = linearFromOklch(lightness, chroma, hue);
  if (!inGamut(linear)) {
    double low = 0, high = chroma;
    for (int i = 0; i < 24; ++i) {
      const double middle = 0.5 * (low + high);
      (inGamut(linearFromOklch(lightness, middle, hue)) ? low : high) = middle;
    }
    linear = linearFromOklch(lightness, low, hue);
  }
  Vec3f srgb;
  for (int c = 0; c < 3; ++c)
    srgb[c] = srgbFromLinear(static_cast<float>(std::clamp(linear[c], 0.0, 1.0)));
  return srgb;
}

double oklabLightness(const Vec3f& srgb) {
  const double r = static_cast<double>(linearFromSrgb(srgb.x()));
  const double g = static_cast<double>(linearFromSrgb(srgb.y()));
  const double b = static_cast<double>(linearFromSrgb(srgb.z()));
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return 0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s;
}

Vec3f heatColor(float value) {
  if (std::isnan(value)) return kUnknown;
  const double t = std::clamp(static_cast<double>(value), 0.0, 1.0);
  // Hue from violet (-72 degrees) through red to yellow; chroma an arch that stays just inside sRGB, because
  // cutting it off would show as a line in the map.
  const double hue = mix(-72, 104, std::pow(t, 0.85)) * kDegrees;
  const double chroma = 0.02 + 0.48 * t * (1 - t) + 0.07 * t;
  return srgbFromOklch(mix(0.14, 0.96, t), chroma, hue);
}

Vec3f divergingColor(float value) {
  if (std::isnan(value)) return kUnknown;
  const double t = std::clamp(static_cast<double>(value), -1.0, 1.0);
  const double strength = std::abs(t);
  return srgbFromOklch(mix(0.96, 0.45, strength), 0.14 * strength, (t < 0 ? 255 : 28) * kDegrees);
}

Vec3f coverageColor(float weight_sum, float full) {
  if (std::isnan(weight_sum)) return kUnknown;
  const double w = std::max(0.0, static_cast<double>(weight_sum));
  if (w < 1) return srgbFromOklch(mix(0.38, 0.94, w), mix(0.15, 0.04, w * w), mix(20, 85, w) * kDegrees);
  const double range = std::log(std::max(1.0 + 1e-6, static_cast<double>(full)));
  const double t = std::min(1.0, std::log(w) / range);
  return srgbFromOklch(mix(0.94, 0.42, t), mix(0.04, 0.08, t), mix(175, 230, t) * kDegrees);
}

}  // namespace heatskin
