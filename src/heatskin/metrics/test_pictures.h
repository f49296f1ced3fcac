#pragma once

// Small pictures for the tests of this folder.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "heatskin/base/rng.h"
#include "heatskin/io/image_f.h"

namespace heatskin::testing {

inline ImageF constantPicture(int width, int height, float r, float g, float b) {
  ImageF image{width, height, {}, {}};
  for (std::size_t i = 0; i < image.pixelCount(); ++i)
    image.rgb.insert(image.rgb.end(), {r, g, b});
  return image;
}

inline ImageF greyPicture(int width, int height, float value) {
  ImageF image{width, height, {}, {}};
  image.rgb.assign(3 * image.pixelCount(), value);
  return image;
}

/// Smooth colour waves plus uniform noise of `noise` peak-to-peak, within 0..1.
inline ImageF wavyPicture(int width, int height, std::uint64_t seed, double noise = 0.3) {
  const RandomStream random(seed, 0);
  ImageF image{width, height, {}, {}};
  image.rgb.resize(3 * image.pixelCount());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const std::size_t i = 3 * image.index(x, y) + static_cast<std::size_t>(c);
        const double wave = 0.5 + 0.2 * std::sin(0.31 * x + 0.7 * c) * std::cos(0.23 * y - 0.4 * c);
        image.rgb[i] = static_cast<float>(std::clamp(wave + noise * (random.uniform(i) - 0.5), 0.0, 1.0));
      }
    }
  }
  return image;
}

/// A disc in the middle that covers about half of the picture.
inline std::vector<std::uint8_t> discMask(int width, int height) {
  std::vector<std::uint8_t> mask;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = (x + 0.5) / width - 0.5;
      const double v = (y + 0.5) / height - 0.5;
      mask.push_back(u * u + v * v < 0.16 ? 255 : 0);
    }
  }
  return mask;
}

}  // namespace heatskin::testing
