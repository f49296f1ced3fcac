#include "heatskin/product/source_triangles.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace heatskin {
namespace {

/// `angle` modulo pi, in [0, pi).
double wrapAxis(double angle) {
  const double wrapped = angle - std::numbers::pi * std::floor(angle / std::numbers::pi);
  // A tiny negative angle is rounded up to pi itself.
  return wrapped < std::numbers::pi ? wrapped : 0;
}

const std::vector<Primitive>& primitivesOf(const Asset& asset, const Instance& instance) {
  static const std::vector<Primitive> kNothing;
  return instance.mesh < 0 ? kNothing : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives;
}

}  // namespace

std::size_t countTriangles(const Asset& asset) {
  std::size_t count = 0;
  for (const Instance& instance : asset.instances) {
    for (const Primitive& primitive : primitivesOf(asset, instance))
      count += primitive.triangleCount();
  }
  return count;
}

SourceTriangles::SourceTriangles(const Asset& asset, const Surface& surface)
    : asset_(&asset), surface_(&surface) {
  std::vector<std::size_t> first_run(asset.instances.size());
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < asset.instances.size(); ++i) {
    const auto& primitives = primitivesOf(asset, asset.instances[i]);
    first_run[i] = runs_.size();
    for (std::size_t p = 0; p < primitives.size(); ++p) {
      runs_.push_back({count, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p)});
      count += static_cast<std::uint32_t>(primitives[p].triangleCount());
    }
  }
  face_of_triangle_.assign(count, kNone);
  triangle_of_face_.resize(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const std::uint32_t triangle =
        runs_[first_run[source.instance] + source.primitive].first + source.triangle;
    triangle_of_face_[f] = triangle;
    face_of_triangle_[triangle] = f;
  }
}

TrianglePoint SourceTriangles::toTriangle(const SurfacePoint& point) const {
  TrianglePoint out{triangle_of_face_[point.face], Vec3::Zero()};
  const auto& corners = surface_->sources()[point.face].corners;
  for (std::size_t c = 0; c < 3; ++c)
    out.barycentric[corners[c]] = point.barycentric[static_cast<Eigen::Index>(c)];
  return out;
}

SurfacePoint SourceTriangles::toSurface(const TrianglePoint& point) const {
  SurfacePoint out{face_of_triangle_[point.triangle], Vec3::Zero()};
  assert(out.face != kNone);
  const auto& corners = surface_->sources()[out.face].corners;
  for (std::size_t c = 0; c < 3; ++c)
    out.barycentric[static_cast<Eigen::Index>(c)] = point.barycentric[corners[c]];
  return out;
}

SourceTriangles::Orientation SourceTriangles::orientation(std::uint32_t face) const {
  std::array<Vec2, 3> corner;
  for (std::size_t c = 0; c < 3; ++c)
    corner[surface_->sources()[face].corners[c]] = surface_->corners()[face][c];
  const Vec2 edge = corner[1] - corner[0];
  return {std::atan2(edge.y(), edge.x()), cross2(edge, corner[2] - corner[0]) < 0 ? -1.0 : 1.0};
}

double SourceTriangles::axisInTriangle(std::uint32_t face, double angle) const {
  const Orientation o = orientation(face);
  return wrapAxis(o.sign * (angle - o.angle));
}

double SourceTriangles::axisInFace(std::uint32_t face, double angle) const {
  const Orientation o = orientation(face);
  return wrapAxis(o.angle + o.sign * angle);
}

Vec2 SourceTriangles::vectorInTriangle(std::uint32_t face, const Vec2& vector) const {
  const Orientation o = orientation(face);
  const Rigid2 turn{std::cos(o.angle), std::sin(o.angle)};
  const Vec2 along = turn.rotateBack(vector);
  return {along.x(), o.sign * along.y()};
}

Vec2 SourceTriangles::vectorInFace(std::uint32_t face, const Vec2& vector) const {
  const Orientation o = orientation(face);
  const Rigid2 turn{std::cos(o.angle), std::sin(o.angle)};
  return turn.rotate({vector.x(), o.sign * vector.y()});
}

Vec3 SourceTriangles::assetPosition(const TrianglePoint& point) const {
  // The last run that begins at or before the triangle; empty primitives share their beginning with the next.
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), point.triangle,
                       [](std::uint32_t triangle, const Run& run) { return triangle < run.first; });
  const Run& run = *(after - 1);
  const Instance& instance = asset_->instances[run.instance];
  const Primitive& primitive = primitivesOf(*asset_, instance)[run.primitive];
  const std::size_t at = 3 * std::size_t{point.triangle - run.first};
  Vec3 sum = Vec3::Zero();
  for (std::size_t c = 0; c < 3; ++c)
    sum += point.barycentric[static_cast<Eigen::Index>(c)] * primitive.positions[primitive.triangles[at + c]];
  return instance.asset_from_mesh * sum;
}

}  // namespace heatskin
