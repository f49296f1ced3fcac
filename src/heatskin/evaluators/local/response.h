#pragma once

// LocalHK's response of one kernel at one query (eq:logmap, eq:kernel) and its gradient, for any scalar type:
// float is the slow twin of pair_response_simd.cpp, double is what finite differences check.

#include <cmath>

namespace heatskin::local {

/// A rotation of the plane.
template <class T>
struct Turn {
  T cosine = 1, sine = 0;

  Turn inverse() const { return {cosine, -sine}; }
  /// First `b`, then this one.
  Turn operator*(const Turn& b) const {
    return {cosine * b.cosine - sine * b.sine, sine * b.cosine + cosine * b.sine};
  }
};

/// Below this squared length the sum of a matrix and its cofactors has no direction.
template <class T>
constexpr T kNoTurn = T(1e-12);

/// The rotation nearest to a matrix (xx, xy; yx, yy), which is its polar factor unless it mirrors: of a
/// rotation by a, stretched by s and t, the sums below are (s + t) times (cos a, sin a). Nothing is turned by
/// a matrix that prefers no rotation.
template <class T>
Turn<T> nearestTurn(T xx, T xy, T yx, T yy) {
  const T cosine = xx + yy, sine = yx - xy, squared = cosine * cosine + sine * sine;
  if (!(squared > kNoTurn<T>)) return {};
  const T inverse = T(1) / std::sqrt(squared);
  return {cosine * inverse, sine * inverse};
}

/// Constants of the kernel family, premultiplied: exponent = -((d / h)^2 (heat (u^2 + (1 + eta) v^2) / (u^2 +
/// v^2) + window)).
template <class T>
struct Shape {
  T heat = T(1) / (T(4) * T(0.0625));          ///< 1 / (4 t)
  T window = T(1) / (T(2) * T(0.1) * T(0.1));  ///< 1 / (2 sigma^2); 0: no window (V0)
};

/// A kernel as seen from a face: everything is in the coordinates of the query's face except the two space
/// points.
template <class T>
struct Developed {
  T center_x, center_y;         ///< S
  T axis_x, axis_y;             ///< long axis, of length 1 / h: the kernel's length is in it
  T anisotropy;                 ///< eta
  T space_x, space_y, space_z;  ///< p in space
};

template <class T>
struct Query {
  T x, y;                       ///< q in face coordinates
  T space_x, space_y, space_z;  ///< q in space
};

/// On the kernel's own face both distances are equal; the chord counts only where it is longer by more than
/// float rounding, so that the derivative does not flicker between two equal expressions.
template <class T>
constexpr T kChordSlack = T(1.0001);

/// d^2 = max(|q - S|^2, |q - p|^2): the developed distance, never shorter than the chord.
template <class T>
T squaredDistance(const Developed<T>& k, const Query<T>& q) {
  const T dx = q.x - k.center_x, dy = q.y - k.center_y;
  const T cx = q.space_x - k.space_x, cy = q.space_y - k.space_y, cz = q.space_z - k.space_z;
  const T plane = dx * dx + dy * dy, chord = cx * cx + cy * cy + cz * cz;
  return chord > kChordSlack<T> * plane ? chord : plane;
}

/// Below this squared length (a distance of 1e-9 in a space of size 2) the direction of q - S is noise: the
/// response is 1 and flat.
template <class T>
constexpr T kCoincident = T(1e-18);

/// x in (0, 1], eq:kernel.
template <class T>
T response(const Developed<T>& k, const Query<T>& q, const Shape<T>& shape) {
  const T dx = q.x - k.center_x, dy = q.y - k.center_y;
  const T cx = q.space_x - k.space_x, cy = q.space_y - k.space_y, cz = q.space_z - k.space_z;
  const T plane = dx * dx + dy * dy, chord = cx * cx + cy * cy + cz * cz;
  const T d2 = chord > kChordSlack<T> * plane ? chord : plane;
  const T v = k.axis_x * dy - k.axis_y * dx, scale = k.axis_x * k.axis_x + k.axis_y * k.axis_y;
  // (u^2 + (1 + eta) v^2) / h^2 = plane / h^2 + eta (v / h)^2; at coinciding points the quotient is 1 / h^2
  // by definition (trap 11.5).
  const T ratio = plane > kCoincident<T> ? scale + k.anisotropy * v * v / plane : scale;
  return std::exp(-d2 * (shape.heat * ratio + shape.window * scale));
}

/// dL/d(parameters) of one response, accumulated by the caller.
template <class T>
struct Gradient {
  T center_x = 0, center_y = 0;             ///< with respect to S, face coordinates
  T space_x = 0, space_y = 0, space_z = 0;  ///< with respect to p in space (the chord's part)
  T angle = 0;                              ///< turning the long axis counter-clockwise
  T anisotropy = 0;
  T length = 0;  ///< with respect to log h
};

/// Gradient of dx * x(k, q).
template <class T>
Gradient<T> responseVjp(const Developed<T>& k, const Query<T>& q, const Shape<T>& shape, T dx_loss) {
  Gradient<T> g;
  const T dx = q.x - k.center_x, dy = q.y - k.center_y;
  const T cx = q.space_x - k.space_x, cy = q.space_y - k.space_y, cz = q.space_z - k.space_z;
  const T plane = dx * dx + dy * dy, chord = cx * cx + cy * cy + cz * cz;
  const bool use_plane = !(chord > kChordSlack<T> * plane);
  const T d2 = use_plane ? plane : chord;
  const bool distinct = plane > kCoincident<T>;
  const T u = k.axis_x * dx + k.axis_y * dy, v = k.axis_x * dy - k.axis_y * dx;
  const T inverse = distinct ? T(1) / plane : T(0);
  const T share = v * v * inverse;  // sin^2 of the angle against the long axis, / h^2
  const T scale = k.axis_x * k.axis_x + k.axis_y * k.axis_y;
  const T rate = shape.heat * (scale + k.anisotropy * share) + shape.window * scale;
  const T outer = -dx_loss * std::exp(-d2 * rate);  // dL/d(d2 rate)

  g.anisotropy = outer * d2 * shape.heat * share;
  g.length = T(-2) * outer * d2 * rate;  // rate goes with h^-2
  const T d_share = outer * d2 * shape.heat * k.anisotropy;
  // share = v^2 / (u^2 + v^2): turning the axis by a changes v by -u a and u by v a.
  g.angle = d_share * T(-2) * u * v * inverse;
  // d share / d(dx, dy) = 2 u v / plane^2 * (u grad v - v grad u); the bracket is the vector (-dy, dx).
  const T turn = d_share * T(2) * u * v * inverse * inverse;
  const T d_distance = outer * rate * T(2);
  // q - S: the sign of S is minus.
  g.center_x = -(turn * -dy + (use_plane ? d_distance * dx : T(0)));
  g.center_y = -(turn * dx + (use_plane ? d_distance * dy : T(0)));
  if (!use_plane) {
    g.space_x = -d_distance * cx;
    g.space_y = -d_distance * cy;
    g.space_z = -d_distance * cz;
  }
  return g;
}

}  // namespace heatskin::local
