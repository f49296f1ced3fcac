#include "heatskin/io/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/image_f.h"

namespace heatskin {
namespace {

constexpr double kLobes = 3;  // of the Lanczos window
constexpr std::size_t kRowsPerBlock = 8;

double lanczos(double x) {
  x = std::abs(x);
  if (x >= kLobes) return 0;
  if (x < 1e-9) return 1;  // sin(x) / x is 1 to the last digit
  const double a = std::numbers::pi * x;
  return std::sin(a) / a * std::sin(a / kLobes) / (a / kLobes);
}

/// The part of [i, i + 1] inside [low, high].
double overlap(int i, double low, double high) {
  return std::max(0.0, std::min(high, i + 1.0) - std::max(low, static_cast<double>(i)));
}

/// What each new texel of a row or column is made of; weights sum to 1.
struct Taps {
  int first = 0;  ///< may lie beyond the border
  std::vector<float> weights;
};

std::vector<Taps> tapsOf(int from, int to, ResizeWindow window) {
  const double ratio = static_cast<double>(from) / to;
  std::vector<Taps> result(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * ratio, half = (window == ResizeWindow::kBox ? 0.5 : kLobes) * ratio;
    Taps& taps = result[static_cast<std::size_t>(i)];
    taps.first = static_cast<int>(std::floor(center - half));
    std::vector<double> weights;
    double sum = 0;
    for (int j = taps.first; j < center + half; ++j) {
      weights.push_back(window == ResizeWindow::kBox ? overlap(j, center - half, center + half)
                                                     : lanczos((j + 0.5 - center) / ratio));
      sum += weights.back();
    }
    for (const double w : weights)
      taps.weights.push_back(static_cast<float>(w / sum));
  }
  return result;
}

/// A texel as the mean takes it: colour times weight, and the weight.
Vec4f weighed(const std::uint8_t* texel, const ResizeOptions& options) {
  Vec4f value;
  for (int c = 0; c < 3; ++c) {
    value[c] = options.space == ResizeSpace::kLinear ? linearFromSrgb8[texel[c]]
                                                     : static_cast<float>(texel[c]) / 255.0f;
  }
  const float alpha = static_cast<float>(texel[3]) / 255.0f;
  if (options.weigh_by_alpha) value.head<3>() *= alpha;
  value[3] = alpha;
  return value;
}

}  // namespace

Image resized(const Image& image, int width, int height, const ResizeOptions& options) {
  width = std::clamp(width, 1, image.width);
  height = std::clamp(height, 1, image.height);
  if (width == image.width && height == image.height) return image;
  Image result = image;
  result.width = width;
  result.height = height;
  const auto columns = static_cast<std::size_t>(width), rows = static_cast<std::size_t>(height);

  const std::vector<Taps> across = tapsOf(image.width, width, options.window),
                          down = tapsOf(image.height, height, options.window);
  std::vector<Vec4f> narrow(columns * static_cast<std::size_t>(image.height));
  parallelFor(static_cast<std::size_t>(image.height), kRowsPerBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<Vec4f> row(static_cast<std::size_t>(image.width));
    for (std::size_t y = begin; y < end; ++y) {
      for (int x = 0; x < image.width; ++x)
        row[static_cast<std::size_t>(x)] = weighed(image.texel(x, static_cast<int>(y)), options);
      for (std::size_t x = 0; x < columns; ++x) {
        Vec4f sum = Vec4f::Zero();
        for (std::size_t t = 0; t < across[x].weights.size(); ++t) {
          const int from = std::clamp(across[x].first + static_cast<int>(t), 0, image.width - 1);
          sum += across[x].weights[t] * row[static_cast<std::size_t>(from)];
        }
        narrow[y * columns + x] = sum;
      }
    }
  });

  result.rgba.assign(4 * columns * rows, 0);
  parallelFor(rows, kRowsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t y = begin; y < end; ++y) {
      for (std::size_t x = 0; x < columns; ++x) {
        Vec4f sum = Vec4f::Zero();
        for (std::size_t t = 0; t < down[y].weights.size(); ++t) {
          const int from = std::clamp(down[y].first + static_cast<int>(t), 0, image.height - 1);
          sum += down[y].weights[t] * narrow[static_cast<std::size_t>(from) * columns + x];
        }
        if (options.weigh_by_alpha && sum[3] > 0) sum.head<3>() /= sum[3];
        std::uint8_t* out = result.rgba.data() + 4 * (y * columns + x);
        for (int c = 0; c < 3; ++c) {
          const float inside = std::clamp(sum[c], 0.0f, 1.0f);
          out[c] = toByte(options.space == ResizeSpace::kLinear ? srgbFromLinear(inside) : inside);
        }
        out[3] = toByte(sum[3]);
      }
    }
  });
  return result;
}

}  // namespace heatskin
