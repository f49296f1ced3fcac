#include "heatskin/rendering/bake.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "heatskin/io/color_space.h"

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
void growCharts(BakeSums& image) {
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

Vec3f BakedImage::at(const Vec2& uv) const {
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

BakedImage bakeImage(std::uint32_t face_count, const FaceUvs& uvs, const ColorSource& colors,
                     const BakeOptions& options) {
  const int finer = std::max(options.supersampling, 1);
  AtlasOptions fine;
  fine.width = finer * options.width;
  fine.height = finer * options.height;
  fine.include = options.include;
  const AtlasBuffer atlas = rasteriseAtlas(face_count, uvs, fine);
  BakedImage out;
  if (atlas.face.empty()) return out;

  BakeSums sums(options.width, options.height);
  const std::vector<std::size_t> covered = atlas.coveredTexels();
  std::vector<SurfacePoint> points;
  std::vector<Vec3f> found;
  for (std::size_t first = 0; first < covered.size(); first += kColorBatch) {
    const std::size_t count = std::min(kColorBatch, covered.size() - first);
    points.clear();
    for (std::size_t i = 0; i < count; ++i)
      points.push_back(atlas.point(covered[first + i]));
    found.resize(count);
    colors(points, found);
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<int>(covered[first + i] % static_cast<std::size_t>(fine.width));
      const auto y = static_cast<int>(covered[first + i] / static_cast<std::size_t>(fine.width));
      const Vec3f& srgb = found[i];
      sums.at(x / finer, y / finer) +=
          Vec4f(linearFromSrgb(srgb[0]), linearFromSrgb(srgb[1]), linearFromSrgb(srgb[2]), 1.0f);
    }
  }
  for (Vec4f& texel : sums.texels) {
    if (texel.w() == 0) continue;
    ++out.covered_texels;
    texel = Vec4f(texel.x() / texel.w(), texel.y() / texel.w(), texel.z() / texel.w(), 1.0f);
  }
  for (int i = 0; i < kGutter; ++i)
    growCharts(sums);
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
