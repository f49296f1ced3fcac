// Vectorised turnBlock(): one source, compiled once for every SIMD level, chosen at run time. Apart from the
// responses: with more code beside them GCC no longer inlines what their loops call (11 % of a fit).

#include <algorithm>
#include <cstddef>

#include "heatskin/evaluators/local/pair_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/local/turn_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/evaluators/local/pair_geometry-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

void turnBlockT(const PairTables& t, std::span<const QueryRow> queries, ResponseBlock& responses) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(d, 1.0f), zero = hn::Zero(d), none = hn::Set(d, kNoTurn<float>);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const FacePairs face = t.supports->of(queries[i].face);
    const std::size_t base = i * responses.stride, count = responses.counts[i];
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const std::uint32_t* pairs = responses.pairs.data() + base;
    for (std::size_t n = 0; n < count; n += lanes) {
      // Lanes past the last candidate repeat it.
      const auto at = [&](std::size_t lane) HWY_ATTR { return std::min(n + lane, count - 1); };
      // The face from the source.
      Vector cosine, sine;
      if (face.charts != nullptr) {
        const auto c =
            loadColumns(d, [&](std::size_t lane) HWY_ATTR { return &face.charts[pairs[at(lane)]].xx; });
        cosine = hn::Add(c.c0, c.c3);
        sine = hn::Sub(c.c1, c.c2);
        const auto squared = hn::MulAdd(cosine, cosine, hn::Mul(sine, sine));
        const auto turned = hn::Gt(squared, none);
        const auto inverse = hn::Div(one, hn::Sqrt(squared));
        cosine = hn::IfThenElse(turned, hn::Mul(cosine, inverse), one);
        sine = hn::IfThenElse(turned, hn::Mul(sine, inverse), zero);
      } else {
        const auto motion = loadColumns(
            d, [&](std::size_t lane) HWY_ATTR { return &face.developments[pairs[at(lane)]].cosine; });
        cosine = motion.c0;
        sine = motion.c1;
      }
      const auto kernel_of = [&](std::size_t lane) HWY_ATTR { return kernels[at(lane)]; };
      const auto kernel_cosine = kernelColumns(t, kernel_of, 8).c3;
      const auto kernel_sine = kernelColumns(t, kernel_of, 12).c3;
      hn::StoreU(hn::MulSub(cosine, kernel_cosine, hn::Mul(sine, kernel_sine)), d,
                 responses.cosines.data() + base + n);
      hn::StoreU(hn::MulAdd(sine, kernel_cosine, hn::Mul(cosine, kernel_sine)), d,
                 responses.sines.data() + base + n);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::local {

HWY_EXPORT(turnBlockT);

void turnBlock(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& responses) {
  HWY_DYNAMIC_DISPATCH(turnBlockT)(tables, queries, responses);
}

}  // namespace heatskin::local
#endif
