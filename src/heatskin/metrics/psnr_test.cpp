#include "heatskin/metrics/psnr.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/metrics/test_pictures.h"

namespace heatskin {
namespace {

using testing::constantPicture;
using testing::discMask;
using testing::greyPicture;
using testing::wavyPicture;

// Sums of some 10^5 doubles: their rounding is far below this many dB.
constexpr double kRoundingDb = 1e-9;

TEST(Psnr, ConstantOffsetIsMinusTwentyLog) {
  // 0.75 and 0.25 are exact in float: MSE 0.25, 6.0206 dB.
  EXPECT_NEAR(*psnr(greyPicture(33, 17, 0.75f), greyPicture(33, 17, 0.25f)), 20.0 * std::log10(2.0),
              kRoundingDb);
  // One channel of three differs by 0.5: MSE 1/12.
  EXPECT_NEAR(*psnr(constantPicture(5, 5, 0.5f, 0.5f, 0.5f), constantPicture(5, 5, 0.5f, 1.0f, 0.5f)),
              10.0 * std::log10(12.0), kRoundingDb);
}

TEST(Psnr, UniformNoiseHasItsVariance) {
  // Noise of width 0.2 has variance 0.2^2 / 12; the mean of 1.2 million squares is within 5 sigma of it:
  // the relative sigma of one square is sqrt(4/5).
  constexpr std::size_t kValues = 1'200'000;
  const RandomStream random(7, 0);
  std::vector<float> clean(kValues, 0.5f);
  std::vector<float> noisy(kValues);
  for (std::size_t i = 0; i < kValues; ++i)
    noisy[i] = static_cast<float>(0.5 + 0.2 * (random.uniform(i) - 0.5));
  const double relative = 5.0 * std::sqrt(0.8 / kValues);
  const double mse = squaredError(clean, noisy)->mean();
  EXPECT_NEAR(mse, 0.04 / 12.0, relative * 0.04 / 12.0);
  EXPECT_NEAR(*psnr(clean, noisy), -10.0 * std::log10(mse), kRoundingDb);
}

TEST(Psnr, IdenticalPicturesAreInfinite) {
  const ImageF image = wavyPicture(20, 20, 1);
  EXPECT_EQ(*psnr(image, image), std::numeric_limits<double>::infinity());
  EXPECT_EQ(jsonNumber(*psnr(image, image)), "null");
}

TEST(Psnr, OnlyTheForegroundCounts) {
  ImageF a = greyPicture(40, 30, 0.75f);
  ImageF b = greyPicture(40, 30, 0.25f);
  a.mask = discMask(40, 30);
  for (std::size_t i = 0; i < a.pixelCount(); ++i) {
    if (a.mask[i] == 0) a.rgb[3 * i] = 0.0f, b.rgb[3 * i] = 1.0f;
  }
  EXPECT_NEAR(*psnr(a, b), 20.0 * std::log10(2.0), kRoundingDb);
  EXPECT_LT(*psnr(a, b, MaskOptions{.use_mask = false}), *psnr(a, b));
}

TEST(Psnr, APixelInEitherMaskCounts) {
  ImageF a = greyPicture(4, 1, 0.5f);
  ImageF b = a;
  a.mask = {1, 0, 0, 0};
  b.mask = {0, 1, 0, 0};
  b.rgb[3] = 1.0f;   // in b's mask alone: counts
  b.rgb[11] = 0.0f;  // in neither: does not
  const auto error = squaredError(a, b);
  EXPECT_EQ(error->count, 6u);
  EXPECT_DOUBLE_EQ(error->sum, 0.25);
}

TEST(Psnr, PooledErrorsAreTheErrorOfTheUnion) {
  const ImageF a = wavyPicture(30, 20, 1);
  const ImageF b = wavyPicture(30, 20, 2);
  const std::span<const float> x(a.rgb);
  const std::span<const float> y(b.rgb);
  SquaredError pooled = *squaredError(x.first(600), y.first(600));
  pooled += *squaredError(x.subspan(600), y.subspan(600));
  EXPECT_NEAR(psnrFromMse(pooled.mean()), *psnr(a, b), kRoundingDb);
}

TEST(Psnr, SameBitsForAnyThreadCount) {
  const ImageF a = wavyPicture(300, 300, 1);
  const ImageF b = wavyPicture(300, 300, 2);
  setThreadCount(1);
  const double one = *psnr(a, b);
  setThreadCount(7);
  const double seven = *psnr(a, b);
  setThreadCount(0);
  EXPECT_EQ(one, seven);
}

TEST(Psnr, BadInputIsNamed) {
  const ImageF good = greyPicture(4, 4, 0.5f);
  ImageF nan = good;
  nan.rgb[5] = std::numeric_limits<float>::quiet_NaN();
  ImageF torn = good;
  torn.rgb.pop_back();
  ImageF masked = good;
  masked.mask.assign(16, 0);
  ImageF short_mask = good;
  short_mask.mask.assign(15, 1);
  const auto message = [&](const ImageF& a, const ImageF& b) {
    const auto result = psnr(a, b);
    return result ? std::string("no error") : result.error().message;
  };
  EXPECT_NE(message(good, greyPicture(4, 5, 0.5f)).find("differ in size, 4 x 4 and 4 x 5"),
            std::string::npos);
  EXPECT_NE(message(good, ImageF{}).find("empty"), std::string::npos);
  EXPECT_NE(message(nan, good).find("not finite"), std::string::npos);
  EXPECT_NE(message(good, torn).find("47 values"), std::string::npos);
  EXPECT_NE(message(masked, good).find("mask is empty"), std::string::npos);
  EXPECT_NE(message(short_mask, good).find("15 values"), std::string::npos);
  EXPECT_FALSE(psnr(std::vector<float>{1, 2, 3}, std::vector<float>{1, 2}));
  EXPECT_FALSE(psnr(std::vector<float>{}, std::vector<float>{}));
  EXPECT_FALSE(psnr(std::vector<float>{NAN}, std::vector<float>{0}));
}

TEST(JsonNumber, ReadsBackOrSaysWhyNot) {
  EXPECT_EQ(jsonNumber(0.1), "0.1");
  EXPECT_EQ(std::stod(jsonNumber(1.0 / 3.0)), 1.0 / 3.0);
  EXPECT_EQ(jsonNumber(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(jsonNumber(std::numeric_limits<double>::quiet_NaN()), "null");
}

}  // namespace
}  // namespace heatskin
