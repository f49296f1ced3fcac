#pragma once

// What a source sees of an edge through the edges passed before, and how long a path through that is
// (Sight::kCarried). Coordinates are those of the face behind the edge, whose centroid is the origin.

#include <algorithm>
#include <cmath>

namespace heatskin::local {

/// A point or a vector of a face's plane.
struct Point {
  float x, y;

  friend Point operator+(const Point& a, const Point& b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(const Point& a, const Point& b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(float s, const Point& a) { return {s * a.x, s * a.y}; }
  friend float dot(const Point& a, const Point& b) { return a.x * b.x + a.y * b.y; }
  friend float cross(const Point& a, const Point& b) { return a.x * b.y - a.y * b.x; }
  friend float length(const Point& a) { return std::sqrt(dot(a, a)); }
};

/// start + w along, for w in [0, 1].
struct Segment {
  Point start, along;

  Point at(float w) const { return start + w * along; }
};

/// Squared distance of a point from the segment a b.
inline float squaredToSegment(const Point& p, const Point& a, const Point& b) {
  const Segment segment{a, b - a};
  const float length2 = dot(segment.along, segment.along);
  const float w = length2 > 0 ? std::clamp(dot(p - a, segment.along) / length2, 0.0f, 1.0f) : 0.0f;
  const Point to = segment.at(w) - p;
  return dot(to, to);
}

/// The ends of what is visible of an edge, as seen by the source.
struct Visible {
  Point left, right;
};

/// A part of an edge, by the places of its ends along the edge; 0 and 1 are the corners.
struct Window {
  float low, high;
  float missed;  ///< distance between the edge and what is visible, surface units; 0: the window is open
};

/// A point this close to the developed centre (squared, surface units) says nothing about directions: float
/// developments are off by 1e-8, so angles would be by more than 1e-4.
inline constexpr float kBlind = 1e-8f;

/// The part of `edge` that is seen from `source` between the ends of what was visible of an edge passed
/// before. Seen from there, the edge's start is to the left of its end. Where nothing is seen, the end
/// nearest to it.
inline Window windowOnEdge(const Segment& edge, const Point& source, const Visible& before) {
  const Point start = edge.start - source, end = start + edge.along;
  Window window{0, 1, 0};
  // On which side of a ray the ends of the edge lie decides; where the ray meets the edge's line does not,
  // for that jumps from one end of the world to the other when they are parallel.
  const Point left = before.left - source, right = before.right - source;
  if (const float squared = dot(left, left); squared >= kBlind) {
    const float a = cross(left, start), b = cross(left, end);  // positive: left of the ray, hidden
    if (b >= 0) {
      window.low = 1;
      window.missed = b / std::sqrt(squared);
    } else if (a > 0) {
      window.low = a / (a - b);
    }
  }
  if (const float squared = dot(right, right); squared >= kBlind) {
    const float a = cross(right, start), b = cross(right, end);  // negative: right of the ray, hidden
    if (a <= 0) {
      window.high = 0;
      window.missed = std::max(window.missed, -a / std::sqrt(squared));
    } else if (b < 0) {
      window.high = a / (a - b);
    }
  }
  if (window.low > window.high) {
    // Hidden to one side, or a window without width whose two ends differ by rounding.
    window.low = window.high = window.low >= 1    ? 1.0f
                               : window.high <= 0 ? 0.0f
                                                  : 0.5f * (window.low + window.high);
  }
  return window;
}

/// What a path through a closed window is taken to be longer: so many times what the window misses the edge
/// by, but no more than so many lengths of the edge. A window that has shrunk to a corner passes the next
/// edge at that corner, and whether it meets or misses it is rounding: the detour must grow from nothing. It
/// is steep, because all that matters of the rest is that open windows come first.
inline constexpr float kDetourSlope = 20, kMostDetour = 1;

/// What a path that bends is taken to be longer, of what it is longer than the straight line. Paths around
/// the two sides of a vertex that hides a face both pass the vertex and are equally long but for rounding:
/// the one that bends less shall be first.
inline constexpr float kBendCost = 0.1f;

/// The length by which faces are put in order: from the source to the origin through the window. The straight
/// line between the two meets the edge at `straight` and is `squared` long, squared.
inline float pathLength(const Segment& edge, const Point& source, const Window& window, float straight,
                        float squared) {
  const Point through = edge.at(std::clamp(straight, window.low, window.high));
  float path = length(through - source) + length(through);
  path += kBendCost * (path - std::sqrt(squared));
  return path + std::min(kDetourSlope * window.missed, kMostDetour * length(edge.along));
}

}  // namespace heatskin::local
