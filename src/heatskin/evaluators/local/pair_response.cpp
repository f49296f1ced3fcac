#include "heatskin/evaluators/local/pair_response.h"

#include <algorithm>

namespace heatskin::local {

Developed<float> develop(const PairTables& tables, std::uint32_t pair) {
  const SupportTable& s = *tables.supports;
  const KernelRow& k = tables.kernels[s.kernels[pair]];
  const auto [c, n, x, y] = s.developments[pair];
  Developed<float> developed;
  developed.center_x = c * k.center_x - n * k.center_y + x;
  developed.center_y = n * k.center_x + c * k.center_y + y;
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
  const SupportTable& s = *tables.supports;
  const KernelRow& k = tables.kernels[s.kernels[pair]];
  Meeting m{develop(tables, pair), queryOf(q)};
  if (!tables.euclidean && s.charts.empty()) {
    m.cosine = s.developments[pair].cosine;
    m.sine = s.developments[pair].sine;
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
    const Chart& c = s.charts[pair];
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
    for (std::uint32_t pair = tables.supports->begin[queries[i].face];
         pair < tables.supports->begin[queries[i].face + 1]; ++pair) {
      const Meeting m = meet(tables, queries[i], pair);
      const float weight = tables.weights != nullptr ? tables.weights[tables.supports->kernels[pair]] : 1.0f;
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
      const std::uint32_t pair = found[n].second, kernel = tables.supports->kernels[pair];
      const Meeting m = meet(tables, queries[i], pair);
      out.kernels[i * out.stride + n] = kernel;
      out.pairs[i * out.stride + n] = pair;
      out.x[i * out.stride + n] = response(m.kernel, m.query, tables.shape);
    }
  }
}

void turnBlockScalar(const PairTables& tables, ResponseBlock& responses) {
  const SupportTable& s = *tables.supports;
  for (std::size_t i = 0; i < responses.counts.size(); ++i) {
    for (std::size_t at = i * responses.stride; at < i * responses.stride + responses.counts[i]; ++at) {
      const std::uint32_t pair = responses.pairs[at];
      const KernelRow& k = tables.kernels[responses.kernels[at]];
      Turn<float> face_from_source;
      if (s.charts.empty()) {
        face_from_source = {s.developments[pair].cosine, s.developments[pair].sine};
      } else {
        const Chart& c = s.charts[pair];
        face_from_source = nearestTurn(c.xx, c.xy, c.yx, c.yy).inverse();
      }
      const Turn<float> turn = face_from_source * Turn<float>{k.cosine, k.sine};
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
