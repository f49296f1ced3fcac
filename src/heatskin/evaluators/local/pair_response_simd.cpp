// Vectorised respondBlock() and respondVjpBlock(): one source, compiled once for every SIMD level, chosen at
// run time.

#include <algorithm>
#include <cstddef>

#include "heatskin/evaluators/local/pair_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/local/pair_response_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/evaluators/local/leaf_search-inl.h"
#include "heatskin/evaluators/local/pair_geometry-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

using heatskin::HWY_NAMESPACE::addColumns;

/// All pairs of a face with their weighted distances and responses; the arrays have room for a vector more.
template <Plane kPlane>
HWY_INLINE void respondRange(const PairTables& t, const FacePairs& face, const QueryRow& q,
                             float* HWY_RESTRICT squared, float* HWY_RESTRICT x,
                             std::uint32_t* HWY_RESTRICT pairs, std::uint32_t* HWY_RESTRICT kernels) {
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(du);
  for (std::uint32_t pair = 0; pair < face.count; pair += static_cast<std::uint32_t>(lanes)) {
    respondVector<kPlane>(
        t, face, q, [&](std::size_t lane) HWY_ATTR { return face.kernels[pair + lane]; },
        [&](std::size_t lane) HWY_ATTR { return pair + lane; }, squared == nullptr ? nullptr : squared + pair,
        x + pair);
    // Padded: lanes past the end are other pairs, still valid.
    hn::StoreU(hn::LoadU(du, face.kernels + pair), du, kernels + pair);
    hn::StoreU(hn::Add(hn::Set(du, pair), hn::Iota(du, 0)), du, pairs + pair);
  }
}

template <Plane kPlane>
void respondMode(const PairTables& t, std::span<const QueryRow> queries, Selection& selection,
                 ResponseBlock& out) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const QueryRow& q = queries[i];
    const FacePairs face = t.supports->of(q.face);
    const std::size_t count = face.count, base = i * out.stride;
    float* x = out.x.data() + base;
    std::uint32_t* pairs = out.pairs.data() + base;
    std::uint32_t* kernels = out.kernels.data() + base;
    if (count <= t.candidates) {
      respondRange<kPlane>(t, face, q, nullptr, x, pairs, kernels);
      out.counts[i] = static_cast<std::uint32_t>(count);
      continue;
    }
    const std::uint32_t large = t.leaves->index_of_face.empty() ? kNone : t.leaves->index_of_face[q.face];
    std::size_t kept = 0;
    if (large != kNone) {
      kept = LeafSearch<kPlane>(t, q, t.leaves->faces[large], selection).run();
    } else {
      selection.reserve(count);
      respondRange<kPlane>(t, face, q, selection.squared.data(), selection.x.data(), selection.pairs.data(),
                           selection.kernels.data());
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

void respondBlockT(const PairTables& t, std::span<const QueryRow> queries, Selection& selection,
                   ResponseBlock& out) {
  if (t.euclidean) {
    respondMode<Plane::kProjected>(t, queries, selection, out);
  } else if (t.supports->joined()) {
    respondMode<Plane::kKernel>(t, queries, selection, out);
  } else {
    respondMode<Plane::kFace>(t, queries, selection, out);
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
    const FacePairs face = t.supports->of(q.face);
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
      const Geometry g = geometryOf<kPlane>(t, face, q, kernel_of,
                                            [&](std::size_t lane) HWY_ATTR { return pairs[at(lane)]; });
      // The scalar version of these lines, with their reasons, is responseVjp().
      const auto chord_counts = chordCounts(g);
      const auto d2 = hn::IfThenElse(chord_counts, g.chord, g.plane);
      const auto u = hn::MulAdd(g.axis_x, g.dx, hn::Mul(g.axis_y, g.dy));
      const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
      const auto inverse = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(one, g.plane));
      const auto share = hn::Mul(hn::Mul(v, v), inverse);
      const auto rate = rateOf(g, share, heat, window);
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
      static_assert(sizeof(GeometryGradient) == 4 * sizeof(float));
      addColumns(
          d, Columns<Vector>{position_x, position_y, hn::Neg(twist), hn::Mul(scaled, share)},
          [&](std::size_t lane) HWY_ATTR { return &sums.present(kernels[n + lane]).geometry.position_x; },
          valid);
    }
  }
}

void respondVjpBlockT(const PairTables& t, std::span<const QueryRow> queries, const ResponseBlock& responses,
                      std::span<const float> dx, GradientSums& sums) {
  if (t.euclidean) {
    respondVjpMode<Plane::kProjected>(t, queries, responses, dx, sums);
  } else if (t.supports->joined()) {
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
HWY_EXPORT(respondVjpBlockT);

void respondBlock(const PairTables& tables, std::span<const QueryRow> queries, Selection& scratch,
                  ResponseBlock& out) {
  HWY_DYNAMIC_DISPATCH(respondBlockT)(tables, queries, scratch, out);
}

void respondVjpBlock(const PairTables& tables, std::span<const QueryRow> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  HWY_DYNAMIC_DISPATCH(respondVjpBlockT)(tables, queries, responses, dx, sums);
}

}  // namespace heatskin::local
#endif
