#include "heatskin/surface/point_spacing.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

/// A k-d tree without nodes: halves of a range of `order` lie on both sides of its middle entry.
class PointTree {
 public:
  explicit PointTree(std::span<const Vec3> points) : points_(points), order_(points.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    axes_.resize(points.size());
    build(0, points.size());
  }

  /// Squared distance of the `count`-th nearest point to `query` (itself among them), or of the farthest.
  double squaredDistance(const Vec3& query, std::size_t count) const {
    std::vector<double> nearest;  // a heap, largest first
    nearest.reserve(count + 1);
    search(0, points_.size(), query, count, nearest);
    return nearest.empty() ? 0 : nearest.front();
  }

 private:
  static constexpr std::size_t kLeaf = 16;

  void build(std::size_t begin, std::size_t end) {
    if (end - begin <= kLeaf) return;
    Vec3 low = points_[order_[begin]], high = low;
    for (std::size_t i = begin; i < end; ++i) {
      low = low.cwiseMin(points_[order_[i]]);
      high = high.cwiseMax(points_[order_[i]]);
    }
    Eigen::Index axis = 0;
    (high - low).maxCoeff(&axis);
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    // Ties by number: the tree, and with it every rounding, is the same everywhere.
    std::nth_element(at(begin), at(middle), at(end), [&](std::size_t a, std::size_t b) {
      return std::pair(points_[a][axis], a) < std::pair(points_[b][axis], b);
    });
    axes_[middle] = static_cast<std::uint8_t>(axis);
    build(begin, middle);
    build(middle + 1, end);
  }

  void offer(std::size_t i, const Vec3& query, std::size_t count, std::vector<double>& nearest) const {
    const double squared = (points_[order_[i]] - query).squaredNorm();
    if (nearest.size() == count && squared >= nearest.front()) return;
    nearest.push_back(squared);
    std::push_heap(nearest.begin(), nearest.end());
    if (nearest.size() <= count) return;
    std::pop_heap(nearest.begin(), nearest.end());
    nearest.pop_back();
  }

  void search(std::size_t begin, std::size_t end, const Vec3& query, std::size_t count,
              std::vector<double>& nearest) const {
    if (end - begin <= kLeaf) {
      for (std::size_t i = begin; i < end; ++i)
        offer(i, query, count, nearest);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    const double beyond = query[axes_[middle]] - points_[order_[middle]][axes_[middle]];
    const bool above = beyond > 0;
    search(above ? middle + 1 : begin, above ? end : middle, query, count, nearest);
    offer(middle, query, count, nearest);
    if (nearest.size() < count || beyond * beyond < nearest.front())
      search(above ? begin : middle + 1, above ? middle : end, query, count, nearest);
  }

  std::span<const Vec3> points_;
  std::vector<std::size_t> order_;
  std::vector<std::uint8_t> axes_;  // [points] of middle entries
};

}  // namespace

std::vector<double> pointSpacing(std::span<const Vec3> points, std::size_t neighbours) {
  const PointTree tree(points);
  std::vector<double> spacing(points.size());
  const std::size_t known = std::min(neighbours, points.empty() ? 0 : points.size() - 1);
  parallelFor(points.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (known == 0) continue;
      const double squared = tree.squaredDistance(points[i], known + 1);
      spacing[i] = std::sqrt(std::numbers::pi * squared / static_cast<double>(known));
    }
  });
  return spacing;
}

}  // namespace heatskin
