#include "heatskin/io/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/io/encode_jpeg.h"
#include "heatskin/io/encode_webp.h"
#include "heatskin/io/image.h"

namespace heatskin {
namespace {

template <class Texel>
Image makeImage(int width, int height, const Texel& texel) {
  Image image;
  image.width = width;
  image.height = height;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::array<int, 4> value = texel(x, y);
      for (const int v : value)
        image.rgba.push_back(static_cast<std::uint8_t>(std::clamp(v, 0, 255)));
    }
  }
  return image;
}

Image smoothImage(int width, int height) {
  return makeImage(width, height, [&](int x, int y) {
    const double u = (x + 0.5) / width, v = (y + 0.5) / height;
    return std::array<int, 4>{static_cast<int>(std::lround(127.5 + 100 * std::sin(2 * std::numbers::pi * u))),
                              static_cast<int>(std::lround(127.5 + 100 * std::cos(2 * std::numbers::pi * v))),
                              static_cast<int>(std::lround(255 * u)), 255};
  });
}

constexpr std::array kAllResizes = {ResizeOptions{ResizeSpace::kLinear, ResizeWindow::kBox},
                                    ResizeOptions{ResizeSpace::kSrgb, ResizeWindow::kBox},
                                    ResizeOptions{ResizeSpace::kLinear, ResizeWindow::kLanczos},
                                    ResizeOptions{ResizeSpace::kSrgb, ResizeWindow::kLanczos}};

TEST(Resize, KeepsWhatHasTheSameSizeOrOneColor) {
  const Image image = smoothImage(20, 12);
  const Image flat = makeImage(33, 17, [](int, int) { return std::array<int, 4>{10, 200, 77, 128}; });
  for (const ResizeOptions& options : kAllResizes) {
    EXPECT_EQ(resized(image, 20, 12, options).rgba, image.rgba);
    EXPECT_EQ(resized(image, 40, 99, options).rgba, image.rgba) << "never larger";
    const Image small = resized(flat, 5, 3, options);
    ASSERT_EQ(small.width, 5);
    ASSERT_EQ(small.height, 3);
    ASSERT_EQ(small.rgba.size(), 60u);
    for (std::size_t i = 0; i < small.rgba.size(); ++i)
      EXPECT_EQ(small.rgba[i], flat.rgba[i % 4]);
  }
  EXPECT_EQ(resized(image, 0, 0).rgba.size(), 4u);
}

TEST(Resize, HalvesAreMeansOfTheirTexels) {
  // Black and white in stripes: grey as stored, or the grey that has half the light.
  const Image stripes = makeImage(8, 8, [](int x, int) {
    const int v = x % 2 == 0 ? 0 : 255;
    return std::array<int, 4>{v, v, v, 255};
  });
  for (const auto& [space, expected] :
       {std::pair{ResizeSpace::kSrgb, 128}, std::pair{ResizeSpace::kLinear, 188}}) {
    const Image half = resized(stripes, 4, 4, {space, ResizeWindow::kBox});
    for (std::size_t i = 0; i < half.rgba.size(); i += 4)
      EXPECT_EQ(half.rgba[i], expected);
  }
}

TEST(Resize, KeepsSmoothPicturesWhereTheyAre) {
  // The smaller picture is the same function of u and v: no shift by half a texel, no change of size.
  const Image large = smoothImage(256, 128), wanted = smoothImage(32, 16);
  for (const ResizeOptions& options : kAllResizes) {
    const Image small = resized(large, 32, 16, options);
    for (int y = 2; y < 14; ++y) {
      for (int x = 2; x < 30; ++x) {  // beyond the border is another function
        for (int c = 0; c < 3; ++c)
          EXPECT_NEAR(small.texel(x, y)[c], wanted.texel(x, y)[c], 3) << x << " " << y << " " << c;
      }
    }
  }
}

TEST(Resize, WhatNobodySeesDoesNotShow) {
  // Red that is seen beside green that is not.
  const Image image = makeImage(8, 8, [](int x, int) {
    return x < 3 ? std::array<int, 4>{255, 0, 0, 255} : std::array<int, 4>{0, 255, 0, 0};
  });
  const Image seen = resized(image, 4, 4, {ResizeSpace::kSrgb, ResizeWindow::kBox, true});
  EXPECT_EQ(seen.texel(1, 0)[0], 255) << "half of this texel is visible, and that half is red";
  EXPECT_EQ(seen.texel(1, 0)[1], 0);
  EXPECT_EQ(seen.texel(1, 0)[3], 128);
  const Image plain = resized(image, 4, 4, {ResizeSpace::kSrgb, ResizeWindow::kBox, false});
  EXPECT_EQ(plain.texel(1, 0)[0], 128);
  EXPECT_EQ(plain.texel(1, 0)[1], 128);
}

TEST(Encoders, GiveBackWhatTheyWereGiven) {
  const Image image = smoothImage(61, 43);  // no multiple of a JPEG block
  const auto largest = [&](const std::vector<std::uint8_t>& file) {
    const auto back = decodeImage(file, "test");
    EXPECT_TRUE(back);
    if (!back || back->rgba.size() != image.rgba.size()) return 255;
    int error = 0;
    for (std::size_t i = 0; i < image.rgba.size(); ++i)
      error = std::max(error, std::abs(int{image.rgba[i]} - int{back->rgba[i]}));
    return error;
  };
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; i < image.rgba.size(); ++i) {
    if (i % 4 < 3) rgb.push_back(image.rgba[i]);
  }
  const auto lossless = encodeWebpLossless(image.rgba, 61, 43);
  ASSERT_TRUE(lossless);
  EXPECT_EQ(largest(*lossless), 0);
  std::size_t before = 0;
  for (const int quality : {10, 50, 95}) {
    const auto jpeg = encodeJpeg(rgb, 61, 43, quality);
    ASSERT_TRUE(jpeg);
    EXPECT_GT(jpeg->size(), before);
    before = jpeg->size();
    EXPECT_EQ(encodeJpeg(rgb, 61, 43, quality).value(), *jpeg) << "deterministic";
  }
  EXPECT_LE(largest(*encodeJpeg(rgb, 61, 43, 95)), 12);
  EXPECT_GT(largest(*encodeJpeg(rgb, 61, 43, 5)), 12) << "the check above would see a bad picture";
  EXPECT_FALSE(encodeJpeg(rgb, 61, 42, 50));
  EXPECT_FALSE(encodeJpeg(rgb, 61, 43, 0));
  EXPECT_FALSE(encodeWebpLossless(rgb, 61, 43));
}

}  // namespace
}  // namespace heatskin
