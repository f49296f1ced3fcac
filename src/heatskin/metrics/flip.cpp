#include "heatskin/metrics/flip.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/vec.h"
#include "heatskin/metrics/separable_filter.h"

namespace heatskin {
namespace {

using flip_steps::Color;

// Constants of the paper: exponents of colour and feature differences, and the knee of the redistribution,
// which maps the lowest kKneeIn of the colour range to the lowest kKneeOut of the output.
constexpr double kColorExponent = 0.7;
constexpr double kFeatureExponent = 0.5;
constexpr double kKneeIn = 0.4;
constexpr double kKneeOut = 0.95;
constexpr double kFeatureWidthDegrees = 0.082;  // peak to trough of the eye's edge detector, two sigma

// Contrast sensitivity in the spatial domain: a sum of Gaussians a sqrt(pi / b) exp(-pi^2 r^2 / b), r in
// degrees.
struct Sensitivity {
  double a = 0.0;
  double b = 0.0;

  double amplitude() const { return a * std::sqrt(std::numbers::pi / b); }
  double profile(double degrees) const {
    return std::exp(-std::numbers::pi * std::numbers::pi * degrees * degrees / b);
  }
};
constexpr Sensitivity kAchromatic = {1.0, 0.0047};
constexpr Sensitivity kRedGreen = {1.0, 0.0053};
constexpr Sensitivity kBlueYellow[2] = {{34.1, 0.04}, {13.5, 0.025}};
constexpr double kWidestB = 0.04;

constexpr double kMinPixelsPerDegree = 1.0;  // below, the feature filters are narrower than a pixel
constexpr double kMaxPixelsPerDegree = 1000.0;

/// XYZ from linear sRGB with the D65 white of the standard, as exact fractions.
Mat3 xyzFromLinear() {
  Mat3 m;
  m << 10135552.0 / 24577794.0, 8788810.0 / 24577794.0, 4435075.0 / 24577794.0,  //
      2613072.0 / 12288897.0, 8788810.0 / 12288897.0, 887015.0 / 12288897.0,     //
      1425312.0 / 73733382.0, 8788810.0 / 73733382.0, 70074185.0 / 73733382.0;
  return m;
}

/// Linear sRGB to XYZ relative to white (white is 1, 1, 1), and back.
struct RelativeXyz {
  Mat3 from_linear;
  Mat3 to_linear;

  RelativeXyz() {
    const Mat3 m = xyzFromLinear();
    const Vec3 white = m.rowwise().sum();
    from_linear = white.cwiseInverse().asDiagonal() * m;
    to_linear = from_linear.inverse();
  }
};

const RelativeXyz& relativeXyz() {
  static const RelativeXyz instance;
  return instance;
}

double linearFromSrgbExactly(double value) {
  return value > 0.04045 ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92;
}

/// linearFromSrgbExactly, from a table for values that are 8-bit texels: most pictures hold nothing else.
double linearFromSrgb(double value) {
  static const std::array<double, 256> table = [] {
    std::array<double, 256> t;
    for (std::size_t i = 0; i < t.size(); ++i)
      t[i] = linearFromSrgbExactly(static_cast<double>(static_cast<float>(i) / 255.0f));
    return t;
  }();
  const auto level = static_cast<std::size_t>(std::lrint(255.0 * value));
  if (static_cast<double>(static_cast<float>(level) / 255.0f) == value) return table[level];
  return linearFromSrgbExactly(value);
}

double labCurve(double t) {
  constexpr double kDelta = 6.0 / 29.0;
  return t > kDelta * kDelta * kDelta ? std::cbrt(t) : t / (3.0 * kDelta * kDelta) + 4.0 / 29.0;
}

/// (116 y - 16, 500 (x - y), 200 (y - z)): the shape that YCxCz and L*a*b* share.
Color opponents(double x, double y, double z) {
  return {116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)};
}

/// One-dimensional factors of all filters. A 2D filter of the paper is a product of two of them (or, for
/// blue-yellow, a sum of two products), hence the separable form is exact.
struct Filters {
  int sensitivity_radius = 0;
  int feature_radius = 0;
  std::vector<double> achromatic;                        // sum 1
  std::vector<double> red_green;                         // sum 1
  std::array<std::vector<double>, 2> blue_yellow;        // along x: sum 1 each
  std::array<std::vector<double>, 2> blue_yellow_share;  // along y: the same times the share in the 2D sum
  std::vector<double> smooth;                            // Gaussian across a feature, sum 1
  std::vector<double> edge;   // its first derivative, positive part sums to 1, negative to -1
  std::vector<double> point;  // its second derivative, the same

  explicit Filters(double pixels_per_degree) {
    const double pi = std::numbers::pi;
    sensitivity_radius =
        static_cast<int>(std::ceil(3.0 * std::sqrt(kWidestB / (2.0 * pi * pi)) * pixels_per_degree));
    achromatic = profile(kAchromatic, pixels_per_degree).kernel;
    red_green = profile(kRedGreen, pixels_per_degree).kernel;
    std::array<double, 2> volume = {};
    for (std::size_t i = 0; i < 2; ++i) {
      Profile p = profile(kBlueYellow[i], pixels_per_degree);
      volume[i] = kBlueYellow[i].amplitude() * p.sum * p.sum;
      blue_yellow[i] = std::move(p.kernel);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      blue_yellow_share[i] = blue_yellow[i];
      for (double& weight : blue_yellow_share[i])
        weight *= volume[i] / (volume[0] + volume[1]);
    }

    const double sigma = 0.5 * kFeatureWidthDegrees * pixels_per_degree;
    feature_radius = static_cast<int>(std::ceil(3.0 * sigma));
    smooth = gaussianKernel(sigma, feature_radius);
    edge = smooth;
    point = smooth;
    for (int i = 0; i <= 2 * feature_radius; ++i) {
      const double x = i - feature_radius;
      edge[static_cast<std::size_t>(i)] *= x;
      point[static_cast<std::size_t>(i)] *= x * x / (sigma * sigma) - 1.0;
    }
    normaliseSigns(edge);
    normaliseSigns(point);
  }

 private:
  struct Profile {
    std::vector<double> kernel;  // sum 1
    double sum = 0.0;            // before that
  };

  Profile profile(const Sensitivity& sensitivity, double pixels_per_degree) const {
    Profile p;
    for (int x = -sensitivity_radius; x <= sensitivity_radius; ++x) {
      p.kernel.push_back(sensitivity.profile(x / pixels_per_degree));
      p.sum += p.kernel.back();
    }
    for (double& weight : p.kernel)
      weight /= p.sum;
    return p;
  }

  static void normaliseSigns(std::vector<double>& kernel) {
    double positive = 0.0;
    double negative = 0.0;
    for (double weight : kernel)
      (weight > 0.0 ? positive : negative) += std::abs(weight);
    for (double& weight : kernel)
      weight /= weight > 0.0 ? positive : negative;
  }
};

/// What the colour and the feature pipeline know of one pixel.
struct Perceived {
  Color hunt_lab = {};
  double edge = 0.0;   // magnitude
  double point = 0.0;  // magnitude
};

/// Filters rows [begin, end) of one picture.
class FlipBand {
 public:
  FlipBand(const Filters& filters, int width, int height, std::size_t begin, std::size_t end)
      : filters_(filters),
        width_(width),
        height_(height),
        begin_(static_cast<int>(begin)),
        end_(static_cast<int>(end)),
        radius_(std::max(filters.sensitivity_radius, filters.feature_radius)),
        columns_(static_cast<std::size_t>(width)),
        plane_((end - begin + 2 * static_cast<std::size_t>(radius_)) * columns_),
        padded_(3 * (columns_ + 2 * static_cast<std::size_t>(radius_))),
        across_(kAcross * plane_),
        row_(kDown * columns_) {}

  /// `rgb` is [height, width, 3], `out` is [end - begin, width].
  void run(std::span<const float> rgb, std::span<Perceived> out) {
    filterAcross(rgb);
    for (int y = begin_; y < end_; ++y) {
      filterDown(y);
      for (std::size_t x = 0; x < columns_; ++x)
        out[static_cast<std::size_t>(y - begin_) * columns_ + x] = perceive(x);
    }
  }

 private:
  // Planes after the horizontal pass and rows after the vertical one.
  enum Across { kA, kRg, kBy0, kBy1, kSmooth, kEdge, kPoint, kAcross };
  enum Down { kFilteredA, kFilteredRg, kFilteredBy, kPart, kEdgeX, kEdgeY, kPointX, kPointY, kDown };

  void filterAcross(std::span<const float> rgb) {
    const std::size_t stride = columns_ + 2 * static_cast<std::size_t>(radius_);
    for (int y = begin_ - radius_; y < end_ + radius_; ++y) {
      const float* pixels = rgb.data() + 3 * columns_ * static_cast<std::size_t>(clampedIndex(y, height_));
      for (std::size_t x = 0; x < columns_; ++x) {
        Color srgb;
        for (std::size_t c = 0; c < 3; ++c)
          srgb[c] = std::clamp(static_cast<double>(pixels[3 * x + c]), 0.0, 1.0);
        const Color ycxcz = flip_steps::ycxczFromSrgb(srgb);
        for (std::size_t c = 0; c < 3; ++c)
          padded_[c * stride + static_cast<std::size_t>(radius_) + x] = ycxcz[c];
      }
      for (std::size_t c = 0; c < 3; ++c) {
        double* row = padded_.data() + c * stride;
        std::fill(row, row + radius_, row[radius_]);
        std::fill(row + stride - radius_, row + stride, row[stride - 1 - static_cast<std::size_t>(radius_)]);
      }
      const auto filter = [&](std::size_t channel, const std::vector<double>& kernel, Across plane) {
        const int offset = radius_ - static_cast<int>(kernel.size() / 2);
        double* out = across_.data() + static_cast<std::size_t>(plane) * plane_ +
                      static_cast<std::size_t>(y - begin_ + radius_) * columns_;
        filterRow(padded_.data() + channel * stride + offset, width_, kernel, out);
      };
      filter(0, filters_.achromatic, kA);
      filter(1, filters_.red_green, kRg);
      filter(2, filters_.blue_yellow[0], kBy0);
      filter(2, filters_.blue_yellow[1], kBy1);
      filter(0, filters_.smooth, kSmooth);
      filter(0, filters_.edge, kEdge);
      filter(0, filters_.point, kPoint);
    }
  }

  void filterDown(int y) {
    const auto filter = [&](Across plane, const std::vector<double>& kernel, Down row) {
      const int first = y - begin_ + radius_ - static_cast<int>(kernel.size() / 2);
      filterColumns(across_.data() + static_cast<std::size_t>(plane) * plane_ +
                        static_cast<std::size_t>(first) * columns_,
                    columns_, width_, kernel, row_.data() + static_cast<std::size_t>(row) * columns_);
    };
    filter(kA, filters_.achromatic, kFilteredA);
    filter(kRg, filters_.red_green, kFilteredRg);
    filter(kBy0, filters_.blue_yellow_share[0], kFilteredBy);
    filter(kBy1, filters_.blue_yellow_share[1], kPart);
    for (std::size_t x = 0; x < columns_; ++x)
      row_[kFilteredBy * columns_ + x] += row_[kPart * columns_ + x];
    filter(kEdge, filters_.smooth, kEdgeX);
    filter(kSmooth, filters_.edge, kEdgeY);
    filter(kPoint, filters_.smooth, kPointX);
    filter(kSmooth, filters_.point, kPointY);
  }

  Perceived perceive(std::size_t x) const {
    const auto at = [&](Down row) { return row_[static_cast<std::size_t>(row) * columns_ + x]; };
    Color linear = flip_steps::linearFromYcxcz({at(kFilteredA), at(kFilteredRg), at(kFilteredBy)});
    for (double& value : linear)
      value = std::clamp(value, 0.0, 1.0);
    // Features are defined on luminance in 0..1, that is (Y + 16) / 116; the filters sum to zero, so only the
    // scale matters.
    return {flip_steps::huntLabFromLinear(linear), std::hypot(at(kEdgeX), at(kEdgeY)) / 116.0,
            std::hypot(at(kPointX), at(kPointY)) / 116.0};
  }

  const Filters& filters_;
  int width_;
  int height_;
  int begin_;
  int end_;
  int radius_;
  std::size_t columns_;
  std::size_t plane_;           // values of one plane after the horizontal pass
  std::vector<double> padded_;  // [3, width + 2 radius], YCxCz of one row
  std::vector<double> across_;  // [kAcross, rows + 2 radius, width]
  std::vector<double> row_;     // [kDown, width]
};

double difference(const Perceived& a, const Perceived& b) {
  const double color = flip_steps::redistribute(flip_steps::hyab(a.hunt_lab, b.hunt_lab));
  const double raw = std::max(std::abs(a.edge - b.edge), std::abs(a.point - b.point)) / std::numbers::sqrt2;
  const double feature = std::min(std::pow(raw, kFeatureExponent), 1.0);
  // pow(0, 0) is 1; a pixel without colour difference shows none, however strong its surroundings.
  return color > 0.0 ? std::pow(color, 1.0 - feature) : 0.0;
}

Result<FlipResult> compute(const ImageF& reference, const ImageF& test, const FlipOptions& options,
                           bool want_map) try {
  if (!(options.pixels_per_degree >= kMinPixelsPerDegree && options.pixels_per_degree <= kMaxPixelsPerDegree))
    return usageError(fmt::format("FLIP wants {} to {} pixels per degree, not {}", kMinPixelsPerDegree,
                                  kMaxPixelsPerDegree, options.pixels_per_degree));
  const auto pair = makeImagePair(reference, test, options.mask);
  if (!pair) return pair.error();

  FlipResult result;
  if (want_map) result.map.assign(pair->pixelCount(), 0.0f);
  const Filters filters(options.pixels_per_degree);
  const auto rows = static_cast<std::size_t>(pair->height);
  const auto columns = static_cast<std::size_t>(pair->width);
  // At least as many output rows as extra ones, so that the filters' reach never dominates the work.
  const std::size_t band_rows = std::max<std::size_t>(
      32, 2 * static_cast<std::size_t>(std::max(filters.sensitivity_radius, filters.feature_radius)));
  std::vector<double> sums(blockCount(rows, band_rows));
  parallelBlocks(rows, band_rows, [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::vector<Perceived> a((end - begin) * columns);
    std::vector<Perceived> b(a.size());
    FlipBand band(filters, pair->width, pair->height, begin, end);
    band.run(pair->reference, a);
    band.run(pair->test, b);
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t pixel = begin * columns + i;
      if (!want_map && !pair->counted.empty() && pair->counted[pixel] == 0) continue;
      const double value = difference(a[i], b[i]);
      if (want_map) result.map[pixel] = static_cast<float>(value);
      if (pair->counted.empty() || pair->counted[pixel] != 0) sum += value;
    }
    sums[block] = sum;
  });
  double total = 0.0;
  for (double sum : sums)
    total += sum;
  result.mean = total / static_cast<double>(pair->counted_pixels);
  return result;
} catch (const std::bad_alloc&) {
  return failure("FLIP ran out of memory: compare smaller pictures");
}

}  // namespace

namespace flip_steps {

Color ycxczFromSrgb(const Color& srgb) {
  const Vec3 linear(linearFromSrgb(srgb[0]), linearFromSrgb(srgb[1]), linearFromSrgb(srgb[2]));
  const Vec3 xyz = relativeXyz().from_linear * linear;
  return opponents(xyz.x(), xyz.y(), xyz.z());
}

Color linearFromYcxcz(const Color& ycxcz) {
  const double y = (ycxcz[0] + 16.0) / 116.0;
  const Vec3 linear = relativeXyz().to_linear * Vec3(y + ycxcz[1] / 500.0, y, y - ycxcz[2] / 200.0);
  return {linear.x(), linear.y(), linear.z()};
}

Color huntLabFromLinear(const Color& linear) {
  const Vec3 xyz = relativeXyz().from_linear * Vec3(linear[0], linear[1], linear[2]);
  Color lab = opponents(labCurve(xyz.x()), labCurve(xyz.y()), labCurve(xyz.z()));
  lab[1] *= 0.01 * lab[0];
  lab[2] *= 0.01 * lab[0];
  return lab;
}

double hyab(const Color& a, const Color& b) {
  return std::abs(a[0] - b[0]) + std::hypot(a[1] - b[1], a[2] - b[2]);
}

double redistribute(double hyab_distance) {
  static const double largest =
      std::pow(hyab(huntLabFromLinear({0.0, 1.0, 0.0}), huntLabFromLinear({0.0, 0.0, 1.0})), kColorExponent);
  const double value = std::pow(hyab_distance, kColorExponent) / largest;
  if (value < kKneeIn) return value * (kKneeOut / kKneeIn);
  return std::min(kKneeOut + (value - kKneeIn) / (1.0 - kKneeIn) * (1.0 - kKneeOut), 1.0);
}

}  // namespace flip_steps

double pixelsPerDegree(double distance_m, double monitor_width_m, double monitor_width_px) {
  return distance_m * (monitor_width_px / monitor_width_m) * (std::numbers::pi / 180.0);
}

Result<double> flip(const ImageF& reference, const ImageF& test, const FlipOptions& options) {
  const auto result = compute(reference, test, options, false);
  if (!result) return result.error();
  return result->mean;
}

Result<FlipResult> flipMap(const ImageF& reference, const ImageF& test, const FlipOptions& options) {
  return compute(reference, test, options, true);
}

}  // namespace heatskin
