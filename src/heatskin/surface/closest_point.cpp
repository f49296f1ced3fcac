#include "heatskin/surface/closest_point.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "heatskin/base/parallel.h"

namespace heatskin {

/// Ericson, Real-Time Collision Detection, section 5.1.5: the Voronoi region of the nearest feature decides.
Vec3 closestBarycentric(const Vec3& x, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 ab = b - a, ac = c - a, ax = x - a;
  const double d1 = ab.dot(ax), d2 = ac.dot(ax);
  if (d1 <= 0 && d2 <= 0) return {1, 0, 0};
  const Vec3 bx = x - b;
  const double d3 = ab.dot(bx), d4 = ac.dot(bx);
  if (d3 >= 0 && d4 <= d3) return {0, 1, 0};
  const double vc = d1 * d4 - d3 * d2;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) {
    const double v = d1 / (d1 - d3);
    return {1 - v, v, 0};
  }
  const Vec3 cx = x - c;
  const double d5 = ab.dot(cx), d6 = ac.dot(cx);
  if (d6 >= 0 && d5 <= d6) return {0, 0, 1};
  const double vb = d5 * d2 - d1 * d6;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) {
    const double w = d2 / (d2 - d6);
    return {1 - w, 0, w};
  }
  const double va = d3 * d6 - d5 * d4;
  if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
    const double w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return {0, 1 - w, w};
  }
  const double sum = va + vb + vc;
  if (!(sum > 0)) return {1, 0, 0};
  const double v = vb / sum, w = vc / sum;
  return {std::max(0.0, 1 - v - w), v, w};
}

namespace {

/// Faces of a leaf at most.
constexpr std::uint32_t kLeafFaces = 2;

/// Parts of the tree with no more leaves than this are built by one thread.
constexpr std::uint32_t kLeavesAtOnce = 1024;

/// A box is passed over only if it is farther than the nearest point found so far by this part of the size of
/// the numbers involved: rounding never hides a face that is as near as the nearest.
constexpr double kSlack = 1e-12;

}  // namespace

/// A balanced bounding volume hierarchy: each node's faces are divided at the median of their centres along
/// the axis in which these spread most. Answers do not depend on its shape.
struct ClosestPointQuery::State {
  /// The box around a part of the surface, rounded outwards.
  struct Box {
    std::array<float, 3> low, high;

    /// Squared distance of a point; 0 inside.
    double squaredDistance(const Vec3& x) const {
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        const double at = x[static_cast<Eigen::Index>(c)];
        const double d =
            std::max(0.0, std::max(static_cast<double>(low[c]) - at, at - static_cast<double>(high[c])));
        sum += d * d;
      }
      return sum;
    }
  };

  static Box boxAround(const Vec3& low, const Vec3& high) {
    constexpr float kEndless = std::numeric_limits<float>::infinity();
    Box box;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto e = static_cast<Eigen::Index>(c);
      box.low[c] = std::nextafter(static_cast<float>(low[e]), -kEndless);
      box.high[c] = std::nextafter(static_cast<float>(high[e]), kEndless);
    }
    return box;
  }

  static Box boxAround(const Box& a, const Box& b) {
    Box box;
    for (std::size_t c = 0; c < 3; ++c) {
      box.low[c] = std::min(a.low[c], b.low[c]);
      box.high[c] = std::max(a.high[c], b.high[c]);
    }
    return box;
  }

  /// A node of the tree: a run of leaves. Inner nodes are numbered depth first, so that a run of n leaves has
  /// n
  /// - 1 of them and needs no pointers: those of the first half of its leaves follow at once, the others
  /// after them.
  struct Node {
    std::uint32_t number = 0, first_leaf = 0, leaves = 0;

    bool isLeaf() const { return leaves == 1; }
    Node left() const { return {number + 1, first_leaf, leaves / 2}; }
    Node right() const { return {number + leaves / 2, first_leaf + leaves / 2, leaves - leaves / 2}; }
  };

  const Surface* surface;
  double size = 0;                        // largest coordinate
  std::vector<std::uint32_t> faces;       // [F] in the order of the leaves
  Box everything;                         // around all faces
  std::vector<std::array<Box, 2>> boxes;  // [inner nodes] of the two children, side by side for the cache

  explicit State(const Surface& s) : surface(&s), faces(s.faceCount()) {
    std::iota(faces.begin(), faces.end(), 0u);
    for (const Vec3& x : s.positions())
      size = std::max(size, x.cwiseAbs().maxCoeff());
    boxes.resize(root().leaves - 1);
    // First the top, down to parts of moderate size; then these, in parallel; then the boxes of the top.
    struct Part {
      Node node;
      std::size_t left = 0, right = 0;  // parts of the children; 0: built at once
      Box box = {};
    };
    std::vector<Part> parts = {{root()}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Node node = parts[i].node;
      if (node.leaves <= kLeavesAtOnce) continue;
      divide(node);
      parts[i].left = parts.size();
      parts.push_back({node.left()});
      parts[i].right = parts.size();
      parts.push_back({node.right()});
    }
    parallelFor(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (parts[i].left == 0) parts[i].box = build(parts[i].node);
      }
    });
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (parts[i].left != 0)
        parts[i].box = join(parts[i].node, parts[parts[i].left].box, parts[parts[i].right].box);
    }
    everything = parts[0].box;
  }

  Node root() const { return {0, 0, (surface->faceCount() + kLeafFaces - 1) / kLeafFaces}; }

  std::uint32_t beginOf(const Node& node) const { return kLeafFaces * node.first_leaf; }
  std::uint32_t endOf(const Node& node) const {
    return std::min(kLeafFaces * (node.first_leaf + node.leaves), surface->faceCount());
  }

  /// The box of a node, after those below it.
  Box build(const Node& node) {
    if (node.isLeaf()) {
      Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
      for (std::uint32_t i = beginOf(node); i < endOf(node); ++i) {
        for (const std::uint32_t v : surface->faces()[faces[i]]) {
          low = low.cwiseMin(surface->positions()[v]);
          high = high.cwiseMax(surface->positions()[v]);
        }
      }
      return boxAround(low, high);
    }
    divide(node);
    const Box left = build(node.left());
    return join(node, left, build(node.right()));
  }

  Box join(const Node& node, const Box& left, const Box& right) {
    boxes[node.number] = {left, right};
    return boxAround(left, right);
  }

  /// Brings the faces of the left child before those of the right one.
  void divide(const Node& node) {
    const auto center = [&](std::uint32_t face) -> const Vec3& { return surface->frames()[face].origin; };
    const auto begin = faces.begin() + beginOf(node), end = faces.begin() + endOf(node);
    Vec3 low = center(*begin), high = low;
    for (auto it = begin; it != end; ++it) {
      low = low.cwiseMin(center(*it));
      high = high.cwiseMax(center(*it));
    }
    Eigen::Index axis = 0;
    (high - low).maxCoeff(&axis);
    std::nth_element(begin, faces.begin() + beginOf(node.right()), end,
                     [&](std::uint32_t a, std::uint32_t b) {
                       const double x = center(a)[axis], y = center(b)[axis];
                       return x != y ? x < y : a < b;
                     });
  }

  /// `handicap` as for find(), or null.
  ClosestPoint search(const Vec3& x, const std::function<double(std::uint32_t)>* handicap) const {
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    const double slack = kSlack * (size + x.cwiseAbs().maxCoeff());
    double best = kEndless,
           reach = kEndless;  // squared distance, with handicap; and what boxes must be within
    SurfacePoint found;
    struct Waiting {
      Node node;
      double distance;
    };
    std::array<Waiting, 64> stack;  // a balanced tree of fewer than 2^32 faces is less deep
    std::size_t waiting = 0;
    Node node = root();
    for (double distance = everything.squaredDistance(x);;) {
      if (distance <= reach && !node.isLeaf()) {
        const auto& [left, right] = boxes[node.number];
        Waiting near{node.left(), left.squaredDistance(x)}, far{node.right(), right.squaredDistance(x)};
        if (far.distance < near.distance) std::swap(near, far);
        if (far.distance <= reach) stack[waiting++] = far;
        node = near.node;
        distance = near.distance;
        continue;
      }
      if (distance <= reach) {
        for (std::uint32_t i = beginOf(node); i < endOf(node); ++i) {
          const std::uint32_t face = faces[i];
          const auto& corner = surface->faces()[face];
          const Vec3 &a = surface->positions()[corner[0]], &b = surface->positions()[corner[1]],
                     &c = surface->positions()[corner[2]];
          const Vec3 weights = closestBarycentric(x, a, b, c);
          double d = (weights[0] * a + weights[1] * b + weights[2] * c - x).squaredNorm();
          if (handicap != nullptr && d <= best) {
            const double factor = (*handicap)(face);
            if (std::isinf(factor)) continue;
            d *= factor * factor;
          }
          if (d > best || (d == best && face > found.face)) continue;
          best = d;
          found = {face, weights};
          const double farthest = std::sqrt(d) + slack;
          reach = farthest * farthest;
        }
      }
      if (waiting == 0) break;
      node = stack[--waiting].node;
      distance = stack[waiting].distance;
    }
    return {found, std::sqrt(best)};
  }
};

ClosestPointQuery::ClosestPointQuery(const Surface& surface) : state_(std::make_unique<State>(surface)) {}
ClosestPointQuery::~ClosestPointQuery() = default;
ClosestPointQuery::ClosestPointQuery(ClosestPointQuery&&) noexcept = default;
ClosestPointQuery& ClosestPointQuery::operator=(ClosestPointQuery&&) noexcept = default;

ClosestPoint ClosestPointQuery::operator()(const Vec3& x) const {
  return state_->search(x, nullptr);
}

ClosestPoint ClosestPointQuery::find(const Vec3& x,
                                     const std::function<double(std::uint32_t)>& handicap) const {
  ClosestPoint found = state_->search(x, &handicap);
  found.distance /= handicap(found.point.face);
  return found;
}

void ClosestPointQuery::find(std::span<const Vec3> x, std::span<ClosestPoint> out) const {
  constexpr std::size_t kBlock = 256;
  parallelFor(x.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = (*this)(x[i]);
  });
}

}  // namespace heatskin
