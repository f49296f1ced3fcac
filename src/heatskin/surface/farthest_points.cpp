#include "heatskin/surface/farthest_points.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace heatskin {
namespace {

// Large enough for the inner loop to run over contiguous memory, small enough that few points are touched in
// vain.
constexpr std::uint32_t kLeafSize = 32;

struct Cell {
  Vec3 low, high;                                             // bounding box of the points below
  double farthest = std::numeric_limits<double>::infinity();  // largest squared distance below
  std::uint32_t candidate = 0;       // original index of a point at that distance, the lowest one
  std::uint32_t begin = 0, end = 0;  // points of a leaf; begin == end for inner nodes
  std::uint32_t left = 0;            // children are left and left + 1
};

class Tree {
 public:
  explicit Tree(std::span<const Vec3> points) : order_(points.size()) {
    std::iota(order_.begin(), order_.end(), 0u);
    nodes_.emplace_back();
    split(points, 0, 0, static_cast<std::uint32_t>(points.size()));
    sorted_.reserve(points.size());
    for (const std::uint32_t i : order_)
      sorted_.push_back(points[i]);
    distance_.assign(points.size(), std::numeric_limits<double>::infinity());
  }

  /// Takes the point into account and returns the farthest one of all.
  std::uint32_t insert(const Vec3& chosen) {
    update(0, chosen);
    return nodes_[0].candidate;
  }

 private:
  void split(std::span<const Vec3> points, std::size_t index, std::uint32_t begin, std::uint32_t end) {
    Vec3 low = points[order_[begin]], high = low;
    for (std::uint32_t i = begin; i < end; ++i) {
      low = low.cwiseMin(points[order_[i]]);
      high = high.cwiseMax(points[order_[i]]);
    }
    nodes_[index].low = low;
    nodes_[index].high = high;
    if (end - begin <= kLeafSize) {
      nodes_[index].begin = begin;
      nodes_[index].end = end;
      return;
    }
    Eigen::Index axis = 0;
    (high - low).maxCoeff(&axis);
    const std::uint32_t middle = begin + (end - begin) / 2;
    std::nth_element(order_.begin() + begin, order_.begin() + middle, order_.begin() + end,
                     [&](std::uint32_t a, std::uint32_t b) {
                       return std::pair(points[a][axis], a) < std::pair(points[b][axis], b);
                     });
    const auto left = static_cast<std::uint32_t>(nodes_.size());
    nodes_[index].left = left;
    nodes_.emplace_back();
    nodes_.emplace_back();
    split(points, left, begin, middle);
    split(points, left + 1, middle, end);
  }

  void update(std::size_t index, const Vec3& chosen) {
    Cell& node = nodes_[index];
    const Vec3 outside = (node.low - chosen).cwiseMax(chosen - node.high).cwiseMax(0.0);
    if (outside.squaredNorm() >= node.farthest) return;  // nothing below can come closer
    if (node.begin != node.end) {
      double farthest = -1;
      std::uint32_t candidate = 0;
      for (std::uint32_t i = node.begin; i < node.end; ++i) {
        const double d = std::min(distance_[i], (sorted_[i] - chosen).squaredNorm());
        distance_[i] = d;
        if (d > farthest || (d == farthest && order_[i] < candidate)) farthest = d, candidate = order_[i];
      }
      node.farthest = farthest;
      node.candidate = candidate;
      return;
    }
    update(node.left, chosen);
    update(node.left + 1, chosen);
    const Cell &a = nodes_[node.left], &b = nodes_[node.left + 1];
    const bool take_a = a.farthest > b.farthest || (a.farthest == b.farthest && a.candidate < b.candidate);
    node.farthest = take_a ? a.farthest : b.farthest;
    node.candidate = take_a ? a.candidate : b.candidate;
  }

  std::vector<Cell> nodes_;
  std::vector<std::uint32_t> order_;  // original index of the sorted points
  std::vector<Vec3> sorted_;
  std::vector<double> distance_;  // squared distance to the chosen points, in sorted order
};

}  // namespace

std::vector<std::uint32_t> farthestPoints(std::span<const Vec3> points, std::size_t count,
                                          std::uint32_t start) {
  std::vector<std::uint32_t> chosen;
  count = std::min(count, points.size());
  if (count == 0) return chosen;
  chosen.reserve(count);
  Tree tree(points);
  std::vector<std::uint8_t> taken(points.size(), 0);
  std::uint32_t next = start;
  while (chosen.size() < count) {
    if (taken[next] != 0) break;  // only duplicates of chosen points are left
    taken[next] = 1;
    chosen.push_back(next);
    next = tree.insert(points[next]);
  }
  for (std::uint32_t i = 0; chosen.size() < count; ++i) {
    if (taken[i] == 0) chosen.push_back(i);
  }
  return chosen;
}

std::uint32_t closestToOrigin(std::span<const Vec3> points) {
  std::uint32_t best = 0;
  for (std::uint32_t i = 1; i < points.size(); ++i) {
    if (points[i].squaredNorm() < points[best].squaredNorm()) best = i;
  }
  return best;
}

}  // namespace heatskin
