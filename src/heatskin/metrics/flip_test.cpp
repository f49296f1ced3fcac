#include "heatskin/metrics/flip.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/metrics/test_pictures.h"

namespace heatskin {
namespace {

using flip_steps::Color;
using testing::constantPicture;
using testing::discMask;
using testing::greyPicture;
using testing::wavyPicture;

// Filter sums in double, square roots of differences near 1e-16 give 1e-8.
constexpr double kRounding = 1e-7;
// Where a map stored as float is compared.
constexpr double kFloatRounding = 1e-6;

// --- A slow twin that follows the paper with full two-dimensional filters ---------------------------------
// Written from the definition with decimal matrices of the sRGB standard's D65 conversion, sharing no code
// with the implementation.

using Plane = std::vector<double>;

struct Twin {
  int width;
  int height;
  double ppd;

  static double linear(double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); }

  static Color xyz(const Color& rgb) {
    return {0.4123865632529917 * rgb[0] + 0.35759149092062537 * rgb[1] + 0.18045049120356368 * rgb[2],
            0.21263682167732384 * rgb[0] + 0.7151829818412507 * rgb[1] + 0.07218019648142547 * rgb[2],
            0.019330620152483987 * rgb[0] + 0.11919716364020845 * rgb[1] + 0.9503725870054354 * rgb[2]};
  }
  static Color white() { return xyz({1, 1, 1}); }

  static Color ycxcz(const Color& srgb) {
    const Color c = xyz({linear(srgb[0]), linear(srgb[1]), linear(srgb[2])});
    const Color w = white();
    return {116 * c[1] / w[1] - 16, 500 * (c[0] / w[0] - c[1] / w[1]), 200 * (c[1] / w[1] - c[2] / w[2])};
  }

  /// Back to linear RGB by Cramer's rule on the matrix above.
  static Color rgbFromYcxcz(const Color& v) {
    const Color w = white();
    const double y = (v[0] + 16) / 116;
    const Color target = {(y + v[1] / 500) * w[0], y * w[1], (y - v[2] / 200) * w[2]};
    const Color columns[3] = {xyz({1, 0, 0}), xyz({0, 1, 0}), xyz({0, 0, 1})};
    const auto determinant = [](const Color& a, const Color& b, const Color& c) {
      return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) +
             c[0] * (a[1] * b[2] - a[2] * b[1]);
    };
    const double all = determinant(columns[0], columns[1], columns[2]);
    return {determinant(target, columns[1], columns[2]) / all,
            determinant(columns[0], target, columns[2]) / all,
            determinant(columns[0], columns[1], target) / all};
  }

  static Color huntLab(const Color& rgb) {
    const Color c = xyz(rgb);
    const Color w = white();
    const auto f = [](double t) {
      return t > 216.0 / 24389.0 ? std::pow(t, 1.0 / 3.0) : (841.0 / 108.0) * t + 16.0 / 116.0;
    };
    const double fx = f(c[0] / w[0]);
    const double fy = f(c[1] / w[1]);
    const double fz = f(c[2] / w[2]);
    const double l = 116 * fy - 16;
    return {l, 0.01 * l * 500 * (fx - fy), 0.01 * l * 200 * (fy - fz)};
  }

  static double colorDifference(const Color& a, const Color& b) {
    const auto hyab = [](const Color& p, const Color& q) {
      return std::abs(p[0] - q[0]) + std::sqrt((p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
    };
    const double largest = std::pow(hyab(huntLab({0, 1, 0}), huntLab({0, 0, 1})), 0.7);
    const double e = std::pow(hyab(huntLab(a), huntLab(b)), 0.7);
    const double knee = 0.4 * largest;
    return e < knee ? 0.95 / knee * e : 0.95 + (e - knee) / (largest - knee) * 0.05;
  }

  Plane convolve(const Plane& in, const Plane& kernel, int radius) const {
    Plane out(in.size());
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        double sum = 0;
        for (int j = -radius; j <= radius; ++j)
          for (int i = -radius; i <= radius; ++i) {
            const int px = std::min(std::max(x + i, 0), width - 1);
            const int py = std::min(std::max(y + j, 0), height - 1);
            sum += kernel[static_cast<std::size_t>((j + radius) * (2 * radius + 1) + i + radius)] *
                   in[static_cast<std::size_t>(py * width + px)];
          }
        out[static_cast<std::size_t>(y * width + x)] = sum;
      }
    return out;
  }

  Plane sensitive(const Plane& in, double a1, double b1, double a2, double b2) const {
    const double pi = std::numbers::pi;
    const int radius = static_cast<int>(std::ceil(3 * std::sqrt(0.04 / (2 * pi * pi)) * ppd));
    Plane kernel;
    double sum = 0;
    for (int j = -radius; j <= radius; ++j)
      for (int i = -radius; i <= radius; ++i) {
        const double z = (i * i + j * j) / (ppd * ppd);
        kernel.push_back(a1 * std::sqrt(pi / b1) * std::exp(-pi * pi * z / b1) +
                         a2 * std::sqrt(pi / b2) * std::exp(-pi * pi * z / b2));
        sum += kernel.back();
      }
    for (double& w : kernel)
      w /= sum;
    return convolve(in, kernel, radius);
  }

  /// Magnitude of the response to edges (`second` false) or points in x and y.
  Plane features(const Plane& luminance, bool second) const {
    const double sd = 0.5 * 0.082 * ppd;
    const int radius = static_cast<int>(std::ceil(3 * sd));
    Plane kernels[2];
    for (int axis = 0; axis < 2; ++axis) {
      double positive = 0;
      double negative = 0;
      for (int j = -radius; j <= radius; ++j)
        for (int i = -radius; i <= radius; ++i) {
          const double t = axis == 0 ? i : j;
          const double g = std::exp(-(i * i + j * j) / (2 * sd * sd));
          const double w = second ? (t * t / (sd * sd) - 1) * g : -t * g;
          kernels[axis].push_back(w);
          (w > 0 ? positive : negative) += std::abs(w);
        }
      for (double& w : kernels[axis])
        w /= w > 0 ? positive : negative;
    }
    Plane x = convolve(luminance, kernels[0], radius);
    const Plane y = convolve(luminance, kernels[1], radius);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::sqrt(x[i] * x[i] + y[i] * y[i]);
    return x;
  }

  Plane map(const ImageF& a, const ImageF& b) const {
    std::vector<Color> colors[2];
    Plane edges[2];
    Plane points[2];
    for (int k = 0; k < 2; ++k) {
      const ImageF& image = k == 0 ? a : b;
      Plane opponent[3];
      Plane luminance;
      for (std::size_t i = 0; i < image.pixelCount(); ++i) {
        const Color c = ycxcz({image.rgb[3 * i], image.rgb[3 * i + 1], image.rgb[3 * i + 2]});
        for (std::size_t n = 0; n < 3; ++n)
          opponent[n].push_back(c[n]);
        luminance.push_back((c[0] + 16) / 116);
      }
      const Plane f[3] = {sensitive(opponent[0], 1, 0.0047, 0, 1e-5),
                          sensitive(opponent[1], 1, 0.0053, 0, 1e-5),
                          sensitive(opponent[2], 34.1, 0.04, 13.5, 0.025)};
      for (std::size_t i = 0; i < image.pixelCount(); ++i) {
        Color rgb = rgbFromYcxcz({f[0][i], f[1][i], f[2][i]});
        for (double& v : rgb)
          v = std::min(std::max(v, 0.0), 1.0);
        colors[k].push_back(rgb);
      }
      edges[k] = features(luminance, false);
      points[k] = features(luminance, true);
    }
    Plane out;
    for (std::size_t i = 0; i < a.pixelCount(); ++i) {
      const double feature =
          std::sqrt(std::max(std::abs(edges[0][i] - edges[1][i]), std::abs(points[0][i] - points[1][i])) /
                    std::sqrt(2.0));
      out.push_back(std::pow(colorDifference(colors[0][i], colors[1][i]), 1 - feature));
    }
    return out;
  }
};

TEST(Flip, MatchesTheTwoDimensionalTwin) {
  ImageF a = wavyPicture(40, 33, 1);
  ImageF b = wavyPicture(40, 33, 2, 0.1);
  for (int y = 10; y < 20; ++y)  // a hard edge and a lone point, so that features matter
    for (int x = 12; x < 30; ++x)
      for (int c = 0; c < 3; ++c)
        b.pixel(x, y)[c] = c == 0 ? 1.0f : 0.0f;
  a.pixel(5, 27)[1] = 1.0f;
  for (const double ppd : {67.0206432765823, 20.0}) {
    const Plane expected = Twin{40, 33, ppd}.map(a, b);
    FlipOptions options;
    options.pixels_per_degree = ppd;
    const auto result = flipMap(a, b, options);
    ASSERT_TRUE(result);
    double sum = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(result->map[i], expected[i], kFloatRounding) << i;
      sum += expected[i];
    }
    EXPECT_NEAR(result->mean, sum / static_cast<double>(expected.size()), kRounding);
    EXPECT_EQ(*flip(a, b, options), result->mean);
  }
}

TEST(Flip, IdenticalPicturesShowNothing) {
  const ImageF image = wavyPicture(30, 30, 1);
  EXPECT_EQ(*flip(image, image), 0.0);
}

TEST(Flip, IsSymmetricToTheBit) {
  const ImageF a = wavyPicture(50, 41, 1);
  const ImageF b = wavyPicture(50, 41, 2);
  EXPECT_EQ(flipMap(a, b)->map, flipMap(b, a)->map);
  EXPECT_EQ(*flip(a, b), *flip(b, a));
}

TEST(Flip, ConstantPicturesHaveOnlyAColourDifference) {
  const Color colors[] = {{0, 0, 0}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}, {0.25, 0.5, 0.75}, {0.03, 0.02, 0.01}};
  for (const Color& a : colors) {
    for (const Color& b : colors) {
      if (a == b) continue;
      const auto f = [](double v) { return static_cast<float>(v); };
      const double value = *flip(constantPicture(9, 7, f(a[0]), f(a[1]), f(a[2])),
                                 constantPicture(9, 7, f(b[0]), f(b[1]), f(b[2])));
      const auto linear = [](const Color& c) {
        return Color{Twin::linear(c[0]), Twin::linear(c[1]), Twin::linear(c[2])};
      };
      // Float inputs: 0.03f is not 0.03.
      EXPECT_NEAR(value, Twin::colorDifference(linear(a), linear(b)), kFloatRounding);
    }
  }
}

TEST(Flip, BlackAgainstWhiteByHand) {
  // dL = 100, no chroma: HyAB 100, to the power 0.7 is 25.1189; the largest is 41.2761; beyond the knee at
  // 16.5104: 0.95 + 0.05 (25.1189 - 16.5104) / (41.2761 - 16.5104) = 0.967380.
  EXPECT_NEAR(*flip(greyPicture(8, 8, 0), greyPicture(8, 8, 1)), 0.967380, 1e-6);
  // Green against blue is the largest difference there is.
  EXPECT_NEAR(*flip(constantPicture(8, 8, 0, 1, 0), constantPicture(8, 8, 0, 0, 1)), 1.0, kRounding);
}

TEST(Flip, PublishedColours) {
  // The largest HyAB distance to the power 0.7, as implementations of FLIP print it.
  const double largest =
      flip_steps::hyab(flip_steps::huntLabFromLinear({0, 1, 0}), flip_steps::huntLabFromLinear({0, 0, 1}));
  EXPECT_NEAR(std::pow(largest, 0.7), 41.2760963, 1e-5);
  // L*a*b* of the sRGB primaries under D65 in tables: green 87.73 -86.18 83.18, blue 32.30 79.19 -107.86; the
  // Hunt adjustment multiplies a and b by L / 100.
  const Color green = flip_steps::huntLabFromLinear({0, 1, 0});
  EXPECT_NEAR(green[0], 87.73, 0.02);
  EXPECT_NEAR(green[1], -86.18 * 0.8773, 0.05);
  EXPECT_NEAR(green[2], 83.18 * 0.8773, 0.05);
  const Color blue = flip_steps::huntLabFromLinear({0, 0, 1});
  EXPECT_NEAR(blue[0], 32.30, 0.02);
  EXPECT_NEAR(blue[1], 79.19 * 0.3230, 0.05);
  EXPECT_NEAR(blue[2], -107.86 * 0.3230, 0.05);
}

TEST(Flip, ColoursComeBack) {
  const RandomStream random(3, 0);
  for (std::uint64_t i = 0; i < 200; ++i) {
    Color srgb = {random.uniform(3 * i), random.uniform(3 * i + 1), random.uniform(3 * i + 2)};
    if (i % 2 == 0)  // 8-bit levels take the table
      for (double& v : srgb)
        v = static_cast<double>(static_cast<float>(std::floor(256 * v)) / 255.0f);
    const Color back = flip_steps::linearFromYcxcz(flip_steps::ycxczFromSrgb(srgb));
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(back[c], Twin::linear(srgb[c]), 1e-13);
  }
}

TEST(Flip, RedistributionIsMonotoneWithItsKnee) {
  EXPECT_EQ(flip_steps::redistribute(0.0), 0.0);
  const double knee = std::pow(0.4 * 41.2760963, 1.0 / 0.7);
  EXPECT_NEAR(flip_steps::redistribute(knee), 0.95, 1e-6);
  double previous = -1.0;
  for (double e = 0.0; e <= 203.0; e += 0.5) {
    EXPECT_GT(flip_steps::redistribute(e), previous);
    previous = flip_steps::redistribute(e);
  }
  EXPECT_LE(previous, 1.0);
}

TEST(Flip, FineCheckersVanishWithDistance) {
  // A checkerboard and its inverse: seen from afar (many pixels per degree) both become the same grey.
  ImageF a = greyPicture(64, 64, 0.3f);
  ImageF b = a;
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 64; ++x)
      for (int c = 0; c < 3; ++c)
        ((x + y) % 2 == 0 ? a : b).pixel(x, y)[c] = 0.7f;
  double previous = 2.0;
  for (const double ppd : {5.0, 15.0, 30.0, 60.0, 120.0}) {
    FlipOptions options;
    options.pixels_per_degree = ppd;
    const double value = *flip(a, b, options);
    EXPECT_LT(value, previous) << ppd;
    EXPECT_GE(value, 0.0);
    previous = value;
  }
  EXPECT_LT(previous, 0.02);
}

TEST(Flip, StaysWithinZeroAndOne) {
  ImageF a = wavyPicture(60, 60, 5, 2.0);
  ImageF b = wavyPicture(60, 60, 6, 2.0);
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {  // saturated noise: strong features, clipped colours
    a.rgb[i] = a.rgb[i] > 0.5f ? 1.0f : 0.0f;
    b.rgb[i] = b.rgb[i] > 0.5f ? 1.5f : -0.5f;  // outside the range: clamped
  }
  for (const double ppd : {1.0, 67.0, 400.0}) {
    FlipOptions options;
    options.pixels_per_degree = ppd;
    const auto result = flipMap(a, b, options);
    ASSERT_TRUE(result);
    for (float value : result->map) {
      ASSERT_GE(value, 0.0f);
      ASSERT_LE(value, 1.0f);
    }
  }
}

TEST(Flip, MaskedMeanIsTheMapOverTheForeground) {
  ImageF a = wavyPicture(64, 64, 1);
  ImageF b = wavyPicture(64, 64, 2);
  a.mask = discMask(64, 64);
  const auto result = flipMap(a, b);
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.pixelCount(); ++i)
    if (a.mask[i] != 0) sum += result->map[i], ++count;
  EXPECT_NEAR(result->mean, sum / static_cast<double>(count), kFloatRounding);
  EXPECT_EQ(*flip(a, b), result->mean);
  // Farther behind the foreground than the filters reach (10 pixels) both pictures show the same background.
  EXPECT_EQ(result->map[0], 0.0f);
}

TEST(Flip, SameBitsForAnyThreadCount) {
  const ImageF a = wavyPicture(90, 130, 1);
  const ImageF b = wavyPicture(90, 130, 2);
  setThreadCount(1);
  const auto one = flipMap(a, b);
  setThreadCount(6);
  const auto six = flipMap(a, b);
  setThreadCount(0);
  EXPECT_EQ(one->mean, six->mean);
  EXPECT_EQ(one->map, six->map);
}

TEST(Flip, OptionsAreChecked) {
  EXPECT_NEAR(pixelsPerDegree(0.7, 0.7, 3840), FlipOptions{}.pixels_per_degree, 1e-12);
  const ImageF image = greyPicture(1, 1, 0.5f);
  EXPECT_EQ(*flip(image, image), 0.0);
  for (const double ppd : {0.0, -1.0, 1e9, std::nan("")}) {
    FlipOptions options;
    options.pixels_per_degree = ppd;
    ASSERT_FALSE(flip(image, image, options));
    EXPECT_EQ(flip(image, image, options).error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace heatskin
