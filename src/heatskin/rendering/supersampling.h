#pragma once

// Several samples per pixel, drawn as several pictures with one sample each, so that the memory does not grow
// with their number, and the layers of transparent surfaces, drawn front to back. Private to rendering.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin::raster {

inline constexpr int kMaxSupersampling = 8;

/// Sample `pass` of n * n: one per cell of an n x n grid, and no two in the same row or column of the finer
/// n^2 x n^2 grid, so that edges close to an axis get n^2 grey levels instead of n.
inline Vec2 samplePlace(int pass, int n) {
  const int i = pass % n, j = pass / n;
  return {(i + (j + 0.5) / n) / n, (j + (i + 0.5) / n) / n};
}

/// What a pass draws with.
struct Pass {
  const Projection& projection;
  int index = 0;
  int count = 1;
  Vec2 sample;
  int width = 0;

  /// Pixel coordinates of the sample in a pixel.
  Vec2 place(std::size_t pixel) const {
    return {static_cast<double>(pixel % static_cast<std::size_t>(width)) + sample.x(),
            static_cast<double>(pixel / static_cast<std::size_t>(width)) + sample.y()};
  }
};

/// Surface points seen at samples, and the pixels they belong to.
struct Fragments {
  std::vector<std::size_t> pixels;
  std::vector<SurfacePoint> points;
};

/// Sums over all passes and layers.
struct Accumulated {
  int width = 0;  ///< 0: the size was refused
  int height = 0;
  std::vector<Vec3f> color;         // [height, width] sum of weight * linear colour; see `exact`
  std::vector<float> cover;         // [height, width] sum of weights
  std::vector<float> hits;          // [height, width] samples with a weight above 0
  std::vector<std::uint8_t> exact;  // [height, width] nonzero: `color` is the sRGB colour of the one fragment
  std::vector<Vec3f> behind;        // [height, width] sum of background light; empty without one
};

struct PassOptions {
  int supersampling = 1;
  const Transparency* transparency = nullptr;
  bool srgb = false;  ///< `shade` gives sRGB; a single opaque fragment then keeps its colour to the bit
  std::function<void(const Pass& pass, const Fragments& fragments, std::span<Vec3f> colors)> shade;
  /// Light from behind the surface at one sample; called concurrently. May be null.
  std::function<Vec3f(const Pass& pass, const Vec2& place)> background;
  PartDone progress;
  double progress_begin = 0;  ///< part of the picture that was done before
};

/// Draws all samples. `shade` is called from one thread at a time with up to kColorBatch fragments.
Accumulated drawPasses(const Surface& surface, const Camera& camera, int width, int height,
                       const PassOptions& options);

/// The picture of accumulated samples: `surface_light` is applied to the mean linear colour of the surface in
/// a pixel (identity: null); pixels without background light get `background` (sRGB).
Picture resolve(const Accumulated& sums, int samples, const Vec3f& background, bool transparent_background,
                const std::function<Vec3f(const Vec3f&)>& surface_light = {});

/// How much of a line of the wire option lies over a sample: 0 .. 1, soft over one pixel.
float wireAmount(const Surface& surface, const Projection& projection, std::uint32_t face, const Vec2& pixel,
                 float width);

/// Linear light of an sRGB colour and back, per channel.
Vec3f linearColor(const Vec3f& srgb);
Vec3f srgbColor(const Vec3f& linear);

}  // namespace heatskin::raster
