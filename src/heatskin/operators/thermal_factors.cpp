#include "heatskin/operators/thermal_factors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>

#include <Eigen/Core>
#include <fmt/format.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/result.h"
#include "heatskin/base/rng.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/sparse_kernels.h"
#include "heatskin/operators/symmetric_eigen.h"

namespace heatskin {
namespace {

/// Of the Gaussian block; beyond those of training/streams.h.
constexpr std::uint64_t kProbeStream = 0x7E40;

/// Rows per block of a parallel product, and per partial sum of a Gram matrix.
constexpr std::size_t kRowBlock = 4096;
/// Rows converted to double at a time: 128 x 256 doubles stay in the second-level cache.
constexpr std::size_t kGramRows = 128;
/// Rows of a Gram matrix that are computed together, from the diagonal on.
constexpr std::size_t kGramTile = 64;

/// The factorisation of the basis is shifted by so much of a bound of the largest eigenvalue, so that blocks
/// without full rank do not break it: above the rounding of the Gram matrix in double and below the square of
/// what float32 leaves in Y where the heat is gone. Directions under the shift come out shorter than 1, which
/// Nystroem's formula does not mind.
constexpr double kBasisShift = 1e-13;

/// Added to exp(-t A) and taken off its eigenvalues in the end (Tropp, Yurtsever, Udell, Cevher, "Fixed-rank
/// approximation of a positive-semidefinite matrix from streaming data", 2017): the cut sums may be negative
/// by kHeatTail where the heat is gone, and float32 rounding is of the same order.
constexpr double kHeatShift = 2 * kHeatTail;

/// Last guard of the second factorisation, relative to its largest entry: two hundred roundings.
constexpr double kCoreShift = 1e-14;

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// x^T y of two blocks [rows, columns] in double, from float32. The result must be symmetric up to rounding:
/// only its upper triangle is computed.
RowMatrix gramMatrix(std::size_t rows, std::size_t columns, const float* x, const float* y) {
  const std::size_t blocks = blockCount(rows, kRowBlock);
  std::vector<RowMatrix> partial(blocks);
  parallelBlocks(rows, kRowBlock, [&](std::size_t block, std::size_t begin, std::size_t end) {
    RowMatrix& sum = partial[block];
    sum = RowMatrix::Zero(static_cast<Eigen::Index>(columns), static_cast<Eigen::Index>(columns));
    std::vector<double> left_rows(kGramRows * columns), right_rows(x == y ? 0 : kGramRows * columns);
    const double* right = x == y ? left_rows.data() : right_rows.data();
    for (std::size_t first = begin; first < end; first += kGramRows) {
      const std::size_t count = std::min(kGramRows, end - first);
      std::copy_n(x + first * columns, count * columns, left_rows.data());
      if (x != y) std::copy_n(y + first * columns, count * columns, right_rows.data());
      for (std::size_t tile = 0; tile < columns; tile += kGramTile) {
        LeftFactor<double> left;
        left.data = left_rows.data() + tile;
        left.row_stride = 1;
        left.inner_stride = columns;
        left.segment_length = count;
        multiplyAdd(std::min(kGramTile, columns - tile), columns - tile, 1.0, left, right + tile, columns,
                    sum.data() + tile * columns + tile, columns);
      }
    }
  });
  for (std::size_t block = 1; block < blocks; ++block)
    partial[0] += partial[block];
  RowMatrix& gram = partial[0];
  for (Eigen::Index r = 0; r < gram.rows(); ++r) {
    for (Eigen::Index c = 0; c < r; ++c)
      gram(r, c) = gram(c, r);
  }
  return std::move(gram);
}

/// out = x w, `x` [rows, inner], `w` [inner, columns]. With `triangular`, w is upper triangular.
void multiplyBlock(std::size_t rows, const float* x, std::size_t inner, const RowMatrix& w, bool triangular,
                   float* out) {
  const auto columns = static_cast<std::size_t>(w.cols());
  const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> right = w.cast<float>();
  constexpr std::size_t kColumnsAtOnce = 64;
  parallelFor(rows, kRowBlock, [&](std::size_t begin, std::size_t end) {
    std::fill(out + begin * columns, out + end * columns, 0.0f);
    for (std::size_t first = 0; first < columns; first += kColumnsAtOnce) {
      const std::size_t count = std::min(kColumnsAtOnce, columns - first);
      LeftFactor<float> left;
      left.data = x + begin * inner;
      left.row_stride = inner;
      left.segment_length = triangular ? first + count : inner;
      multiplyAdd(end - begin, count, 1.0f, left, right.data() + first, columns,
                  out + begin * columns + first, columns);
    }
  });
}

/// Inverse of the upper Cholesky factor R of the symmetric `matrix` + shift. Directions of which rounding
/// leaves less than half of the shift are left out: their rows and columns of the inverse are zero. All zero
/// if a number is not finite.
RowMatrix inverseCholesky(RowMatrix matrix, double shift) {
  const auto n = static_cast<std::size_t>(matrix.rows());
  double* r = matrix.data();
  const auto row = [&](double* data, std::size_t i) { return data + i * n; };
  for (std::size_t k = 0; k < n; ++k) {
    const double left = row(r, k)[k] + shift;
    if (!std::isfinite(left)) return RowMatrix::Zero(matrix.rows(), matrix.rows());
    if (left < 0.5 * shift || left == 0) {
      std::fill(row(r, k) + k, row(r, k) + n, 0.0);
      continue;
    }
    const double pivot = std::sqrt(left);
    row(r, k)[k] = pivot;
    for (std::size_t c = k + 1; c < n; ++c)
      row(r, k)[c] /= pivot;
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = row(r, k)[i];
      for (std::size_t c = i; c < n; ++c)
        row(r, i)[c] -= factor * row(r, k)[c];
    }
  }
  // From the last row up: R X = 1.
  RowMatrix inverse = RowMatrix::Zero(matrix.rows(), matrix.rows());
  double* x = inverse.data();
  for (std::size_t i = n; i-- > 0;) {
    if (row(r, i)[i] == 0) continue;
    const double scale = 1 / row(r, i)[i];
    for (std::size_t k = i + 1; k < n; ++k) {
      const double factor = scale * row(r, i)[k];
      for (std::size_t c = k; c < n; ++c)
        row(x, i)[c] -= factor * row(x, k)[c];
    }
    row(x, i)[i] = scale;
  }
  return inverse;
}

/// a b, or a^T b; on this thread. Eigen's product takes longer to compile than all the rest of this file.
RowMatrix product(const RowMatrix& a, const RowMatrix& b, bool transposed = false) {
  const Eigen::Index rows = transposed ? a.cols() : a.rows();
  RowMatrix result = RowMatrix::Zero(rows, b.cols());
  LeftFactor<double> left;
  left.data = a.data();
  left.row_stride = transposed ? 1 : static_cast<std::size_t>(a.cols());
  left.inner_stride = transposed ? static_cast<std::size_t>(a.cols()) : 1;
  left.segment_length = static_cast<std::size_t>(b.rows());
  multiplyAdd(static_cast<std::size_t>(rows), static_cast<std::size_t>(b.cols()), 1.0, left, b.data(),
              static_cast<std::size_t>(b.cols()), result.data(), static_cast<std::size_t>(b.cols()));
  return result;
}

/// A block of one operator on its way to a factor.
struct Work {
  std::unique_ptr<HeatAction> action;
  std::vector<float> q;  // [V, s] the basis, nearly orthonormal
  std::vector<float> z;  // [V, s] Y, then Z, then F
};

/// Y (in z) -> q.
void makeBasis(const Operators& operators, std::size_t sketch, Work& work) {
  const RowMatrix gram = gramMatrix(operators.vertex_count, sketch, work.z.data(), work.z.data());
  multiplyBlock(operators.vertex_count, work.z.data(), sketch,
                inverseCholesky(gram, kBasisShift * gram.trace()), true, work.q.data());
}

/// q and Z -> F in float32 [V, rank], in z.
void makeFactor(const Operators& operators, std::size_t sketch, std::size_t rank, Work& work) {
  const std::size_t vertices = operators.vertex_count;
  const RowMatrix basis = gramMatrix(vertices, sketch, work.q.data(), work.q.data());
  const RowMatrix core = gramMatrix(vertices, sketch, work.q.data(), work.z.data());
  const RowMatrix square = gramMatrix(vertices, sketch, work.z.data(), work.z.data());
  // K + nu I with K = exp(-t A): Z + nu q, (Z + nu q)^T (Z + nu q), q^T (Z + nu q) = R^T R.
  const RowMatrix shifted = core + kHeatShift * basis;
  const RowMatrix inverse = inverseCholesky(shifted, kCoreShift * shifted.diagonal().maxCoeff());
  const auto n = static_cast<Eigen::Index>(sketch);
  std::vector<double> projected(sketch * sketch);
  Eigen::Map<RowMatrix> inner(projected.data(), n, n);
  const RowMatrix middle = square + 2 * kHeatShift * core + kHeatShift * kHeatShift * basis;
  inner = product(inverse, product(middle, inverse), true);
  inner = (0.5 * (inner + inner.transpose())).eval();
  const SymmetricEigen eigen = symmetricEigen(sketch, projected, sketch - rank, rank);
  RowMatrix weights(n, static_cast<Eigen::Index>(rank));
  for (std::size_t k = 0; k < rank; ++k) {
    const std::size_t from = rank - 1 - k;  // largest first
    const double value = eigen.values[sketch - rank + from];
    const double scale = value > kHeatShift ? std::sqrt((value - kHeatShift) / value) : 0;
    for (std::size_t i = 0; i < sketch; ++i) {
      weights(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) =
          scale * eigen.vectors[i * rank + from];
    }
  }
  for (std::size_t i = 0; i < work.z.size(); ++i)
    work.z[i] += static_cast<float>(kHeatShift) * work.q[i];
  // q is free: F goes there.
  multiplyBlock(vertices, work.z.data(), sketch, product(inverse, weights), false, work.q.data());
  std::swap(work.q, work.z);
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    const auto scale = static_cast<float>(1 / std::sqrt(operators.mass[v]));
    for (std::size_t k = 0; k < rank; ++k)
      work.z[v * rank + k] *= scale;
  }
}

/// The factors in float32 of operators [first, first + work.size()), in the first V x rank entries of `e`
/// each.
void makeFactors(const Operators& operators, const HeatPlan& plan, std::uint32_t first,
                 const FactorOptions& options, std::span<const float> omega, std::size_t sketch,
                 std::size_t rank, std::span<Work> work) {
  const std::size_t panels = blockCount(sketch, kPanelWidth);
  const auto forEach = [&](const auto& body) {
    parallelFor(work.size(), 1, [&](std::size_t i, std::size_t) { body(i); });
  };
  const auto diffuse = [&](bool from_omega) {
    parallelFor(work.size() * panels, 1, [&](std::size_t i, std::size_t) {
      Work& w = work[i / panels];
      w.action->applyPanel(0, sketch, i % panels * kPanelWidth, from_omega ? omega.data() : w.q.data(),
                           w.z.data());
    });
  };
  forEach([&](std::size_t i) {
    const std::array<double, 1> times = {options.time};
    HeatOptions heat;
    heat.scheme = options.scheme;
    heat.columns = 2 * sketch;
    work[i].action =
        std::make_unique<HeatAction>(operators, plan, first + static_cast<std::uint32_t>(i), times, heat);
    work[i].q.resize(operators.vertex_count * sketch);
    work[i].z.resize(operators.vertex_count * sketch);
  });
  diffuse(true);
  forEach([&](std::size_t i) { makeBasis(operators, sketch, work[i]); });
  diffuse(false);
  forEach([&](std::size_t i) { makeFactor(operators, sketch, rank, work[i]); });
}

std::size_t sketchWidth(const Operators& operators, const FactorOptions& options) {
  return std::min<std::size_t>(options.rank + options.oversampling, operators.vertex_count);
}

}  // namespace

std::vector<float> gaussianBlock(std::size_t rows, std::size_t columns, std::uint64_t seed,
                                 std::uint64_t stream) {
  const RandomStream random(seed, stream);
  std::vector<float> block(rows * columns);
  // Box-Muller: entries 2 i and 2 i + 1 come from the pair at i.
  parallelFor((block.size() + 1) / 2, 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto [u, v] = random.uniform2(i);
      const double radius = std::sqrt(-2 * std::log1p(-u)), angle = 2 * std::numbers::pi * v;
      block[2 * i] = static_cast<float>(radius * std::cos(angle));
      if (2 * i + 1 < block.size()) block[2 * i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  });
  return block;
}

std::vector<float> thermalFactor(const Operators& operators, const HeatPlan& plan, std::uint32_t index,
                                 const FactorOptions& options) {
  const std::size_t sketch = sketchWidth(operators, options), rank = std::min(options.rank, sketch);
  const std::vector<float> omega = gaussianBlock(operators.vertex_count, sketch, options.seed, kProbeStream);
  Work work;
  makeFactors(operators, plan, index, options, omega, sketch, rank, std::span(&work, 1));
  work.z.resize(operators.vertex_count * rank);
  return std::move(work.z);
}

Result<ThermalFactors> thermalFactors(const Operators& operators, const FactorOptions& options,
                                      Progress& progress) {
  const std::size_t vertices = operators.vertex_count;
  const std::size_t sketch = sketchWidth(operators, options), rank = std::min(options.rank, sketch);
  if (sketch == 0 || rank == 0)
    return inputError("thermal factors: the surface has no vertices or the rank is 0");
  ThermalFactors factors;
  factors.vertex_count = operators.vertex_count;
  constexpr std::size_t kRankMultiple = 16;
  factors.rank = blockCount(rank, kRankMultiple) * kRankMultiple;
  const std::size_t bytes = kFactorCount * vertices * factors.rank * sizeof(std::uint16_t);
  if (bytes > options.max_bytes) {
    return inputError(fmt::format("thermal factors of {} vertices need {:.1f} GB, more than the limit of "
                                  "{:.1f} GB: simplify the mesh, "
                                  "lower the "
                                  "rank, or use method local",
                                  vertices, 1e-9 * static_cast<double>(bytes),
                                  1e-9 * static_cast<double>(options.max_bytes)),
                      error_code::kOtherMethod);
  }
  // The result, and as much again for the operators at work.
  if (auto fits = askMemory(fmt::format("thermal factors of {} vertices", vertices),
                            2.0 * static_cast<double>(bytes));
      !fits) {
    return fits.error();
  }
  factors.values.assign(kFactorCount * vertices * factors.rank, 0);

  const HeatPlan plan(operators);
  const std::vector<float> omega = gaussianBlock(vertices, sketch, options.seed, kProbeStream);
  // As many operators at a time as there are threads, within the memory of the result. How they are grouped
  // changes no number.
  const std::size_t block_bytes = 2 * vertices * sketch * sizeof(float);
  const std::size_t group =
      std::clamp<std::size_t>(std::max<std::size_t>(bytes, std::size_t{64} << 20) / block_bytes, 1,
                              static_cast<std::size_t>(threadCount()));
  std::vector<Work> work(group);
  progress.begin("thermal factors", kFactorCount);
  for (std::size_t first = 0; first < kFactorCount; first += group) {
    if (progress.cancelled()) {
      progress.end();
      return failure("thermal factors: cancelled", error_code::kCancelled);
    }
    const std::size_t count = std::min(group, kFactorCount - first);
    makeFactors(operators, plan, static_cast<std::uint32_t>(first), options, omega, sketch, rank,
                std::span(work).first(count));
    parallelFor(count * vertices, kRowBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        halfFromFloat(std::span(work[i / vertices].z).subspan(i % vertices * rank, rank),
                      std::span(factors.values).subspan((first * vertices + i) * factors.rank, rank));
      }
    });
    progress.update(first + count, "");
  }
  progress.end();
  return factors;
}

}  // namespace heatskin
