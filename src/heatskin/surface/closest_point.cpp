#include "heatskin/surface/closest_point.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/face_tree.h"

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

/// A box is passed over only if it is farther than the nearest point found so far by this part of the size of
/// the numbers involved: rounding never hides a face that is as near as the nearest.
constexpr double kSlack = 1e-12;

/// Squared distance of a point; 0 inside.
double squaredDistance(const FaceTree::Box& box, const Vec3& x) {
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const double at = x[static_cast<Eigen::Index>(c)];
    const double d =
        std::max(0.0, std::max(static_cast<double>(box.low[c]) - at, at - static_cast<double>(box.high[c])));
    sum += d * d;
  }
  return sum;
}

}  // namespace

struct ClosestPointQuery::State {
  const Surface* surface;
  FaceTree tree;
  double size = 0;  // largest coordinate

  explicit State(const Surface& s) : surface(&s), tree(s) {
    for (const Vec3& x : s.positions())
      size = std::max(size, x.cwiseAbs().maxCoeff());
  }

  /// `handicap` as for find(), or null.
  ClosestPoint search(const Vec3& x, const std::function<double(std::uint32_t)>* handicap) const {
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    const double slack = kSlack * (size + x.cwiseAbs().maxCoeff());
    double best = kEndless,
           reach = kEndless;  // squared distance, with handicap; and what boxes must be within
    SurfacePoint found;
    struct Waiting {
      FaceTree::Node node;
      double distance;
    };
    std::array<Waiting, FaceTree::kMaxDepth> stack;
    std::size_t waiting = 0;
    FaceTree::Node node = tree.root();
    for (double distance = squaredDistance(tree.everything(), x);;) {
      if (distance <= reach && !node.isLeaf()) {
        const auto& [left, right] = tree.childBoxes(node);
        Waiting near{node.left(), squaredDistance(left, x)}, far{node.right(), squaredDistance(right, x)};
        if (far.distance < near.distance) std::swap(near, far);
        if (far.distance <= reach) stack[waiting++] = far;
        node = near.node;
        distance = near.distance;
        continue;
      }
      if (distance <= reach) {
        for (std::uint32_t i = tree.begin(node); i < tree.end(node); ++i) {
          const std::uint32_t face = tree.faces()[i];
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
