// Vectorised respondBlock() and respondVjpBlock(): one source, compiled once for every SIMD level, chosen at
// run time.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "heatskin/evaluators/local/pair_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/local/pair_response_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/rows-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::addColumns;
using heatskin::HWY_NAMESPACE::Columns;
using heatskin::HWY_NAMESPACE::countInside;
using heatskin::HWY_NAMESPACE::extentOf;
using heatskin::HWY_NAMESPACE::fastExp;
using heatskin::HWY_NAMESPACE::findBorder;
using heatskin::HWY_NAMESPACE::keepWanted;
using heatskin::HWY_NAMESPACE::loadColumns;
using heatskin::HWY_NAMESPACE::packInto;
using heatskin::HWY_NAMESPACE::Wanted;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using UnsignedTag = hn::RebindToUnsigned<Tag>;
static_assert(LeafTable::kLeaf % hn::MaxLanes(Tag()) == 0);

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

/// `kernel_of` and `pair_of` give the numbers of a lane's kernel and pair.
/// Whose plane q - S lies in.
enum class Plane {
  kFace,       ///< that of the query's face, by the development
  kKernel,     ///< the kernel's, by the chart
  kProjected,  ///< the kernel's, by projection in space (Euclidean variant)
};

template <Plane kPlane, class KernelOf, class PairOf>
HWY_INLINE Geometry geometryOf(const PairTables& t, const QueryRow& q, const KernelOf& kernel_of,
                               const PairOf& pair_of) {
  const Tag d;
  static_assert(offsetof(KernelRow, anisotropy) == 16 && offsetof(KernelRow, basis_x) == 32 &&
                offsetof(KernelRow, basis_y) == 48);
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
    const auto matrix =
        loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &t.supports->charts[pair_of(lane)].xx; });
    const auto offset =
        loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &t.supports->charts[pair_of(lane)].x; });
    const auto qx = hn::Set(d, q.x), qy = hn::Set(d, q.y);
    g.dx = hn::MulAdd(matrix.c0, qx, hn::MulAdd(matrix.c1, qy, hn::Sub(offset.c0, x)));
    g.dy = hn::MulAdd(matrix.c2, qx, hn::MulAdd(matrix.c3, qy, hn::Sub(offset.c1, y)));
  } else {
    const auto motion = loadColumns(
        d, [&](std::size_t lane) HWY_ATTR { return &t.supports->developments[pair_of(lane)].cosine; });
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
HWY_INLINE void respondVector(const PairTables& t, const QueryRow& q, const KernelOf& kernel_of,
                              const PairOf& pair_of, float* HWY_RESTRICT squared, float* HWY_RESTRICT x) {
  const Tag d;
  const auto heat = hn::Set(d, t.shape.heat), window = hn::Set(d, t.shape.window);
  const auto tiny = hn::Set(d, kCoincident<float>);
  const Geometry g = geometryOf<kPlane>(t, q, kernel_of, pair_of);
  const auto d2 = hn::IfThenElse(chordCounts(g), g.chord, g.plane);
  const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
  const auto share = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(hn::Mul(v, v), g.plane));
  const auto rate = hn::MulAdd(heat, hn::MulAdd(g.anisotropy, share, hn::Set(d, 1.0f)), window);
  hn::StoreU(fastExp(d, hn::Neg(hn::Mul(d2, rate))), d, x);
  if (squared != nullptr) hn::StoreU(hn::Mul(d2, weights(t, kernel_of)), d, squared);
}

/// The pairs [begin, end) with their weighted distances and responses; the arrays have room for a vector
/// more.
template <Plane kPlane>
HWY_INLINE void respondRange(const PairTables& t, const QueryRow& q, std::uint32_t begin, std::uint32_t end,
                             float* HWY_RESTRICT squared, float* HWY_RESTRICT x,
                             std::uint32_t* HWY_RESTRICT pairs, std::uint32_t* HWY_RESTRICT kernels) {
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(du);
  const SupportTable& s = *t.supports;
  for (std::uint32_t pair = begin; pair < end; pair += static_cast<std::uint32_t>(lanes)) {
    const std::size_t at = pair - begin;
    respondVector<kPlane>(
        t, q, [&](std::size_t lane) HWY_ATTR { return s.kernels[pair + lane]; },
        [&](std::size_t lane) HWY_ATTR { return pair + lane; }, squared == nullptr ? nullptr : squared + at,
        x + at);
    // Padded: lanes past the end are other pairs, still valid.
    hn::StoreU(hn::LoadU(du, s.kernels.data() + pair), du, kernels + at);
    hn::StoreU(hn::Add(hn::Set(du, pair), hn::Iota(du, 0)), du, pairs + at);
  }
}

/// A thread's memory for queries with more pairs than candidates.
struct Selection {
  std::vector<float> squared, x;
  std::vector<std::uint32_t> pairs, kernels;
  std::vector<float> leaf_squared;
  std::vector<std::uint32_t> near_leaves;

  void reserve(std::size_t count) {
    if (squared.size() >= count + ResponseBlock::kPadding) return;
    const std::size_t size = 2 * count + ResponseBlock::kPadding;
    squared.resize(size);
    x.resize(size);
    pairs.resize(size);
    kernels.resize(size);
    leaf_squared.resize(size);
    near_leaves.resize(size);
  }
};

/// Where leaves have no pair their centres are this far away: more than any query, and the square is finite.
constexpr float kFar = 1e15f;

/// More than weighted squared distances of pairs, less than those of such places.
constexpr float kEverything = 1e25f;

/// The nearest pairs of a face with leaves, by weighted squared distances. The leaves' centres and weights
/// give bounds of those: a chord, where it counts, is longer than the development, and what a chart makes of
/// lengths is in the weight.
template <Plane kPlane>
class LeafSearch {
 public:
  LeafSearch(const PairTables& t, const QueryRow& q, const LeafTable::Face& face, Selection& s)
      : t_(t), q_(q), face_(face), s_(s) {
    s_.reserve(std::size_t{face.leaves} * LeafTable::kLeaf);
  }

  /// Leaves pairs, kernels and responses in the selection; returns their number.
  HWY_INLINE std::size_t run() {
    const std::size_t wanted = t_.candidates;
    boundLeaves();
    const float radius = radiusWithEnough(wanted);
    const std::size_t count =
        keepWanted<Wanted::kSmallest>(collect(radius), wanted, s_.squared.data(), s_.pairs.data());
    float farthest = 0;
    for (std::size_t i = 0; i < count; ++i)
      farthest = std::max(farthest, s_.squared[i]);
    respond(count);
    // Where no distance is longer than its bound, these are the nearest: of all others the bounds are farther
    // already. The factor is the float rounding of a squared distance.
    if (countInside<Wanted::kSmallest>(s_.squared.data(), count, farthest * 1.00001f) == count) return count;
    // What they have is enough for any other; so look at all those whose bound is not beyond that.
    const std::size_t seen = collect(std::min(extentOf(s_.squared.data(), count).most, kEverything));
    respond(seen);
    return keepWanted<Wanted::kSmallest>(seen, wanted, s_.squared.data(), s_.pairs.data(), s_.kernels.data(),
                                         s_.x.data());
  }

 private:
  std::size_t pairCount() const {
    return t_.supports->begin[face_.face + 1] - t_.supports->begin[face_.face];
  }

  /// Bounds of the weighted distances of all leaves, from their boxes.
  HWY_INLINE void boundLeaves() {
    const Tag d;
    const LeafTable& l = *t_.leaves;
    const auto qx = hn::Set(d, q_.x), qy = hn::Set(d, q_.y), zero = hn::Zero(d);
    for (std::size_t i = 0; i < face_.leaves; i += hn::Lanes(d)) {
      const std::size_t leaf = face_.first_leaf + i;
      const auto dx = hn::Max(zero, hn::Max(hn::Sub(hn::LoadU(d, l.low_x.data() + leaf), qx),
                                            hn::Sub(qx, hn::LoadU(d, l.high_x.data() + leaf))));
      const auto dy = hn::Max(zero, hn::Max(hn::Sub(hn::LoadU(d, l.low_y.data() + leaf), qy),
                                            hn::Sub(qy, hn::LoadU(d, l.high_y.data() + leaf))));
      const auto squared = hn::Mul(hn::MulAdd(dx, dx, hn::Mul(dy, dy)), hn::LoadU(d, l.weight.data() + leaf));
      hn::StoreU(squared, d, s_.leaf_squared.data() + i);
    }
  }

  /// Numbers of the leaves with bounds up to a weighted distance, in order; how many.
  HWY_INLINE std::size_t leavesWithin(float radius) {
    const Tag d;
    const UnsignedTag du;
    const auto limit = hn::Set(d, radius);
    std::size_t leaves = 0;
    for (std::size_t i = 0; i < face_.leaves; i += hn::Lanes(d)) {
      const auto near =
          hn::And(hn::Le(hn::LoadU(d, s_.leaf_squared.data() + i), limit), hn::FirstN(d, face_.leaves - i));
      leaves += packInto(du, hn::Add(hn::Set(du, static_cast<std::uint32_t>(i)), hn::Iota(du, 0)),
                         hn::RebindMask(du, near), s_.near_leaves.data() + leaves);
    }
    return leaves;
  }

  /// Weighted squared distances in the plane to the centres of a leaf, a vector at a time.
  template <class Use>
  HWY_INLINE void overLeaf(std::size_t leaf, const Use& use) const {
    const Tag d;
    const LeafTable& l = *t_.leaves;
    for (std::size_t n = 0; n < LeafTable::kLeaf; n += hn::Lanes(d)) {
      const std::size_t at = (face_.first_leaf + leaf) * LeafTable::kLeaf + n;
      const auto dx = hn::Sub(hn::Set(d, q_.x), hn::LoadU(d, l.center_x.data() + at));
      const auto dy = hn::Sub(hn::Set(d, q_.y), hn::LoadU(d, l.center_y.data() + at));
      use(leaf * LeafTable::kLeaf + n,
          hn::Mul(hn::MulAdd(dx, dx, hn::Mul(dy, dy)), hn::LoadU(d, l.center_weight.data() + at)));
    }
  }

  /// A weighted distance with at least `wanted` centres inside: those of the leaves with the least bounds
  /// suffice.
  HWY_INLINE float radiusWithEnough(std::size_t wanted) {
    const Tag d;
    const std::size_t all = face_.leaves;
    // More than the number, since leaves are seldom inside as a whole; one more because a face's last leaf
    // may have a single pair.
    const std::size_t span =
        std::min(all, (wanted + wanted / 2 + LeafTable::kLeaf - 1) / LeafTable::kLeaf + 1);
    const float bound =
        span < all ? findBorder<Wanted::kSmallest>(s_.leaf_squared.data(), all, span).value : kEverything;
    const std::size_t leaves = leavesWithin(bound);
    for (std::size_t i = 0; i < leaves; ++i) {
      const std::size_t leaf = s_.near_leaves[i];
      overLeaf(leaf, [&](std::size_t at, Vector squared) HWY_ATTR {
        hn::StoreU(squared, d, s_.squared.data() + at + (i - leaf) * LeafTable::kLeaf);
      });
    }
    // Missing pairs are at the end of the last leaf.
    const std::size_t missing =
        s_.near_leaves[leaves - 1] == all - 1 ? all * LeafTable::kLeaf - pairCount() : 0;
    return findBorder<Wanted::kSmallest>(s_.squared.data(), leaves * LeafTable::kLeaf - missing, wanted)
        .value;
  }

  /// All pairs with centres up to a weighted distance, in the order of pairs; their number.
  HWY_INLINE std::size_t collect(float radius) {
    const Tag d;
    const UnsignedTag du;
    const auto limit = hn::Set(d, radius);
    const std::size_t leaves = leavesWithin(radius);
    const std::uint32_t begin = t_.supports->begin[face_.face];
    std::size_t count = 0;
    for (std::size_t i = 0; i < leaves; ++i) {
      overLeaf(s_.near_leaves[i], [&](std::size_t at, Vector squared) HWY_ATTR {
        const auto inside = hn::Le(squared, limit);
        packInto(du, hn::Add(hn::Set(du, begin + static_cast<std::uint32_t>(at)), hn::Iota(du, 0)),
                 hn::RebindMask(du, inside), s_.pairs.data() + count);
        count += packInto(d, squared, inside, s_.squared.data() + count);
      });
    }
    return count;
  }

  /// Kernels, distances that count, and responses of the first `count` pairs of the selection.
  HWY_INLINE void respond(std::size_t count) {
    const Tag d;
    std::uint32_t *pairs = s_.pairs.data(), *kernels = s_.kernels.data();
    const std::size_t lanes = hn::Lanes(d), whole = (count + lanes - 1) / lanes * lanes;
    std::fill(pairs + count, pairs + whole, pairs[count - 1]);
    for (std::size_t i = 0; i < whole; ++i)
      kernels[i] = t_.supports->kernels[pairs[i]];
    for (std::size_t i = 0; i < whole; i += lanes) {
      respondVector<kPlane>(
          t_, q_, [&](std::size_t lane) HWY_ATTR { return kernels[i + lane]; },
          [&](std::size_t lane) HWY_ATTR { return pairs[i + lane]; }, s_.squared.data() + i, s_.x.data() + i);
    }
  }

  const PairTables& t_;
  const QueryRow& q_;
  const LeafTable::Face& face_;
  Selection& s_;
};

template <Plane kPlane>
void respondMode(const PairTables& t, std::span<const QueryRow> queries, ResponseBlock& out) {
  thread_local Selection selection;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const QueryRow& q = queries[i];
    const std::uint32_t begin = t.supports->begin[q.face], end = t.supports->begin[q.face + 1];
    const std::size_t count = end - begin, base = i * out.stride;
    float* x = out.x.data() + base;
    std::uint32_t* pairs = out.pairs.data() + base;
    std::uint32_t* kernels = out.kernels.data() + base;
    if (count <= t.candidates) {
      respondRange<kPlane>(t, q, begin, end, nullptr, x, pairs, kernels);
      out.counts[i] = static_cast<std::uint32_t>(count);
      continue;
    }
    const std::uint32_t large = t.leaves->index_of_face.empty() ? kNone : t.leaves->index_of_face[q.face];
    std::size_t kept = 0;
    if (large != kNone) {
      kept = LeafSearch<kPlane>(t, q, t.leaves->faces[large], selection).run();
    } else {
      selection.reserve(count);
      respondRange<kPlane>(t, q, begin, end, selection.squared.data(), selection.x.data(),
                           selection.pairs.data(), selection.kernels.data());
      kept =
          keepWanted<Wanted::kSmallest>(count, t.candidates, selection.squared.data(), selection.pairs.data(),
                                        selection.kernels.data(), selection.x.data());
    }
    // Whole vectors: what follows the kept ones are kernels of this query too.
    const std::size_t lanes = hn::Lanes(Tag()),
                      whole = std::min(out.stride, (kept + lanes - 1) / lanes * lanes);
    std::copy_n(selection.x.data(), whole, x);
    std::copy_n(selection.pairs.data(), whole, pairs);
    std::copy_n(selection.kernels.data(), whole, kernels);
    out.counts[i] = static_cast<std::uint32_t>(kept);
  }
}

/// Where a face with a chart sees the kernel's centre, and by how much the chart shrinks squared lengths at
/// most.
struct ChartCenter {
  Vector x, y, shrinkage;
};

HWY_INLINE ChartCenter chartCenter(const Columns<Vector>& matrix, const Columns<Vector>& offset, Vector x,
                                   Vector y) {
  const Tag d;
  const auto xx = matrix.c0, xy = matrix.c1, yx = matrix.c2, yy = matrix.c3;
  const auto det = hn::Sub(hn::Mul(xx, yy), hn::Mul(xy, yx));
  // A chart that folds its face to a line has no inverse, and no centre; it shrinks lengths to nothing, so
  // that the pair is always looked at.
  const auto regular = hn::Gt(hn::Abs(det), hn::Set(d, 1e-6f));
  const auto inverse = hn::IfThenElseZero(regular, hn::Div(hn::Set(d, 1.0f), det));
  const auto px = hn::Sub(x, offset.c0), py = hn::Sub(y, offset.c1);
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
  const SupportTable& s = *t.supports;
  const auto far = hn::Set(d, kFar);
  for (std::size_t i = first; i < last; ++i) {
    const LeafTable::Face& face = leaves.faces[i];
    const std::uint32_t end = s.begin[face.face + 1];
    std::uint32_t pair = s.begin[face.face];
    for (std::size_t leaf = face.first_leaf; leaf < face.first_leaf + face.leaves; ++leaf) {
      auto low_x = far, low_y = far, high_x = hn::Neg(far), high_y = hn::Neg(far), least_weight = far;
      for (std::size_t n = 0; n < LeafTable::kLeaf; n += hn::Lanes(d)) {
        const auto at = [&](std::size_t lane)
                            HWY_ATTR { return std::min(pair + static_cast<std::uint32_t>(lane), end - 1); };
        const auto kernel_of = [&](std::size_t lane) HWY_ATTR { return s.kernels[at(lane)]; };
        const auto center = kernelColumns(t, kernel_of, 0);
        auto weight = weights(t, kernel_of);
        auto x = far, y = far;
        if constexpr (kPlane == Plane::kKernel) {
          const auto matrix =
              loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &s.charts[at(lane)].xx; });
          const auto offset =
              loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &s.charts[at(lane)].x; });
          const ChartCenter seen = chartCenter(matrix, offset, center.c0, center.c1);
          x = seen.x;
          y = seen.y;
          weight = hn::Mul(weight, seen.shrinkage);
        } else {
          const auto motion =
              loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &s.developments[at(lane)].cosine; });
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
  if (!t.supports->charts.empty()) {
    refitMode<Plane::kKernel>(t, leaves, first, last);
  } else {
    refitMode<Plane::kFace>(t, leaves, first, last);
  }
}

void respondBlockT(const PairTables& t, std::span<const QueryRow> queries, ResponseBlock& out) {
  if (t.euclidean) {
    respondMode<Plane::kProjected>(t, queries, out);
  } else if (!t.supports->charts.empty()) {
    respondMode<Plane::kKernel>(t, queries, out);
  } else {
    respondMode<Plane::kFace>(t, queries, out);
  }
}

template <Plane kPlane>
void respondVjpMode(const PairTables& t, std::span<const QueryRow> queries, const ResponseBlock& responses,
                    std::span<const float> gradient, GradientSums& sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto heat = hn::Set(d, t.shape.heat), window = hn::Set(d, t.shape.window);
  const auto tiny = hn::Set(d, kCoincident<float>), one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const auto two = hn::Set(d, 2.0f);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const QueryRow& q = queries[i];
    const std::size_t base = i * responses.stride, count = responses.counts[i];
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const std::uint32_t* pairs = responses.pairs.data() + base;
    for (std::size_t n = 0; n < count; ++n)
      sums.row(kernels[n]);
    for (std::size_t n = 0; n < count; n += lanes) {
      const std::size_t valid = std::min(lanes, count - n);
      const auto dx_loss = hn::IfThenElseZero(hn::FirstN(d, valid), hn::LoadU(d, gradient.data() + base + n));
      if (hn::AllTrue(d, hn::Eq(dx_loss, zero))) continue;
      // Lanes past the last candidate repeat it; their gradient is zero.
      const auto at = [&](std::size_t lane) HWY_ATTR { return n + std::min(lane, valid - 1); };
      const auto kernel_of = [&](std::size_t lane) HWY_ATTR { return kernels[at(lane)]; };
      const Geometry g =
          geometryOf<kPlane>(t, q, kernel_of, [&](std::size_t lane) HWY_ATTR { return pairs[at(lane)]; });
      // The scalar version of these lines, with their reasons, is responseVjp().
      const auto chord_counts = chordCounts(g);
      const auto d2 = hn::IfThenElse(chord_counts, g.chord, g.plane);
      const auto u = hn::MulAdd(g.axis_x, g.dx, hn::Mul(g.axis_y, g.dy));
      const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
      const auto inverse = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(one, g.plane));
      const auto share = hn::Mul(hn::Mul(v, v), inverse);
      const auto rate = hn::MulAdd(heat, hn::MulAdd(g.anisotropy, share, one), window);
      const auto outer = hn::Neg(hn::Mul(dx_loss, hn::LoadU(d, responses.x.data() + base + n)));
      const auto scaled = hn::Mul(outer, hn::Mul(d2, heat));
      const auto d_share = hn::Mul(scaled, g.anisotropy);
      const auto twist = hn::Mul(hn::Mul(two, hn::Mul(u, v)), hn::Mul(inverse, d_share));
      const auto turn = hn::Mul(twist, inverse);
      const auto d_distance = hn::Mul(hn::Mul(outer, rate), two);
      const auto in_plane = hn::IfThenElse(chord_counts, zero, d_distance);
      const auto gx = hn::NegMulAdd(in_plane, g.dx, hn::Mul(turn, g.dy));
      const auto gy = hn::Neg(hn::MulAdd(turn, g.dx, hn::Mul(in_plane, g.dy)));
      auto position_x = hn::MulAdd(g.cosine, gx, hn::Mul(g.sine, gy));
      auto position_y = hn::NegMulAdd(g.sine, gx, hn::Mul(g.cosine, gy));
      if (!hn::AllFalse(d, chord_counts)) {
        const auto bx = kernelColumns(t, kernel_of, 8), by = kernelColumns(t, kernel_of, 12);
        const auto pull = hn::IfThenElseZero(chord_counts, hn::Neg(d_distance));
        position_x = hn::MulAdd(pull, hn::MulAdd(bx.c0, g.cx, hn::MulAdd(bx.c1, g.cy, hn::Mul(bx.c2, g.cz))),
                                position_x);
        position_y = hn::MulAdd(pull, hn::MulAdd(by.c0, g.cx, hn::MulAdd(by.c1, g.cy, hn::Mul(by.c2, g.cz))),
                                position_y);
      }
      static_assert(GradientRow::kPositionX == 0 && GradientRow::kPositionY == 1 &&
                    GradientRow::kAngle == 2 && GradientRow::kAnisotropy == 3);
      addColumns(
          d, Columns<Vector>{position_x, position_y, hn::Neg(twist), hn::Mul(scaled, share)},
          [&](std::size_t lane) HWY_ATTR { return sums.present(kernels[n + lane]); }, valid);
    }
  }
}

void respondVjpBlockT(const PairTables& t, std::span<const QueryRow> queries, const ResponseBlock& responses,
                      std::span<const float> dx, GradientSums& sums) {
  if (t.euclidean) {
    respondVjpMode<Plane::kProjected>(t, queries, responses, dx, sums);
  } else if (!t.supports->charts.empty()) {
    respondVjpMode<Plane::kKernel>(t, queries, responses, dx, sums);
  } else {
    respondVjpMode<Plane::kFace>(t, queries, responses, dx, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::local {

HWY_EXPORT(respondBlockT);
HWY_EXPORT(refitLeavesT);
HWY_EXPORT(respondVjpBlockT);

void respondBlock(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out) {
  HWY_DYNAMIC_DISPATCH(respondBlockT)(tables, queries, out);
}

void refitLeaves(const PairTables& tables, LeafTable& leaves, std::size_t first, std::size_t last) {
  HWY_DYNAMIC_DISPATCH(refitLeavesT)(tables, leaves, first, last);
}

void respondVjpBlock(const PairTables& tables, std::span<const QueryRow> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  HWY_DYNAMIC_DISPATCH(respondVjpBlockT)(tables, queries, responses, dx, sums);
}

}  // namespace heatskin::local
#endif
