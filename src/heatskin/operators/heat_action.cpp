#include "heatskin/operators/heat_action.h"

#include <cassert>
#include <limits>
#include <numeric>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#include <hwy/aligned_allocator.h>

#include "heatskin/base/parallel.h"
#include "heatskin/operators/sparse_kernels.h"

namespace heatskin {
namespace {

using Sparse = Eigen::SparseMatrix<double>;

/// Nanoseconds per entry and panel on one core of the machine docs/results/thermal.md names, AVX-512: one
/// entry is one gather and 16 multiply-adds. The solves are cheaper per entry because longer rows hide their
/// start.
constexpr double kMultiplyEntryCost = 0.95, kSolveEntryCost = 0.66;
/// Panels of a recurrence that no longer fit the second-level cache (1 MiB): from the third level, and from
/// memory.
constexpr double kSecondLevelBytes = 1.0e6, kThirdLevelBytes = 16e6;
constexpr double kThirdLevelSlowdown = 1.7, kMemorySlowdown = 4;
/// Nanoseconds per multiply-add of Eigen's scalar factorisation.
constexpr double kFactorCost = 0.9;

double slowdown(double bytes) {
  if (bytes <= kSecondLevelBytes) return 1;
  return bytes <= kThirdLevelBytes ? kThirdLevelSlowdown : kMemorySlowdown;
}

/// Reverse Cuthill-McKee: neighbours get numbers near each other, so the rows a sparse row reads are in the
/// first-level cache.
std::vector<std::uint32_t> reverseCuthillMcKee(const Operators& operators) {
  const std::uint32_t vertices = operators.vertex_count;
  const auto degree = [&](std::uint32_t v) { return operators.begin[v + 1] - operators.begin[v]; };
  std::vector<std::uint32_t> order, found;
  std::vector<std::uint8_t> seen(vertices, 0);
  order.reserve(vertices);
  // Breadth first from `start`, neighbours by degree.
  const auto sweep = [&](std::uint32_t start, std::vector<std::uint32_t>& queue) {
    const std::size_t first = queue.size();
    queue.push_back(start);
    seen[start] = 1;
    for (std::size_t head = first; head < queue.size(); ++head) {
      found.clear();
      for (std::uint32_t k = operators.begin[queue[head]]; k < operators.begin[queue[head] + 1]; ++k) {
        const std::uint32_t neighbour = operators.columns[k];
        if (seen[neighbour] != 0) continue;
        seen[neighbour] = 1;
        found.push_back(neighbour);
      }
      std::stable_sort(found.begin(), found.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return degree(a) < degree(b); });
      queue.insert(queue.end(), found.begin(), found.end());
    }
  };
  std::vector<std::uint32_t> trial;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    if (seen[v] != 0) continue;
    // The vertex a search ends at lies far out: levels from there are narrow.
    trial.clear();
    sweep(v, trial);
    for (const std::uint32_t w : trial)
      seen[w] = 0;
    sweep(trial.back(), order);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> inverseOf(std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    position[order[i]] = static_cast<std::uint32_t>(i);
  return position;
}

/// Entries of the Cholesky factor and multiply-adds to compute it, from the elimination tree (Davis,
/// "Algorithm 849: a concise sparse Cholesky factorization package", 2005).
void countFactor(const Operators& operators, std::span<const std::uint32_t> order, std::size_t& entries,
                 double& operations) {
  const std::vector<std::uint32_t> position = inverseOf(order);
  const std::size_t n = order.size();
  std::vector<std::uint32_t> parent(n, kNone), flag(n, kNone), below(n, 0);
  for (std::uint32_t k = 0; k < n; ++k) {
    flag[k] = k;
    for (std::uint32_t e = operators.begin[order[k]]; e < operators.begin[order[k] + 1]; ++e) {
      for (std::uint32_t i = position[operators.columns[e]]; i < k && flag[i] != k; i = parent[i]) {
        if (parent[i] == kNone) parent[i] = k;
        ++below[i];
        flag[i] = k;
      }
    }
  }
  entries = n;
  operations = 0;
  for (const std::uint32_t count : below) {
    entries += count;
    operations += 0.5 * static_cast<double>(count) * static_cast<double>(count);
  }
}

/// Tail-cut copy: the shortest prefix whose rest sums to less than `tail`.
std::vector<double> cutTail(std::vector<double> coefficients, double tail) {
  double rest = 0;
  while (coefficients.size() > 1 && rest + std::abs(coefficients.back()) < tail) {
    rest += std::abs(coefficients.back());
    coefficients.pop_back();
  }
  return coefficients;
}

std::vector<float> toFloat(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// Rows `first` .. of a block, in another order, as a panel; columns beyond the width are zero.
template <class T>
void loadPanel(std::span<const std::uint32_t> order, std::size_t width, std::size_t first, const float* x,
               T* panel) {
  const std::size_t count = std::min(kPanelWidth, width - first);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const float* row = x + order[i] * width + first;
    T* out = panel + i * kPanelWidth;
    for (std::size_t c = 0; c < count; ++c)
      out[c] = row[c];
    for (std::size_t c = count; c < kPanelWidth; ++c)
      out[c] = 0;
  }
}

template <class T>
void storePanel(std::span<const std::uint32_t> order, std::size_t width, std::size_t first, const T* panel,
                float* y) {
  const std::size_t count = std::min(kPanelWidth, width - first);
  for (std::size_t i = 0; i < order.size(); ++i) {
    float* row = y + order[i] * width + first;
    for (std::size_t c = 0; c < count; ++c)
      row[c] = static_cast<float>(panel[i * kPanelWidth + c]);
  }
}

/// The largest row sum of |A|.
double gershgorinBound(const Operators& operators, const std::vector<double>& stiffness) {
  double bound = 0;
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    double sum = 0;
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
      sum += std::abs(stiffness[k]) / std::sqrt(operators.mass[v] * operators.mass[operators.columns[k]]);
    bound = std::max(bound, sum);
  }
  return bound;
}

/// Degrees beyond this are never an option; also keeps coefficient tables small.
constexpr double kLargestChebyshevArgument = 1e8;

/// tau times the largest stiffness beyond which entries of the factor, rounded to float32, disturb the
/// identity they are added to by more than the tail: the solves run in double. Slivers get there.
constexpr double kLargestFloatStiffness = 5e3;

}  // namespace

std::vector<double> chebyshevHeatCoefficients(double z, double tail) {
  // Miller's backward recurrence I_{k-1} = I_{k+1} + (2 k / z) I_k, normalised by e^z = I_0 + 2 (I_1 + I_2 +
  // ...). For large z I_k falls like exp(-k^2 / 2 z), for small z faster than (z / 2)^k / k!: started where
  // nothing is left.
  if (!(z > 0)) return {1.0};
  constexpr double kNothingLeft = 80;  // exp(-40): far below any tail and below double rounding
  const auto start = static_cast<std::size_t>(std::sqrt(kNothingLeft * z)) + 40;
  std::vector<double> values(start + 1, 0);
  double above = 0, here = 1e-290, sum = 0;
  for (std::size_t k = start; k > 0; --k) {
    values[k] = here;
    sum += 2 * here;
    const double below = above + 2 * static_cast<double>(k) / z * here;
    above = here;
    here = below;
    constexpr double kLarge = 1e270;
    if (here > kLarge) {
      // What underflows here is 1e270 times smaller than what is to come.
      for (std::size_t i = k; i <= start; ++i)
        values[i] /= kLarge;
      above /= kLarge;
      here /= kLarge;
      sum /= kLarge;
    }
  }
  sum += here;
  values[0] = here / sum;
  for (std::size_t k = 1; k <= start; ++k)
    values[k] *= 2 / sum;
  return cutTail(std::move(values), tail);
}

std::vector<double> rationalHeatCoefficients(double ratio, double tail) {
  // Interpolation at Chebyshev points; the function and all its derivatives vanish at y = 0, the coefficients
  // fall faster than any power and those beyond 128 are below rounding for the ratios in use.
  constexpr std::size_t kPoints = 256, kTerms = 128;
  std::vector<double> values(kPoints), coefficients(kTerms);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double y = 0.5 * (1 + std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / kPoints));
    values[i] = std::exp(-ratio * (1 / y - 1));
  }
  for (std::size_t k = 0; k < kTerms; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      sum += values[i] *
             std::cos(std::numbers::pi * static_cast<double>(k) * (static_cast<double>(i) + 0.5) / kPoints);
    }
    coefficients[k] = (k == 0 ? 1.0 : 2.0) / kPoints * sum;
  }
  return cutTail(std::move(coefficients), tail);
}

HeatPlan::HeatPlan(const Operators& operators)
    : local_order_(reverseCuthillMcKee(operators)),
      vertices_(operators.vertex_count),
      matrix_entries_(operators.entryCount()) {
  using Index = Sparse::StorageIndex;
  Sparse pattern(static_cast<Index>(vertices_), static_cast<Index>(vertices_));
  std::vector<Eigen::Triplet<double, Index>> entries;
  entries.reserve(matrix_entries_);
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
      entries.emplace_back(static_cast<Index>(v), static_cast<Index>(operators.columns[k]), 1.0);
  }
  pattern.setFromTriplets(entries.begin(), entries.end());
  Eigen::AMDOrdering<Index>::PermutationType order;
  Eigen::AMDOrdering<Index>()(pattern.selfadjointView<Eigen::Lower>(), order);
  elimination_order_.resize(vertices_);
  for (std::size_t i = 0; i < vertices_; ++i)
    elimination_order_[i] = static_cast<std::uint32_t>(order.indices()[static_cast<Eigen::Index>(i)]);
  countFactor(operators, elimination_order_, factor_entries_, factor_operations_);
}

double HeatPlan::chebyshevCost(std::size_t degree) const {
  const double panels = 4.0 * static_cast<double>(vertices_) * kPanelWidth * sizeof(float);
  return static_cast<double>(degree) * static_cast<double>(matrix_entries_) * kMultiplyEntryCost *
         slowdown(panels);
}

double HeatPlan::rationalCost(std::size_t degree, std::size_t panels) const {
  // A solve reads the factor twice (eight bytes per entry and direction) and a panel, which stays.
  const double bytes = 16.0 * static_cast<double>(factor_entries_) +
                       static_cast<double>(vertices_) * kPanelWidth * sizeof(float);
  return static_cast<double>(degree) * 2 * static_cast<double>(factor_entries_) * kSolveEntryCost *
             slowdown(bytes) +
         factor_operations_ * kFactorCost / static_cast<double>(std::max<std::size_t>(1, panels));
}

struct HeatAction::Chebyshev {
  std::vector<std::uint32_t> order;  // [V] row -> vertex
  std::vector<std::uint32_t> begin, offsets;
  std::vector<float> values;  // -(4 / bound) A

  SparseRows rows() const { return {order.size(), begin.data(), offsets.data(), values.data()}; }

  Chebyshev(const Operators& operators, const HeatPlan& plan, const std::vector<double>& stiffness,
            double bound)
      : order(plan.localOrder().begin(), plan.localOrder().end()) {
    const std::vector<std::uint32_t> position = inverseOf(order);
    const double factor = bound > 0 ? -4 / bound : 0;
    begin.push_back(0);
    std::vector<std::pair<std::uint32_t, float>> row;
    for (const std::uint32_t v : order) {
      row.clear();
      for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
        const std::uint32_t w = operators.columns[k];
        row.emplace_back(position[w], static_cast<float>(factor * stiffness[k] /
                                                         std::sqrt(operators.mass[v] * operators.mass[w])));
      }
      std::sort(row.begin(), row.end());
      for (const auto& [column, value] : row) {
        offsets.push_back(column * static_cast<std::uint32_t>(kPanelWidth));
        values.push_back(value);
      }
      begin.push_back(static_cast<std::uint32_t>(offsets.size()));
    }
  }

  void apply(const std::vector<float>& coefficients, std::size_t width, std::size_t first, const float* in,
             float* out) const {
    const std::size_t size = order.size() * kPanelWidth;
    const auto scratch = hwy::AllocateAligned<float>(4 * size);
    float *x = scratch.get(), *sum = x + size, *next = sum + size, *difference = next + size;
    loadPanel(order, width, first, in, x);
    std::fill(sum, difference + size, 0.0f);
    // From b_{n+1} = 0 down to b_1, with d_k = b_k - b_{k+1}:
    //   d_k = d_{k+1} + 2 (X - 1) b_{k+1} + c_k x,  b_k = b_{k+1} + d_k,   2 (X - 1) = -(4 / bound) A.
    for (std::size_t k = coefficients.size(); k-- > 1;) {
      clenshawPanel(rows(), coefficients[k], x, sum, difference, next);
      std::swap(sum, next);
    }
    // The sum is c_0 x + (X - 1) b_1 + d_1.
    multiplyPanel(rows(), sum, next);
    for (std::size_t i = 0; i < size; ++i)
      next[i] = difference[i] + (0.5f * next[i] + coefficients[0] * x[i]);
    storePanel(order, width, first, next, out);
  }
};

struct HeatAction::Rational {
  std::vector<std::uint32_t> order;  // [V] row -> vertex
  std::vector<std::uint32_t> lower_begin, lower_offsets, upper_begin, upper_offsets;
  std::vector<double> lower, upper, inverse_diagonal;
  std::vector<float> lower_float, upper_float, inverse_diagonal_float;
  bool in_double = false;
  bool ok = false;

  Rational(const Operators& operators, const HeatPlan& plan, const std::vector<double>& stiffness, double tau,
           bool use_double)
      : order(plan.eliminationOrder().begin(), plan.eliminationOrder().end()), in_double(use_double) {
    using Index = Sparse::StorageIndex;
    const auto n = static_cast<Index>(order.size());
    const std::vector<std::uint32_t> position = inverseOf(order);
    Sparse matrix(n, n);
    std::vector<Eigen::Triplet<double, Index>> entries;
    entries.reserve(operators.entryCount());
    for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
      for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
        const std::uint32_t w = operators.columns[k];
        if (position[v] < position[w]) continue;
        const double value = tau * stiffness[k] / std::sqrt(operators.mass[v] * operators.mass[w]);
        entries.emplace_back(static_cast<Index>(position[v]), static_cast<Index>(position[w]),
                             v == w ? 1 + value : value);
      }
    }
    matrix.setFromTriplets(entries.begin(), entries.end());
    Eigen::SimplicialLLT<Sparse, Eigen::Lower, Eigen::NaturalOrdering<Index>> solver(matrix);
    if (solver.info() != Eigen::Success) return;
    const Sparse l = solver.matrixL();
    const Sparse u = l.transpose();
    ok = true;
    inverse_diagonal.resize(order.size());
    const auto copy = [&](const Sparse& triangle, std::vector<std::uint32_t>& begin,
                          std::vector<std::uint32_t>& offsets, std::vector<double>& values) {
      begin = {0};
      offsets.reserve(static_cast<std::size_t>(triangle.nonZeros()));
      values.reserve(static_cast<std::size_t>(triangle.nonZeros()));
      for (Index row = 0; row < n; ++row) {
        for (Sparse::InnerIterator it(triangle, row); it; ++it) {
          if (it.row() == row) {
            inverse_diagonal[static_cast<std::size_t>(row)] = 1 / it.value();
            continue;
          }
          offsets.push_back(static_cast<std::uint32_t>(it.row()) * static_cast<std::uint32_t>(kPanelWidth));
          values.push_back(it.value());
        }
        begin.push_back(static_cast<std::uint32_t>(offsets.size()));
      }
    };
    copy(u, lower_begin, lower_offsets, lower);  // column r of the transpose is row r
    copy(l, upper_begin, upper_offsets, upper);
    for (const double value : inverse_diagonal)
      ok = ok && std::isfinite(value);
    if (in_double) return;
    lower_float = toFloat(lower);
    upper_float = toFloat(upper);
    inverse_diagonal_float = toFloat(inverse_diagonal);
    lower = {};
    upper = {};
    inverse_diagonal = {};
  }

  void solve(float* x) const {
    solvePanel(CholeskyRows{{order.size(), lower_begin.data(), lower_offsets.data(), lower_float.data()},
                            {order.size(), upper_begin.data(), upper_offsets.data(), upper_float.data()},
                            inverse_diagonal_float.data()},
               x);
  }
  void solve(double* x) const {
    solvePanel(CholeskyRowsDouble{{order.size(), lower_begin.data(), lower_offsets.data(), lower.data()},
                                  {order.size(), upper_begin.data(), upper_offsets.data(), upper.data()},
                                  inverse_diagonal.data()},
               x);
  }

  template <class T>
  void applyIn(const std::vector<float>& coefficients, std::size_t width, std::size_t first, const float* in,
               float* out) const {
    const std::size_t size = order.size() * kPanelWidth;
    const auto scratch = hwy::AllocateAligned<T>(4 * size);
    T *x = scratch.get(), *one = x + size, *two = one + size, *solved = two + size;
    loadPanel(order, width, first, in, x);
    std::fill(one, two + size, T(0));
    // b_k = c_k x + 2 (2 R - 1) b_{k+1} - b_{k+2}; the sum is c_0 x + (2 R - 1) b_1 - b_2.
    for (std::size_t k = coefficients.size(); k-- > 0;) {
      const T c = coefficients[k];
      if (k + 1 == coefficients.size()) {  // b_{n+1} = 0: nothing to solve
        for (std::size_t i = 0; i < size; ++i)
          two[i] = c * x[i];
      } else {
        std::copy(one, one + size, solved);
        solve(solved);
        const T scale = k == 0 ? T(1) : T(2);
        for (std::size_t i = 0; i < size; ++i)
          two[i] = c * x[i] + (scale * (T(2) * solved[i] - one[i]) - two[i]);
      }
      std::swap(one, two);
    }
    storePanel(order, width, first, one, out);
  }
};

HeatAction::HeatAction(const Operators& operators, const HeatPlan& plan, std::uint32_t index,
                       std::span<const double> times, const HeatOptions& options) {
  const std::vector<double>& stiffness = operators.stiffness[index];
  bound_ = gershgorinBound(operators, stiffness);
  assert(!times.empty());
  const double longest = *std::max_element(times.begin(), times.end());
  // One pole for all times. Degrees are least and nearly the same for t / tau from 4 to 16; shorter times
  // come out of the same factor with a smaller ratio.
  constexpr double kLongestRatio = 10;
  const double tau = longest / kLongestRatio;

  std::vector<std::vector<double>> chebyshev, rational;
  std::size_t chebyshev_degree = 0, rational_degree = 0;
  const bool chebyshev_possible = 0.5 * longest * bound_ <= kLargestChebyshevArgument;
  for (const double time : times) {
    if (chebyshev_possible && options.scheme != HeatScheme::kRational) {
      chebyshev.push_back(chebyshevHeatCoefficients(0.5 * time * bound_));
      chebyshev_degree += chebyshev.back().size() - 1;
    }
    rational.push_back(rationalHeatCoefficients(time / tau));
    rational_degree += rational.back().size() - 1;
  }
  const std::size_t panels = times.size() * ((options.columns + kPanelWidth - 1) / kPanelWidth);
  HeatScheme scheme = chebyshev_possible ? options.scheme : HeatScheme::kRational;
  if (scheme == HeatScheme::kAutomatic) {
    // The degree sums are over all times, the factorisation is shared by all panels of all times.
    const double factor_share = static_cast<double>(times.size());
    scheme = plan.chebyshevCost(chebyshev_degree) < plan.rationalCost(rational_degree, panels) +
                                                        (factor_share - 1) * (plan.rationalCost(0, panels))
                 ? HeatScheme::kChebyshev
                 : HeatScheme::kRational;
  }
  if (scheme == HeatScheme::kRational) {
    rational_ =
        std::make_unique<Rational>(operators, plan, stiffness, tau, tau * bound_ > kLargestFloatStiffness);
    if (!rational_->ok) rational_.reset();
    for (const auto& c : rational)
      coefficients_.push_back(toFloat(c));
  }
  if (rational_ == nullptr) {
    coefficients_.clear();
    for (const double time : times) {
      const double z = std::min(0.5 * time * bound_, kLargestChebyshevArgument);
      coefficients_.push_back(toFloat(chebyshevHeatCoefficients(z)));
    }
    chebyshev_ = std::make_unique<Chebyshev>(operators, plan, stiffness, bound_);
  }
}

HeatAction::~HeatAction() = default;
HeatAction::HeatAction(HeatAction&&) noexcept = default;
HeatAction& HeatAction::operator=(HeatAction&&) noexcept = default;

void HeatAction::applyPanel(std::size_t time, std::size_t width, std::size_t first, const float* x,
                            float* y) const {
  assert(time < coefficients_.size() && first < width);
  if (chebyshev_ != nullptr) {
    chebyshev_->apply(coefficients_[time], width, first, x, y);
  } else if (rational_->in_double) {
    rational_->applyIn<double>(coefficients_[time], width, first, x, y);
  } else {
    rational_->applyIn<float>(coefficients_[time], width, first, x, y);
  }
}

void HeatAction::apply(std::size_t time, std::size_t width, const float* x, float* y) const {
  parallelFor(width, kPanelWidth,
              [&](std::size_t first, std::size_t) { applyPanel(time, width, first, x, y); });
}

HeatScheme HeatAction::scheme() const {
  return chebyshev_ != nullptr ? HeatScheme::kChebyshev : HeatScheme::kRational;
}

std::size_t HeatAction::degree(std::size_t time) const {
  return coefficients_[time].size() - 1;
}

double HeatAction::spectralBound() const {
  return bound_;
}

bool HeatAction::doublePrecision() const {
  return rational_ != nullptr && rational_->in_double;
}

}  // namespace heatskin
