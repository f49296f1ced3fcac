#pragma once

// The straightest geodesic: start somewhere, keep straight, carry the tangent plane along (METHOD section 4,
// GeodesicOpt). Across an edge "straight" means unfolding the next face; through a vertex it means equal
// angles to the left and to the right (Polthier and Schmies, "Straightest geodesics on polyhedral surfaces",
// 1998). Options in, outcome out: a walk cannot fail and cannot leave the surface.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

enum class BoundaryRule : std::uint8_t {
  kStop,   ///< the walk ends where it meets the boundary
  kSlide,  ///< it goes on along the boundary with the tangential part of what was left
};

enum class WalkStop : std::uint8_t {
  kComplete,      ///< the whole length was walked
  kBoundary,      ///< a boundary ended it (kStop), or left no tangential part to slide with (kSlide)
  kSlid,          ///< ended as asked after sliding along a boundary at least once
  kMaxCrossings,  ///< the safety limit of WalkOptions ended it
  kBadInput,      ///< a direction that is not finite, or a face that does not exist: nothing was walked
};

/// Coordinates of a surface are of size 1 and a walk adds up the rounding of many of them: a path that was
/// aimed at a vertex may miss it by some hundred ulp, however short the edges there are.
inline constexpr double kVertexRadius = 1e-13;

struct WalkOptions {
  BoundaryRule boundary = BoundaryRule::kStop;

  /// A hit closer to a corner than this fraction of the edge, or than kVertexRadius, passes through the
  /// vertex. Far above the rounding of a walk that was aimed at the vertex, far below what anybody can see.
  double vertex_tolerance = 1e-10;

  /// Edges crossed, and faces looked at around vertices, before giving up; only absurd lengths get there.
  std::uint32_t max_crossings = std::uint32_t{1} << 20;
};

struct WalkOutcome {
  SurfacePoint end;   ///< barycentric coordinates are non-negative and sum to 1 up to rounding
  double length = 0;  ///< walked; the length asked for if stop == kComplete

  /// Face coordinates of the end face from face coordinates of the start face, developed along the path. A
  /// tangent vector is transported by rotate(), a developed point (a kernel's centre) by the whole motion;
  /// the start point goes to the end point minus the transported displacement.
  Rigid2 end_from_start;

  std::uint32_t crossings = 0;  ///< edges crossed
  std::uint32_t vertices = 0;   ///< vertices passed
  WalkStop stop = WalkStop::kComplete;
};

/// Walks from `start` along `direction` (face coordinates of the start face; its length is the distance).
///
/// At a start point on an edge or a vertex the direction may point out of the start face: the neighbouring
/// faces continue the plane of the start face, so the walk is the limit of walks that start just inside.
/// Invalid barycentric coordinates are clamped and normalised first.
WalkOutcome walk(const Surface& surface, const SurfacePoint& start, const Vec2& direction,
                 const WalkOptions& options = {});

/// Many walks, in parallel; outcome i belongs to start i. All spans have the same length.
void walk(const Surface& surface, std::span<const SurfacePoint> starts, std::span<const Vec2> directions,
          std::span<WalkOutcome> outcomes, const WalkOptions& options = {});

/// walk() for many walks on one surface: a table with one record per face holds what a crossing needs, 128
/// bytes per face; a surface with more than kMostRecords faces gets none, which would not fit into any cache.
/// Outcomes are bit-identical to walk(). The surface must outlive the walker.
class Walker {
 public:
  /// Two cache lines; the whole of a crossing is in the record of the face that is entered and in that of the
  /// face that is left.
  struct alignas(64) Record {
    double corner[3][2];      ///< face coordinates
    double turn[3][2];        ///< per edge: cosine and sine of the neighbour's face coordinates from ours
    std::uint32_t across[3];  ///< per edge: 4 * neighbouring face + its edge, or kNone
    float inverse_length[3];  ///< per edge
    double inverse_area;      ///< 1 / twice the area; 0 for slivers
  };

  static constexpr std::uint32_t kMostRecords = 200'000;

  explicit Walker(const Surface& surface);

  WalkOutcome walk(const SurfacePoint& start, const Vec2& direction, const WalkOptions& options = {}) const;

  void walk(std::span<const SurfacePoint> starts, std::span<const Vec2> directions,
            std::span<WalkOutcome> outcomes, const WalkOptions& options = {}) const;

  const Surface& surface() const { return *surface_; }

 private:
  const Surface* surface_;
  std::vector<Record> records_;  // [F], or empty
};

}  // namespace heatskin
