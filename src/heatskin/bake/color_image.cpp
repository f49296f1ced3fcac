#include "heatskin/bake/color_image.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "heatskin/io/color_space.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

/// Sums of linear colours and how many there are, for each texel of an image.
struct BakeSums {
  int width = 0, height = 0;
  std::vector<Vec4f> texels;  // RGB and weight

  BakeSums(int w, int h)
      : width(w),
        height(h),
        texels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), Vec4f::Zero()) {}
  Vec4f& at(int x, int y) { return texels[static_cast<std::size_t>(y * width + x)]; }
  const Vec4f& at(int x, int y) const { return texels[static_cast<std::size_t>(y * width + x)]; }
};

/// The image at half the size; every texel the mean of those that have a colour.
BakeSums halvedSums(const BakeSums& in) {
  BakeSums out((in.width + 1) / 2, (in.height + 1) / 2);
  for (int y = 0; y < in.height; ++y) {
    for (int x = 0; x < in.width; ++x) {
      const Vec4f& texel = in.at(x, y);
      if (texel.w() > 0) out.at(x / 2, y / 2) += Vec4f(texel.x(), texel.y(), texel.z(), 1.0f);
    }
  }
  for (Vec4f& texel : out.texels) {
    if (texel.w() > 0)
      texel = Vec4f(texel.x() / texel.w(), texel.y() / texel.w(), texel.z() / texel.w(), 1.0f);
  }
  return out;
}

/// Texels without a colour beside some that have one get the mean of these.
void growOutwards(BakeSums& image) {
  const BakeSums before = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (before.at(x, y).w() > 0) continue;
      Vec4f sum = Vec4f::Zero();
      for (int j = std::max(y - 1, 0); j <= std::min(y + 1, image.height - 1); ++j) {
        for (int i = std::max(x - 1, 0); i <= std::min(x + 1, image.width - 1); ++i)
          sum += before.at(i, j);
      }
      if (sum.w() > 0) image.at(x, y) = sum / sum.w();
    }
  }
}

/// Texels that filters and the blocks of JPEG may bring into a chart.
constexpr int kGutter = 8;

/// Fills texels without a colour from the next coarser level, interpolated between its texels (pull and
/// push).
void fillHoles(BakeSums& image) {
  if (image.width == 1 && image.height == 1) return;
  const bool holes =
      std::any_of(image.texels.begin(), image.texels.end(), [](const Vec4f& t) { return t.w() == 0; });
  if (!holes) return;
  BakeSums coarse = halvedSums(image);
  fillHoles(coarse);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.at(x, y).w() > 0) continue;
      // Nine, three, three and one sixteenth: bilinear at the centre of a texel of twice the resolution.
      const int x0 = x / 2, y0 = y / 2;
      const int x1 = std::clamp(x0 + (x % 2 == 0 ? -1 : 1), 0, coarse.width - 1);
      const int y1 = std::clamp(y0 + (y % 2 == 0 ? -1 : 1), 0, coarse.height - 1);
      image.at(x, y) =
          (9 * coarse.at(x0, y0) + 3 * coarse.at(x1, y0) + 3 * coarse.at(x0, y1) + coarse.at(x1, y1)) / 16;
    }
  }
}

}  // namespace

Vec3f ColorImage::at(const Vec2& uv) const {
  const auto place = [](double t, int size) { return (t - std::floor(t)) * size - 0.5; };
  const double x = place(uv.x(), width), y = place(uv.y(), height);
  const double x0 = std::floor(x), y0 = std::floor(y);
  const auto fx = static_cast<float>(x - x0), fy = static_cast<float>(y - y0);
  Vec3f sum = Vec3f::Zero();
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 2; ++i) {
      const int column = (static_cast<int>(x0) + i + width) % width,
                row = (static_cast<int>(y0) + j + height) % height;
      const std::uint8_t* texel = rgb.data() + 3 * static_cast<std::size_t>(row * width + column);
      const float weight = (i == 0 ? 1 - fx : fx) * (j == 0 ? 1 - fy : fy);
      for (int c = 0; c < 3; ++c)
        sum[c] += weight * linearFromSrgb8[texel[c]];
    }
  }
  return {srgbFromLinear(sum[0]), srgbFromLinear(sum[1]), srgbFromLinear(sum[2])};
}

ColorImage drawColors(const Surface& surface, const SheetFaces& faces, const ColorSource& colors,
                      const SheetOptions& options) {
  ColorImage out;
  if (options.width < 1 || options.height < 1 || options.width > kMaxImageSide ||
      options.height > kMaxImageSide)
    return out;
  BakeSums sums(options.width, options.height);
  std::vector<Vec3f> batch;
  const auto linear = [&](std::span<const SurfacePoint> points, std::span<float> values) {
    batch.resize(points.size());
    colors(points, batch);
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (int c = 0; c < 3; ++c)
        values[3 * i + static_cast<std::size_t>(c)] = linearFromSrgb(batch[i][c]);
    }
  };
  const auto counts = sampleSheet(surface, faces, 3, linear, options, [&](SheetBand& band) {
    for (std::size_t i = 0; i < band.filled.size(); ++i) {
      if (band.filled[i] == 0) continue;
      const float* mean = band.values.data() + 3 * i;
      sums.at(static_cast<int>(i % static_cast<std::size_t>(band.width)),
              band.first_row + static_cast<int>(i / static_cast<std::size_t>(band.width))) =
          Vec4f(mean[0], mean[1], mean[2], 1.0f);
    }
  });
  if (!counts) return out;
  out.covered_texels = counts->covered_texels;
  for (int i = 0; i < kGutter; ++i)
    growOutwards(sums);
  fillHoles(sums);
  out.width = options.width;
  out.height = options.height;
  out.rgb.reserve(3 * sums.texels.size());
  for (const Vec4f& texel : sums.texels) {
    for (int c = 0; c < 3; ++c) {
      const float srgb = srgbFromLinear(std::clamp(texel[c], 0.0f, 1.0f));
      out.rgb.push_back(static_cast<std::uint8_t>(std::lround(255 * std::clamp(srgb, 0.0f, 1.0f))));
    }
  }
  return out;
}

}  // namespace heatskin
