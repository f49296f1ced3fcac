#pragma once

// The welded, normalised, manifold triangle mesh everything else works on (METHOD section 1).
//
// Conventions (docs/conventions.md):
// - edge e of a face runs from corner e to corner (e + 1) % 3; corner (e + 2) % 3 is opposite;
// - a half-edge is the number 3 * face + e; its twin is the same edge seen from the neighbouring face;
// - a face's frame is right-handed: x axis = first axis (from principal curvature), y axis = normal x first
// axis,
//   origin = centroid. "Face coordinates" are 2D coordinates in that frame.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"

namespace heatskin {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// A place on a Surface: a face and barycentric coordinates (non-negative, sum 1) for its corners 0, 1, 2.
struct SurfacePoint {
  std::uint32_t face = 0;
  Vec3 barycentric = {1.0 / 3, 1.0 / 3, 1.0 / 3};
};

/// x -> scale * x + translation.
struct Similarity {
  double scale = 1;
  Vec3 translation = Vec3::Zero();

  Vec3 operator()(const Vec3& x) const { return scale * x + translation; }
  Similarity inverse() const { return {1 / scale, -translation / scale}; }
};

/// A rotation and translation of the plane: x -> R x + translation, R = [cosine -sine; sine cosine].
struct Rigid2 {
  double cosine = 1;
  double sine = 0;
  Vec2 translation = Vec2::Zero();

  Vec2 rotate(const Vec2& x) const { return {cosine * x.x() - sine * x.y(), sine * x.x() + cosine * x.y()}; }
  Vec2 rotateBack(const Vec2& x) const {
    return {cosine * x.x() + sine * x.y(), -sine * x.x() + cosine * x.y()};
  }
  Vec2 operator()(const Vec2& x) const { return rotate(x) + translation; }
  Rigid2 inverse() const { return {cosine, -sine, -rotateBack(translation)}; }
};

/// First `b`, then `a`.
inline Rigid2 operator*(const Rigid2& a, const Rigid2& b) {
  return {a.cosine * b.cosine - a.sine * b.sine, a.sine * b.cosine + a.cosine * b.sine, a(b.translation)};
}

/// The orthonormal frame of a face in surface coordinates.
struct FaceFrame {
  Vec3 origin;  ///< centroid
  Vec3 x_axis;  ///< first axis
  Vec3 y_axis;  ///< normal x first axis

  Vec3 normal() const { return x_axis.cross(y_axis); }
  Vec2 toFace(const Vec3& x) const { return {x_axis.dot(x - origin), y_axis.dot(x - origin)}; }
  Vec2 directionToFace(const Vec3& v) const { return {x_axis.dot(v), y_axis.dot(v)}; }
  Vec3 fromFace(const Vec2& p) const { return origin + p.x() * x_axis + p.y() * y_axis; }
  Vec3 directionFromFace(const Vec2& v) const { return v.x() * x_axis + v.y() * y_axis; }
};

/// Where a face of the surface comes from. Corner c of the face is corner `corners[c]` of that triangle of
/// the input (orientation repair and mirrored instances swap corners).
struct FaceSource {
  std::uint32_t instance = 0;   ///< index into Asset::instances; 0 for plain arrays
  std::uint32_t primitive = 0;  ///< index into the instance's mesh's primitives; 0 for plain arrays
  std::uint32_t triangle = 0;   ///< index into the primitive's triangles, or into the array of triangles
  std::array<std::uint8_t, 3> corners = {0, 1, 2};
};

/// What a surface is built from: triangles as they come, before welding.
struct TriangleSoup {
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> triangles;  // [T] indices into positions, counter-clockwise
  std::vector<FaceSource> sources;                      // [T], or empty: triangle t comes from triangle t
  std::string name;                                     ///< for messages: a file, or empty
};

/// Counts of what was found in the input's triangles before and what was done to make them a surface.
struct SurfaceReport {
  // As in the input, after welding equal positions (the numbers of the asset manifest).
  std::size_t vertices = 0;           ///< used by at least one triangle
  std::size_t faces = 0;              ///< all triangles
  std::size_t components = 0;         ///< joined through shared welded vertices
  std::size_t boundary_edges = 0;     ///< edges of exactly one face
  std::size_t nonmanifold_edges = 0;  ///< edges of three or more faces

  // What was wrong and what was done.
  std::size_t degenerate_faces = 0;  ///< dropped: repeated vertex or (relatively) zero area
  std::size_t duplicate_faces = 0;   ///< dropped: same three vertices as an earlier face
  std::size_t nonmanifold_vertices =
      0;                      ///< bow ties: vertices whose faces form more than one fan (after cutting edges)
  std::size_t cut_edges = 0;  ///< non-manifold edges cut into boundary edges or pairs
  std::size_t duplicated_vertices = 0;       ///< vertices added by cutting
  std::size_t flipped_faces = 0;             ///< faces whose orientation was changed
  std::size_t nonorientable_components = 0;  ///< cut open along edges where no orientation fits
  std::size_t sliver_faces = 0;     ///< kept, but with a height below a millionth of their longest edge
  std::size_t unused_vertices = 0;  ///< in the input, used by no triangle
};

struct SurfaceOptions {
  bool principal_axes = true;  ///< false: first axes are edge directions (cheaper; for viewing and tests)
  int curvature_rings = 5;     ///< neighbourhood of the quadric fit
  bool normalise = true;       ///< false: coordinates stay as given (up to rounding)
  bool weld = true;            ///< false: vertices at one place stay apart, as the triangles name them
};

/// See the head of the file. Immutable after it was built; cheap to move, large to copy.
class Surface {
 public:
  /// Builds the surface of all triangles. Refuses an index that does not exist, a position that is not finite
  /// and a mesh without area. The surface of an asset is io/asset_surface.h.
  static Result<Surface> build(TriangleSoup soup, const SurfaceOptions& options = {});

  /// The same from plain arrays.
  static Result<Surface> build(std::span<const Vec3> positions,
                               std::span<const std::array<std::uint32_t, 3>> faces,
                               const SurfaceOptions& options = {});

  std::uint32_t vertexCount() const { return static_cast<std::uint32_t>(positions_.size()); }
  std::uint32_t faceCount() const { return static_cast<std::uint32_t>(faces_.size()); }

  std::span<const Vec3> positions() const { return positions_; }                  // [V] normalised
  std::span<const std::array<std::uint32_t, 3>> faces() const { return faces_; }  // [F]
  std::span<const std::array<std::uint32_t, 3>> twins() const { return twins_; }  // [F] half-edge or kNone
  std::span<const std::array<Vec2, 3>> corners() const { return corners_; }       // [F] face coordinates
  std::span<const FaceFrame> frames() const { return frames_; }                   // [F]
  std::span<const double> areas() const { return areas_; }                        // [F]
  std::span<const std::uint32_t> components() const { return components_; }       // [F] component of a face
  std::span<const FaceSource> sources() const { return sources_; }                // [F]
  std::span<const Vec3> vertexNormals() const { return vertex_normals_; }         // [V] angle-weighted, unit
  std::span<const Vec3> principalDirections() const {
    return principal_directions_;
  }  // [V] unit, tangent; or empty
  std::span<const std::uint32_t> vertexHalfEdge() const {
    return vertex_half_edge_;
  }  // [V] an outgoing half-edge;
     // on a boundary the first one in ccw order
  std::uint32_t componentCount() const { return component_count_; }
  double totalArea() const { return total_area_; }
  double meanEdgeLength() const { return mean_edge_length_; }
  bool isBoundaryVertex(std::uint32_t v) const { return boundary_vertex_[v] != 0; }

  /// Boundary loops as half-edges, each in the direction of its faces; the loops are disjoint and closed.
  std::span<const std::vector<std::uint32_t>> boundaryLoops() const { return boundary_loops_; }

  /// Surface coordinates (longest bounding-box side 2, area centroid at the origin) from asset coordinates.
  const Similarity& surfaceFromAsset() const { return surface_from_asset_; }
  Similarity assetFromSurface() const { return surface_from_asset_.inverse(); }

  const SurfaceReport& report() const { return report_; }

  /// The report as sentences, in a fixed order; empty for a clean mesh.
  std::vector<Notice> notices() const;

  Vec2 faceCoordinates(const SurfacePoint& p) const {
    const auto& c = corners_[p.face];
    return p.barycentric[0] * c[0] + p.barycentric[1] * c[1] + p.barycentric[2] * c[2];
  }
  Vec3 position(const SurfacePoint& p) const {
    const auto& f = faces_[p.face];
    return p.barycentric[0] * positions_[f[0]] + p.barycentric[1] * positions_[f[1]] +
           p.barycentric[2] * positions_[f[2]];
  }
  /// Barycentric coordinates of face coordinates; not clamped (points outside have negative entries), sum 1.
  Vec3 barycentric(std::uint32_t face, const Vec2& p) const;

  /// Face coordinates of the neighbour across edge e from face coordinates of `face`: the neighbour unfolded
  /// into the plane of `face`, as a motion. The twin must exist.
  Rigid2 neighbourFromFace(std::uint32_t face, int e) const {
    const std::uint32_t twin = twins_[face][static_cast<std::size_t>(e)];
    const auto& here = corners_[face];
    const auto& there = corners_[twin / 3];
    const auto e0 = static_cast<std::size_t>(e), e1 = (e0 + 1) % 3;
    const std::size_t t0 = twin % 3, t1 = (t0 + 1) % 3;
    // The twin runs the other way: our corner e is its corner t1.
    const Vec2 a = here[e1] - here[e0];
    const Vec2 b = there[t0] - there[t1];
    // a and b have the same length up to rounding; dividing by the product of lengths keeps the matrix a
    // rotation.
    const double inverse = 1.0 / std::sqrt(a.squaredNorm() * b.squaredNorm());
    Rigid2 motion{a.dot(b) * inverse, cross2(a, b) * inverse, Vec2::Zero()};
    // The midpoint maps to the midpoint: rounding of the lengths is shared by both ends.
    motion.translation = 0.5 * (there[t0] + there[t1]) - motion.rotate(0.5 * (here[e0] + here[e1]));
    return motion;
  }

 private:
  friend class SurfaceBuilder;

  std::vector<Vec3> positions_;
  std::vector<std::array<std::uint32_t, 3>> faces_;
  std::vector<std::array<std::uint32_t, 3>> twins_;
  std::vector<std::array<Vec2, 3>> corners_;
  std::vector<FaceFrame> frames_;
  std::vector<double> areas_;
  std::vector<std::uint32_t> components_;
  std::vector<FaceSource> sources_;
  std::vector<Vec3> vertex_normals_;
  std::vector<Vec3> principal_directions_;
  std::vector<std::uint32_t> vertex_half_edge_;
  std::vector<std::uint8_t> boundary_vertex_;
  std::vector<std::vector<std::uint32_t>> boundary_loops_;
  Similarity surface_from_asset_;
  SurfaceReport report_;
  std::uint32_t component_count_ = 0;
  double total_area_ = 0;
  double mean_edge_length_ = 0;
};

}  // namespace heatskin
