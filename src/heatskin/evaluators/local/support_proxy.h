#pragma once

// A coarser copy of a fine surface that supports live on (METHOD section 8): how many faces a kernel reaches
// is then a matter of the kernel's size, not of the mesh. Kernels and walks stay on the surface itself; every
// point of it, a query or a kernel's centre, has a nearest point on the copy.
//
// METHOD maps faces, by their centroids. We map points: two faces that meet at an edge then agree on where a
// point of it lies on the copy, and colours do not jump there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// See the head of the file. Deterministic; in the coordinates of the surface it was made from.
class SupportProxy {
 public:
  /// With about `faces` faces, by quadric error. Null where that would gain little: the surface has fewer
  /// than twice as many, cannot be simplified so far within kMostError, or would lose one of its components.
  static std::unique_ptr<SupportProxy> build(const Surface& surface, std::size_t faces);

  /// A copy that a file has stored: `vertices` [V of the copy] are vertices of the surface, face f of the
  /// surface is served by faces[begin[f]] to faces[begin[f + 1] - 1], at least one. Nothing is simplified.
  static std::unique_ptr<SupportProxy> fromStored(Surface copy, std::vector<std::uint32_t> vertices,
                                                  std::span<const std::uint32_t> begin,
                                                  std::span<const std::uint32_t> faces);

  const Surface& surface() const { return proxy_; }

  /// Vertices of the surface that those of the copy are; [V of the copy].
  std::span<const std::uint32_t> vertices() const { return vertices_; }

  /// Entries that the lists of neighbours of a copy take: those of faces around a vertex are quadratic in
  /// their number.
  static double ringEntries(const Surface& copy);

  /// A point of the copy.
  struct Place {
    std::uint32_t face;
    Vec2f x;  ///< face coordinates, in the triangle
  };

  /// The point of the copy that is nearest to the point `x` of face `face`: on the faces of its list, or on
  /// faces beside them where that point lies at a border.
  Place place(std::uint32_t face, const Vec3f& x) const {
    const std::uint32_t entry = entries_[face];
    if ((entry & kSeveral) == 0) {
      const Nearest nearest = inTriangle(tiles_[entry], x);
      if (nearest.inside) return {entry, nearest.x};
    }
    return nearestOf(facesOf(face), x);
  }

  /// The point of a face of the copy that is nearest to `x`.
  Vec2f placeOn(std::uint32_t proxy_face, const Vec3f& x) const {
    return inTriangle(tiles_[proxy_face], x).x;
  }

  /// The faces of the copy that serve a face of the surface, in ascending order, at least one: those that are
  /// nearest to its corners, to three points of each side and to its centroid. They belong to the same
  /// component, and none looks the other way unless all do: the back of a thin wall never serves its front.
  std::span<const std::uint32_t> facesOf(std::uint32_t face) const {
    const std::uint32_t& entry = entries_[face];
    if ((entry & kSeveral) == 0) return {&entry, 1};
    const std::uint32_t* list = lists_.data() + (entry & ~kSeveral);
    return {list + 1, *list};
  }

  /// Brings what place() reads first into the cache.
  void prefetch(std::uint32_t face) const { __builtin_prefetch(&entries_[face]); }

  /// Bytes that build() takes at its peak and what stays, about; for the memory budget.
  struct Bytes {
    double peak, kept;
  };
  static Bytes bytes(double faces, double vertices, std::size_t proxy_faces, int threads);

  /// How far the proxy may be from the surface, as a part of its extent: well inside the windows of kernels.
  static constexpr float kMostError = 0.005f;

 private:
  /// A face of the copy as place() reads it: one cache line.
  struct alignas(64) Tile {
    Vec3f origin, x_axis, y_axis;
    Vec2f corners[3];
  };
  static_assert(sizeof(Tile) == 64);

  /// The nearest point of a tile, its squared distance, and whether it is the foot of the perpendicular.
  struct Nearest {
    Vec2f x;
    float squared;
    bool inside;
  };

  class Mapper;

  explicit SupportProxy(Surface proxy);

  void findRings();

  static Nearest inTriangle(const Tile& tile, const Vec3f& x) {
    const Vec3f from = x - tile.origin;
    Nearest nearest{{tile.x_axis.dot(from), tile.y_axis.dot(from)}, 0, true};
    const float height = tile.x_axis.cross(tile.y_axis).dot(from);
    nearest.squared = height * height;
    const auto left = [&](const Vec2f& a, const Vec2f& b) {
      return (b.x() - a.x()) * (nearest.x.y() - a.y()) - (b.y() - a.y()) * (nearest.x.x() - a.x());
    };
    const Vec2f(&c)[3] = tile.corners;
    const float least = std::min({left(c[0], c[1]), left(c[1], c[2]), left(c[2], c[0])});
    if (!(least >= 0)) clampInto(tile, nearest);
    return nearest;
  }
  /// For a point of the plane outside of the triangle.
  static void clampInto(const Tile& tile, Nearest& nearest);
  Place nearestOf(std::span<const std::uint32_t> faces, const Vec3f& x) const;

  static constexpr std::uint32_t kSeveral = std::uint32_t{1} << 31;

  /// Faces that share a vertex with a face of the copy.
  std::span<const std::uint32_t> ringOf(std::uint32_t face) const {
    return std::span(rings_).subspan(ring_begin_[face], ring_begin_[face + 1] - ring_begin_[face]);
  }

  Surface proxy_;
  std::vector<std::uint32_t> vertices_;    // [vertices of the proxy] of the surface
  std::vector<Tile> tiles_;                // [faces of the proxy]
  std::vector<std::uint32_t> ring_begin_;  // [faces of the proxy + 1]
  std::vector<std::uint32_t> rings_;
  std::vector<std::uint32_t> entries_;  // [F] the face of the proxy; or kSeveral + where its list begins
  std::vector<std::uint32_t> lists_;    // lengths, each followed by so many faces
};

}  // namespace heatskin::local
