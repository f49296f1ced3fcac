#pragma once

// For tests: what must be true of every walk, and two slow ways to find out. Not part of the library.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "heatskin/geodesic/walk-inl.h"
#include "heatskin/geodesic/walk.h"

namespace heatskin::testing {

inline constexpr double kEps = std::numeric_limits<double>::epsilon();

/// Rounding of a walk: every crossing and every face looked at around a vertex may move the path by a few ulp
/// of a coordinate (surface coordinates are of size 1) and turn it by a few ulp, which the length multiplies.
inline double walkRounding(const WalkOutcome& outcome, double length) {
  return 16 * kEps * (outcome.crossings + 40.0 * outcome.vertices + 8) * (1 + length);
}

/// Writes down which edges were crossed. Wraps any source of hinges.
template <class Faces>
class RecordingFaces {
 public:
  explicit RecordingFaces(const Faces& faces) : faces_(faces) {}
  auto corner(std::uint32_t face, std::uint32_t k) const { return faces_.corner(face, k); }
  std::uint32_t across(std::uint32_t face, std::uint32_t e) const { return faces_.across(face, e); }
  auto turn(std::uint32_t face, std::uint32_t e) const {
    crossed.push_back(3 * face + e);
    return faces_.turn(face, e);
  }
  float inverseLength(std::uint32_t face, std::uint32_t e) const { return faces_.inverseLength(face, e); }
  double inverseArea(std::uint32_t face) const { return faces_.inverseArea(face); }
  mutable std::vector<std::uint32_t> crossed;  ///< half-edges, in order

 private:
  const Faces& faces_;
};

/// Checks walks; an empty answer means everything holds.
class WalkChecker {
 public:
  explicit WalkChecker(const Surface& surface) : surface_(surface) {}

  /// Barycentric coordinates, counts, stop reason, a proper rotation, and where the start point goes.
  std::string checkOutcome(const SurfacePoint& start, const Vec2& direction,
                           const WalkOutcome& outcome) const {
    const Vec3& b = outcome.end.barycentric;
    const double length = direction.norm();
    const double rounding = walkRounding(outcome, length);
    if (outcome.end.face >= surface_.faceCount()) return "the end face does not exist";
    if (!(b.minCoeff() >= 0) || !(std::abs(b.sum() - 1) <= 8 * kEps)) return "the end is outside its face";
    const Rigid2& motion = outcome.end_from_start;
    if (!(std::abs(std::hypot(motion.cosine, motion.sine) - 1) <= 8 * kEps)) return "not a rotation";
    const Vec2 end = surface_.faceCoordinates(outcome.end);
    if (outcome.stop == WalkStop::kComplete) {
      if (!(std::abs(outcome.length - length) <= rounding)) return "wrong length";
    } else if (outcome.stop == WalkStop::kBoundary) {
      if (!(outcome.length <= length + rounding)) return "longer than asked";
      if (!isOnBoundary(outcome.end)) return "stopped away from the boundary";
    } else {
      return "unexpected stop reason";
    }
    const Vec2 developed_start = motion(surface_.faceCoordinates(start));
    const Vec2 travelled = motion.rotate(direction) * (outcome.length / length);
    if (!((end - travelled - developed_start).norm() <= rounding)) return "the start point does not map back";
    return {};
  }

  /// Lays the crossed faces out in the plane of the start face with the surface's hinges: the end must be
  /// start + direction, every crossed edge must meet that segment, and the outcome's motion must be the
  /// product of the hinges. For walks that passed no vertex.
  std::string checkUnrolled(const SurfacePoint& start, const Vec2& direction, const WalkOutcome& outcome,
                            const std::vector<std::uint32_t>& crossed) const {
    if (outcome.vertices > 0 || start.barycentric.maxCoeff() == 1) return {};
    const double length = direction.norm();
    const double rounding = walkRounding(outcome, length);
    const Vec2 from = surface_.faceCoordinates(start);
    const Vec2 to = from + direction * (outcome.length / length);
    if (crossed.size() != outcome.crossings) return "wrong number of crossings";
    Rigid2 motion;
    std::uint32_t face = start.face;
    for (const std::uint32_t half_edge : crossed) {
      if (half_edge / 3 != face) return "the crossed edges do not follow each other";
      const std::uint32_t e = half_edge % 3;
      const Rigid2 back = motion.inverse();
      const Vec2 a = back(surface_.corners()[face][e]);
      const Vec2 b = back(surface_.corners()[face][(e + 1) % 3]);
      // Left and right of the path, and not behind an end of it.
      if (!(cross2(direction, a - from) <= rounding * length)) return "an edge was not crossed";
      if (!(cross2(direction, b - from) >= -rounding * length)) return "an edge was not crossed";
      motion = surface_.neighbourFromFace(face, static_cast<int>(e)) * motion;
      face = surface_.twins()[face][e] / 3;
    }
    if (face != outcome.end.face) return "the crossed edges lead to another face";
    if (!((motion(to) - surface_.faceCoordinates(outcome.end)).norm() <= rounding)) {
      return "the end is not start + direction in the unrolled faces";
    }
    const Rigid2& claimed = outcome.end_from_start;
    if (!(std::abs(motion.cosine - claimed.cosine) <= rounding) ||
        !(std::abs(motion.sine - claimed.sine) <= rounding) ||
        !((motion.translation - claimed.translation).norm() <= rounding)) {
      return "the transported frame is not the product of the hinges";
    }
    return {};
  }

  bool isOnBoundary(const SurfacePoint& p) const {
    for (std::uint32_t e = 0; e < 3; ++e) {
      if (p.barycentric[(e + 2) % 3] == 0 && surface_.twins()[p.face][e] == kNone) return true;
      if (p.barycentric[e] == 1 && surface_.isBoundaryVertex(surface_.faces()[p.face][e])) return true;
    }
    return false;
  }

  /// Sine of the angle between `direction` and the boundary edge that `p` is on; 1 at a vertex.
  double sineToBoundary(const SurfacePoint& p, const Vec2& direction) const {
    for (std::uint32_t e = 0; e < 3; ++e) {
      if (p.barycentric[(e + 2) % 3] != 0 || surface_.twins()[p.face][e] != kNone) continue;
      const auto& c = surface_.corners()[p.face];
      return std::abs(cross2((c[(e + 1) % 3] - c[e]).normalized(), direction.normalized()));
    }
    return 1;
  }

 private:
  const Surface& surface_;
};

/// A walk in space, without frames and hinges: the direction is a 3D vector that is folded over each edge.
/// Decides by the smallest ray parameter, and says how close it came to a vertex (fraction of an edge), where
/// that is not safe.
struct SpaceWalk {
  Vec3 end;
  Vec3 direction;  ///< transported, same length as at the start
  Vec3 companion;  ///< the direction turned by 90 degrees at the start, transported
  double clearance = 1;
  bool complete = false;
};

inline SpaceWalk walkInSpace(const Surface& surface, const SurfacePoint& start, const Vec3& direction) {
  SpaceWalk result;
  const double length = direction.norm();
  std::uint32_t face = start.face;
  int entry = -1;
  Vec3 p = surface.position(start), d = direction / length;
  double remaining = length;
  const auto positions = surface.positions();
  for (int count = 0; count < 100'000; ++count) {
    const auto& f = surface.faces()[face];
    const Vec3 normal =
        (positions[f[1]] - positions[f[0]]).cross(positions[f[2]] - positions[f[0]]).normalized();
    double best = std::numeric_limits<double>::infinity(), best_t = 0;
    int exit = -1;
    for (int e = 0; e < 3; ++e) {
      if (e == entry) continue;
      const Vec3 a = positions[f[static_cast<std::size_t>(e)]];
      const Vec3 edge = positions[f[static_cast<std::size_t>((e + 1) % 3)]] - a;
      const Vec3 outward = edge.cross(normal);
      const double speed = d.dot(outward);
      if (speed <= 0) continue;
      const double s = std::max(0.0, (a - p).dot(outward) / speed);
      if (s < best) best = s, best_t = (p + s * d - a).dot(edge) / edge.squaredNorm(), exit = e;
    }
    if (exit < 0) break;
    if (remaining <= best) {
      result.end = p + remaining * d;
      result.direction = length * d;
      result.companion = length * normal.cross(d);
      result.complete = true;
      return result;
    }
    result.clearance = std::min({result.clearance, best_t, 1 - best_t});
    const std::uint32_t twin = surface.twins()[face][static_cast<std::size_t>(exit)];
    if (twin == kNone) break;
    p += best * d;
    remaining -= best;
    const Vec3 a = positions[f[static_cast<std::size_t>(exit)]];
    const Vec3 axis = (positions[f[static_cast<std::size_t>((exit + 1) % 3)]] - a).normalized();
    const double along = d.dot(axis), outwards = d.dot(axis.cross(normal));
    face = twin / 3;
    entry = static_cast<int>(twin % 3);
    const auto& g = surface.faces()[face];
    const Vec3 next =
        (positions[g[1]] - positions[g[0]]).cross(positions[g[2]] - positions[g[0]]).normalized();
    d = (along * axis + outwards * axis.cross(next)).normalized();
  }
  result.end = p;
  result.direction = length * d;
  return result;
}

/// Runs a walk on `faces`, recording, and checks everything; the way back included.
template <class Faces>
std::string checkWalk(const Surface& surface, const Faces& faces, const SurfacePoint& start,
                      const Vec2& direction, WalkOutcome* outcome_out = nullptr) {
  using Recorder = RecordingFaces<Faces>;
  const WalkChecker checker(surface);
  const WalkOptions options;
  const Recorder recorder(faces);
  const WalkOutcome outcome = walk_internal::Walk<Recorder>(recorder, surface, options).run(start, direction);
  if (outcome_out != nullptr) *outcome_out = outcome;
  std::string problem = checker.checkOutcome(start, direction, outcome);
  if (problem.empty()) problem = checker.checkUnrolled(start, direction, outcome, recorder.crossed);
  if (!problem.empty()) return problem;

  const Vec2 back_direction = -(outcome.length / direction.norm()) * outcome.end_from_start.rotate(direction);
  if (!(back_direction.norm() > 0)) return {};
  const Recorder back_recorder(faces);
  const WalkOutcome back =
      walk_internal::Walk<Recorder>(back_recorder, surface, options).run(outcome.end, back_direction);
  // There and back; a path that was drawn onto a vertex may come back beside it. Being the tolerance (times
  // an edge) aside bends the path by that over the distance to the last vertex: a few times the tolerance at
  // the end.
  const double aside = 10 * (outcome.vertices + back.vertices) * (options.vertex_tolerance + kVertexRadius) *
                       (1 + direction.norm());
  const double rounding =
      walkRounding(outcome, direction.norm()) + walkRounding(back, direction.norm()) + aside;
  // A start on the boundary is met again a little early or late if the path comes in at a small angle.
  const double grazing = back.stop == WalkStop::kBoundary
                             ? checker.sineToBoundary(back.end, back.end_from_start.rotate(back_direction))
                             : 1;
  if (!((surface.position(back.end) - surface.position(start)).norm() * grazing <= rounding)) {
    return "the way back does not return to the start";
  }
  return {};
}

}  // namespace heatskin::testing
