#include "heatskin/surface/ray_query.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace heatskin {
namespace {

/// A box is passed over only if the ray leaves it before it enters by more than this part of the distance:
/// far above the rounding of a slab test, so that rounding never hides a face.
constexpr double kSlabSlack = 1e-12;

/// Stands for a zero in a direction, so that no slab gives 0 times infinity.
constexpr double kTinyDirection = 1e-200;

/// A ray with everything that does not depend on the face.
class PreparedRay {
 public:
  explicit PreparedRay(const Ray& ray) : origin_(ray.origin) {
    ray.direction.cwiseAbs().maxCoeff(&kz_);
    kx_ = (kz_ + 1) % 3;
    ky_ = (kz_ + 2) % 3;
    shear_ = Vec3(ray.direction[kx_], ray.direction[ky_], 1) / ray.direction[kz_];
    for (Eigen::Index c = 0; c < 3; ++c) {
      const double d = ray.direction[c];
      inverse_[c] = 1 / (std::abs(d) < kTinyDirection ? std::copysign(kTinyDirection, d) : d);
    }
  }

  /// Where the ray enters the box, or infinity if it misses it or enters beyond `reach`.
  double enters(const FaceTree::Box& box, double reach) const {
    double near = 0, far = reach;
    for (std::size_t c = 0; c < 3; ++c) {
      const auto e = static_cast<Eigen::Index>(c);
      const double a = (static_cast<double>(box.low[c]) - origin_[e]) * inverse_[e];
      const double b = (static_cast<double>(box.high[c]) - origin_[e]) * inverse_[e];
      near = std::max(near, std::min(a, b));
      far = std::min(far, std::max(a, b));
    }
    return near <= far * (1 + kSlabSlack) ? near : std::numeric_limits<double>::infinity();
  }

  /// Distance and weights of the corners if the ray meets the triangle at 0 .. reach.
  bool meets(const std::array<Vec3, 3>& corners, double reach, double& t, Vec3& weights) const {
    // The ray becomes the z axis; the edge functions of two faces at a shared edge are then exact opposites.
    std::array<double, 3> x, y, z;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3 p = corners[c] - origin_;
      x[c] = p[kx_] - shear_.x() * p[kz_];
      y[c] = p[ky_] - shear_.y() * p[kz_];
      z[c] = shear_.z() * p[kz_];
    }
    const double u = x[2] * y[1] - y[2] * x[1];
    const double v = x[0] * y[2] - y[0] * x[2];
    const double w = x[1] * y[0] - y[1] * x[0];
    if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return false;
    const double sum = u + v + w;
    if (sum == 0) return false;  // seen edge-on, or without area
    const double at = (u * z[0] + v * z[1] + w * z[2]) / sum;
    if (!(at >= 0 && at <= reach)) return false;
    t = at;
    weights = Vec3(u, v, w) / sum;
    return true;
  }

 private:
  Vec3 origin_, inverse_, shear_;
  Eigen::Index kx_ = 0, ky_ = 1, kz_ = 2;
};

}  // namespace

RayQuery::RayQuery(const Surface& surface) : tree_(surface), corners_(surface.faceCount()) {
  for (std::size_t i = 0; i < corners_.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      corners_[i][c] = surface.positions()[surface.faces()[tree_.faces()[i]][c]];
  }
}

template <bool kAny>
RayHit RayQuery::search(const Ray& ray) const {
  const PreparedRay prepared(ray);
  RayHit best;
  best.t = ray.reach;
  struct Waiting {
    FaceTree::Node node;
    double enters;
  };
  std::array<Waiting, FaceTree::kMaxDepth> stack;
  std::size_t waiting = 0;
  constexpr double kMissed = std::numeric_limits<double>::infinity();
  FaceTree::Node node = tree_.root();
  double enters = prepared.enters(tree_.everything(), best.t);
  for (;;) {
    if (enters < kMissed && enters <= best.t * (1 + kSlabSlack)) {
      if (!node.isLeaf()) {
        const auto& boxes = tree_.childBoxes(node);
        Waiting near{node.left(), prepared.enters(boxes[0], best.t)};
        Waiting far{node.right(), prepared.enters(boxes[1], best.t)};
        if (far.enters < near.enters) std::swap(near, far);
        if (far.enters < kMissed) stack[waiting++] = far;
        node = near.node;
        enters = near.enters;
        continue;
      }
      for (std::uint32_t i = tree_.begin(node); i < tree_.end(node); ++i) {
        double t = 0;
        Vec3 weights;
        if (!prepared.meets(corners_[i], best.t, t, weights)) continue;
        const std::uint32_t face = tree_.faces()[i];
        if (t == best.t && best.any() && face > best.point.face) continue;
        best.t = t;
        best.point = {face, weights};
        if constexpr (kAny) return best;
      }
    }
    if (waiting == 0) break;
    node = stack[--waiting].node;
    enters = stack[waiting].enters;
  }
  if (!best.any()) best.t = kMissed;
  return best;
}

RayHit RayQuery::nearest(const Ray& ray) const {
  return search<false>(ray);
}

bool RayQuery::blocked(const Ray& ray) const {
  return search<true>(ray).any();
}

}  // namespace heatskin
