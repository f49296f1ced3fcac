#pragma once

// The vector types of the whole library. Geometry is computed in double; float variants hold bulk attributes
// (texture coordinates, colours) and the inputs of vectorised loops.

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace heatskin {

using Vec2 = Eigen::Vector2d;
using Vec3 = Eigen::Vector3d;
using Vec4 = Eigen::Vector4d;
using Vec2f = Eigen::Vector2f;
using Vec3f = Eigen::Vector3f;
using Vec4f = Eigen::Vector4f;
using Mat2 = Eigen::Matrix2d;
using Mat3 = Eigen::Matrix3d;
using Affine3 = Eigen::Transform<double, 3, Eigen::AffineCompact>;

/// z component of the 3D cross product of two plane vectors: positive when `b` lies to the left of `a`.
inline double cross2(const Vec2& a, const Vec2& b) {
  return a.x() * b.y() - a.y() * b.x();
}

/// `a` turned by 90 degrees counter-clockwise.
inline Vec2 perp(const Vec2& a) {
  return {-a.y(), a.x()};
}

}  // namespace heatskin
