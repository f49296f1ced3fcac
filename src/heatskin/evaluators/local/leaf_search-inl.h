// The nearest pairs of a face with very many of them (trap 11.7). Included once per SIMD target (Highway),
// hence no ordinary guard.

#if defined(HEATSKIN_LEAF_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEATSKIN_LEAF_SEARCH_INL_H_
#undef HEATSKIN_LEAF_SEARCH_INL_H_
#else
#define HEATSKIN_LEAF_SEARCH_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <hwy/highway.h>

#include "heatskin/evaluators/local/pair_geometry-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

using heatskin::HWY_NAMESPACE::countInside;
using heatskin::HWY_NAMESPACE::extentOf;
using heatskin::HWY_NAMESPACE::findBorder;
using heatskin::HWY_NAMESPACE::keepWanted;
using heatskin::HWY_NAMESPACE::packInto;
using heatskin::HWY_NAMESPACE::Wanted;

/// More than weighted squared distances of pairs, less than those of places where leaves have none.
constexpr float kEverything = 1e25f;

/// The nearest pairs of a face with leaves, by weighted squared distances. The leaves' centres and weights
/// give bounds of those: a chord, where it counts, is longer than the development, and what a chart makes of
/// lengths is in the weight.
template <Plane kPlane>
class LeafSearch {
 public:
  LeafSearch(const PairTables& t, const QueryRow& q, const LeafTable::Face& face, Selection& s)
      : t_(t), pairs_(t.supports->of(face.face)), q_(q), face_(face), s_(s) {
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
        s_.near_leaves[leaves - 1] == all - 1 ? all * LeafTable::kLeaf - pairs_.count : 0;
    return findBorder<Wanted::kSmallest>(s_.squared.data(), leaves * LeafTable::kLeaf - missing, wanted)
        .value;
  }

  /// All pairs with centres up to a weighted distance, in the order of pairs; their number.
  HWY_INLINE std::size_t collect(float radius) {
    const Tag d;
    const UnsignedTag du;
    const auto limit = hn::Set(d, radius);
    const std::size_t leaves = leavesWithin(radius);
    std::size_t count = 0;
    for (std::size_t i = 0; i < leaves; ++i) {
      overLeaf(s_.near_leaves[i], [&](std::size_t at, Vector squared) HWY_ATTR {
        const auto inside = hn::Le(squared, limit);
        packInto(du, hn::Add(hn::Set(du, static_cast<std::uint32_t>(at)), hn::Iota(du, 0)),
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
      kernels[i] = pairs_.kernels[pairs[i]];
    for (std::size_t i = 0; i < whole; i += lanes) {
      respondVector<kPlane>(
          t_, pairs_, q_, [&](std::size_t lane) HWY_ATTR { return kernels[i + lane]; },
          [&](std::size_t lane) HWY_ATTR { return pairs[i + lane]; }, s_.squared.data() + i, s_.x.data() + i);
    }
  }

  const PairTables& t_;
  const FacePairs pairs_;
  const QueryRow& q_;
  const LeafTable::Face& face_;
  Selection& s_;
};

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#endif
