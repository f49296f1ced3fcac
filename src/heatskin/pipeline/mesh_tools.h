#pragma once

// The geometry of the library on plain arrays: positions, triangles, and answers for their own numbers. What
// a surface makes of them (welded, cut, dropped, reoriented, normalised) stays inside: lengths, areas and
// times are in the units of the positions.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/io/asset.h"
#include "heatskin/operators/operators.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

namespace local {
class LogMap;
}

/// An asset of one mesh with one primitive, without a material.
Asset assetOfArrays(std::span<const Vec3> positions, std::span<const std::uint32_t> triangles);

/// The positions and triangles of an asset, instances counted: triangle t of the answer is triangle t of
/// TrianglePoint.
struct PlainArrays {
  std::vector<Vec3> positions;
  std::vector<std::uint32_t> triangles;  // [3 T]
};
PlainArrays arraysOf(const Asset& asset);

struct PlainMeshOptions {
  bool weld = false;           ///< positions that are equal count as one vertex
  bool principal_axes = true;  ///< angles count from principal directions, otherwise from edges
};

/// Where a path of walk() ended.
struct PlainWalk {
  TrianglePoint end;
  Vec3 position;
  Vec3 direction;  ///< the start direction, carried along the path; as long as it was
  double length = 0;
  WalkStop stop = WalkStop::kComplete;
};

/// The surface around a point in the plane of its triangle.
struct PlainLogMap {
  std::vector<Vec2> vertices;  // [V] NaN: not reached
  Vec3 x_axis, y_axis;         ///< in space, of the coordinates
};

/// A symmetric matrix in compressed rows; columns of a row are increasing.
struct PlainMatrix {
  std::vector<std::int64_t> begin;    // [V + 1]
  std::vector<std::int64_t> columns;  // [nnz]
  std::vector<double> values;         // [nnz]
};

struct PlainEigenpairs {
  std::vector<double> values;   // [k] ascending, per squared unit of length
  std::vector<double> vectors;  // [V, k] phi^T M phi = I; zero at vertices that no triangle uses
};

/// See the head of the file. Immutable; calls may run concurrently.
class PlainMesh {
 public:
  /// Refuses what Surface::build() refuses.
  static Result<std::shared_ptr<const PlainMesh>> build(std::span<const Vec3> positions,
                                                        std::span<const std::uint32_t> triangles,
                                                        const PlainMeshOptions& options = {});
  ~PlainMesh();

  std::size_t vertexCount() const { return surface_of_vertex_.size(); }
  std::size_t triangleCount() const { return finder_->triangleCount(); }
  const Surface& surface() const { return *surface_; }

  /// Points of triangles and of space to points of the surface, and back.
  const SurfacePointFinder& points() const { return *finder_; }

  /// Exact distances along the surface from a point, or from a vertex, to all vertices; infinite where there
  /// is no way or it is longer than `radius`. Fails for a vertex that no triangle uses, and
  /// (error_code::kCancelled) when `progress`, which may be null, says so.
  Result<std::vector<double>> distances(const SurfacePoint& source,
                                        double radius = std::numeric_limits<double>::infinity(),
                                        const Progress* progress = nullptr) const;
  Result<std::vector<double>> distancesFromVertex(std::uint32_t vertex,
                                                  double radius = std::numeric_limits<double>::infinity(),
                                                  const Progress* progress = nullptr) const;

  /// A point just inside of a triangle at the vertex. Fails for a vertex that no triangle uses.
  Result<SurfacePoint> pointAtVertex(std::uint32_t vertex) const;

  /// Straightest paths; `directions` are vectors in space, whose part in the plane of the triangle counts, as
  /// long as the path is to be. Spans have the same length.
  std::vector<PlainWalk> walk(std::span<const SurfacePoint> starts, std::span<const Vec3> directions,
                              BoundaryRule boundary = BoundaryRule::kStop) const;

  /// The unfolding of everything within `radius`, as LocalHK unfolds (evaluators/local/log_map.h).
  PlainLogMap logMap(const SurfacePoint& source, double radius) const;

  /// The stiffness matrix of an operator of any angle and anisotropy (operators/operators.h), positive
  /// semidefinite. Where several vertices of the surface come from one of ours, they are summed up.
  PlainMatrix stiffness(double angle, double anisotropy) const;

  /// A third of the area around each vertex; zero where no triangle uses it.
  std::vector<double> mass() const;

  /// exp(-time M^-1 L) x for columns of values at vertices; `x` is [V, width], single precision inside.
  /// Values at vertices that no triangle uses stay.
  Result<std::vector<float>> heat(std::span<const float> x, std::size_t width, double time, double angle,
                                  double anisotropy) const;

  /// The k smallest pairs of L phi = lambda M phi.
  Result<PlainEigenpairs> eigenpairs(std::size_t count, double angle, double anisotropy) const;

  /// The frame of a triangle's face: angles count from its x axis towards its y axis. NaN for triangles that
  /// the surface has dropped.
  struct Frame {
    Vec3 x_axis, y_axis;
  };
  std::vector<Frame> frames() const;

 private:
  PlainMesh() = default;

  Asset asset_;
  std::shared_ptr<const Surface> surface_;
  std::unique_ptr<const SurfacePointFinder> finder_;
  std::unique_ptr<const local::LogMap> log_map_;
  std::vector<std::uint32_t> surface_of_vertex_;  // [V] a vertex of the surface, or kNone
  std::vector<std::uint32_t> vertex_of_surface_;  // [vertices of the surface]
};

}  // namespace heatskin
