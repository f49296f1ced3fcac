// Kernels as queries see them, a vector of pairs at a time. Included once per SIMD target (Highway), hence no
// ordinary guard.

#if defined(HEATSKIN_PAIR_GEOMETRY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_PAIR_GEOMETRY_INL_H_
#undef HEATSKIN_PAIR_GEOMETRY_INL_H_
#else
#define HEATSKIN_PAIR_GEOMETRY_INL_H_
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "heatskin/evaluators/local/pair_response.h"
#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::Columns;
using heatskin::HWY_NAMESPACE::fastExp;
using heatskin::HWY_NAMESPACE::loadColumns;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using UnsignedTag = hn::RebindToUnsigned<Tag>;

/// Geometry of a vector of pairs against one query.
struct Geometry {
  Vector dx, dy;  // q - S
  Vector axis_x, axis_y;
  Vector plane, chord;  // squared lengths
  Vector cx, cy, cz;    // q - p in space
  Vector anisotropy;
  Vector cosine, sine;
};

/// Floats `first` .. `first` + 3 of the kernels' rows.
template <class KernelOf>
HWY_INLINE Columns<Vector> kernelColumns(const PairTables& t, const KernelOf& kernel_of, std::size_t first) {
  return loadColumns(Tag(), [&](std::size_t lane) HWY_ATTR {
    return reinterpret_cast<const float*>(t.kernels + kernel_of(lane)) + first;
  });
}

/// Where a point of the reference coordinates develops to; `motion` has the columns of Development.
HWY_INLINE Vector developX(const Columns<Vector>& motion, Vector x, Vector y) {
  return hn::MulAdd(motion.c0, x, hn::NegMulAdd(motion.c1, y, motion.c2));
}
HWY_INLINE Vector developY(const Columns<Vector>& motion, Vector x, Vector y) {
  return hn::MulAdd(motion.c1, x, hn::MulAdd(motion.c0, y, motion.c3));
}

/// A vector of charts. The second load begins in the middle of a chart, so as not to go beyond its end.
struct ChartColumns {
  Vector xx, xy, yx, yy, x, y;
};
template <class PairOf>
HWY_INLINE ChartColumns chartColumns(const FacePairs& face, const PairOf& pair_of) {
  static_assert(offsetof(Chart, yx) == 8 && sizeof(Chart) == 24);
  const Tag d;
  const auto first =
      loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &face.charts[pair_of(lane)].xx; });
  const auto last = loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &face.charts[pair_of(lane)].yx; });
  return {first.c0, first.c1, first.c2, first.c3, last.c2, last.c3};
}

/// Whose plane q - S lies in.
enum class Plane {
  kFace,       ///< that of the query's face, by the development
  kKernel,     ///< the kernel's, by the chart
  kProjected,  ///< the kernel's, by projection in space (Euclidean variant)
};

/// `kernel_of` and `pair_of` give the numbers of a lane's kernel and pair of the query's face.
template <Plane kPlane, class KernelOf, class PairOf>
HWY_INLINE Geometry geometryOf(const PairTables& t, const FacePairs& face, const QueryRow& q,
                               const KernelOf& kernel_of, const PairOf& pair_of) {
  const Tag d;
  static_assert(offsetof(KernelRow, anisotropy) == 16 && offsetof(KernelRow, basis_x) == 32 &&
                offsetof(KernelRow, cosine) == 44 && offsetof(KernelRow, basis_y) == 48 &&
                offsetof(KernelRow, sine) == 60);
  Geometry g;
  const auto center_axis = kernelColumns(t, kernel_of, 0);
  const auto anisotropy_space = kernelColumns(t, kernel_of, 4);
  g.anisotropy = anisotropy_space.c0;
  g.cx = hn::Sub(hn::Set(d, q.space_x), anisotropy_space.c1);
  g.cy = hn::Sub(hn::Set(d, q.space_y), anisotropy_space.c2);
  g.cz = hn::Sub(hn::Set(d, q.space_z), anisotropy_space.c3);
  g.chord = hn::MulAdd(g.cx, g.cx, hn::MulAdd(g.cy, g.cy, hn::Mul(g.cz, g.cz)));
  const auto axis_x = center_axis.c2, axis_y = center_axis.c3;
  const auto x = center_axis.c0, y = center_axis.c1;
  if constexpr (kPlane != Plane::kFace) {
    g.cosine = hn::Set(d, 1.0f);
    g.sine = hn::Zero(d);
    g.axis_x = axis_x;
    g.axis_y = axis_y;
  }
  if constexpr (kPlane == Plane::kProjected) {
    const auto bx = kernelColumns(t, kernel_of, 8), by = kernelColumns(t, kernel_of, 12);
    g.dx = hn::MulAdd(bx.c0, g.cx, hn::MulAdd(bx.c1, g.cy, hn::Mul(bx.c2, g.cz)));
    g.dy = hn::MulAdd(by.c0, g.cx, hn::MulAdd(by.c1, g.cy, hn::Mul(by.c2, g.cz)));
  } else if constexpr (kPlane == Plane::kKernel) {
    const ChartColumns chart = chartColumns(face, pair_of);
    const auto qx = hn::Set(d, q.x), qy = hn::Set(d, q.y);
    g.dx = hn::MulAdd(chart.xx, qx, hn::MulAdd(chart.xy, qy, hn::Sub(chart.x, x)));
    g.dy = hn::MulAdd(chart.yx, qx, hn::MulAdd(chart.yy, qy, hn::Sub(chart.y, y)));
  } else {
    const auto motion =
        loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &face.developments[pair_of(lane)].cosine; });
    g.cosine = motion.c0;
    g.sine = motion.c1;
    g.dx = hn::Sub(hn::Set(d, q.x), developX(motion, x, y));
    g.dy = hn::Sub(hn::Set(d, q.y), developY(motion, x, y));
    g.axis_x = hn::NegMulAdd(g.sine, axis_y, hn::Mul(g.cosine, axis_x));
    g.axis_y = hn::MulAdd(g.sine, axis_x, hn::Mul(g.cosine, axis_y));
  }
  g.plane = hn::MulAdd(g.dx, g.dx, hn::Mul(g.dy, g.dy));
  return g;
}

HWY_INLINE hn::Mask<Tag> chordCounts(const Geometry& g) {
  return hn::Gt(g.chord, hn::Mul(hn::Set(Tag(), kChordSlack<float>), g.plane));
}

/// By what a squared distance is multiplied in the exponent; the axis brings the kernel's length. `share` is
/// sin^2 of the angle against it, / h^2.
HWY_INLINE Vector rateOf(const Geometry& g, Vector share, Vector heat, Vector window) {
  const auto scale = hn::MulAdd(g.axis_x, g.axis_x, hn::Mul(g.axis_y, g.axis_y));
  return hn::MulAdd(heat, hn::MulAdd(g.anisotropy, share, scale), hn::Mul(window, scale));
}

/// The kernels' weights of squared distances.
template <class KernelOf>
HWY_INLINE Vector weights(const PairTables& t, const KernelOf& kernel_of) {
  const Tag d;
  if (t.weights == nullptr) return hn::Set(d, 1.0f);
  HWY_ALIGN float values[hn::MaxLanes(Tag())];
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane)
    values[lane] = t.weights[kernel_of(lane)];
  return hn::Load(d, values);
}

/// Weighted distances and responses of a vector of pairs.
template <Plane kPlane, class KernelOf, class PairOf>
HWY_INLINE void respondVector(const PairTables& t, const FacePairs& face, const QueryRow& q,
                              const KernelOf& kernel_of, const PairOf& pair_of, float* HWY_RESTRICT squared,
                              float* HWY_RESTRICT x) {
  const Tag d;
  const auto heat = hn::Set(d, t.shape.heat), window = hn::Set(d, t.shape.window);
  const auto tiny = hn::Set(d, kCoincident<float>);
  const Geometry g = geometryOf<kPlane>(t, face, q, kernel_of, pair_of);
  const auto d2 = hn::IfThenElse(chordCounts(g), g.chord, g.plane);
  const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
  const auto share = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(hn::Mul(v, v), g.plane));
  const auto rate = rateOf(g, share, heat, window);
  hn::StoreU(fastExp(d, hn::Neg(hn::Mul(d2, rate))), d, x);
  if (squared != nullptr) hn::StoreU(hn::Mul(d2, weights(t, kernel_of)), d, squared);
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#endif
