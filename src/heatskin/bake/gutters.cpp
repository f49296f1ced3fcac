#include "heatskin/bake/gutters.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr std::size_t kGutterRows = 64;

/// An image with holes; the finest one is the caller's.
struct HoledImage {
  int width = 0, height = 0, channels = 0;
  std::span<std::uint8_t> pixels;
  std::span<std::uint8_t> filled;
  std::vector<std::uint8_t> own_pixels, own_filled;

  HoledImage(int w, int h, int c) : width(w), height(h), channels(c) {
    const std::size_t texels = static_cast<std::size_t>(w) * static_cast<std::size_t>(h);
    own_pixels.assign(texels * static_cast<std::size_t>(c), 0);
    own_filled.assign(texels, 0);
    pixels = own_pixels;
    filled = own_filled;
  }
  HoledImage(int w, int h, int c, std::span<std::uint8_t> p, std::span<std::uint8_t> f)
      : width(w), height(h), channels(c), pixels(p), filled(f) {}

  std::size_t texel(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x);
  }
  std::uint8_t* at(int x, int y) { return pixels.data() + texel(x, y) * static_cast<std::size_t>(channels); }
};

/// The mean of texels, rounded to the nearest level.
struct TexelMean {
  std::array<std::uint32_t, 4> sum = {0, 0, 0, 0};
  std::uint32_t count = 0;

  void add(const std::uint8_t* texel, int channels, std::uint32_t weight = 1) {
    for (int c = 0; c < channels; ++c)
      sum[static_cast<std::size_t>(c)] += weight * texel[c];
    count += weight;
  }
  void write(std::uint8_t* texel, int channels) const {
    for (int c = 0; c < channels; ++c)
      texel[c] = static_cast<std::uint8_t>((sum[static_cast<std::size_t>(c)] + count / 2) / count);
  }
};

/// Texels beside filled ones get their mean. Those of one call do not see each other.
void growOnce(HoledImage& image) {
  const auto rows = static_cast<std::size_t>(image.height);
  std::vector<std::vector<std::uint32_t>> grown(blockCount(rows, kGutterRows));
  parallelBlocks(rows, kGutterRows, [&](std::size_t block, std::size_t begin, std::size_t end) {
    for (int y = static_cast<int>(begin); y < static_cast<int>(end); ++y) {
      for (int x = 0; x < image.width; ++x) {
        if (image.filled[image.texel(x, y)] != 0) continue;
        TexelMean mean;
        for (int j = std::max(y - 1, 0); j <= std::min(y + 1, image.height - 1); ++j) {
          for (int i = std::max(x - 1, 0); i <= std::min(x + 1, image.width - 1); ++i) {
            if (image.filled[image.texel(i, j)] != 0) mean.add(image.at(i, j), image.channels);
          }
        }
        if (mean.count == 0) continue;
        mean.write(image.at(x, y), image.channels);
        grown[block].push_back(static_cast<std::uint32_t>(image.texel(x, y)));
      }
    }
  });
  for (const auto& block : grown) {
    for (const std::uint32_t texel : block)
      image.filled[texel] = 1;
  }
}

/// The image at half the size, texels the means of those that are filled.
HoledImage halvedImage(HoledImage& in) {
  HoledImage out((in.width + 1) / 2, (in.height + 1) / 2, in.channels);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      TexelMean mean;
      for (int j = 2 * y; j < std::min(2 * y + 2, in.height); ++j) {
        for (int i = 2 * x; i < std::min(2 * x + 2, in.width); ++i) {
          if (in.filled[in.texel(i, j)] != 0) mean.add(in.at(i, j), in.channels);
        }
      }
      if (mean.count == 0) continue;
      mean.write(out.at(x, y), out.channels);
      out.filled[out.texel(x, y)] = 1;
    }
  }
  return out;
}

/// Fills what is left from the next coarser image, interpolated between its texels.
void pullAndPush(HoledImage& image) {
  if (image.width == 1 && image.height == 1) return;
  if (std::none_of(image.filled.begin(), image.filled.end(), [](std::uint8_t f) { return f == 0; })) return;
  HoledImage coarse = halvedImage(image);
  pullAndPush(coarse);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (image.filled[image.texel(x, y)] != 0) continue;
      // Nine, three, three and one sixteenth: bilinear at the centre of a texel of twice the resolution.
      const int x0 = x / 2, y0 = y / 2;
      const int x1 = std::clamp(x0 + (x % 2 == 0 ? -1 : 1), 0, coarse.width - 1);
      const int y1 = std::clamp(y0 + (y % 2 == 0 ? -1 : 1), 0, coarse.height - 1);
      TexelMean mean;
      mean.add(coarse.at(x0, y0), image.channels, 9);
      mean.add(coarse.at(x1, y0), image.channels, 3);
      mean.add(coarse.at(x0, y1), image.channels, 3);
      mean.add(coarse.at(x1, y1), image.channels, 1);
      mean.write(image.at(x, y), image.channels);
    }
  }
}

}  // namespace

void fillGutters(std::span<std::uint8_t> pixels, std::span<const std::uint8_t> filled, int width, int height,
                 int channels, int gutter) {
  if (std::all_of(filled.begin(), filled.end(), [](std::uint8_t f) { return f == 0; })) return;
  std::vector<std::uint8_t> grown(filled.begin(), filled.end());
  HoledImage image(width, height, channels, pixels, grown);
  for (int i = 0; i < gutter; ++i)
    growOnce(image);
  pullAndPush(image);
}

}  // namespace heatskin
