#include "heatskin/io/triangulate.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

namespace heatskin {
namespace {

/// A sum of doubles kept without rounding error, smallest first (Shewchuk, "Adaptive Precision Floating-Point
/// Arithmetic and Fast Robust Geometric Predicates", 1997: grow-expansion).
class ExactSum {
 public:
  void add(double term) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const double sum = term + terms_[i];
      const double shadow = sum - term;
      const double rest = (term - (sum - shadow)) + (terms_[i] - shadow);
      if (rest != 0) terms_[kept++] = rest;
      term = sum;
    }
    if (term != 0) terms_[kept++] = term;
    size_ = kept;
  }
  void addProduct(double x, double y) {
    const double product = x * y;
    add(std::fma(x, y, -product));
    add(product);
  }
  int sign() const {
    const double largest = size_ > 0 ? terms_[size_ - 1] : 0;
    return largest > 0 ? 1 : largest < 0 ? -1 : 0;
  }

 private:
  std::array<double, 16> terms_{};  // 12 terms at most
  std::size_t size_ = 0;
};

/// Sine of the turn below which a corner counts as flat. In a tilted plane a corner that was meant to be flat
/// turns by rounding (1e-6 and more between short edges written in single precision); an ear there would be a
/// sliver that later counts as degenerate and tears a hole.
constexpr double kFlatSine = 1e-5;

/// Twice the signed area of a, b, c in plain double.
double area2(const Vec2& a, const Vec2& b, const Vec2& c) {
  return cross2(b - a, c - b);
}

}  // namespace

int orientation(const Vec2& a, const Vec2& b, const Vec2& c) {
  const double left = (a.x() - c.x()) * (b.y() - c.y());
  const double right = (a.y() - c.y()) * (b.x() - c.x());
  const double determinant = left - right;
  // Shewchuk's bound for this evaluation order: (3 + 16 u) u times the magnitude of the products, u = 2^-53.
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
  constexpr double kBound = (3 + 16 * kUnit) * kUnit;
  const double error = kBound * (std::abs(left) + std::abs(right));
  if (determinant > error) return 1;
  if (-determinant > error) return -1;
  ExactSum sum;
  sum.addProduct(a.x(), b.y());
  sum.addProduct(-a.y(), b.x());
  sum.addProduct(b.x(), c.y());
  sum.addProduct(-b.y(), c.x());
  sum.addProduct(c.x(), a.y());
  sum.addProduct(-c.y(), a.x());
  return sum.sign();
}

int Triangulator::turn(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
  return orientation(points_[a], points_[b], points_[c]);
}

bool Triangulator::turnsLeft(std::uint32_t a, std::uint32_t b, std::uint32_t c, Care care) const {
  if (turn(a, b, c) <= 0) return false;
  if (care == Care::kExact) return true;
  const double edges = (points_[b] - points_[a]).squaredNorm() * (points_[c] - points_[b]).squaredNorm();
  return area2(points_[a], points_[b], points_[c]) > kFlatSine * std::sqrt(edges);
}

TriangulationKind Triangulator::append(std::span<const Vec3> polygon, std::vector<std::uint32_t>& triangles) {
  const auto n = static_cast<std::uint32_t>(polygon.size());
  assert(n >= 3);
  const auto fan = [&](TriangulationKind kind) {
    for (std::uint32_t i = 1; i + 1 < n; ++i)
      triangles.insert(triangles.end(), {0, i, i + 1});
    return kind;
  };
  if (n == 3) return fan(TriangulationKind::kFan);

  // A power of two brings the largest coordinate near 1 without rounding: products stay in range, and
  // Newell's sums, taken from corner 0, do not cancel far from the origin.
  double largest = 0;
  for (const Vec3& p : polygon)
    largest = std::max(largest, p.cwiseAbs().maxCoeff());
  if (!(largest > 0) || !std::isfinite(largest)) return fan(TriangulationKind::kBrokenFan);
  const int exponent = std::ilogb(largest);
  const auto scaled = [&](std::uint32_t i) {
    return Vec3(std::ldexp(polygon[i].x(), -exponent), std::ldexp(polygon[i].y(), -exponent),
                std::ldexp(polygon[i].z(), -exponent));
  };
  const Vec3 origin = scaled(0);
  Vec3 normal = Vec3::Zero();
  Vec3 from = scaled(1) - origin;
  for (std::uint32_t i = 2; i < n; ++i) {
    const Vec3 to = scaled(i) - origin;
    normal += from.cross(to);
    from = to;
  }
  Eigen::Index axis = 0;
  if (!(normal.cwiseAbs().maxCoeff(&axis) > 0)) return fan(TriangulationKind::kBrokenFan);
  Eigen::Index x = (axis + 1) % 3, y = (axis + 2) % 3;
  if (normal[axis] < 0) std::swap(x, y);
  points_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Vec3 p = scaled(i);
    points_[i] = {p[x], p[y]};
  }

  // A fine circle is nothing but nearly flat corners; a fan is right for it, too.
  constexpr std::uint32_t kManyCorners = 1000;
  if (isStrictlyConvex(n > kManyCorners ? Care::kExact : Care::kAvoidSlivers))
    return fan(TriangulationKind::kFan);
  const std::size_t before = triangles.size();
  if (clipEars(triangles)) return TriangulationKind::kEars;
  triangles.resize(before);
  return fan(TriangulationKind::kBrokenFan);
}

bool Triangulator::isStrictlyConvex(Care care) const {
  const auto n = static_cast<std::uint32_t>(points_.size());
  // Left turns only, and once around: a pentagram turns left at every corner, too, but goes back and forth in
  // x more than once.
  int reversals = 0;
  double last_step = 0;
  double first_step = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t j = i + 1 < n ? i + 1 : 0;
    const std::uint32_t k = j + 1 < n ? j + 1 : 0;
    if (!turnsLeft(i, j, k, care)) return false;
    const double step = points_[j].x() - points_[i].x();
    if (step == 0) continue;
    if (first_step == 0) first_step = step;
    if (last_step != 0 && (step > 0) != (last_step > 0)) ++reversals;
    last_step = step;
  }
  if ((first_step > 0) != (last_step > 0)) ++reversals;
  return reversals == 2;
}

void Triangulator::buildGrid() {
  const std::size_t n = points_.size();
  constexpr double kCornersPerCell = 2;
  constexpr std::size_t kMaxSide = 2048;
  grid_side_ = std::clamp(static_cast<std::size_t>(std::sqrt(static_cast<double>(n) / kCornersPerCell)),
                          std::size_t{1}, kMaxSide);
  Vec2 low = points_[0], high = points_[0];
  for (const Vec2& p : points_) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  grid_origin_ = low;
  for (int axis = 0; axis < 2; ++axis) {
    const double extent = high[axis] - low[axis];
    cells_per_unit_[axis] = extent > 0 ? static_cast<double>(grid_side_) / extent : 0;
    if (!std::isfinite(cells_per_unit_[axis])) cells_per_unit_[axis] = 0;
  }
  cell_begin_.assign(grid_side_ * grid_side_ + 1, 0);
  const auto cellOf = [&](const Vec2& p) { return cell(p.y(), 1) * grid_side_ + cell(p.x(), 0); };
  for (const Vec2& p : points_)
    ++cell_begin_[cellOf(p) + 1];
  for (std::size_t c = 1; c < cell_begin_.size(); ++c)
    cell_begin_[c] += cell_begin_[c - 1];
  cell_corner_.resize(n);
  std::vector<std::uint32_t> fill(cell_begin_.begin(), cell_begin_.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i)
    cell_corner_[fill[cellOf(points_[i])]++] = i;
}

std::size_t Triangulator::cell(double coordinate, int axis) const {
  const double c = (coordinate - grid_origin_[axis]) * cells_per_unit_[axis];
  return std::min(static_cast<std::size_t>(std::max(c, 0.0)), grid_side_ - 1);
}

bool Triangulator::isEar(std::uint32_t corner, Care care) {
  const std::uint32_t a = previous_[corner], c = next_[corner];
  if (!turnsLeft(a, corner, c, care)) return false;
  const Vec2 &pa = points_[a], &pb = points_[corner], &pc = points_[c];
  const Vec2 low = pa.cwiseMin(pb).cwiseMin(pc);
  const Vec2 high = pa.cwiseMax(pb).cwiseMax(pc);
  const std::size_t x0 = cell(low.x(), 0), x1 = cell(high.x(), 0);
  const std::size_t y0 = cell(low.y(), 1), y1 = cell(high.y(), 1);
  for (std::size_t y = y0; y <= y1; ++y) {
    const std::uint32_t begin = cell_begin_[y * grid_side_ + x0];
    const std::uint32_t end = cell_begin_[y * grid_side_ + x1 + 1];
    budget_ -= std::min(budget_, std::uint64_t{end} - begin + 1);
    for (std::uint32_t i = begin; i < end; ++i) {
      const std::uint32_t other = cell_corner_[i];
      if (!blocks_[other] || other == a || other == c) continue;
      const Vec2& p = points_[other];
      // Corners that coincide (the two banks of a bridge to a hole) do not block each other.
      if (p == pa || p == pb || p == pc) continue;
      if (orientation(pa, pb, p) < 0 || orientation(pb, pc, p) < 0) continue;
      if (orientation(pc, pa, p) >= 0) return false;
      // Just behind the new edge: what is left there would be a sliver.
      if (care == Care::kAvoidSlivers && area2(pc, pa, p) > -kFlatSine * (pc - pa).squaredNorm())
        return false;
    }
  }
  return true;
}

bool Triangulator::clipEars(std::vector<std::uint32_t>& triangles) {
  const auto n = static_cast<std::uint32_t>(points_.size());
  previous_.resize(n);
  next_.resize(n);
  blocks_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    previous_[i] = i > 0 ? i - 1 : n - 1;
    next_[i] = i + 1 < n ? i + 1 : 0;
  }
  // A corner inside an ear implies a non-convex corner inside it, so only those are looked at; a flat corner
  // counts, because an ear's new edge must not run over it.
  const auto updateBlocks = [&](std::uint32_t i) {
    blocks_[i] = turnsLeft(previous_[i], i, next_[i], Care::kAvoidSlivers) ? 0 : 1;
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    updateBlocks(i);
  }
  buildGrid();

  std::uint32_t left = n;
  std::uint32_t corner = 0;
  const auto cut = [&](std::uint32_t ear) {
    const std::uint32_t a = previous_[ear], c = next_[ear];
    triangles.insert(triangles.end(), {a, ear, c});
    next_[a] = c;
    previous_[c] = a;
    blocks_[ear] = 0;
    updateBlocks(a);
    updateBlocks(c);
    --left;
    // Going on two corners further spreads the triangles instead of fanning them out from one corner.
    corner = next_[c];
  };
  const auto spend = [&](std::uint64_t tests) { budget_ -= std::min(budget_, tests); };
  Care care = Care::kAvoidSlivers;
  while (left > 3) {
    // Once around what is left.
    const std::uint32_t lap = left;
    for (std::uint32_t step = 0; step < lap && left > 3; ++step) {
      if (isEar(corner, care)) {
        cut(corner);
      } else {
        corner = next_[corner];
      }
    }
    spend(lap);
    if (budget_ == 0) return false;
    if (left < lap) {
      care = Care::kAvoidSlivers;
    } else if (care == Care::kAvoidSlivers) {
      care = Care::kExact;
    } else {
      // No ear at all: repeated or flat corners are in the way; a triangle without area takes one out. In a
      // simple outline without such corners this does not happen (two ears theorem).
      std::uint32_t tried = 0;
      while (tried < left && turn(previous_[corner], corner, next_[corner]) != 0) {
        corner = next_[corner];
        ++tried;
      }
      spend(tried);
      if (tried == left) return false;
      cut(corner);
      care = Care::kAvoidSlivers;
    }
  }
  if (turn(previous_[corner], corner, next_[corner]) < 0) return false;
  triangles.insert(triangles.end(), {previous_[corner], corner, next_[corner]});
  return true;
}

}  // namespace heatskin
