#include "heatskin/operators/routing.h"

#include <cmath>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/thermal_factors.h"

namespace heatskin {
namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Block = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

/// Beyond those of training/streams.h.
constexpr std::uint64_t kRoutingStream = 0x7E60;
constexpr std::size_t kColumns = 16;  // of a block of right-hand sides

/// The isotropic stiffness without the first vertex of every component (`unknown` is kNone there): positive
/// definite.
Sparse pinnedStiffness(const Operators& operators, const std::vector<std::uint32_t>& unknown,
                       std::size_t unknowns) {
  using Index = Sparse::StorageIndex;
  std::vector<Eigen::Triplet<double, Index>> entries;
  const std::vector<double>& stiffness = operators.stiffness[kIsotropic];
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    if (unknown[v] == kNone) continue;
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
      const std::uint32_t w = unknown[operators.columns[k]];
      if (w != kNone) {
        entries.emplace_back(static_cast<Index>(unknown[v]), static_cast<Index>(w), stiffness[k]);
      }
    }
  }
  Sparse matrix(static_cast<Index>(unknowns), static_cast<Index>(unknowns));
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

}  // namespace

Result<RoutingEmbedding> routingEmbedding(const Operators& operators, const RoutingOptions& options) {
  const std::size_t vertices = operators.vertex_count, dimension = options.dimension;
  RoutingEmbedding embedding;
  embedding.dimension = dimension;
  embedding.values = gaussianBlock(vertices, dimension, options.seed, kRoutingStream);
  {
    const HeatPlan plan(operators);
    HeatOptions heat;
    heat.scheme = options.scheme;
    heat.columns = dimension;
    const std::array<double, 1> times = {options.time};
    const HeatAction action(operators, plan, kIsotropic, times, heat);
    action.apply(0, dimension, embedding.values.data(), embedding.values.data());
  }

  std::vector<std::uint32_t> unknown(vertices);
  std::vector<std::uint8_t> pinned(operators.component_count, 0);
  std::vector<double> component_mass(operators.component_count, 0);
  std::uint32_t unknowns = 0;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::uint32_t component = operators.components[v];
    component_mass[component] += operators.mass[v];
    unknown[v] = pinned[component] != 0 ? unknowns++ : kNone;
    pinned[component] = 1;
  }
  Eigen::SimplicialLDLT<Sparse> solver;
  if (unknowns > 0) {
    solver.compute(pinnedStiffness(operators, unknown, unknowns));
    if (solver.info() != Eigen::Success) {
      return inputError(
          "routing embedding: the stiffness matrix has entries that are not finite; inspect the mesh");
    }
  }

  // With y = M^-1/2 x, A0 x = b is L y = M^1/2 b, and Z = M^-1/2 x is y itself. The null vector of a
  // component is M^1/2 1: taking it out of b makes M^1/2 b sum to zero, taking it out of x makes the
  // mass-weighted mean of y zero.
  const double scale = 1 / std::sqrt(static_cast<double>(dimension));
  parallelFor(dimension, kColumns, [&](std::size_t begin, std::size_t end) {
    const auto count = static_cast<Eigen::Index>(end - begin);
    Block right(static_cast<Eigen::Index>(unknowns), count);
    std::vector<double> mean(operators.component_count);
    for (std::size_t c = begin; c < end; ++c) {
      const auto column = static_cast<Eigen::Index>(c - begin);
      std::fill(mean.begin(), mean.end(), 0.0);
      for (std::size_t v = 0; v < vertices; ++v)
        mean[operators.components[v]] += std::sqrt(operators.mass[v]) * embedding.values[v * dimension + c];
      for (std::size_t v = 0; v < vertices; ++v) {
        if (unknown[v] == kNone) continue;
        const std::uint32_t component = operators.components[v];
        right(static_cast<Eigen::Index>(unknown[v]), column) =
            std::sqrt(operators.mass[v]) * embedding.values[v * dimension + c] -
            operators.mass[v] * mean[component] / component_mass[component];
      }
    }
    const Block solution = unknowns > 0 ? Block(solver.solve(right)) : right;
    for (std::size_t c = begin; c < end; ++c) {
      const auto column = static_cast<Eigen::Index>(c - begin);
      const auto value = [&](std::size_t v) {
        return unknown[v] == kNone ? 0.0 : solution(static_cast<Eigen::Index>(unknown[v]), column);
      };
      std::fill(mean.begin(), mean.end(), 0.0);
      for (std::size_t v = 0; v < vertices; ++v)
        mean[operators.components[v]] += operators.mass[v] * value(v);
      for (std::size_t v = 0; v < vertices; ++v) {
        const std::uint32_t component = operators.components[v];
        embedding.values[v * dimension + c] =
            static_cast<float>(scale * (value(v) - mean[component] / component_mass[component]));
      }
    }
  });
  for (const float value : embedding.values) {
    if (!std::isfinite(value)) {
      return inputError("routing embedding: the Poisson problem has no finite solution; inspect the mesh");
    }
  }
  return embedding;
}

}  // namespace heatskin
