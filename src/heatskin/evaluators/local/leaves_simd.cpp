// Vectorised refitLeaves(): one source, compiled once for every SIMD level, chosen at run time.

#include <algorithm>
#include <cstddef>

#include "heatskin/evaluators/local/leaves.h"
#include "heatskin/evaluators/local/pair_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/local/leaves_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/evaluators/local/pair_geometry-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

static_assert(LeafTable::kLeaf % hn::MaxLanes(Tag()) == 0);

/// Where a face with a chart sees the kernel's centre, and by how much the chart shrinks squared lengths at
/// most.
struct ChartCenter {
  Vector x, y, shrinkage;
};

HWY_INLINE ChartCenter chartCenter(const ChartColumns& chart, Vector x, Vector y) {
  const Tag d;
  const auto xx = chart.xx, xy = chart.xy, yx = chart.yx, yy = chart.yy;
  const auto det = hn::Sub(hn::Mul(xx, yy), hn::Mul(xy, yx));
  // A chart that folds its face to a line has no inverse, and no centre; it shrinks lengths to nothing, so
  // that the pair is always looked at.
  const auto regular = hn::Gt(hn::Abs(det), hn::Set(d, 1e-6f));
  const auto inverse = hn::IfThenElseZero(regular, hn::Div(hn::Set(d, 1.0f), det));
  const auto px = hn::Sub(x, chart.x), py = hn::Sub(y, chart.y);
  // The squares of the singular values have the sum `sum` and the product det^2.
  const auto sum = hn::MulAdd(xx, xx, hn::MulAdd(xy, xy, hn::MulAdd(yx, yx, hn::Mul(yy, yy))));
  const auto half = hn::Mul(hn::Set(d, 0.5f), sum), square = hn::Mul(det, det);
  const auto root = hn::Sqrt(hn::Max(hn::Zero(d), hn::Sub(hn::Mul(half, half), square)));
  // The smaller one as product / larger one, which does not cancel.
  const auto least = hn::IfThenElseZero(regular, hn::Div(square, hn::Add(half, root)));
  return {hn::Mul(hn::Sub(hn::Mul(yy, px), hn::Mul(xy, py)), inverse),
          hn::Mul(hn::Sub(hn::Mul(xx, py), hn::Mul(yx, px)), inverse), least};
}

template <Plane kPlane>
void refitMode(const PairTables& t, LeafTable& leaves, std::size_t first, std::size_t last) {
  const Tag d;
  const auto far = hn::Set(d, LeafTable::kFar);
  for (std::size_t i = first; i < last; ++i) {
    const LeafTable::Face& face = leaves.faces[i];
    const FacePairs pairs = t.supports->of(face.face);
    const std::uint32_t end = pairs.count;
    std::uint32_t pair = 0;
    for (std::size_t leaf = face.first_leaf; leaf < face.first_leaf + face.leaves; ++leaf) {
      auto low_x = far, low_y = far, high_x = hn::Neg(far), high_y = hn::Neg(far), least_weight = far;
      for (std::size_t n = 0; n < LeafTable::kLeaf; n += hn::Lanes(d)) {
        const auto at = [&](std::size_t lane)
                            HWY_ATTR { return std::min(pair + static_cast<std::uint32_t>(lane), end - 1); };
        const auto kernel_of = [&](std::size_t lane) HWY_ATTR { return pairs.kernels[at(lane)]; };
        const auto center = kernelColumns(t, kernel_of, 0);
        auto weight = weights(t, kernel_of);
        auto x = far, y = far;
        if constexpr (kPlane == Plane::kKernel) {
          const ChartCenter seen = chartCenter(chartColumns(pairs, at), center.c0, center.c1);
          x = seen.x;
          y = seen.y;
          weight = hn::Mul(weight, seen.shrinkage);
        } else {
          const auto motion =
              loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &pairs.developments[at(lane)].cosine; });
          x = developX(motion, center.c0, center.c1);
          y = developY(motion, center.c0, center.c1);
        }
        const auto present = hn::FirstN(d, end - std::min(pair, end));
        const auto to = leaf * LeafTable::kLeaf + n;
        hn::StoreU(hn::IfThenElse(present, x, far), d, leaves.center_x.data() + to);
        hn::StoreU(hn::IfThenElse(present, y, far), d, leaves.center_y.data() + to);
        // What is missing stays far away, whatever the last pair weighs.
        weight = hn::IfThenElse(present, weight, hn::Set(d, 1.0f));
        hn::StoreU(weight, d, leaves.center_weight.data() + to);
        least_weight = hn::IfThenElse(present, hn::Min(least_weight, weight), least_weight);
        low_x = hn::IfThenElse(present, hn::Min(low_x, x), low_x);
        low_y = hn::IfThenElse(present, hn::Min(low_y, y), low_y);
        high_x = hn::IfThenElse(present, hn::Max(high_x, x), high_x);
        high_y = hn::IfThenElse(present, hn::Max(high_y, y), high_y);
        pair += static_cast<std::uint32_t>(hn::Lanes(d));
      }
      leaves.weight[leaf] = hn::GetLane(hn::MinOfLanes(d, least_weight));
      leaves.low_x[leaf] = hn::GetLane(hn::MinOfLanes(d, low_x));
      leaves.low_y[leaf] = hn::GetLane(hn::MinOfLanes(d, low_y));
      leaves.high_x[leaf] = hn::GetLane(hn::MaxOfLanes(d, high_x));
      leaves.high_y[leaf] = hn::GetLane(hn::MaxOfLanes(d, high_y));
    }
  }
}

void refitLeavesT(const PairTables& t, LeafTable& leaves, std::size_t first, std::size_t last) {
  if (t.supports->joined()) {
    refitMode<Plane::kKernel>(t, leaves, first, last);
  } else {
    refitMode<Plane::kFace>(t, leaves, first, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::local {

HWY_EXPORT(refitLeavesT);

void refitLeaves(const PairTables& tables, LeafTable& leaves, std::size_t first, std::size_t last) {
  HWY_DYNAMIC_DISPATCH(refitLeavesT)(tables, leaves, first, last);
}

}  // namespace heatskin::local
#endif
