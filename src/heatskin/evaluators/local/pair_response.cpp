#include "heatskin/evaluators/local/pair_response.h"

#include <algorithm>
#include <cmath>

namespace heatskin::local {
namespace {

Vec2f rotationIn(const FacePairs& pairs, std::uint32_t pair) {
  return pairs.charts != nullptr ? rotationOf(pairs.charts[pair]) : rotationOf(pairs.developments[pair]);
}

}  // namespace

Developed<float> develop(const PairTables& tables, std::uint32_t face, std::uint32_t pair) {
  const FacePairs pairs = tables.supports->of(face);
  const KernelRow& k = tables.kernels[pairs.kernels[pair]];
  Developed<float> developed;
  const Vec2f turn = rotationIn(pairs, pair);
  const float c = turn.x(), n = turn.y();
  if (pairs.charts != nullptr) {
    // What the chart takes to the centre; where it has no inverse, by its rotation.
    const Chart& chart = pairs.charts[pair];
    constexpr float kSingular = 1e-6f;
    const float dx = k.center_x - chart.x, dy = k.center_y - chart.y;
    const float det = chart.xx * chart.yy - chart.xy * chart.yx;
    const bool regular = std::abs(det) > kSingular;
    developed.center_x = regular ? (chart.yy * dx - chart.xy * dy) / det : c * dx - n * dy;
    developed.center_y = regular ? (chart.xx * dy - chart.yx * dx) / det : n * dx + c * dy;
  } else {
    developed.center_x = c * k.center_x - n * k.center_y + pairs.developments[pair].x;
    developed.center_y = n * k.center_x + c * k.center_y + pairs.developments[pair].y;
  }
  developed.axis_x = c * k.axis_x - n * k.axis_y;
  developed.axis_y = n * k.axis_x + c * k.axis_y;
  developed.anisotropy = k.anisotropy;
  developed.space_x = k.space_x;
  developed.space_y = k.space_y;
  developed.space_z = k.space_z;
  return developed;
}

namespace {

Query<float> queryOf(const QueryRow& q) {
  return {q.x, q.y, q.space_x, q.space_y, q.space_z};
}

/// A kernel and a query in one plane.
struct Meeting {
  Developed<float> kernel;
  Query<float> query;
  float cosine = 1, sine = 0;  ///< the plane from reference coordinates
};

Meeting meet(const PairTables& tables, const QueryRow& q, std::uint32_t pair) {
  const FacePairs pairs = tables.supports->of(q.face);
  const KernelRow& k = tables.kernels[pairs.kernels[pair]];
  Meeting m{develop(tables, q.face, pair), queryOf(q)};
  if (!tables.euclidean && pairs.charts == nullptr) {
    m.cosine = pairs.developments[pair].cosine;
    m.sine = pairs.developments[pair].sine;
    return m;
  }
  m.kernel.axis_x = k.axis_x;
  m.kernel.axis_y = k.axis_y;
  if (tables.euclidean) {
    // Projected into the kernel's own plane (ablation row "Euclidean distance and frame"); the chord is the
    // longer one then.
    const float dx = q.space_x - k.space_x, dy = q.space_y - k.space_y, dz = q.space_z - k.space_z;
    m.kernel.center_x = m.kernel.center_y = 0;
    m.query.x = k.basis_x[0] * dx + k.basis_x[1] * dy + k.basis_x[2] * dz;
    m.query.y = k.basis_y[0] * dx + k.basis_y[1] * dy + k.basis_y[2] * dz;
  } else {
    const Chart& c = pairs.charts[pair];
    m.kernel.center_x = k.center_x;
    m.kernel.center_y = k.center_y;
    m.query.x = c.xx * q.x + c.xy * q.y + c.x;
    m.query.y = c.yx * q.x + c.yy * q.y + c.y;
  }
  return m;
}

}  // namespace

void respondBlockScalar(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out) {
  std::vector<std::pair<float, std::uint32_t>> found;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    found.clear();
    const FacePairs pairs = tables.supports->of(queries[i].face);
    for (std::uint32_t pair = 0; pair < pairs.count; ++pair) {
      const Meeting m = meet(tables, queries[i], pair);
      const float weight = tables.weights != nullptr ? tables.weights[pairs.kernels[pair]] : 1.0f;
      found.emplace_back(weight * squaredDistance(m.kernel, m.query), pair);
    }
    if (found.size() > tables.candidates) {
      std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(tables.candidates),
                       found.end());
      found.resize(tables.candidates);
      std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    }
    out.counts[i] = static_cast<std::uint32_t>(found.size());
    std::fill_n(out.kernels.begin() + static_cast<std::ptrdiff_t>(i * out.stride), out.stride, 0u);
    for (std::size_t n = 0; n < found.size(); ++n) {
      const std::uint32_t pair = found[n].second, kernel = pairs.kernels[pair];
      const Meeting m = meet(tables, queries[i], pair);
      out.kernels[i * out.stride + n] = kernel;
      out.pairs[i * out.stride + n] = pair;
      out.x[i * out.stride + n] = response(m.kernel, m.query, tables.shape);
    }
  }
}

void turnBlockScalar(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& responses) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const FacePairs pairs = tables.supports->of(queries[i].face);
    for (std::size_t at = i * responses.stride; at < i * responses.stride + responses.counts[i]; ++at) {
      const Vec2f own = rotationIn(pairs, responses.pairs[at]);
      const KernelRow& k = tables.kernels[responses.kernels[at]];
      const Turn<float> turn = Turn<float>{own.x(), own.y()} * Turn<float>{k.cosine, k.sine};
      responses.cosines[at] = turn.cosine;
      responses.sines[at] = turn.sine;
    }
  }
}

void respondVjpBlockScalar(const PairTables& tables, std::span<const QueryRow> queries,
                           const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (std::size_t n = 0; n < responses.counts[i]; ++n) {
      const std::size_t at = i * responses.stride + n;
      if (dx[at] == 0) continue;
      const std::uint32_t pair = responses.pairs[at], kernel = responses.kernels[at];
      const KernelRow& k = tables.kernels[kernel];
      const Meeting m = meet(tables, queries[i], pair);
      const Gradient<float> g = responseVjp(m.kernel, m.query, tables.shape, dx[at]);
      GeometryGradient& sum = sums.row(kernel).geometry;
      // The development is fixed: dL/d(centre) = A^T dL/dS, plus the chord's part through the tangent
      // vectors.
      const float c = m.cosine, s = m.sine;
      sum.position_x += c * g.center_x + s * g.center_y + k.basis_x[0] * g.space_x +
                        k.basis_x[1] * g.space_y + k.basis_x[2] * g.space_z;
      sum.position_y += -s * g.center_x + c * g.center_y + k.basis_y[0] * g.space_x +
                        k.basis_y[1] * g.space_y + k.basis_y[2] * g.space_z;
      sum.angle += g.angle;
      sum.anisotropy += g.anisotropy;
    }
  }
}

}  // namespace heatskin::local
