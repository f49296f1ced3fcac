#pragma once

// exp(-t A) X without eigenvectors, A = M^-1/2 L M^-1/2 of one operator, for blocks of vectors (paper section
// 5, eq:thermal-operator). Two schemes of the same accuracy, a uniform error below kHeatTail on the whole
// spectrum:
//
// - Chebyshev: a polynomial in A on [0, Gershgorin bound]. exp(-t lambda) = sum_k c_k T_k(1 - 2 lambda /
// bound),
//   c_k = 2 e^-z I_k(z), z = t bound / 2. Its degree grows with the square root of t times the bound, so it
//   doubles with every halving of the edge length.
// - Rational: a polynomial in R = (I + tau A)^-1, which needs one sparse Cholesky factorisation and a pair of
// triangular
//   solves per degree. exp(-t lambda) is a smooth function of y = 1 / (1 + tau lambda) on [0, 1]; with t /
//   tau between 4 and 16 its Chebyshev sum in y needs degree 12 for every mesh (Andersson, "Approximation of
//   e^-x by rational functions with concentrated negative poles", J. Approx. Theory 1981: one repeated real
//   pole). Differs from the best rational approximation (degree 6, three pairs of complex poles) because a
//   real pole keeps the matrix symmetric positive definite, one factor serves several times, and twelve real
//   solves cost less than three complex factorisations.
//
// Clenshaw's recurrence sums both. The Chebyshev one runs in Reinsch's form, on differences of neighbouring
// partial sums: smooth vectors lie at the end of the interval where the plain recurrence multiplies rounding
// by the degree.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/operators/operators.h"

namespace heatskin {

/// Largest uniform error of either sum: what is cut off.
inline constexpr double kHeatTail = 1e-5;

enum class HeatScheme {
  kAutomatic,  ///< the cheaper one by the cost model
  kChebyshev,  ///< taken as kRational where slivers would ask for a degree of many thousands
  kRational,
};

/// Coefficients c_0 .. c_n of exp(-z (1 - x)) = sum c_k T_k(x) on [-1, 1], cut where the rest sums to less
/// than `tail`. All are positive; none overflows for any z >= 0.
std::vector<double> chebyshevHeatCoefficients(double z, double tail = kHeatTail);

/// Coefficients of exp(-ratio (1 / y - 1)) = sum c_k T_k(2 y - 1) on (0, 1], cut likewise; ratio = t / tau.
std::vector<double> rationalHeatCoefficients(double ratio, double tail = kHeatTail);

/// What all operators of a mesh share: vertex orders for locality and for sparse elimination, and the costs
/// that follow.
class HeatPlan {
 public:
  explicit HeatPlan(const Operators& operators);

  /// Estimated nanoseconds of one panel (16 columns) on one core; the factorisation of the rational scheme is
  /// shared by `panels`. Constants of sparse loops measured once, not on this machine: the choice depends on
  /// the mesh only.
  double chebyshevCost(std::size_t degree) const;
  double rationalCost(std::size_t degree, std::size_t panels) const;

  std::span<const std::uint32_t> localOrder() const { return local_order_; }              // [V] new -> vertex
  std::span<const std::uint32_t> eliminationOrder() const { return elimination_order_; }  // [V] new -> vertex
  std::size_t factorEntries() const {
    return factor_entries_;
  }  ///< of the Cholesky factor, diagonal included

 private:
  std::vector<std::uint32_t> local_order_, elimination_order_;
  std::size_t vertices_ = 0, matrix_entries_ = 0, factor_entries_ = 0;
  double factor_operations_ = 0;
};

struct HeatOptions {
  HeatScheme scheme = HeatScheme::kAutomatic;
  std::size_t columns = 256;  ///< expected per time, for the cost model
};

/// The heat action of one operator for a few times. Immutable: threads may share it.
class HeatAction {
 public:
  /// `times` are the only ones apply() accepts: positive, in any order. A factorisation that fails (it
  /// cannot, but for numbers that are not finite) leaves the Chebyshev scheme.
  HeatAction(const Operators& operators, const HeatPlan& plan, std::uint32_t index,
             std::span<const double> times, const HeatOptions& options = {});
  ~HeatAction();
  HeatAction(HeatAction&&) noexcept;
  HeatAction& operator=(HeatAction&&) noexcept;

  /// y = exp(-times[time] A) x; `x` and `y` are [V, width] with contiguous rows and may be the same array.
  void apply(std::size_t time, std::size_t width, const float* x, float* y) const;

  /// The columns [first, min(first + 16, width)) of it, on the calling thread.
  void applyPanel(std::size_t time, std::size_t width, std::size_t first, const float* x, float* y) const;

  HeatScheme scheme() const;                   ///< the chosen one
  std::size_t degree(std::size_t time) const;  ///< of the chosen scheme
  double spectralBound() const;                ///< Gershgorin bound of A
  bool doublePrecision() const;                ///< solves in double: slivers make A too stiff for float32

 private:
  struct Chebyshev;
  struct Rational;
  double bound_ = 0;
  std::vector<std::vector<float>> coefficients_;  // [times]
  std::unique_ptr<Chebyshev> chebyshev_;
  std::unique_ptr<Rational> rational_;
};

}  // namespace heatskin
