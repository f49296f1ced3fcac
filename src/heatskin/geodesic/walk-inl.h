#pragma once

// The walk itself, as a template over where the hinges come from: computed from the surface (walk()), looked
// up (Walker), or planted wrong (the test that checks the checkers). Private to this folder.
//
// How it stays robust. The path in a face leaves by the edge whose ends lie on different sides of the ray, a
// question of signs only; once inside, the edge it came through is not asked again. All lengths along the
// path come from points that lie on edges by construction, so rounding moves the path sideways by a few ulp
// but never off the surface, and the end point is an interpolation between the places of entry and exit.
// Nothing divides by the area of a face: slivers are as good as any. (Steps that end well inside their face,
// most of an optimiser's, only add to barycentric coordinates; not in slivers.)

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heatskin/geodesic/walk.h"

namespace heatskin::walk_internal {

inline constexpr std::uint32_t kNext[3] = {1, 2, 0};
inline constexpr std::uint32_t kPrevious[3] = {2, 0, 1};

/// Squared lengths in between neither overflow nor lose digits when formed directly.
inline constexpr double kSmallSquare = 1e-280;
inline constexpr double kLargeSquare = 1e280;

/// Barycentric coordinates whose sum is this close to 1, a few ulp, are taken as they are.
inline constexpr double kSumTolerance = 1e-15;

/// Edges count as at least this long where a length is divided by; keeps the inverse inside float.
inline constexpr double kShortestEdge = 1e-30;

/// Twice the area of faces that are no slivers, in squares of their longest edge.
inline constexpr double kLeastArea = 1e-3;

/// Barycentric coordinates of a place well inside a face are larger than this: far above rounding.
inline constexpr double kInside = 1e-9;

inline constexpr double kPi = 3.14159265358979323846;

/// A plane vector as two plain doubles: the compiler keeps them in registers.
struct Pair {
  double x = 0;
  double y = 0;
};
inline Pair operator-(Pair a, Pair b) {
  return {a.x - b.x, a.y - b.y};
}
inline Pair operator*(double s, Pair a) {
  return {s * a.x, s * a.y};
}
inline double dot(Pair a, Pair b) {
  return a.x * b.x + a.y * b.y;
}
inline double cross(Pair a, Pair b) {
  return a.x * b.y - a.y * b.x;
}
inline Pair between(Pair a, Pair b, double t) {
  return {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)};
}
/// Product of complex numbers: `a` turned (and scaled) by `b`.
inline Pair times(Pair a, Pair b) {
  return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
inline Pair conjugate(Pair a) {
  return {a.x, -a.y};
}
inline Pair unit(Pair a) {
  const double square = dot(a, a);
  if (square > kSmallSquare && square < kLargeSquare) return (1 / std::sqrt(square)) * a;
  const double size = std::max(std::abs(a.x), std::abs(a.y));
  if (!(size > 0)) return {1, 0};
  const Pair scaled{a.x / size, a.y / size};
  return (1 / std::sqrt(dot(scaled, scaled))) * scaled;
}

/// One walk in progress. `Faces` answers corner(face, k), across(face, e) -> 4 * face + edge or kNone,
/// turn(face, e) -> cosine and sine, inverseLength(face, e) and inverseArea(face).
template <class Faces>
class Walk {
 public:
  Walk(const Faces& faces, const Surface& surface, const WalkOptions& options)
      : faces_(faces),
        surface_(surface),
        options_(options),
        most_work_(std::uint64_t{options.max_crossings} + surface.faceCount()) {}

  WalkOutcome run(const SurfacePoint& start, const Vec2& direction) {
    WalkOutcome outcome;
    outcome.end = start;
    if (start.face >= surface_.faceCount()) {
      outcome.stop = WalkStop::kBadInput;
      return outcome;
    }
    makeValid(outcome.end.barycentric);
    double length = std::sqrt(direction.squaredNorm());
    if (!(length * length > kSmallSquare && length * length < kLargeSquare)) {
      if (!std::isfinite(direction.x()) || !std::isfinite(direction.y())) {
        outcome.stop = WalkStop::kBadInput;
        return outcome;
      }
      length = std::min(std::hypot(direction.x(), direction.y()), std::numeric_limits<double>::max());
      if (length == 0) return outcome;
    }

    if (endsInside(outcome.end, {direction.x(), direction.y()})) {
      outcome.length = length;
      return outcome;  // within its face nothing is developed: end_from_start is the identity
    }
    const Pair start_direction = unit({direction.x(), direction.y()});
    const Vec3 start_barycentric = outcome.end.barycentric;
    face_ = start.face;
    direction_ = start_direction;
    remaining_ = length;
    const Pair a = faces_.corner(face_, 0), b = faces_.corner(face_, 1), c = faces_.corner(face_, 2);
    const Pair start_point{
        start_barycentric[0] * a.x + start_barycentric[1] * b.x + start_barycentric[2] * c.x,
        start_barycentric[0] * a.y + start_barycentric[1] * b.y + start_barycentric[2] * c.y};
    point_ = start_point;

    const std::uint32_t vertex = cornerAt(start_barycentric);
    bool going = true;
    if (vertex < 3) {
      going = leaveStartVertex(vertex);
    } else {
      chooseFirstExit(a, b, c);
      if (remaining_ <= distance_) {
        outcome.end.barycentric = interpolate(start_barycentric, exitBarycentric(), remaining_ / distance_);
        outcome.length = length;
        return outcome;
      }
      going = step();
    }
    while (going) {
      if (remaining_ <= distance_) {
        const double fraction = distance_ > 0 ? remaining_ / distance_ : 0;
        outcome.end.barycentric = interpolate(edgePoint(entry_, entry_t_), exitBarycentric(), fraction);
        walked_ += remaining_;
        if (!slid_) walked_ = length;  // without the rounding of the sum
        break;
      }
      going = step();
    }
    if (!going) outcome.end.barycentric = edgePoint(entry_, entry_t_);
    outcome.end.face = face_;
    finish(outcome, start_point, start_direction);
    return outcome;
  }

 private:
  /// Adds `step` if the point then lies well inside its face, which is no sliver.
  bool endsInside(SurfacePoint& point, Pair step) const {
    const double inverse_area = faces_.inverseArea(point.face);
    const Pair a = faces_.corner(point.face, 0), b = faces_.corner(point.face, 1),
               c = faces_.corner(point.face, 2);
    const double first = point.barycentric[0] + cross(c - b, step) * inverse_area;
    const double second = point.barycentric[1] + cross(a - c, step) * inverse_area;
    const double third = 1 - first - second;
    if (!(inverse_area > 0 && first > kInside && second > kInside && third > kInside)) return false;
    point.barycentric = {first, second, third};
    return true;
  }

  static void makeValid(Vec3& barycentric) {
    const double sum = barycentric.sum();
    if (barycentric.minCoeff() >= 0 && std::abs(sum - 1) <= kSumTolerance) return;
    for (double& b : barycentric) {
      if (!(b > 0)) b = 0;  // NaN too
      b = std::min(b, std::numeric_limits<double>::max() / 4);
    }
    const double positive = barycentric.sum();
    barycentric = positive > 0 ? Vec3(barycentric / positive) : Vec3::Constant(1.0 / 3);
  }

  /// Barycentric coordinates of the point of edge `e` at parameter `t`.
  static Vec3 edgePoint(std::uint32_t e, double t) {
    Vec3 barycentric;
    barycentric[e] = 1 - t;
    barycentric[kNext[e]] = t;
    barycentric[kPrevious[e]] = 0;
    return barycentric;
  }
  Vec3 exitBarycentric() const { return edgePoint(exit_, exit_t_); }

  static Vec3 interpolate(const Vec3& a, const Vec3& b, double t) { return (1 - t) * a + t * b; }

  std::uint32_t cornerAt(const Vec3& barycentric) const {
    for (std::uint32_t k = 0; k < 3; ++k) {
      if (barycentric[k] >= 1 - options_.vertex_tolerance) return k;
    }
    return 3;
  }

  /// The exit through edge `e` whose first corner lies to the right of the ray (side <= 0) and whose second
  /// corner lies to the left (side > 0). The sides are cross products of the direction with the corner.
  void setExit(std::uint32_t e, double side_first, double side_second) {
    exit_ = e;
    exit_t_ = side_first / (side_first - side_second);
    setExitDistance();
  }
  void setExitDistance() {
    const Pair hit = between(faces_.corner(face_, exit_), faces_.corner(face_, kNext[exit_]), exit_t_);
    distance_ = dot(direction_, hit - point_);
    if (distance_ < 0) [[unlikely]]
      leaveHere();
  }

  /// The exit came out behind the point, which rounding can do to a ray along the exit edge: the path is on
  /// that edge already and leaves where it is.
  void leaveHere() {
    const Pair first = faces_.corner(face_, exit_);
    const Pair edge = faces_.corner(face_, kNext[exit_]) - first;
    exit_t_ = std::clamp(dot(point_ - first, edge) / dot(edge, edge), 0.0, 1.0);
    distance_ = 0;
  }

  /// From inside the start face or from its border: going round the corners, their sides change from right to
  /// left exactly once, at the exit.
  void chooseFirstExit(Pair a, Pair b, Pair c) {
    double side[3] = {cross(direction_, a - point_), cross(direction_, b - point_),
                      cross(direction_, c - point_)};
    const bool left[3] = {side[0] > 0, side[1] > 0, side[2] > 0};
    if (left[0] == left[1] && left[1] == left[2]) [[unlikely]] {
      chooseGrazingExit(side, left[0]);
      return;
    }
    const std::uint32_t e = !left[0] && left[1] ? 0 : !left[1] && left[2] ? 1 : 2;
    setExit(e, side[e], side[kNext[e]]);
  }

  /// All corners on one side: the point is on the border up to rounding and the ray runs along it. The exit
  /// is the corner ahead on the edge that the ray follows.
  void chooseGrazingExit(const double side[3], bool all_left) {
    std::uint32_t far = 0;
    for (std::uint32_t k = 1; k < 3; ++k) {
      if (std::abs(side[k]) > std::abs(side[far])) far = k;
    }
    const std::uint32_t p = kNext[far], q = kPrevious[far];
    const double ahead_p = dot(direction_, faces_.corner(face_, p) - point_);
    const double ahead_q = dot(direction_, faces_.corner(face_, q) - point_);
    const std::uint32_t k = ahead_p > ahead_q ? p : q;
    // As first corner of its own edge, or as second corner of the edge before.
    exit_ = all_left ? k : kPrevious[k];
    exit_t_ = all_left ? 0 : 1;
    setExitDistance();
  }

  /// Goes to the exit point and into what lies behind it. False: the walk ends here, and entry_ says where.
  bool step() {
    const double tolerance =
        std::max(options_.vertex_tolerance, kVertexRadius * faces_.inverseLength(face_, exit_));
    if (exit_t_ < tolerance || exit_t_ > 1 - tolerance) [[unlikely]]
      return passVertex();
    walked_ += distance_;
    remaining_ -= distance_;
    const std::uint32_t across = faces_.across(face_, exit_);
    if (across == kNone) [[unlikely]]
      return meetBoundaryEdge();
    if (work_ >= options_.max_crossings) [[unlikely]]
      return giveUp();
    ++work_;
    ++crossings_;
    direction_ = times(direction_, faces_.turn(face_, exit_));
    face_ = across >> 2;
    entry_ = across & 3;
    entry_t_ = 1 - exit_t_;
    const Pair right = faces_.corner(face_, kNext[entry_]), left = faces_.corner(face_, entry_);
    const Pair apex = faces_.corner(face_, kPrevious[entry_]);
    point_ = between(left, right, entry_t_);
    // Seen from the entry the first corner of the edge is on the left and the second on the right, whatever
    // rounding says about a ray that nearly follows the edge; only the apex has to be asked.
    const double side_apex = cross(direction_, apex - point_);
    const bool apex_left = side_apex > 0;
    const Pair other = apex_left ? right : left;
    double side_other = cross(direction_, other - point_);
    side_other = apex_left ? std::min(side_other, 0.0) : std::max(side_other, 0.0);
    exit_ = apex_left ? kNext[entry_] : kPrevious[entry_];
    const double t = side_apex / (side_apex - side_other);  // from the apex
    exit_t_ = apex_left ? 1 - t : (side_apex == side_other ? 0 : t);
    const Pair hit = between(apex, other, apex_left ? t : exit_t_);
    distance_ = dot(direction_, hit - point_);
    if (distance_ < 0) [[unlikely]]
      leaveHere();
    return true;
  }

  bool stopAt(std::uint32_t e, double t, WalkStop reason) {
    entry_ = e;
    entry_t_ = t;
    stop_ = reason;
    return false;
  }
  bool giveUp() { return stopAt(exit_, exit_t_, WalkStop::kMaxCrossings); }

  // Around vertices. A place is a corner `k` of `face`; its wedge goes counter-clockwise from edge k to the
  // reversed edge k + 2.

  Pair edgeDirection(std::uint32_t face, std::uint32_t k) const {
    return unit(faces_.corner(face, kNext[k]) - faces_.corner(face, k));
  }
  double wedgeAngle(std::uint32_t face, std::uint32_t k) {
    ++work_;
    const Pair first = edgeDirection(face, k);
    const Pair second = unit(faces_.corner(face, kPrevious[k]) - faces_.corner(face, k));
    return std::atan2(std::max(0.0, cross(first, second)), dot(first, second));
  }
  /// The next wedge counter-clockwise, or false at a boundary.
  bool nextWedge(std::uint32_t& face, std::uint32_t& k) const {
    const std::uint32_t across = faces_.across(face, kPrevious[k]);
    if (across == kNone || work_ > most_work_) return false;
    face = across >> 2;
    k = across & 3;
    return true;
  }
  bool previousWedge(std::uint32_t& face, std::uint32_t& k) const {
    const std::uint32_t across = faces_.across(face, k);
    if (across == kNone || work_ > most_work_) return false;
    face = across >> 2;
    k = kNext[across & 3];
    return true;
  }
  double totalAngle(std::uint32_t face, std::uint32_t k) {
    double total = 0;
    std::uint32_t f = face, c = k;
    do {
      total += wedgeAngle(f, c);
    } while (nextWedge(f, c) && f != face);
    return total;
  }

  /// Goes on from corner `k` of `face` at `angle` from its edge k, counter-clockwise through as many wedges
  /// as the angle needs (at a boundary it stays in the last one).
  void leaveVertex(std::uint32_t face, std::uint32_t k, double angle) {
    const std::uint32_t first_face = face;
    bool turned_round = false;
    for (;;) {
      const double wedge = wedgeAngle(face, k);
      std::uint32_t next_face = face, next_k = k;
      // A whole turn that did not use up the angle can only be rounding of the sum: stay.
      if (angle <= wedge || turned_round || !nextWedge(next_face, next_k)) {
        angle = std::clamp(angle, 0.0, wedge);
        break;
      }
      angle -= wedge;
      face = next_face;
      k = next_k;
      turned_round = face == first_face;
    }
    face_ = face;
    point_ = faces_.corner(face, k);
    entry_ = k;
    entry_t_ = 0;
    direction_ = times(edgeDirection(face, k), {std::cos(angle), std::sin(angle)});
    const std::uint32_t opposite = kNext[k];
    const double right = std::min(0.0, cross(direction_, faces_.corner(face, opposite) - point_));
    const double left = std::max(0.0, cross(direction_, faces_.corner(face, kPrevious[k]) - point_));
    exit_ = opposite;
    exit_t_ = left > right ? right / (right - left) : 0.5;
    setExitDistance();
  }

  /// At the start the plane of the start face is continued over its neighbours, the shorter way round.
  bool leaveStartVertex(std::uint32_t k) {
    entry_ = k;
    entry_t_ = 0;
    std::uint32_t face = face_;
    const double wedge = wedgeAngle(face, k);
    const Pair local = times(direction_, conjugate(edgeDirection(face, k)));
    double angle = std::atan2(local.y, local.x);  // from edge k, in (-pi, pi]
    if (angle < 0 && angle + kPi < wedge / 2) angle += 2 * kPi;
    if (angle >= 0) {
      if (angle > wedge) {
        if (!surface_.isBoundaryVertex(surface_.faces()[face][k])) {
          angle = std::fmod(angle, totalAngle(face, k));
        } else if (const double room = roomAhead(face, k); room < angle - options_.vertex_tolerance) {
          return meetBoundaryAtVertex(face, kPrevious[k], 1, angle - room);
        }
      }
      leaveVertex(face, k, angle);
      return true;
    }
    if (!surface_.isBoundaryVertex(surface_.faces()[face][k])) {
      const double total = totalAngle(face, k);
      angle = std::fmod(angle, total);
      leaveVertex(face, k, angle + total);
      return true;
    }
    double behind = 0;
    while (angle + behind < 0) {
      if (!previousWedge(face, k)) {
        if (angle + behind >= -options_.vertex_tolerance) break;  // along the boundary
        return meetBoundaryAtVertex(face, k, 0, angle + behind);
      }
      behind += wedgeAngle(face, k);
    }
    leaveVertex(face, k, std::max(0.0, angle + behind));
    return true;
  }

  /// The angle from edge `k` counter-clockwise to the end of the fan of a boundary vertex.
  double roomAhead(std::uint32_t face, std::uint32_t k) {
    double room = wedgeAngle(face, k);
    while (nextWedge(face, k))
      room += wedgeAngle(face, k);
    return room;
  }

  /// A vertex on a boundary with a direction that points `deviation` beyond the boundary: beyond edge `e` of
  /// `face`, which starts at the vertex (t = 0), or beyond the last edge of the fan counter-clockwise from
  /// edge `e`, which ends at the vertex (t = 1).
  bool meetBoundaryAtVertex(std::uint32_t face, std::uint32_t e, double t, double deviation) {
    while (t == 1 && faces_.across(face, e) != kNone) {
      const std::uint32_t across = faces_.across(face, e);
      face = across >> 2;
      e = kPrevious[across & 3];
    }
    face_ = face;
    point_ = faces_.corner(face, t == 0 ? e : kNext[e]);
    const Pair along = t == 0 ? edgeDirection(face, e) : -1.0 * edgeDirection(face, e);
    direction_ = times(along, {std::cos(deviation), std::sin(deviation)});
    if (options_.boundary == BoundaryRule::kStop || std::abs(deviation) >= kPi / 2) {
      return stopAt(e, t, WalkStop::kBoundary);
    }
    return slide(e, t, along, std::cos(deviation));
  }

  /// The walk is at corner exit_ or exit_ + 1 of face_, up to the tolerance.
  bool passVertex() {
    const std::uint32_t k = exit_t_ < 0.5 ? exit_ : kNext[exit_];
    const Pair corner = faces_.corner(face_, k);
    const double to_corner = std::min(remaining_, std::max(0.0, dot(direction_, corner - point_)));
    walked_ += to_corner;
    remaining_ -= to_corner;
    point_ = corner;
    if (work_ >= options_.max_crossings) return stopAt(k, 0, WalkStop::kMaxCrossings);
    // The way back, from edge k. It need not lie in this wedge: within the tolerance of the vertex the path
    // may have come through a neighbouring one. The neighbours continue the plane.
    const Pair back = times(-1.0 * direction_, conjugate(edgeDirection(face_, k)));
    double incoming = std::atan2(back.y, back.x);
    if (incoming < wedgeAngle(face_, k) / 2 - kPi) incoming += 2 * kPi;
    if (surface_.isBoundaryVertex(surface_.faces()[face_][k])) return passBoundaryVertex(k, incoming);
    ++vertices_;
    const double total = totalAngle(face_, k);
    double outgoing = std::fmod(incoming + total / 2, total);
    if (outgoing < 0) outgoing += total;
    leaveVertex(face_, k, outgoing);
    return true;
  }

  /// `incoming`: angle of the way back from edge `k` of face_.
  bool passBoundaryVertex(std::uint32_t k, double incoming) {
    if (options_.boundary == BoundaryRule::kStop) return stopAt(k, 0, WalkStop::kBoundary);
    ++vertices_;
    std::uint32_t first = face_, first_k = k;
    while (previousWedge(first, first_k))
      incoming += wedgeAngle(first, first_k);
    const double total = roomAhead(first, first_k);
    incoming = std::clamp(incoming, 0.0, total);
    // How far straight on would be outside the surface on either side; not positive: there is a straight way.
    const double outside_first = kPi - incoming;
    const double outside_last = kPi - (total - incoming);
    if (outside_first <= 0 || outside_last <= 0) {
      leaveVertex(first, first_k, outside_last <= outside_first ? incoming + kPi : incoming - kPi);
      return true;
    }
    if (outside_first < outside_last) return meetBoundaryAtVertex(first, first_k, 0, -outside_first);
    return meetBoundaryAtVertex(first, kPrevious[first_k], 1, outside_last);
  }

  bool meetBoundaryEdge() {
    const Pair edge = edgeDirection(face_, exit_);
    const double cosine = dot(direction_, edge);
    const bool along = std::abs(cross(direction_, edge)) <= options_.vertex_tolerance;
    if (!along && options_.boundary == BoundaryRule::kStop)
      return stopAt(exit_, exit_t_, WalkStop::kBoundary);
    point_ = between(faces_.corner(face_, exit_), faces_.corner(face_, kNext[exit_]), exit_t_);
    if (!along) return slide(exit_, exit_t_, cosine >= 0 ? edge : -1.0 * edge, std::abs(cosine));
    // A walk along the boundary does not leave it because of rounding; it goes to the next vertex.
    if (work_++ >= options_.max_crossings) return giveUp();
    entry_ = exit_;
    entry_t_ = exit_t_;
    exit_t_ = cosine >= 0 ? 1 : 0;
    setExitDistance();
    return true;
  }

  /// Goes on from point `t` of boundary edge `e` of face_ in direction `along` the edge.
  bool slide(std::uint32_t e, double t, Pair along, double cosine) {
    if (work_ >= options_.max_crossings) return stopAt(e, t, WalkStop::kMaxCrossings);
    remaining_ *= std::min(1.0, cosine);
    // A slide shorter than the rounding of a coordinate is a stop.
    if (!(remaining_ > std::numeric_limits<double>::min())) return stopAt(e, t, WalkStop::kBoundary);
    slid_ = true;
    // Displacement so far and the transported frame, both relative to the direction of travel, which turns.
    const Pair turn = times(along, conjugate(unit(direction_)));
    displacement_ = times({displacement_.x + walked_ - counted_, displacement_.y}, conjugate(turn));
    counted_ = walked_;
    turned_ = times(turned_, turn);
    direction_ = along;
    entry_ = e;
    entry_t_ = t;
    exit_ = e;
    exit_t_ = dot(along, faces_.corner(face_, kNext[e]) - faces_.corner(face_, e)) > 0 ? 1 : 0;
    setExitDistance();
    return true;
  }

  void finish(WalkOutcome& outcome, Pair start_point, Pair start_direction) const {
    outcome.length = walked_;
    outcome.crossings = crossings_;
    outcome.vertices = vertices_;
    outcome.stop = stop_ == WalkStop::kComplete && slid_ ? WalkStop::kSlid : stop_;
    const Pair direction = unit(direction_);
    const Pair rotation = times(times(direction, conjugate(start_direction)), conjugate(turned_));
    outcome.end_from_start.cosine = rotation.x;
    outcome.end_from_start.sine = rotation.y;
    const Vec3& barycentric = outcome.end.barycentric;
    const Pair a = faces_.corner(face_, 0), b = faces_.corner(face_, 1), c = faces_.corner(face_, 2);
    const Pair end_point{barycentric[0] * a.x + barycentric[1] * b.x + barycentric[2] * c.x,
                         barycentric[0] * a.y + barycentric[1] * b.y + barycentric[2] * c.y};
    const Pair way = times({displacement_.x + walked_ - counted_, displacement_.y}, direction);
    const Pair moved = end_point - way - times(start_point, rotation);
    outcome.end_from_start.translation = {moved.x, moved.y};
  }

  const Faces& faces_;
  const Surface& surface_;
  const WalkOptions& options_;
  const std::uint64_t most_work_;  ///< one fan more than max_crossings; ends fans that do not close

  std::uint32_t face_ = 0;
  std::uint32_t entry_ = 0;  ///< the path came into face_ at parameter entry_t_ of this edge
  std::uint32_t exit_ = 0;   ///< and will leave it at parameter exit_t_ of this one, distance_ further on
  double entry_t_ = 0;
  double exit_t_ = 0;
  double distance_ = 0;
  Pair point_;      ///< place of entry in face coordinates
  Pair direction_;  ///< of travel, unit length up to rounding
  double remaining_ = 0;
  double walked_ = 0;
  std::uint32_t crossings_ = 0;
  std::uint32_t vertices_ = 0;
  std::uint64_t work_ = 0;  ///< crossings and wedges looked at around vertices
  WalkStop stop_ = WalkStop::kComplete;

  // Only sliding makes the path turn.
  bool slid_ = false;
  double counted_ = 0;    ///< part of walked_ that is in displacement_
  Pair displacement_;     ///< before the last turn, in units of the direction of travel
  Pair turned_ = {1, 0};  ///< direction of travel relative to the transported start direction
};

/// Hinges computed from the surface when they are needed.
class SurfaceFaces {
 public:
  explicit SurfaceFaces(const Surface& surface)
      : surface_(surface), corners_(surface.corners()), twins_(surface.twins()) {}
  Pair corner(std::uint32_t face, std::uint32_t k) const {
    const Vec2& p = corners_[face][k];
    return {p.x(), p.y()};
  }
  std::uint32_t across(std::uint32_t face, std::uint32_t e) const {
    const std::uint32_t twin = twins_[face][e];
    return twin == kNone ? kNone : 4 * (twin / 3) + twin % 3;
  }
  Pair turn(std::uint32_t face, std::uint32_t e) const {
    const Rigid2 hinge = surface_.neighbourFromFace(face, static_cast<int>(e));
    return {hinge.cosine, hinge.sine};
  }
  float inverseLength(std::uint32_t face, std::uint32_t e) const {
    const Vec2 edge = corners_[face][kNext[e]] - corners_[face][e];
    return static_cast<float>(1 / std::max(edge.norm(), kShortestEdge));
  }
  double inverseArea(std::uint32_t face) const {
    const auto& c = corners_[face];
    const Vec2 ab = c[1] - c[0], ac = c[2] - c[0];
    const double longest = std::max({ab.squaredNorm(), ac.squaredNorm(), (c[2] - c[1]).squaredNorm()});
    const double area = cross2(ab, ac);
    return area > kLeastArea * longest ? 1 / area : 0;
  }

 private:
  const Surface& surface_;
  std::span<const std::array<Vec2, 3>> corners_;
  std::span<const std::array<std::uint32_t, 3>> twins_;
};

/// Hinges from a Walker's table.
class RecordFaces {
 public:
  explicit RecordFaces(const Walker::Record* records) : records_(records) {}
  Pair corner(std::uint32_t face, std::uint32_t k) const {
    const double* p = records_[face].corner[k];
    return {p[0], p[1]};
  }
  std::uint32_t across(std::uint32_t face, std::uint32_t e) const { return records_[face].across[e]; }
  Pair turn(std::uint32_t face, std::uint32_t e) const {
    const double* t = records_[face].turn[e];
    return {t[0], t[1]};
  }
  float inverseLength(std::uint32_t face, std::uint32_t e) const { return records_[face].inverse_length[e]; }
  double inverseArea(std::uint32_t face) const { return records_[face].inverse_area; }

 private:
  const Walker::Record* records_;
};

}  // namespace heatskin::walk_internal
