// With a lumped mass the problem is an ordinary one: y = M^1/2 phi, A = M^-1/2 L M^-1/2. A part with few
// vertices is solved as a dense matrix, others by block Lanczos with a polynomial of the inverse
// (lanczos.cpp). Counting the negative pivots of A - cut I (Sylvester) tells where that polynomial must begin
// to grow, and that no more than the pairs found are below the last of them.

#include "heatskin/operators/eigenpairs.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>

#include <Eigen/SparseCholesky>
#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/result.h"
#include "heatskin/operators/lanczos.h"
#include "heatskin/operators/symmetric_eigen.h"

namespace heatskin {
namespace {

using SparseMatrix = Eigen::SparseMatrix<double>;
using Factor = Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower, Eigen::NaturalOrdering<int>>;

/// How many times `count` eigenvalues should be below the cut: the next try aims at the target, anything
/// between least and most will do. More below makes the Krylov space larger, fewer slows convergence.
constexpr double kCutTarget = 1.15, kCutLeast = 1.07, kCutMost = 1.25;
constexpr int kCutAttempts = 20;

/// First guess of the cut and how it grows with the number wanted: Weyl's law says -1/2 and 1; these fit
/// meshes of a few thousand vertices, which are too coarse for the law at high anisotropy.
constexpr double kWeylExponent = -0.32, kCutGrowth = 1.2;

/// The matrix that is inverted is A + s I, s this part of the cut. Smaller makes the lowest eigenvalues so
/// dominant in the filter that rounding drowns the highest, larger weakens the filter.
constexpr double kShift = 0.25;

/// Pairs asked from one of several components: its share of the area and a reserve. If that is not enough,
/// twice as many.
constexpr double kShareReserve = 1.25;
constexpr std::size_t kPairReserve = 8;

/// A part whose Krylov space ran out of room is solved as a dense matrix up to this size; above it would take
/// minutes.
constexpr std::size_t kDenseRescue = 3000;

Error notConverged(std::uint32_t index) {
  return failure(
      fmt::format("the eigenpairs of operator {} did not converge: the mesh has extreme triangles; use "
                  "method thermal or local",
                  index),
      error_code::kOtherMethod);
}

}  // namespace

/// A connected component of the matrices, its vertices in an order that keeps the factor sparse.
struct EigenSolver::Part {
  std::vector<std::uint32_t> vertices;  // [n]
  std::vector<double> root_mass;        // [n] square roots
  std::vector<double> constant;         // [n] unit null vector of A
  double area = 0;

  // Lower triangle of A in compressed columns.
  std::vector<int> begin;              // [n + 1]
  std::vector<int> rows;               // [entries]
  std::vector<std::uint32_t> sources;  // [entries] in the operators' arrays
  std::vector<double> scales;          // [entries] to the entry of A

  /// Pairs of A over the part's own order of vertices.
  struct Pairs {
    std::vector<double> values;   // [count] ascending
    std::vector<double> vectors;  // [n, count]
  };

  std::size_t size() const { return vertices.size(); }

  SparseMatrix shifted(const std::vector<double>& stiffness, double shift) const {
    const auto n = static_cast<Eigen::Index>(size());
    SparseMatrix matrix(n, n);
    matrix.resizeNonZeros(static_cast<Eigen::Index>(rows.size()));
    std::copy(begin.begin(), begin.end(), matrix.outerIndexPtr());
    std::copy(rows.begin(), rows.end(), matrix.innerIndexPtr());
    double* values = matrix.valuePtr();
    for (std::size_t k = 0; k < rows.size(); ++k)
      values[k] = scales[k] * stiffness[sources[k]];
    for (std::size_t c = 0; c < size(); ++c)
      values[begin[c]] += shift;  // the diagonal comes first in its column
    return matrix;
  }

  Pairs solveDense(const std::vector<double>& stiffness, std::size_t count) const {
    const std::size_t n = size();
    std::vector<double> matrix(n * n, 0.0);
    for (std::size_t c = 0; c < n; ++c) {
      for (auto k = static_cast<std::size_t>(begin[c]); k < static_cast<std::size_t>(begin[c + 1]); ++k) {
        const double value = scales[k] * stiffness[sources[k]];
        const auto r = static_cast<std::size_t>(rows[k]);
        matrix[r * n + c] = value;
        matrix[c * n + r] = value;
      }
    }
    SymmetricEigen eigen = symmetricEigen(n, matrix, 0, count);
    eigen.values.resize(count);
    // The constant is known exactly; nothing is negative but by rounding.
    for (double& value : eigen.values)
      value = std::max(0.0, value);
    eigen.values[0] = 0;
    for (std::size_t i = 0; i < n; ++i)
      eigen.vectors[i * count] = constant[i];
    return {std::move(eigen.values), std::move(eigen.vectors)};
  }

  std::size_t countBelow(const std::vector<double>& stiffness, double value) const {
    Factor factor;
    factor.compute(shifted(stiffness, -value));
    return static_cast<std::size_t>((factor.vectorD().array() < 0).count());
  }

  /// A value with somewhat more than `count` eigenvalues below it; 0 if none was found.
  double findCut(const std::vector<double>& stiffness, double anisotropy, std::size_t count) const {
    // Weyl's law, N = area sqrt(1 + alpha) value / 4 pi, bent by what meshes of usual resolution do.
    double value =
        4 * std::numbers::pi / area * static_cast<double>(count) * std::pow(1 + anisotropy, kWeylExponent);
    const double target = kCutTarget * static_cast<double>(count);
    for (int attempt = 0; attempt < kCutAttempts; ++attempt) {
      const auto below = static_cast<double>(countBelow(stiffness, value));
      if (below >= kCutLeast * static_cast<double>(count) && below <= kCutMost * static_cast<double>(count))
        return value;
      value *= std::clamp(std::pow(target / std::max(below, 1.0), kCutGrowth), 0.05, 20.0);
    }
    return 0;
  }

  std::optional<Pairs> solveSparse(const std::vector<double>& stiffness, double anisotropy, std::size_t count,
                                   double tolerance) const {
    const std::size_t n = size();
    const double cut = findCut(stiffness, anisotropy, count);
    if (cut == 0) return std::nullopt;
    const double shift = kShift * cut;
    Factor factor;
    factor.compute(shifted(stiffness, shift));
    if (factor.info() != Eigen::Success) return std::nullopt;
    const Eigen::VectorXd inverse_diagonal = factor.vectorD().cwiseInverse();
    const SparseMatrix& lower = factor.matrixL().nestedExpression();
    const Eigen::SparseMatrix<double, Eigen::RowMajor> by_rows = lower;
    const LdltView view{n,
                        lower.outerIndexPtr(),
                        lower.innerIndexPtr(),
                        lower.valuePtr(),
                        by_rows.outerIndexPtr(),
                        by_rows.innerIndexPtr(),
                        by_rows.valuePtr(),
                        inverse_diagonal.data()};
    const LanczosResult found = blockLanczos(view, constant, count - 1, cut + shift, tolerance);
    if (!found.converged) return std::nullopt;
    Pairs pairs{std::vector<double>(count), std::vector<double>(n * count)};
    for (std::size_t i = 0; i < n; ++i) {
      pairs.vectors[i * count] = constant[i];
      std::copy_n(found.vectors.data() + i * (count - 1), count - 1, pairs.vectors.data() + i * count + 1);
    }
    rayleighQuotients(stiffness, pairs);
    return pairs;
  }

  /// Eigenvalues from eigenvectors: their error is the square of that of the vectors.
  void rayleighQuotients(const std::vector<double>& stiffness, Pairs& pairs) const {
    const std::size_t count = pairs.values.size();
    std::vector<double> norms(count, 0.0);
    for (std::size_t c = 0; c < size(); ++c) {
      const double* here = pairs.vectors.data() + c * count;
      for (std::size_t j = 0; j < count; ++j)
        norms[j] += here[j] * here[j];
      for (auto k = static_cast<std::size_t>(begin[c]); k < static_cast<std::size_t>(begin[c + 1]); ++k) {
        const auto r = static_cast<std::size_t>(rows[k]);
        const double weight = (r == c ? 1 : 2) * scales[k] * stiffness[sources[k]];
        const double* there = pairs.vectors.data() + r * count;
        for (std::size_t j = 0; j < count; ++j)
          pairs.values[j] += weight * here[j] * there[j];
      }
    }
    for (std::size_t j = 0; j < count; ++j)
      pairs.values[j] = j == 0 ? 0 : std::max(0.0, pairs.values[j] / norms[j]);
  }

  /// The `count` smallest; false if they do not converge.
  bool solve(const std::vector<double>& stiffness, double anisotropy, std::size_t count,
             const EigenOptions& options, Pairs& pairs) const {
    if (size() > std::max(options.dense_vertices, 2 * count + kVectorBlock)) {
      if (auto found = solveSparse(stiffness, anisotropy, count, options.tolerance)) {
        pairs = std::move(*found);
        return true;
      }
      if (size() > kDenseRescue) return false;
    }
    pairs = solveDense(stiffness, count);
    return std::isfinite(pairs.vectors.back());
  }
};

EigenSolver::EigenSolver(const Operators& operators, const EigenOptions& options)
    : operators_(operators), options_(options), parts_(operators.component_count) {
  std::vector<std::uint32_t> local(operators.vertex_count);
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    auto& vertices = parts_[operators.components[v]].vertices;
    local[v] = static_cast<std::uint32_t>(vertices.size());
    vertices.push_back(v);
  }
  parallelFor(parts_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      Part& part = parts_[p];
      const auto n = static_cast<int>(part.size());
      std::vector<Eigen::Triplet<double>> entries;
      for (const std::uint32_t v : part.vertices) {
        for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
          entries.emplace_back(static_cast<int>(local[v]), static_cast<int>(local[operators.columns[k]]),
                               1.0);
      }
      SparseMatrix pattern(n, n);
      pattern.setFromTriplets(entries.begin(), entries.end());
      Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;  // old index of a new one
      Eigen::AMDOrdering<int>()(pattern, order);
      std::vector<std::uint32_t> place(part.size()), vertices(part.size());
      for (int i = 0; i < n; ++i) {
        const auto old = static_cast<std::size_t>(order.indices()[i]);
        vertices[static_cast<std::size_t>(i)] = part.vertices[old];
        place[old] = static_cast<std::uint32_t>(i);
      }
      part.vertices = std::move(vertices);
      part.begin.push_back(0);
      for (std::size_t c = 0; c < part.size(); ++c) {
        const std::uint32_t v = part.vertices[c];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> column;  // row, source
        for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
          const std::uint32_t row = place[local[operators.columns[k]]];
          if (row >= c) column.emplace_back(row, k);
        }
        std::sort(column.begin(), column.end());
        for (const auto& [row, source] : column) {
          part.rows.push_back(static_cast<int>(row));
          part.sources.push_back(source);
          part.scales.push_back(1 / std::sqrt(operators.mass[v] * operators.mass[part.vertices[row]]));
        }
        part.begin.push_back(static_cast<int>(part.rows.size()));
        part.root_mass.push_back(std::sqrt(operators.mass[v]));
        part.area += operators.mass[v];
      }
      for (const double root : part.root_mass)
        part.constant.push_back(root / std::sqrt(part.area));
    }
  });
}

EigenSolver::~EigenSolver() = default;
EigenSolver::EigenSolver(EigenSolver&&) noexcept = default;

std::size_t EigenSolver::count() const {
  return std::min<std::size_t>(options_.count, std::max(1u, operators_.vertex_count) - 1);
}

Result<Eigenpairs> EigenSolver::solve(std::uint32_t index) const {
  const std::size_t k = count(), vertices = operators_.vertex_count;
  const std::vector<double>& stiffness = operators_.stiffness[index];
  const double anisotropy = operatorAnisotropy(index);
  const double area = std::accumulate(operators_.mass.begin(), operators_.mass.end(), 0.0);

  struct Candidate {
    double value;
    std::size_t part, column;
  };
  std::vector<Part::Pairs> pairs(parts_.size());
  std::vector<Candidate> chosen;
  for (;;) {
    chosen.clear();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      if (pairs[p].values.empty()) {
        const double share = kShareReserve * static_cast<double>(k) * part.area / area;
        const std::size_t most = std::min(k, part.size());
        const std::size_t wanted =
            parts_.size() == 1 ? most : std::min(most, static_cast<std::size_t>(share) + kPairReserve);
        if (!part.solve(stiffness, anisotropy, wanted, options_, pairs[p])) return notConverged(index);
      }
      for (std::size_t c = 0; c < pairs[p].values.size(); ++c)
        chosen.push_back({pairs[p].values[c], p, c});
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Candidate& a, const Candidate& b) { return a.value < b.value; });
    chosen.resize(std::min(k, chosen.size()));
    // A part whose last known pair is among the chosen may have more of them.
    bool complete = true;
    std::vector<std::uint8_t> last_chosen(parts_.size(), 0);
    for (const Candidate& candidate : chosen)
      if (candidate.column + 1 == pairs[candidate.part].values.size()) last_chosen[candidate.part] = 1;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::size_t have = pairs[p].values.size(), most = std::min(k, parts_[p].size());
      const bool enough = (last_chosen[p] == 0 && chosen.size() == k) || have == most;
      if (enough) continue;
      complete = false;
      if (!parts_[p].solve(stiffness, anisotropy, std::min(most, 2 * have), options_, pairs[p]))
        return notConverged(index);
    }
    if (complete) break;
  }

  Eigenpairs result{std::vector<double>(k), std::vector<float>(vertices * k, 0.0f)};
  for (std::size_t c = 0; c < k; ++c)
    result.values[c] = chosen[c].value;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    std::vector<std::pair<std::size_t, std::size_t>> columns;  // result, part
    for (std::size_t c = 0; c < k; ++c) {
      if (chosen[c].part == p) columns.emplace_back(c, chosen[c].column);
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      const double scale = 1 / part.root_mass[i];
      const double* from = pairs[p].vectors.data() + i * pairs[p].values.size();
      float* to = result.vectors.data() + std::size_t{part.vertices[i]} * k;
      for (const auto& [target, source] : columns)
        to[target] = static_cast<float>(scale * from[source]);
    }
  }
  return result;
}

Result<std::vector<Eigenpairs>> EigenSolver::solveAll(Progress& progress) const {
  std::vector<Eigenpairs> all(kOperatorCount);
  std::mutex mutex;  // Progress is called from one thread at a time
  std::size_t done = 0;
  std::optional<Error> error;
  bool cancelled = false;
  progress.begin("eigenpairs", kOperatorCount);
  parallelFor(kOperatorCount, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t j = first; j < last; ++j) {
      {
        const std::lock_guard lock(mutex);
        cancelled = cancelled || progress.cancelled();
        if (cancelled || error) return;
      }
      auto pairs = solve(static_cast<std::uint32_t>(j));
      const std::lock_guard lock(mutex);
      if (pairs) {
        all[j] = std::move(*pairs);
        progress.update(++done, "");
      } else {
        error = pairs.error();
      }
    }
  });
  progress.end();
  if (error) return *error;
  if (cancelled) return failure("cancelled while eigenpairs were computed", error_code::kCancelled);
  return all;
}

double eigenResidual(const Operators& operators, std::uint32_t index, std::span<const double> values,
                     std::span<const float> vectors) {
  const std::size_t k = values.size();
  const std::vector<double>& stiffness = operators.stiffness[index];
  constexpr std::size_t kRows = 256;
  std::vector<double> errors(blockCount(operators.vertex_count, kRows)), sizes(errors.size());
  parallelBlocks(operators.vertex_count, kRows, [&](std::size_t block, std::size_t first, std::size_t last) {
    std::vector<double> row(k);
    for (std::size_t v = first; v < last; ++v) {
      std::fill(row.begin(), row.end(), 0.0);
      for (std::uint32_t e = operators.begin[v]; e < operators.begin[v + 1]; ++e) {
        const float* from = vectors.data() + std::size_t{operators.columns[e]} * k;
        for (std::size_t c = 0; c < k; ++c)
          row[c] += stiffness[e] * from[c];
      }
      const float* here = vectors.data() + v * k;
      for (std::size_t c = 0; c < k; ++c) {
        const double expected = operators.mass[v] * values[c] * here[c];
        errors[block] += (row[c] - expected) * (row[c] - expected) / operators.mass[v];
        sizes[block] += expected * expected / operators.mass[v];
      }
    }
  });
  const double error = std::accumulate(errors.begin(), errors.end(), 0.0);
  return std::sqrt(error / std::accumulate(sizes.begin(), sizes.end(), 0.0));
}

std::size_t EigenSolver::countBelow(std::uint32_t index, double value) const {
  std::size_t below = 0;
  for (const Part& part : parts_)
    below += part.countBelow(operators_.stiffness[index], value);
  return below;
}

}  // namespace heatskin
