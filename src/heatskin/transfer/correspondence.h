#pragma once

// Where the points of one surface are on another one of the same shape: the nearest point that faces the same
// way. Another tessellation, a re-export, a simplified or slightly smoothed copy, a second scan.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin {

class ClosestPointQuery;

/// Points further apart than this part of the longest side have nothing to do with each other. A coarse
/// simplification moves a surface by less than a third of it.
inline constexpr double kMostApart = 0.02;

/// A point of the other surface.
struct Counterpart {
  SurfacePoint point;    ///< the nearest one that faces the same way, or, without one nearby, the nearest
  double distance = 0;   ///< in units of the other surface
  bool matched = false;  ///< near enough, and on the same side
};

/// See the head of the file. Never through thin walls: a point whose normal differs by more than 90 degrees
/// is no counterpart, however near. Parts that are wound the other way round count as turned. Immutable;
/// calls may run concurrently; both surfaces must outlive it.
class Correspondence {
 public:
  /// Coordinates are those of the assets or, if the surfaces are in common only once both are moved and
  /// scaled to the same size, those of the surfaces. `most_apart` is a part of the longest side.
  Correspondence(const Surface& from, const Surface& to, double most_apart = kMostApart);
  ~Correspondence();

  const Surface& from() const { return *from_; }
  const Surface& to() const { return *to_; }

  /// Surface coordinates of `to` from those of `from`.
  const Similarity& toFromFrom() const { return motion_; }

  /// Counterparts on `to` of points of `from`; spans of one length.
  void find(std::span<const SurfacePoint> points, std::span<Counterpart> out) const;
  Counterpart find(const SurfacePoint& point) const;

  /// A direction in the plane of a face of `from` as one in the plane of a face of `to`: turned with the
  /// normal, its length kept. Mirrored where the face's part is wound the other way round.
  Vec2 carry(std::uint32_t from_face, std::uint32_t to_face, const Vec2& direction) const;

  /// The part of the area of `from` that has counterparts, estimated.
  double matchedShare() const { return matched_share_; }

 private:
  double share() const;
  void vote();

  const Surface* from_;
  const Surface* to_;
  double most_apart_;
  Similarity motion_;
  std::vector<std::int8_t> sides_;  // [components of from] +1, or -1: wound the other way round
  std::unique_ptr<const ClosestPointQuery> query_;
  double matched_share_ = 0;
};

}  // namespace heatskin
