#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/closest_point.h"

namespace heatskin {
namespace {

/// Barycentric coordinates may miss their sum and their range by this much: three numbers written with four
/// decimals.
constexpr double kBarycentricTolerance = 2e-4;

/// In surface units; beyond it, distances are not finite in single precision.
constexpr double kFarthest = 1e15;

}  // namespace

struct SurfacePointFinder::Impl {
  const Surface& surface;
  SourceTriangles triangles;
  std::once_flag once;
  std::optional<ClosestPointQuery> closest;  // made when it is first needed

  Impl(const Asset& asset, const Surface& of) : surface(of), triangles(asset, of) {}

  /// Nearest surface points of positions in asset coordinates.
  FoundPoints find(std::span<const Vec3> positions) {
    std::call_once(once, [&] { closest.emplace(surface); });
    const Similarity& surface_from_asset = surface.surfaceFromAsset();
    std::vector<Vec3> places(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i)
      places[i] = surface_from_asset(positions[i]);
    std::vector<ClosestPoint> found(positions.size());
    closest->find(places, found);
    FoundPoints out;
    out.points.reserve(found.size());
    for (const ClosestPoint& point : found) {
      out.points.push_back(point.point);
      out.max_distance = std::max(out.max_distance, point.distance / surface_from_asset.scale);
    }
    return out;
  }
};

SurfacePointFinder::SurfacePointFinder(const Asset& asset, const Surface& surface)
    : name_of([](std::size_t i) { return fmt::format("point {}", i); }),
      impl_(std::make_unique<Impl>(asset, surface)) {}

SurfacePointFinder::~SurfacePointFinder() = default;

std::size_t SurfacePointFinder::triangleCount() const {
  return impl_->triangles.size();
}

Result<FoundPoints> SurfacePointFinder::fromPositions(std::span<const Vec3> positions) const {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (!(impl_->surface.surfaceFromAsset()(positions[i]).cwiseAbs().maxCoeff() < kFarthest))
      return inputError(fmt::format("{}: the point is too far from the surface", name_of(i)));
  }
  return impl_->find(positions);
}

Result<FoundPoints> SurfacePointFinder::fromTriangles(std::span<const TrianglePoint> points) const {
  const SourceTriangles& triangles = impl_->triangles;
  FoundPoints out;
  out.points.resize(points.size());
  std::vector<std::size_t> without_face;
  std::vector<Vec3> positions;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].triangle >= triangles.size()) {
      return inputError(fmt::format("{}: face {} does not exist, the file has faces 0 to {}", name_of(i),
                                    points[i].triangle, triangles.size() - 1));
    }
    Vec3 b = points[i].barycentric;
    if (!(b.minCoeff() >= -kBarycentricTolerance && std::abs(b.sum() - 1) <= kBarycentricTolerance)) {
      return inputError(
          fmt::format("{}: barycentric coordinates {}, {}, {} must be at least 0 and add up to 1", name_of(i),
                      b[0], b[1], b[2]));
    }
    b = b.cwiseMax(0.0);
    const TrianglePoint point{points[i].triangle, b / b.sum()};
    if (triangles.faceOf(point.triangle) != kNone) {
      out.points[i] = triangles.toSurface(point);
    } else {
      without_face.push_back(i);
      positions.push_back(triangles.assetPosition(point));
    }
  }
  if (positions.empty()) return out;
  const FoundPoints found = impl_->find(positions);
  out.max_distance = found.max_distance;
  for (std::size_t i = 0; i < without_face.size(); ++i)
    out.points[without_face[i]] = found.points[i];
  return out;
}

std::vector<Vec3> SurfacePointFinder::toPositions(std::span<const SurfacePoint> points) const {
  const Similarity asset_from_surface = impl_->surface.assetFromSurface();
  std::vector<Vec3> out;
  out.reserve(points.size());
  for (const SurfacePoint& point : points)
    out.push_back(asset_from_surface(impl_->surface.position(point)));
  return out;
}

std::vector<TrianglePoint> SurfacePointFinder::toTriangles(std::span<const SurfacePoint> points) const {
  std::vector<TrianglePoint> out;
  out.reserve(points.size());
  for (const SurfacePoint& point : points)
    out.push_back(impl_->triangles.toTriangle(point));
  return out;
}

}  // namespace heatskin
