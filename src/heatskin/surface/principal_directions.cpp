#include "heatskin/surface/principal_directions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr std::uint32_t kNoTwin = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kVerticesPerBlock = 512;

// Five rings hold about 90 vertices on a regular mesh; a hub of a wheel could hold the whole mesh. The
// nearest rings come first, so cutting the list there keeps the best part.
constexpr std::size_t kMaxNeighbours = 400;

// Added to the diagonal of the normal equations (coordinates are scaled to unit neighbourhood size): picks
// the smallest quadric when neighbours do not determine one, and is far below the sampling error of the fit
// otherwise.
constexpr double kRidge = 1e-9;

// Difference of the principal curvatures, times the neighbourhood size, below which the direction is noise: a
// bulge of a millionth of the neighbourhood.
constexpr double kUmbilic = 1e-6;

/// The coordinate axis least aligned with the normal's largest component rule: stable over a flat region.
Vec3 fallbackDirection(const Vec3& normal) {
  // 0.8 leaves at least 37 degrees between the axis and the normal in the first branch.
  const Vec3 axis = std::abs(normal.x()) < 0.8 ? Vec3::UnitX() : Vec3::UnitY();
  return (axis - normal * normal.dot(axis)).normalized();
}

/// Collects the vertices within some rings of a vertex; reused by a thread for many vertices.
class RingCollector {
 public:
  explicit RingCollector(const SurfaceTopology& surface)
      : surface_(surface), stamp_(surface.positions.size(), 0) {}

  /// Neighbours in ring order, the vertex itself not included.
  const std::vector<std::uint32_t>& collect(std::uint32_t center, int rings) {
    ++current_;
    found_.clear();
    stamp_[center] = current_;
    addNeighbours(center, center);
    std::size_t begin = 0;
    for (int ring = 1; ring < rings && found_.size() < kMaxNeighbours; ++ring) {
      const std::size_t end = found_.size();
      for (std::size_t i = begin; i < end && found_.size() < kMaxNeighbours; ++i)
        addNeighbours(found_[i], center);
      begin = end;
    }
    return found_;
  }

 private:
  void addNeighbours(std::uint32_t v, std::uint32_t center) {
    const std::uint32_t first = surface_.vertex_half_edge[v];
    // Looked at, not only found: where normals disagree the fan of a hub would be gone through in vain for
    // every vertex around it.
    std::size_t looked = 0;
    for (std::uint32_t h = first; found_.size() < kMaxNeighbours && looked < kMaxNeighbours; ++looked) {
      const std::uint32_t face = h / 3, corner = h % 3;
      add(surface_.faces[face][(corner + 1) % 3], center);
      const std::uint32_t before = (corner + 2) % 3;
      const std::uint32_t twin = surface_.twins[face][before];
      if (twin == kNoTwin) add(surface_.faces[face][before], center);
      h = twin;
      if (h == kNoTwin || h == first) break;
    }
  }
  void add(std::uint32_t v, std::uint32_t center) {
    if (stamp_[v] == current_) return;
    stamp_[v] = current_;
    if (surface_.normals[v].dot(surface_.normals[center]) > 0) found_.push_back(v);
  }

  const SurfaceTopology& surface_;
  std::vector<std::uint32_t> stamp_;
  std::uint32_t current_ = 0;
  std::vector<std::uint32_t> found_;
};

Vec3 fitDirection(const SurfaceTopology& surface, std::uint32_t v,
                  std::span<const std::uint32_t> neighbours) {
  const Vec3& normal = surface.normals[v];
  const Vec3 x_axis = fallbackDirection(normal);
  const Vec3 y_axis = normal.cross(x_axis);
  double size = 0;
  for (const std::uint32_t n : neighbours) {
    size = std::max(size, (surface.positions[n] - surface.positions[v]).squaredNorm());
  }
  if (!(size > 0)) return x_axis;
  const double scale = 1 / std::sqrt(size);

  // z = a x^2 + b x y + c y^2 + d x + e y in scaled tangent coordinates, by least squares.
  Eigen::Matrix<double, 5, 5> normal_matrix = Eigen::Matrix<double, 5, 5>::Identity() * kRidge;
  Eigen::Matrix<double, 5, 1> right = Eigen::Matrix<double, 5, 1>::Zero();
  for (const std::uint32_t n : neighbours) {
    const Vec3 d = (surface.positions[n] - surface.positions[v]) * scale;
    const double x = x_axis.dot(d), y = y_axis.dot(d), z = normal.dot(d);
    const Eigen::Matrix<double, 5, 1> row{x * x, x * y, y * y, x, y};
    normal_matrix.selfadjointView<Eigen::Lower>().rankUpdate(row);
    right += row * z;
  }
  normal_matrix.triangularView<Eigen::StrictlyUpper>() = normal_matrix.transpose();
  const Eigen::Matrix<double, 5, 1> q = normal_matrix.ldlt().solve(right);
  if (!q.allFinite()) return x_axis;

  // Shape operator of the graph at the origin, in an orthonormal basis of the fitted tangent plane.
  const double d = q[3], e = q[4];
  const Vec3 tangent_x = (x_axis + normal * d).normalized();
  const Vec3 fitted_normal = (normal - x_axis * d - y_axis * e).normalized();
  const Vec3 tangent_y = fitted_normal.cross(tangent_x);
  Mat2 second;  // second fundamental form in the parameter basis, convex positive
  const double stretch = std::sqrt(1 + d * d + e * e);
  second << -2 * q[0] / stretch, -q[1] / stretch, -q[1] / stretch, -2 * q[2] / stretch;
  // Parameter directions in the orthonormal tangent basis.
  const Vec3 du = x_axis + normal * d, dv = y_axis + normal * e;
  Mat2 basis;
  basis << tangent_x.dot(du), tangent_x.dot(dv), tangent_y.dot(du), tangent_y.dot(dv);
  const Mat2 inverse = basis.inverse();
  const Mat2 shape = inverse.transpose() * second * inverse;
  if (!shape.allFinite()) return x_axis;

  // Eigenvector of the larger eigenvalue of a symmetric 2x2 matrix, in closed form.
  const double half_difference = 0.5 * (shape(0, 0) - shape(1, 1));
  const double off = 0.5 * (shape(0, 1) + shape(1, 0));
  if (2 * std::hypot(half_difference, off) < kUmbilic) return x_axis;
  const double angle = 0.5 * std::atan2(off, half_difference);
  const Vec3 direction = tangent_x * std::cos(angle) + tangent_y * std::sin(angle);
  const Vec3 tangent = direction - normal * normal.dot(direction);
  // Steeper than 84 degrees against the vertex normal: the fit tipped over.
  constexpr double kMinTangentPart = 0.1;
  return tangent.norm() > kMinTangentPart ? tangent.normalized() : x_axis;
}

}  // namespace

std::vector<Vec3> principalDirections(const SurfaceTopology& surface, int rings) {
  std::vector<Vec3> directions(surface.positions.size());
  // A collector holds a stamp per vertex, so few large blocks; a block's result does not depend on its
  // neighbours.
  const std::size_t vertices = surface.positions.size();
  const std::size_t block = std::max(kVerticesPerBlock, vertices / 64 + 1);
  parallelFor(vertices, block, [&](std::size_t begin, std::size_t end) {
    RingCollector collector(surface);
    for (std::size_t v = begin; v < end; ++v) {
      const auto vertex = static_cast<std::uint32_t>(v);
      directions[v] = fitDirection(surface, vertex, collector.collect(vertex, rings));
    }
  });
  return directions;
}

}  // namespace heatskin
