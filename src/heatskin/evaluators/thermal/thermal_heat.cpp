#include "heatskin/evaluators/thermal/thermal_heat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/thermal/thermal_simd.h"
#include "heatskin/operators/dense_kernels.h"

namespace heatskin::thermal {
namespace {

/// Whole vectors may be read past the last pair.
constexpr std::size_t kPadding = 64;

/// beta^T S gamma for a symmetric 3 x 3 matrix stored as 00, 11, 22, 01, 12, 20.
float product(const std::array<float, 6>& s, const std::array<float, 3>& b, const std::array<float, 3>& g) {
  return b[0] * g[0] * s[0] + b[1] * g[1] * s[1] + b[2] * g[2] * s[2] + (b[0] * g[1] + b[1] * g[0]) * s[3] +
         (b[1] * g[2] + b[2] * g[1]) * s[4] + (b[2] * g[0] + b[0] * g[2]) * s[5];
}

}  // namespace

void ThermalHeat::reset(std::size_t pairs, std::size_t kernels, std::span<const std::uint32_t> from) {
  remembered_.resize(kernels);
  std::vector<std::uint32_t> known(pairs, 0);
  std::vector<std::array<float, 12>> products(pairs);
  parallelFor(pairs, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (from[i] == kNone || known_[from[i]] == 0) continue;
      known[i] = known_[from[i]];
      products[i] = products_[from[i]];
    }
  });
  known_ = std::move(known);
  products_ = std::move(products);
}

void ThermalHeat::heat(std::uint32_t kernel, const fields::Pose& pose, std::span<const std::uint32_t> pairs,
                       std::span<const std::uint32_t> vertices, const fields::HeatRows& out) {
  const GridWeights grid = gridWeights(pose.angle, pose.anisotropy);
  Remembered& known = remembered_[kernel];
  const bool moved = known.state == 0 || known.corners != pose.corners || known.operators != grid.operators;
  if (moved) {
    ++known.state;
    known.corners = pose.corners;
    known.operators = grid.operators;
  }
  auto& [missing, rows, computed, gathered, vertex_rows] = scratch_.mine();
  missing.clear();
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    if (known_[pairs[i]] != known.state) missing.push_back(i);
    __builtin_prefetch(&products_[pairs[i]]);  // wanted soon, and far away
    __builtin_prefetch(&products_[pairs[i]][11]);
  }
  if (moved || !missing.empty()) {
    const std::size_t rank = factors_.rank;
    rows.resize(12 * rank);
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t c = 0; c < 3; ++c)
        floatFromHalf({factors_.row(grid.operators[j], pose.corners[c]), rank},
                      std::span(rows).subspan((3 * j + c) * rank, rank));
    }
    // The kernel's own corners are vertices like any other; they come first.
    const std::size_t count = 3 + missing.size();
    vertex_rows.resize(4 * count);
    computed.resize(12 * count);
    float* columns[12];
    for (std::size_t k = 0; k < 12; ++k)
      columns[k] = computed.data() + k * count;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t vertex = i < 3 ? pose.corners[i] : vertices[missing[i - 3]];
      for (std::size_t j = 0; j < 4; ++j)
        vertex_rows[4 * i + j] = factors_.row(grid.operators[j], vertex);
    }
    factorProducts(rows.data(), rank, vertex_rows.data(), count, columns);
    for (std::size_t j = 0; j < 4; ++j)
      known.self[j] = {columns[3 * j][0], columns[3 * j + 1][1], columns[3 * j + 2][2],
                       columns[3 * j][1], columns[3 * j + 1][2], columns[3 * j + 2][0]};
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const std::uint32_t pair = pairs[missing[i]];
      for (std::size_t k = 0; k < 12; ++k)
        products_[pair][k] = columns[k][i + 3];
      known_[pair] = known.state;
    }
  }
  const std::size_t stride = (pairs.size() + kPadding - 1) / kPadding * kPadding;
  gathered.resize(12 * stride);
  const float* products[12];
  for (std::size_t k = 0; k < 12; ++k)
    products[k] = gathered.data() + k * stride;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::array<float, 12>& p = products_[pairs[i]];
    for (std::size_t k = 0; k < 12; ++k)
      gathered[k * stride + i] = p[k];
  }

  // Self heat and its derivatives.
  const auto& b = pose.barycentric;
  float self = 0, self_x = 0, self_y = 0, self_angle = 0, self_anisotropy = 0;
  for (std::size_t j = 0; j < 4; ++j) {
    const float own = product(known.self[j], b, b);
    self += grid.weights[j] * own;
    self_x += 2 * grid.weights[j] * product(known.self[j], b, pose.barycentric_x);
    self_y += 2 * grid.weights[j] * product(known.self[j], b, pose.barycentric_y);
    self_angle += grid.d_angle[j] * own;
    self_anisotropy += grid.d_anisotropy[j] * own;
  }
  const float inverse = 1 / (self + fields::kSelfEpsilon);

  // Rows: value, position x and y, angle, anisotropy. The quotient rule takes (d self / self) * value off
  // every derivative, and the value is a mix of the same products.
  float weights[5][12];
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t k = 3 * j + c;
      const float value = grid.weights[j] * b[c] * inverse;
      weights[0][k] = value;
      weights[1][k] = grid.weights[j] * pose.barycentric_x[c] * inverse - value * self_x * inverse;
      weights[2][k] = grid.weights[j] * pose.barycentric_y[c] * inverse - value * self_y * inverse;
      weights[3][k] = grid.d_angle[j] * b[c] * inverse - value * self_angle * inverse;
      weights[4][k] = grid.d_anisotropy[j] * b[c] * inverse - value * self_anisotropy * inverse;
    }
  }
  float* const rows_out[5] = {out.value, out.d_x, out.d_y, out.d_angle, out.d_anisotropy};
  mixProducts(weights[0], products, vertices.size(), rows_out);
}

}  // namespace heatskin::thermal
