#include "heatskin/evaluators/fields/field_response.h"

#include <algorithm>
#include <cmath>

namespace heatskin::fields {
namespace {

float squaredDistance(const FieldTables& t, const FieldQuery& q, std::uint32_t pair) {
  float sum = -q.bend;
  for (std::size_t c = 0; c < 3; ++c)
    sum += q.b[c] * t.distances[t.lists->corners[c][pair]];
  return std::max(sum, 0.0f);
}

}  // namespace

void respondBlockScalar(const FieldTables& t, std::span<const FieldQuery> queries, ResponseBlock& out) {
  std::vector<std::pair<float, std::uint32_t>> near;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const FieldQuery& q = queries[i];
    const std::uint32_t begin = t.lists->face_begin[q.face], end = t.lists->face_begin[q.face + 1];
    near.clear();
    for (std::uint32_t pair = begin; pair < end; ++pair)
      near.emplace_back(squaredDistance(t, q, pair), pair);
    const std::size_t kept = std::min(t.candidates, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept), near.end());
    std::sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(kept),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    out.counts[i] = static_cast<std::uint32_t>(kept);
    for (std::size_t n = 0; n < kept; ++n) {
      const auto [squared, pair] = near[n];
      const std::uint32_t kernel = t.lists->face_kernels[pair];
      float heat = 0;
      for (std::size_t c = 0; c < 3; ++c)
        heat += q.b[c] * t.heats[t.lists->corners[c][pair]].heat;
      const std::size_t at = i * out.stride + n;
      out.kernels[at] = kernel;
      out.pairs[at] = pair;
      out.x[at] = squared < t.cutoffs[kernel] ? std::exp(-t.window * squared) * heat : 0.0f;
    }
  }
}

void respondVjpBlockScalar(const FieldTables& t, std::span<const FieldQuery> queries,
                           const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const FieldQuery& q = queries[i];
    for (std::size_t n = 0; n < responses.counts[i]; ++n) {
      const std::size_t at = i * responses.stride + n;
      const std::uint32_t pair = responses.pairs[at], kernel = responses.kernels[at];
      GeometryGradient& sum = sums.row(kernel).geometry;
      const float squared = squaredDistance(t, q, pair);
      if (dx[at] == 0 || !(squared < t.cutoffs[kernel])) continue;
      const float d_heat = dx[at] * std::exp(-t.window * squared);
      const float d_distance = -t.window * responses.x[at] * dx[at];
      for (std::size_t c = 0; c < 3; ++c) {
        const PairHeat& s = t.heats[t.lists->corners[c][pair]];
        sum.position_x += q.b[c] * (d_heat * s.heat_x + d_distance * s.distance_x);
        sum.position_y += q.b[c] * (d_heat * s.heat_y + d_distance * s.distance_y);
        sum.angle += q.b[c] * d_heat * s.heat_angle;
        sum.anisotropy += q.b[c] * d_heat * s.heat_anisotropy;
      }
    }
  }
}

}  // namespace heatskin::fields
