// Vectorised respondBlock() and respondVjpBlock(): one source, compiled once for every SIMD level, chosen at
// run time.

#include <algorithm>
#include <cstddef>

#include "heatskin/evaluators/fields/field_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/fields/field_response_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/rows-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::fields {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::fastExp;
using heatskin::HWY_NAMESPACE::keepWanted;
using heatskin::HWY_NAMESPACE::Wanted;
using Tag = hn::ScalableTag<float>;
using IndexTag = hn::RebindToSigned<Tag>;
using UnsignedTag = hn::RebindToUnsigned<Tag>;

/// sum_a b_a table[corner a of the pairs], for places `c0`, `c1`, `c2`.
HWY_INLINE hn::Vec<Tag> mix(const float* table, const FieldQuery& q, hn::Vec<IndexTag> c0,
                            hn::Vec<IndexTag> c1, hn::Vec<IndexTag> c2) {
  const Tag d;
  auto sum = hn::Mul(hn::Set(d, q.b[0]), hn::GatherIndex(d, table, c0));
  sum = hn::MulAdd(hn::Set(d, q.b[1]), hn::GatherIndex(d, table, c1), sum);
  return hn::MulAdd(hn::Set(d, q.b[2]), hn::GatherIndex(d, table, c2), sum);
}

HWY_INLINE hn::Vec<IndexTag> placesAt(const std::vector<std::uint32_t>& corner, std::size_t pair) {
  const IndexTag di;
  return hn::BitCast(di, hn::LoadU(UnsignedTag(), corner.data() + pair));
}

/// sum_a b_a rows[a][n .. n + lanes), in the order of mix().
HWY_INLINE hn::Vec<Tag> mixRows(const std::vector<float> (&rows)[3], const FieldQuery& q, std::size_t n) {
  const Tag d;
  auto sum = hn::Mul(hn::Set(d, q.b[0]), hn::LoadU(d, rows[0].data() + n));
  sum = hn::MulAdd(hn::Set(d, q.b[1]), hn::LoadU(d, rows[1].data() + n), sum);
  return hn::MulAdd(hn::Set(d, q.b[2]), hn::LoadU(d, rows[2].data() + n), sum);
}

/// The queries from `first` on that lie in one face.
HWY_INLINE std::size_t faceRun(std::span<const FieldQuery> queries, std::size_t first) {
  std::size_t end = first + 1;
  while (end < queries.size() && queries[end].face == queries[first].face)
    ++end;
  return end;
}

/// Candidates of the queries [first, last), all in one face, into `out`. With `kHeats` their heat is mixed,
/// too, and out.x is the response; otherwise it is the squared distance.
template <bool kHeats>
HWY_INLINE void selectRun(const FieldTables& t, std::span<const FieldQuery> queries, std::size_t first,
                          std::size_t last, Selection& s, ResponseBlock& out) {
  const Tag d;
  const IndexTag di;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const NearLists& lists = *t.lists;
  const std::uint32_t begin = lists.face_begin[queries[first].face];
  const std::size_t seen = lists.face_begin[queries[first].face + 1] - begin;
  const auto zero = hn::Zero(d), window = hn::Set(d, -t.window);
  s.reserve(seen);
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t n = 0; n < seen; n += lanes) {  // past the end: padding or other pairs, still valid
      const auto places = placesAt(lists.corners[c], begin + n);
      hn::StoreU(hn::GatherIndex(d, t.distances, places), d, s.distances[c].data() + n);
      if constexpr (kHeats) {
        static_assert(sizeof(PairHeat) == 8 * sizeof(float));
        const auto heats = hn::GatherIndex(d, &t.heats->heat, hn::ShiftLeft<3>(places));
        hn::StoreU(heats, d, s.corner_heats[c].data() + n);
      }
    }
  }
  for (std::size_t i = first; i < last; ++i) {
    const FieldQuery& q = queries[i];
    const auto bend = hn::Set(d, -q.bend);
    for (std::size_t n = 0; n < seen; n += lanes) {
      hn::StoreU(hn::Max(hn::Add(mixRows(s.distances, q, n), bend), zero), d, s.squared.data() + n);
      if constexpr (kHeats) hn::StoreU(mixRows(s.corner_heats, q, n), d, s.heats.data() + n);
      hn::StoreU(hn::Iota(du, begin + static_cast<std::uint32_t>(n)), du, s.pairs.data() + n);
      hn::StoreU(hn::LoadU(du, lists.face_kernels.data() + begin + n), du, s.kernels.data() + n);
    }
    const std::size_t kept = keepWanted<Wanted::kSmallest>(seen, t.candidates, s.squared.data(),
                                                           s.pairs.data(), s.kernels.data(), s.heats.data());
    const std::size_t base = i * out.stride;
    // Whole vectors: what follows the kept ones are kernels of this face or padding, which is kernel 0.
    const std::size_t whole = std::min(out.stride, (kept + lanes - 1) / lanes * lanes);
    std::copy_n(s.pairs.data(), whole, out.pairs.data() + base);
    std::copy_n(s.kernels.data(), whole, out.kernels.data() + base);
    out.counts[i] = static_cast<std::uint32_t>(kept);
    if constexpr (kHeats) {
      for (std::size_t n = 0; n < whole; n += lanes) {
        const auto squared = hn::LoadU(d, s.squared.data() + n);
        const auto kernel = hn::BitCast(di, hn::LoadU(du, s.kernels.data() + n));
        const auto inside = hn::Lt(squared, hn::GatherIndex(d, t.cutoffs, kernel));
        const auto decay = fastExp(d, hn::Mul(window, squared));
        hn::StoreU(hn::IfThenElseZero(inside, hn::Mul(hn::LoadU(d, s.heats.data() + n), decay)), d,
                   out.x.data() + base + n);
      }
    } else {
      std::copy_n(s.squared.data(), whole, out.x.data() + base);
    }
  }
}

void selectBlockT(const FieldTables& t, std::span<const FieldQuery> queries, Selection& s,
                  ResponseBlock& out) {
  for (std::size_t first = 0, last = 0; first < queries.size(); first = last) {
    last = faceRun(queries, first);
    selectRun<false>(t, queries, first, last, s, out);
  }
}

/// Responses of the queries [first, last) in place of their squared distances.
HWY_INLINE void heatRun(const FieldTables& t, std::span<const FieldQuery> queries, std::size_t first,
                        std::size_t last, ResponseBlock& block) {
  const Tag d;
  const IndexTag di;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const NearLists& lists = *t.lists;
  const auto window = hn::Set(d, -t.window);
  for (std::size_t i = first; i < last; ++i) {
    const FieldQuery& q = queries[i];
    const std::size_t base = i * block.stride, count = block.counts[i];
    for (std::size_t n = 0; n < count; n += lanes) {
      // Lanes past the last candidate look at pair 0.
      const auto valid = hn::FirstN(du, count - n);
      const auto index =
          hn::BitCast(di, hn::IfThenElseZero(valid, hn::LoadU(du, block.pairs.data() + base + n)));
      const auto kernel = hn::IfThenElseZero(valid, hn::LoadU(du, block.kernels.data() + base + n));
      // Heat is the seventh of eight floats.
      const auto corner = [&](std::size_t c) HWY_ATTR {
        static_assert(sizeof(PairHeat) == 8 * sizeof(float));
        return hn::ShiftLeft<3>(
            hn::GatherIndex(di, reinterpret_cast<const std::int32_t*>(lists.corners[c].data()), index));
      };
      const auto squared = hn::LoadU(d, block.x.data() + base + n);
      const auto cutoff = hn::GatherIndex(d, t.cutoffs, hn::BitCast(di, kernel));
      const auto heat = mix(&t.heats->heat, q, corner(0), corner(1), corner(2));
      const auto x =
          hn::IfThenElseZero(hn::Lt(squared, cutoff), hn::Mul(heat, fastExp(d, hn::Mul(window, squared))));
      hn::StoreU(x, d, block.x.data() + base + n);
    }
  }
}

void heatBlockT(const FieldTables& t, std::span<const FieldQuery> queries, ResponseBlock& block) {
  heatRun(t, queries, 0, queries.size(), block);
}

void respondBlockT(const FieldTables& t, std::span<const FieldQuery> queries, Selection& s,
                   ResponseBlock& out) {
  // Heat at all corners of a face pays when a few queries share it.
  constexpr std::size_t kEnough = 3;
  for (std::size_t first = 0, last = 0; first < queries.size(); first = last) {
    last = faceRun(queries, first);
    if (last - first >= kEnough) {
      selectRun<true>(t, queries, first, last, s, out);
    } else {
      selectRun<false>(t, queries, first, last, s, out);
      heatRun(t, queries, first, last, out);
    }
  }
}

void respondVjpBlockT(const FieldTables& t, std::span<const FieldQuery> queries,
                      const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  const Tag d;
  const hn::CappedTag<float, 4> d4;
  const IndexTag di;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const NearLists& lists = *t.lists;
  const auto zero = hn::Zero(d), window = hn::Set(d, -t.window);
  HWY_ALIGN float d_heat[hn::MaxLanes(Tag())], d_distance[hn::MaxLanes(Tag())];
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const FieldQuery& q = queries[i];
    const std::size_t base = i * responses.stride, count = responses.counts[i];
    const auto b0 = hn::Set(d4, q.b[0]), b1 = hn::Set(d4, q.b[1]), b2 = hn::Set(d4, q.b[2]);
    for (std::size_t n = 0; n < count; n += lanes) {
      const std::size_t valid = std::min(lanes, count - n);
      const auto loss = hn::IfThenElseZero(hn::FirstN(d, valid), hn::LoadU(d, dx.data() + base + n));
      const auto kernel = hn::LoadU(du, responses.kernels.data() + base + n);
      // Lanes past the last candidate may hold anything: they look at pair 0.
      const auto pair = hn::BitCast(
          di, hn::IfThenElseZero(hn::FirstN(du, valid), hn::LoadU(du, responses.pairs.data() + base + n)));
      const auto corner = [&](std::size_t c) HWY_ATTR {
        return hn::GatherIndex(di, reinterpret_cast<const std::int32_t*>(lists.corners[c].data()), pair);
      };
      const auto squared =
          hn::Max(hn::Sub(mix(t.distances, q, corner(0), corner(1), corner(2)), hn::Set(d, q.bend)), zero);
      const auto cutoff =
          hn::GatherIndex(d, t.cutoffs, hn::BitCast(di, hn::IfThenElseZero(hn::FirstN(du, valid), kernel)));
      const auto used = hn::IfThenElseZero(hn::Lt(squared, cutoff), loss);
      hn::Store(hn::Mul(used, fastExp(d, hn::Mul(window, squared))), d, d_heat);
      hn::Store(hn::Mul(used, hn::Mul(window, hn::LoadU(d, responses.x.data() + base + n))), d, d_distance);
      for (std::size_t lane = 0; lane < valid; ++lane) {
        float* row = &sums.row(responses.kernels[base + n + lane]).geometry.position_x;
        if (d_heat[lane] == 0) continue;
        const std::uint32_t at = responses.pairs[base + n + lane];
        const float* s0 = &t.heats[lists.corners[0][at]].heat_x;
        const float* s1 = &t.heats[lists.corners[1][at]].heat_x;
        const float* s2 = &t.heats[lists.corners[2][at]].heat_x;
        static_assert(sizeof(GeometryGradient) == 4 * sizeof(float));  // in the order of PairHeat
        const auto mixed = [&](std::size_t c) HWY_ATTR {
          return hn::MulAdd(b2, hn::LoadU(d4, s2 + c),
                            hn::MulAdd(b1, hn::LoadU(d4, s1 + c), hn::Mul(b0, hn::LoadU(d4, s0 + c))));
        };
        // Angle and anisotropy do not change distances; those lanes hold something else.
        HWY_ALIGN const float by_distance[4] = {d_distance[lane], d_distance[lane], 0, 0};
        for (std::size_t c = 0; c < 4; c += hn::Lanes(d4)) {
          const auto distance =
              hn::MulAdd(hn::LoadU(d4, by_distance + c), mixed(c + 4), hn::LoadU(d4, row + c));
          hn::StoreU(hn::MulAdd(hn::Set(d4, d_heat[lane]), mixed(c), distance), d4, row + c);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::fields
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::fields {

HWY_EXPORT(selectBlockT);
HWY_EXPORT(heatBlockT);
HWY_EXPORT(respondBlockT);
HWY_EXPORT(respondVjpBlockT);

void selectBlock(const FieldTables& tables, std::span<const FieldQuery> queries, Selection& scratch,
                 ResponseBlock& out) {
  HWY_DYNAMIC_DISPATCH(selectBlockT)(tables, queries, scratch, out);
}

void heatBlock(const FieldTables& tables, std::span<const FieldQuery> queries, ResponseBlock& block) {
  HWY_DYNAMIC_DISPATCH(heatBlockT)(tables, queries, block);
}

void respondBlock(const FieldTables& tables, std::span<const FieldQuery> queries, Selection& scratch,
                  ResponseBlock& out) {
  HWY_DYNAMIC_DISPATCH(respondBlockT)(tables, queries, scratch, out);
}

void respondVjpBlock(const FieldTables& tables, std::span<const FieldQuery> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  HWY_DYNAMIC_DISPATCH(respondVjpBlockT)(tables, queries, responses, dx, sums);
}

}  // namespace heatskin::fields
#endif
