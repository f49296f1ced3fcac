#pragma once

// Several samples per pixel, drawn as several pictures with one sample each, so that the memory does not grow
// with their number. Private to rendering.

#include <cstddef>
#include <vector>

#include "heatskin/rendering/render.h"

namespace heatskin::raster {

inline constexpr int kMaxSupersampling = 8;

/// Sample `pass` of n * n: one per cell of an n x n grid, and no two in the same row or column of the finer
/// n^2 x n^2 grid, so that edges close to an axis get n^2 grey levels instead of n.
inline Vec2 samplePlace(int pass, int n) {
  const int i = pass % n, j = pass / n;
  return {(i + (j + 0.5) / n) / n, (j + (i + 0.5) / n) / n};
}

/// Calls the source in batches; `points` and `colors` are [N].
void colorsOf(const ColorSource& source, const std::vector<SurfacePoint>& points, std::vector<Vec3f>& colors);

/// How much of a line of the wire option lies over a sample: 0 .. 1, soft over one pixel.
float wireAmount(const Surface& surface, const Projection& projection, std::uint32_t face, const Vec2& pixel,
                 float width);

/// Linear light of an sRGB colour and back, per channel.
Vec3f linearColor(const Vec3f& srgb);
Vec3f srgbColor(const Vec3f& linear);

}  // namespace heatskin::raster
