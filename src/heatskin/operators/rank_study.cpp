#include "heatskin/operators/rank_study.h"

#include <cmath>
#include <limits>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Beyond those of training/streams.h.
constexpr std::uint64_t kCenterStream = 0x7E50, kQueryStream = 0x7E51, kParameterStream = 0x7E52;
/// Keeps the quotient h / h(p, p) finite (METHOD section 7).
constexpr double kSelfEpsilon = 1e-8;

}  // namespace

RankStudy::RankStudy(const Surface& surface, const RankStudyOptions& options) {
  const auto draw = [&](std::size_t count, std::uint64_t stream) {
    std::vector<Point> points;
    for (const SurfacePoint& p : sampleSurface(surface, count, options.seed, stream)) {
      Point point{surface.faces()[p.face], {}};
      for (std::size_t c = 0; c < 3; ++c)
        point.weights[c] = static_cast<float>(p.barycentric[static_cast<Eigen::Index>(c)]);
      points.push_back(point);
    }
    return points;
  };
  centers_ = draw(options.centers, kCenterStream);
  queries_ = draw(options.queries, kQueryStream);
  const RandomStream random(options.seed, kParameterStream);
  for (std::size_t i = 0; i < centers_.size(); ++i) {
    const auto [u, v] = random.uniform2(i);  // METHOD section 2
    thresholds_.push_back(0.3 + (0.7 - 1e-8) * std::pow(u, 0.7));
    sharpnesses_.push_back(10 + 40 * std::sqrt(v));
  }
}

void RankStudy::responses(const FactorView& factor, std::vector<float>& h, std::vector<float>& self) const {
  const std::size_t rank = factor.rank, queries = queries_.size();
  const auto entry = [&](const Point& p, std::size_t k) {
    float sum = 0;
    for (std::size_t c = 0; c < 3; ++c)
      sum += p.weights[c] * factor.values[p.vertices[c] * factor.stride + k];
    return sum;
  };
  std::vector<float> centers(centers_.size() * rank), transposed(rank * queries);
  self.assign(centers_.size(), 0);
  for (std::size_t i = 0; i < centers_.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      const float value = centers[i * rank + k] = entry(centers_[i], k);
      sum += static_cast<double>(value) * value;
    }
    self[i] = static_cast<float>(sum);
  }
  for (std::size_t q = 0; q < queries; ++q) {
    for (std::size_t k = 0; k < rank; ++k)
      transposed[k * queries + q] = entry(queries_[q], k);
  }
  h.assign(centers_.size() * queries, 0);
  LeftFactor<float> left;
  left.row_stride = rank;
  left.segment_length = rank;
  constexpr std::size_t kBlock = 32;
  parallelFor(centers_.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    LeftFactor<float> rows = left;
    rows.data = centers.data() + begin * rank;
    multiplyAdd(end - begin, queries, 1.0f, rows, transposed.data(), queries, h.data() + begin * queries,
                queries);
  });
}

RankScore RankStudy::score(const FactorView& truth, const FactorView& factor) const {
  std::vector<float> expected, found, expected_self, found_self;
  responses(truth, expected, expected_self);
  responses(factor, found, found_self);
  const std::size_t queries = queries_.size();
  double raw = 0, size = 0, filtered = 0;
  for (std::size_t i = 0; i < centers_.size(); ++i) {
    const SoftThreshold<double> filter(sharpnesses_[i], thresholds_[i]);
    for (std::size_t q = 0; q < queries; ++q) {
      const double a = expected[i * queries + q], b = found[i * queries + q];
      raw += (a - b) * (a - b);
      size += a * a;
      const double difference =
          filter(a / (expected_self[i] + kSelfEpsilon)) - filter(b / (found_self[i] + kSelfEpsilon));
      filtered += difference * difference;
    }
  }
  RankScore score;
  score.raw_error = size > 0 ? std::sqrt(raw / size) : 0;
  const double mean = filtered / static_cast<double>(std::max<std::size_t>(1, expected.size()));
  score.psnr = mean > 0 ? -10 * std::log10(mean) : std::numeric_limits<double>::infinity();
  return score;
}

std::vector<float> spectralFactor(const Eigenpairs& pairs, double time) {
  const std::size_t k = pairs.values.size();
  std::vector<float> factor(pairs.vectors);
  std::vector<float> scale(k);
  for (std::size_t e = 0; e < k; ++e)
    scale[e] = static_cast<float>(std::exp(-0.5 * time * pairs.values[e]));
  for (std::size_t i = 0; i < factor.size(); ++i)
    factor[i] *= scale[i % k];
  return factor;
}

}  // namespace heatskin
