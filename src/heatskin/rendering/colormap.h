#pragma once

// Colours for numbers: error maps and coverage maps. The maps are built in the Oklab space (B. Ottosson, "A
// perceptual color space for image processing", 2020), where equal steps look equal: lightness rises linearly
// with the value and the hue turns slowly.

#include "heatskin/base/vec.h"

namespace heatskin {

/// sRGB of Oklch coordinates (hue in radians). Colours outside of sRGB lose chroma, never lightness.
Vec3f srgbFromOklch(double lightness, double chroma, double hue);

/// Oklab lightness of an sRGB colour, 0 .. 1.
double oklabLightness(const Vec3f& srgb);

/// 0: nearly black, over violet, red and orange, 1: pale yellow. Values outside are clamped; not-a-number is
/// grey.
Vec3f heatColor(float value);

/// An absolute colour error (0: none) as heat; `full` becomes the brightest.
inline Vec3f errorColor(float error, float full) {
  return heatColor(full > 0 ? error / full : 0.0f);
}

/// -1: blue, 0: near white, 1: red; equally light on both sides.
Vec3f divergingColor(float value);

/// The weight sum at a point. 0: dark red over orange to pale at 1, where the point is just covered; above,
/// pale to deep blue-green at `full`. Under 0.5 is unmistakably red.
Vec3f coverageColor(float weight_sum, float full = 4);

}  // namespace heatskin
