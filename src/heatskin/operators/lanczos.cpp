// Block Lanczos (Golub and Underwood 1977) for P(A^-1), P a Chebyshev polynomial that is small on the
// inverses of all eigenvalues above the cut and grows steeply below it.
//
// On meshes a solve with the factor of A for 16 right-hand sides is cheap (a quarter of a millisecond on
// spot), so the time goes into keeping the basis orthogonal and into the projected eigenproblem. Both grow
// with the size of the space: 256 pairs of spot (V = 2,930) take a space of 880 vectors with A^-1 itself, 430
// with degree 4, 336 with degree 8, although the number of solves rises. Blocks of 16 turn orthogonalisation
// into products of matrices and find multiple eigenvalues. Processor time of one operator
// (docs/results/spectral.md): this 0.12 s, without polynomial 0.6 to 1.1 s, Spectra's shift-invert Lanczos
// with restarts 0.5 to 0.7 s. Operators do not start from their neighbours' vectors (not tried): that would
// chain what now runs side by side.

#include "heatskin/operators/lanczos.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "heatskin/base/rng.h"
#include "heatskin/operators/symmetric_eigen.h"

namespace heatskin {
namespace {

constexpr std::size_t kB = kVectorBlock;
using Small = std::array<double, kB * kB>;  // [16, 16] row-major

/// Stream of the start vectors; nothing else draws from it with this seed.
constexpr std::uint64_t kSeed = 0x6865617473;

/// A block with a column that shrank by more than this when the rest was taken out of it is orthogonalised
/// once more: what is left would otherwise carry the rounding of what was removed.
constexpr double kCancellation = 1e-3;

/// What is smaller than this against the block it came from is noise: the space has nothing new there.
constexpr double kRankTolerance = 1e-11;

/// Least pivot of a Gram matrix against its largest entry: some hundred roundings.
constexpr double kLeastPivot = 1e-13;

/// Degree of the polynomial; between 6 and 10 the time is the same.
constexpr int kDegree = 8;

/// Basis vectors at the first look at convergence, beyond the number of pairs and an eighth of it, and more
/// of them before every further look. On meshes the first look succeeds.
constexpr std::size_t kFirstExtra = 64, kMoreVectors = 32;

/// The space stops growing at so many vectors: beyond, something is wrong with the matrix.
constexpr std::size_t kMostPerPair = 3, kMostExtra = 512;

/// Upper triangular R with R^T R = gram. False if a pivot is lost in rounding.
bool choleskyUpper(const Small& gram, Small& r) {
  r.fill(0);
  double largest = 0;
  for (std::size_t i = 0; i < kB; ++i)
    largest = std::max(largest, gram[i * kB + i]);
  for (std::size_t i = 0; i < kB; ++i) {
    for (std::size_t j = i; j < kB; ++j) {
      double sum = gram[i * kB + j];
      for (std::size_t k = 0; k < i; ++k)
        sum -= r[k * kB + i] * r[k * kB + j];
      if (i == j) {
        if (!(sum > kLeastPivot * largest)) return false;  // also when NaN
        r[i * kB + i] = std::sqrt(sum);
      } else {
        r[i * kB + j] = sum / r[i * kB + i];
      }
    }
  }
  return true;
}

Small inverseUpper(const Small& r) {
  Small inverse{};
  for (std::size_t j = 0; j < kB; ++j) {
    inverse[j * kB + j] = 1 / r[j * kB + j];
    for (std::size_t i = j; i-- > 0;) {
      double sum = 0;
      for (std::size_t k = i + 1; k <= j; ++k)
        sum += r[i * kB + k] * inverse[k * kB + j];
      inverse[i * kB + j] = -sum / r[i * kB + i];
    }
  }
  return inverse;
}

Small product(const Small& a, const Small& b) {
  Small c{};
  for (std::size_t i = 0; i < kB; ++i) {
    for (std::size_t k = 0; k < kB; ++k) {
      for (std::size_t j = 0; j < kB; ++j)
        c[i * kB + j] += a[i * kB + k] * b[k * kB + j];
    }
  }
  return c;
}

class Iteration {
 public:
  Iteration(const LdltView& factor, std::span<const double> null, double cut)
      : factor_(factor), null_(null), n_(factor.size), cut_(cut) {}

  std::size_t blocks() const { return diagonal_.size(); }
  std::size_t basisSize() const { return kB * blocks(); }

  /// `expected`: the size the space will probably reach.
  void start(std::size_t expected) {
    basis_.reserve((expected + 2 * kB) * n_);
    basis_.resize(n_ * kB);
    for (std::size_t i = 0; i < n_ * kB; ++i)
      basis_[i] = draw();
    applyFilter(block(0));
    setImageNorm(block(0));
    Small r;
    orthonormalise(0, r);
  }

  /// Adds the image of the newest block to the space.
  void step() {
    const std::size_t j = blocks();
    basis_.resize((j + 2) * n_ * kB);
    double* w = block(j + 1);
    std::copy_n(block(j), n_ * kB, w);
    applyFilter(w);
    setImageNorm(w);
    // By the recurrence first: what is left then for the whole basis is rounding only.
    Small a = transposedProduct(block(j), w);
    subtract(block(j), a, w);
    if (j > 0) {
      Small transposed;
      for (std::size_t p = 0; p < kB; ++p) {
        for (std::size_t q = 0; q < kB; ++q)
          transposed[p * kB + q] = lower_[j - 1][q * kB + p];
      }
      subtract(block(j - 1), transposed, w);
    }
    diagonal_.push_back(a);
    Small r;
    orthonormalise(j + 1, r);
    lower_.push_back(r);
  }

  /// Pairs of the projected matrix; the `count` largest, ascending.
  SymmetricEigen ritz(std::size_t count) const {
    const std::size_t m = basisSize();
    std::vector<double> t(m * m, 0.0);
    for (std::size_t j = 0; j < blocks(); ++j) {
      for (std::size_t p = 0; p < kB; ++p) {
        for (std::size_t q = 0; q < kB; ++q) {
          const std::size_t row = j * kB + p, column = j * kB + q;
          t[row * m + column] = 0.5 * (diagonal_[j][p * kB + q] + diagonal_[j][q * kB + p]);
          if (j + 1 == blocks()) continue;
          t[(row + kB) * m + column] = lower_[j][p * kB + q];
          t[column * m + row + kB] = lower_[j][p * kB + q];
        }
      }
    }
    return symmetricEigen(m, t, m - count, count);
  }

  /// What the newest block adds to every Ritz vector: lower * (its last rows), [16, count].
  std::vector<double> overflow(const SymmetricEigen& ritz, std::size_t count) const {
    std::vector<double> result(kB * count, 0.0);
    const double* last = ritz.vectors.data() + (basisSize() - kB) * count;
    multiplyAdd(kB, count, 1.0, LeftFactor<double>{lower_.back().data(), kB, 1, 1, kB, 0}, last, count,
                result.data(), count);
    return result;
  }

  /// basis [n, 16 (blocks + 1)] times coefficients [16 (blocks + 1), count].
  std::vector<double> combine(const std::vector<double>& coefficients, std::size_t count) const {
    std::vector<double> result(n_ * count, 0.0);
    multiplyAdd(n_, count, 1.0, LeftFactor<double>{basis_.data(), kB, 1, blocks() + 1, kB, n_ * kB},
                coefficients.data(), count, result.data(), count);
    return result;
  }

 private:
  double* block(std::size_t j) { return basis_.data() + j * n_ * kB; }

  /// w = T_d(slope A^-1 - offset) w. The interval [0, 1 / cut] goes to [-offset, 1] with -offset the first
  /// zero of T_d, so that P(0) = 0: what is rough is damped as A^-1 damps it.
  void applyFilter(double* w) {
    const double offset = std::cos(std::numbers::pi / (2 * kDegree)), slope = (1 + offset) * cut_;
    const std::size_t size = n_ * kB;
    image_.resize(size);
    current_.resize(size);
    solveLdlt(factor_, w, image_.data());
    std::copy(w, w + size, current_.begin());
    recurrenceStep(size, slope, image_.data(), -offset, w, 0.0, current_.data());
    double *older = w, *newer = current_.data();
    for (int k = 2; k <= kDegree; ++k) {
      solveLdlt(factor_, newer, image_.data());
      recurrenceStep(size, 2 * slope, image_.data(), -2 * offset, newer, 1.0, older);
      std::swap(older, newer);
    }
    if (newer != w) std::copy(newer, newer + size, w);
  }

  /// Mean length of the columns of a block before anything is taken out of it.
  void setImageNorm(const double* w) {
    double sum = 0;
    for (std::size_t i = 0; i < n_ * kB; ++i)
      sum += w[i] * w[i];
    image_norm_ = std::sqrt(sum / kB);
  }

  double draw() { return 2 * random_.uniform(next_random_++) - 1; }

  Small transposedProduct(const double* a, const double* b) const {
    Small c{};
    multiplyAdd(kB, kB, 1.0, LeftFactor<double>{a, 1, kB, 1, n_, 0}, b, kB, c.data(), kB);
    return c;
  }

  void subtract(const double* q, const Small& c, double* w) const {
    multiplyAdd(n_, kB, -1.0, LeftFactor<double>{q, kB, 1, 1, kB, 0}, c.data(), kB, w, kB);
  }

  /// Takes the null vector and blocks 0 .. j - 1 out of block j.
  void project(std::size_t j) {
    double* w = block(j);
    std::array<double, kB> along{};
    multiplyAdd(1, kB, 1.0, LeftFactor<double>{null_.data(), 0, 1, 1, n_, 0}, w, kB, along.data(), kB);
    multiplyAdd(n_, kB, -1.0, LeftFactor<double>{null_.data(), 1, 0, 1, 1, 0}, along.data(), kB, w, kB);
    if (j == 0) return;
    coefficients_.assign(j * kB * kB, 0.0);
    for (std::size_t b = 0; b < j; ++b) {
      multiplyAdd(kB, kB, 1.0, LeftFactor<double>{block(b), 1, kB, 1, n_, 0}, w, kB,
                  coefficients_.data() + b * kB * kB, kB);
    }
    multiplyAdd(n_, kB, -1.0, LeftFactor<double>{basis_.data(), kB, 1, j, kB, n_ * kB}, coefficients_.data(),
                kB, w, kB);
  }

  /// W = Q R in place by the Cholesky factor of W^T W; false if the columns are too dependent.
  bool factorGram(double* w, Small& r) {
    if (!choleskyUpper(transposedProduct(w, w), r)) return false;
    scratch_.assign(n_ * kB, 0.0);
    const Small inverse = inverseUpper(r);
    multiplyAdd(n_, kB, 1.0, LeftFactor<double>{w, kB, 1, 1, kB, 0}, inverse.data(), kB, scratch_.data(), kB);
    std::copy(scratch_.begin(), scratch_.end(), w);
    return true;
  }

  /// Makes block j orthonormal and orthogonal to everything before it: block = (new block) r, up to what was
  /// projected out. Columns without anything new become random vectors, their row of r zero.
  void orthonormalise(std::size_t j, Small& r) {
    project(j);
    double* w = block(j);
    Small first, second;
    if (!factorGram(w, first)) return orthonormaliseOneByOne(j, r);
    double smallest = first[0];
    for (std::size_t i = 1; i < kB; ++i)
      smallest = std::min(smallest, first[i * kB + i]);
    if (smallest < kCancellation * image_norm_) project(j);
    if (!factorGram(w, second)) return orthonormaliseOneByOne(j, r);
    r = product(second, first);
  }

  /// The careful way: column by column, each against the whole basis and the columns before it.
  void orthonormaliseOneByOne(std::size_t j, Small& r) {
    double* w = block(j);
    const std::vector<double> original(w, w + n_ * kB);
    std::vector<double> column(n_), kept(n_ * kB, 0.0);
    for (std::size_t c = 0; c < kB; ++c) {
      for (std::size_t i = 0; i < n_; ++i)
        column[i] = original[i * kB + c];
      double norm = purify(j, kept, c, column), least = kRankTolerance * image_norm_;
      while (!(norm > least)) {
        for (double& x : column)
          x = draw();
        norm = purify(j, kept, c, column);
        least = 0;
      }
      for (std::size_t i = 0; i < n_; ++i)
        kept[i * kB + c] = column[i] / norm;
    }
    std::copy(kept.begin(), kept.end(), w);
    r = transposedProduct(w, original.data());
  }

  /// Takes everything known out of one vector, twice; its length afterwards.
  double purify(std::size_t j, const std::vector<double>& kept, std::size_t kept_columns,
                std::vector<double>& x) {
    const auto remove = [&](const double* q, std::size_t stride) {
      double dot = 0;
      for (std::size_t i = 0; i < n_; ++i)
        dot += q[i * stride] * x[i];
      for (std::size_t i = 0; i < n_; ++i)
        x[i] -= dot * q[i * stride];
    };
    for (int pass = 0; pass < 2; ++pass) {
      remove(null_.data(), 1);
      for (std::size_t b = 0; b < j; ++b) {
        for (std::size_t c = 0; c < kB; ++c)
          remove(block(b) + c, kB);
      }
      for (std::size_t c = 0; c < kept_columns; ++c)
        remove(kept.data() + c, kB);
    }
    double sum = 0;
    for (const double v : x)
      sum += v * v;
    return std::sqrt(sum);
  }

  const LdltView& factor_;
  std::span<const double> null_;
  std::size_t n_;
  std::vector<double> basis_;    // [blocks + 1][n, 16]
  std::vector<Small> diagonal_;  // [blocks] Q_j^T A^-1 Q_j
  std::vector<Small> lower_;     // [blocks] Q_{j+1}^T A^-1 Q_j
  double image_norm_ = 0;
  double cut_;
  std::vector<double> image_, current_;
  std::vector<double> coefficients_, scratch_;
  RandomStream random_{kSeed, 0};
  std::uint64_t next_random_ = 0;
};

}  // namespace

LanczosResult blockLanczos(const LdltView& factor, std::span<const double> null, std::size_t count,
                           double cut, double tolerance) {
  LanczosResult result;
  const std::size_t room = std::min(factor.size > kB + 1 ? (factor.size - 1 - kB) / kB * kB : 0,
                                    (kMostPerPair * count + kMostExtra) / kB * kB);
  Iteration iteration(factor, null, cut);
  if (room < count || count == 0) return result;
  std::size_t look = (count + count / 8 + kFirstExtra) / kB * kB;
  iteration.start(look);
  for (;;) {
    look = std::min(look, room);
    while (iteration.basisSize() < look)
      iteration.step();
    const SymmetricEigen ritz = iteration.ritz(count);
    std::vector<double> overflow = iteration.overflow(ritz, count);
    // P y = nu y + q, q the overflow: x = P y / nu = y + q / nu is better than y and costs nothing.
    double worst = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const double nu = ritz.values[look - count + c];
      double sum = 0;
      for (std::size_t p = 0; p < kB; ++p) {
        overflow[p * count + c] /= nu;
        sum += overflow[p * count + c] * overflow[p * count + c];
      }
      worst = std::max(worst, std::isfinite(sum) ? std::sqrt(sum) : std::numeric_limits<double>::infinity());
    }
    result.converged = worst <= tolerance;
    if (result.converged || look == room) {
      result.basis_size = look;
      std::vector<double> coefficients((look + kB) * count);
      for (std::size_t i = 0; i < look + kB; ++i) {
        const double* from =
            i < look ? ritz.vectors.data() + i * count : overflow.data() + (i - look) * count;
        std::reverse_copy(from, from + count, coefficients.data() + i * count);
      }
      result.vectors = iteration.combine(coefficients, count);
      return result;
    }
    look += kMoreVectors;
  }
}

}  // namespace heatskin
