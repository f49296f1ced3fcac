#include "heatskin/metrics/ssim.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/metrics/ms_ssim.h"
#include "heatskin/metrics/test_pictures.h"

namespace heatskin {
namespace {

using testing::discMask;
using testing::greyPicture;
using testing::wavyPicture;

constexpr double kC1 = 1e-4;
constexpr double kC2 = 9e-4;

// Double arithmetic on values of order 1, divided by at least kC2: 121 roundings of 1e-16 / 9e-4.
constexpr double kSsimRounding = 1e-11;
// A map is stored as float.
constexpr double kMapRounding = 1e-6;

struct Statistics {
  double mean_a = 0, mean_b = 0, var_a = 0, var_b = 0, cov = 0;

  double luminance() const { return (2 * mean_a * mean_b + kC1) / (mean_a * mean_a + mean_b * mean_b + kC1); }
  double contrastStructure() const { return (2 * cov + kC2) / (var_a + var_b + kC2); }
};

/// The definition, pixel by pixel: weighted central moments over the 121 pixels of the window.
Statistics windowStatistics(const ImageF& a, const ImageF& b, int channel, int x, int y) {
  const auto mirrored = [](int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; };
  double total = 0;
  Statistics s;
  const auto each = [&](const auto& visit) {
    for (int dy = -5; dy <= 5; ++dy) {
      for (int dx = -5; dx <= 5; ++dx) {
        const int px = mirrored(x + dx, a.width);
        const int py = mirrored(y + dy, a.height);
        visit(std::exp(-(dx * dx + dy * dy) / (2 * 1.5 * 1.5)), double{a.pixel(px, py)[channel]},
              double{b.pixel(px, py)[channel]});
      }
    }
  };
  each([&](double w, double va, double vb) {
    total += w;
    s.mean_a += w * va;
    s.mean_b += w * vb;
  });
  s.mean_a /= total;
  s.mean_b /= total;
  each([&](double w, double va, double vb) {
    s.var_a += w * (va - s.mean_a) * (va - s.mean_a) / total;
    s.var_b += w * (vb - s.mean_b) * (vb - s.mean_b) / total;
    s.cov += w * (va - s.mean_a) * (vb - s.mean_b) / total;
  });
  return s;
}

double pixelSsim(const ImageF& a, const ImageF& b, int x, int y) {
  double sum = 0;
  for (int c = 0; c < 3; ++c) {
    const Statistics s = windowStatistics(a, b, c, x, y);
    sum += s.luminance() * s.contrastStructure() / 3;
  }
  return sum;
}

TEST(Ssim, IdenticalPicturesGiveOne) {
  const ImageF image = wavyPicture(40, 30, 1);
  EXPECT_NEAR(*ssim(image, image), 1.0, kSsimRounding);
}

TEST(Ssim, ConstantPicturesHaveAClosedForm) {
  for (const auto& [a, b] : {std::pair{0.25f, 0.75f}, {0.0f, 1.0f}, {0.5f, 0.625f}}) {
    const double expected = (2.0 * a * b + kC1) / (a * a + b * b + kC1);
    EXPECT_NEAR(*ssim(greyPicture(24, 31, a), greyPicture(24, 31, b)), expected, kSsimRounding);
  }
}

TEST(Ssim, InvertedPictureIsAntiCorrelated) {
  // b = 1 - a: equal variances, covariance is minus the variance.
  const ImageF a = wavyPicture(40, 40, 1);
  ImageF b = a;
  for (float& value : b.rgb)
    value = 1.0f - value;
  const Statistics s = windowStatistics(a, b, 0, 20, 20);
  EXPECT_NEAR(s.cov, -s.var_a, kMapRounding);
  EXPECT_LT(*ssim(a, b), -0.5);
}

TEST(Ssim, MapMatchesTheDefinitionEverywhere) {
  const ImageF a = wavyPicture(37, 43, 1);
  const ImageF b = wavyPicture(37, 43, 2, 0.1);
  const auto result = ssimMap(a, b);
  ASSERT_TRUE(result);
  double interior = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) {
      const double expected = pixelSsim(a, b, x, y);
      ASSERT_NEAR(result->map[a.index(x, y)], expected, kMapRounding) << x << " " << y;
      if (x >= 5 && y >= 5 && x < a.width - 5 && y < a.height - 5) interior += expected;
    }
  }
  EXPECT_NEAR(result->mean, interior / (27 * 33), kSsimRounding);
  EXPECT_EQ(*ssim(a, b), result->mean);
  EXPECT_EQ(*ssim(b, a), result->mean);
}

TEST(Ssim, MaskedMeanIsTheMapOverTheForeground) {
  ImageF a = wavyPicture(48, 40, 1);
  ImageF b = wavyPicture(48, 40, 2, 0.1);
  a.mask = discMask(48, 40);
  a.mask[0] = 1;  // a border pixel: counts as well
  // The definition on pictures whose background is equal.
  ImageF filled_a = a;
  ImageF filled_b = b;
  for (std::size_t i = 0; i < a.pixelCount(); ++i) {
    if (a.mask[i] != 0) continue;
    for (std::size_t c = 0; c < 3; ++c)
      filled_a.rgb[3 * i + c] = filled_b.rgb[3 * i + c] = 0.25f;
  }
  double sum = 0;
  int count = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) {
      if (a.mask[a.index(x, y)] == 0) continue;
      sum += pixelSsim(filled_a, filled_b, x, y);
      ++count;
    }
  }
  SsimOptions options;
  for (float& value : options.mask.background)
    value = 0.25f;
  EXPECT_NEAR(*ssim(a, b, options), sum / count, kSsimRounding);

  // What is behind the foreground plays no part.
  ImageF other = b;
  for (std::size_t i = 0; i < other.pixelCount(); ++i)
    if (a.mask[i] == 0) other.rgb[3 * i] = 1.0f - other.rgb[3 * i];
  EXPECT_EQ(*ssim(a, other, options), *ssim(a, b, options));
}

TEST(Ssim, LumaOfGreyIsEveryChannel) {
  ImageF a = wavyPicture(30, 30, 1);
  ImageF b = wavyPicture(30, 30, 2);
  for (ImageF* image : {&a, &b})
    for (std::size_t i = 0; i < image->pixelCount(); ++i)
      image->rgb[3 * i + 1] = image->rgb[3 * i + 2] = image->rgb[3 * i];
  // Luma is rounded to float once more.
  EXPECT_NEAR(*ssim(a, b), *ssim(a, b, SsimOptions{.color = SsimColor::kLuma, .mask = {}}), 1e-5);
}

TEST(Ssim, LumaWeighsGreenMost) {
  const ImageF a = wavyPicture(30, 30, 1);
  const auto changed = [&](std::size_t channel) {
    ImageF b = a;
    for (std::size_t i = 0; i < b.pixelCount(); ++i)
      b.rgb[3 * i + channel] = 1.0f - b.rgb[3 * i + channel];
    return *ssim(a, b, SsimOptions{.color = SsimColor::kLuma, .mask = {}});
  };
  EXPECT_LT(changed(1), changed(0));
  EXPECT_LT(changed(0), changed(2));
}

TEST(Ssim, SameBitsForAnyThreadCount) {
  const ImageF a = wavyPicture(200, 190, 1);
  const ImageF b = wavyPicture(200, 190, 2);
  setThreadCount(1);
  const auto one = ssimMap(a, b);
  setThreadCount(5);
  const auto five = ssimMap(a, b);
  setThreadCount(0);
  EXPECT_EQ(one->mean, five->mean);
  EXPECT_EQ(one->map, five->map);
}

TEST(Ssim, TooSmallIsRefusedWithTheSize) {
  const auto result = ssim(greyPicture(10, 40, 0.5f), greyPicture(10, 40, 0.5f));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("11 x 11"), std::string::npos);
  EXPECT_TRUE(ssim(greyPicture(11, 11, 0.5f), greyPicture(11, 11, 0.5f)));
}

// --- MS-SSIM -----------------------------------------------------------------------------------------------

ImageF halved(const ImageF& image) {
  ImageF out{(image.width + 1) / 2, (image.height + 1) / 2, {}, {}};
  for (int y = 0; y < out.height; ++y)
    for (int x = 0; x < out.width; ++x)
      for (int c = 0; c < 3; ++c) {
        const int x1 = std::min(2 * x + 1, image.width - 1);
        const int y1 = std::min(2 * y + 1, image.height - 1);
        out.rgb.push_back((image.pixel(2 * x, 2 * y)[c] + image.pixel(x1, 2 * y)[c] +
                           image.pixel(2 * x, y1)[c] + image.pixel(x1, y1)[c]) /
                          4);
      }
  return out;
}

TEST(MsSsim, IdenticalPicturesGiveOne) {
  const ImageF image = wavyPicture(170, 161, 1);
  EXPECT_NEAR(*msSsim(image, image), 1.0, kSsimRounding);
}

TEST(MsSsim, ConstantPicturesHaveAClosedForm) {
  // No contrast at any scale: only the luminance of the coarsest remains, with its exponent.
  const double luminance = (2.0 * 0.25 * 0.75 + kC1) / (0.0625 + 0.5625 + kC1);
  EXPECT_NEAR(*msSsim(greyPicture(161, 170, 0.25f), greyPicture(161, 170, 0.75f)),
              std::pow(luminance, 0.1333), kSsimRounding);
}

TEST(MsSsim, PublishedExponents) {
  EXPECT_EQ(kMsSsimWeights, (std::array<double, 5>{0.0448, 0.2856, 0.3001, 0.2363, 0.1333}));
}

TEST(MsSsim, MatchesTheDefinitionOnThreeScales) {
  ImageF a = wavyPicture(61, 47, 1);
  ImageF b = wavyPicture(61, 47, 2, 0.1);
  MsSsimOptions options;
  options.scales = 3;
  const double value = *msSsim(a, b, options);
  const double sum = kMsSsimWeights[0] + kMsSsimWeights[1] + kMsSsimWeights[2];
  double product[3] = {1, 1, 1};
  for (std::size_t scale = 0; scale < 3; ++scale) {
    if (scale > 0) a = halved(a), b = halved(b);
    for (int c = 0; c < 3; ++c) {
      double total = 0;
      for (int y = 5; y < a.height - 5; ++y)
        for (int x = 5; x < a.width - 5; ++x) {
          const Statistics s = windowStatistics(a, b, c, x, y);
          total += s.contrastStructure() * (scale == 2 ? s.luminance() : 1.0);
        }
      total /= (a.width - 10) * (a.height - 10);
      product[c] *= std::pow(std::max(total, 0.0), kMsSsimWeights[scale] * 1.0001 / sum);
    }
  }
  // Both halve in float, in different orders of addition.
  EXPECT_NEAR(value, (product[0] + product[1] + product[2]) / 3, kMapRounding);
}

TEST(MsSsim, OneScaleIsSsimToThePowerOfTheSumOfWeights) {
  // With one scale the exponent is the sum of the published ones, 1.0001; per channel.
  ImageF a = wavyPicture(40, 40, 1);
  ImageF b = wavyPicture(40, 40, 2, 0.1);
  MsSsimOptions options;
  options.scales = 1;
  options.color = SsimColor::kLuma;
  const double single = *ssim(a, b, SsimOptions{.color = SsimColor::kLuma, .mask = {}});
  EXPECT_NEAR(*msSsim(a, b, options), std::pow(single, 1.0001), kSsimRounding);
}

TEST(MsSsim, ForgivesFineNoiseMoreThanSsimDoes) {
  const ImageF clean = wavyPicture(192, 192, 1, 0.0);
  const ImageF noisy = wavyPicture(192, 192, 1, 0.1);
  EXPECT_GT(*msSsim(clean, noisy), *ssim(clean, noisy));
}

TEST(MsSsim, AThinForegroundSurvivesTheScales) {
  ImageF a = wavyPicture(161, 161, 1);
  ImageF b = wavyPicture(161, 161, 2, 0.1);
  a.mask.assign(a.pixelCount(), 0);
  a.mask[a.index(81, 33)] = 1;
  const auto one_pixel = msSsim(a, b);
  ASSERT_TRUE(one_pixel);
  EXPECT_GT(*one_pixel, 0.0);
  EXPECT_LE(*one_pixel, 1.0);
  // A mask of everything counts borders too, no mask does not: close, not equal.
  a.mask.assign(a.pixelCount(), 1);
  const double full = *msSsim(a, b);
  a.mask.clear();
  EXPECT_NE(full, *msSsim(a, b));
  EXPECT_NEAR(full, *msSsim(a, b), 0.05);
}

TEST(MsSsim, TooSmallIsRefusedWithTheSize) {
  EXPECT_EQ(msSsimMinimumSide(5), 161);
  EXPECT_EQ(msSsimMinimumSide(1), 11);
  const auto result = msSsim(greyPicture(160, 400, 0.5f), greyPicture(160, 400, 0.5f));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("161 x 161"), std::string::npos);
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
  MsSsimOptions options;
  options.scales = 6;
  EXPECT_EQ(msSsim(greyPicture(9, 9, 0), greyPicture(9, 9, 0), options).error().kind, ErrorKind::kUsage);
}

}  // namespace
}  // namespace heatskin
