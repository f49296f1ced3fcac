// Vectorised composite(), compositeVjp() and FilterTable::build(): one source, compiled once for every SIMD
// level, chosen at run time.

#include <algorithm>

#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/compositor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/kernels/composite_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/rows-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

using Tag = hn::ScalableTag<float>;
using UnsignedTag = hn::RebindToUnsigned<Tag>;

void buildFilterT(const float* sharpness, const float* threshold, std::size_t count, float* floors,
                  float* inverse_ranges) {
  const Tag d;
  const auto one = hn::Set(d, 1.0f), epsilon = hn::Set(d, static_cast<float>(kFilterEpsilon));
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float s_block[hn::MaxLanes(Tag())], t_block[hn::MaxLanes(Tag())];
  for (std::size_t i = 0; i < count; i += lanes) {
    const std::size_t valid = std::min(lanes, count - i);
    std::copy_n(sharpness + i, valid, s_block);
    std::fill(s_block + valid, s_block + lanes, 1.0f);
    std::copy_n(threshold + i, valid, t_block);
    std::fill(t_block + valid, t_block + lanes, 0.5f);
    const auto s = hn::Load(d, s_block), eps = hn::Load(d, t_block);
    const auto floor = fastLogistic(d, hn::Neg(hn::Mul(s, eps)));
    // Ranges of parameters keep the ceiling above 1/2 and the floor below 1/20: nothing cancels.
    const auto ceiling = fastLogistic(d, hn::Mul(s, hn::Sub(one, eps)));
    hn::Store(floor, d, s_block);
    hn::Store(hn::Div(one, hn::Add(hn::Sub(ceiling, floor), epsilon)), d, t_block);
    std::copy_n(s_block, valid, floors + i);
    std::copy_n(t_block, valid, inverse_ranges + i);
  }
}

void compositeT(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  const Tag d;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f), least = hn::Set(d, kNegligibleWeight);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride;
    const std::size_t count = responses.counts[q];
    float* f = out.f.data() + base;
    std::uint32_t* kernels = responses.kernels.data() + base;
    std::uint32_t* pairs = responses.pairs.data() + base;
    float* x = responses.x.data() + base;
    std::size_t staying = 0;
    for (std::size_t i = 0; i < count; i += lanes) {
      // Sharpness, threshold, floor, inverse range.
      const auto k = loadColumns(d, [&](std::size_t lane) HWY_ATTR { return filter.row(kernels[i + lane]); });
      const auto response = hn::LoadU(d, x + i);
      const auto a = fastLogistic(d, hn::Mul(k.c0, hn::Sub(response, k.c1)));
      const auto value = hn::Min(hn::Mul(hn::Sub(a, k.c2), k.c3), one);
      const auto mask = hn::And(hn::Gt(value, least), hn::FirstN(d, count - i));
      const auto kernel = hn::LoadU(du, kernels + i), pair = hn::LoadU(du, pairs + i);
      // Packed stores write a whole vector at `staying` <= i: what is still to be read lies behind. What they
      // leave after the last kernel are kernels too, so whole vectors of row numbers stay valid.
      const std::size_t stored = packInto(d, value, mask, f + staying);
      packInto(d, response, mask, x + staying);
      packInto(du, kernel, hn::RebindMask(du, mask), kernels + staying);
      packInto(du, pair, hn::RebindMask(du, mask), pairs + staying);
      staying += stored;
    }
    staying = keepWanted<Wanted::kLargest>(staying, kept, f, kernels, pairs, x);
    responses.counts[q] = static_cast<std::uint32_t>(staying);
    auto red = zero, green = zero, blue = zero, weight = zero;
    for (std::size_t i = 0; i < staying; i += lanes) {
      const auto c =
          loadColumns(d, [&](std::size_t lane) HWY_ATTR { return filter.row(kernels[i + lane]) + 4; });
      const auto value = hn::IfThenElseZero(hn::FirstN(d, staying - i), hn::LoadU(d, f + i));
      red = hn::MulAdd(value, c.c0, red);
      green = hn::MulAdd(value, c.c1, green);
      blue = hn::MulAdd(value, c.c2, blue);
      weight = hn::Add(weight, value);
    }
    const Vec3f sum(hn::GetLane(hn::SumOfLanes(d, red)), hn::GetLane(hn::SumOfLanes(d, green)),
                    hn::GetLane(hn::SumOfLanes(d, blue)));
    const float total = hn::GetLane(hn::SumOfLanes(d, weight));
    out.sums[q] = sum;
    out.weights[q] = total;
    out.colors[q] = (filter.meanColor() + sum / std::max(total, 1.0f)).cwiseMax(0.0f).cwiseMin(1.0f);
  }
}

void compositeVjpT(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                   std::span<const Vec3f> d_colors, std::span<const float> errors, float curvature,
                   std::vector<float>& dx, GradientSums& sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  thread_local std::vector<float> costs;
  costs.resize(stride + ResponseBlock::kPadding);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride, count = responses.counts[q];
    const float weight = block.weights[q], inverse = 1 / std::max(weight, 1.0f);
    const Vec3f d_sum = d_colors[q] * inverse;
    const float common = weight > 1 ? d_sum.dot(block.sums[q]) * inverse : 0.0f;
    const float error_share = errors.empty() ? 0.0f : errors[q] / (weight + 1e-8f);
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const float* f = block.f.data() + base;
    for (std::size_t i = 0; i < count; ++i)
      sums.row(kernels[i]);
    for (std::size_t i = 0; i < count; i += lanes) {
      const auto k = loadColumns(d, [&](std::size_t lane) HWY_ATTR { return filter.row(kernels[i + lane]); });
      const auto c =
          loadColumns(d, [&](std::size_t lane) HWY_ATTR { return filter.row(kernels[i + lane]) + 4; });
      auto g = hn::Set(d, -common);
      g = hn::MulAdd(hn::Set(d, d_sum.x()), c.c0, g);
      g = hn::MulAdd(hn::Set(d, d_sum.y()), c.c1, g);
      g = hn::MulAdd(hn::Set(d, d_sum.z()), c.c2, g);
      const auto value = hn::LoadU(d, f + i);
      g = hn::IfThenElseZero(hn::And(hn::Gt(value, zero), hn::Lt(value, one)), g);
      const auto inverse_without = hn::Div(one, hn::Max(hn::Sub(hn::Set(d, weight), value), one));
      auto cost = zero;
      const auto addChannel = [&](Eigen::Index channel, hn::Vec<Tag> color) HWY_ATTR {
        const float sum = block.sums[q][channel];
        const auto without = hn::Mul(hn::NegMulAdd(value, color, hn::Set(d, sum)), inverse_without);
        const auto change = hn::Sub(without, hn::Set(d, sum * inverse));
        cost = hn::MulAdd(change, hn::MulAdd(hn::Set(d, curvature), change, hn::Set(d, d_colors[q][channel])),
                          cost);
      };
      addChannel(0, c.c0);
      addChannel(1, c.c1);
      addChannel(2, c.c2);
      hn::StoreU(cost, d, costs.data() + i);
      const auto a = hn::Add(hn::Div(value, k.c3), k.c2);
      const auto bend = hn::Mul(g, hn::Mul(a, hn::Sub(one, a)));
      hn::StoreU(hn::Mul(bend, hn::Mul(k.c0, k.c3)), d, dx.data() + base + i);
      const auto bend_x = hn::Mul(bend, hn::Sub(hn::LoadU(d, responses.x.data() + base + i), k.c1));
      addColumns(
          d, Columns<hn::Vec<Tag>>{bend, bend_x, g, hn::Mul(g, value)},
          [&](std::size_t lane) HWY_ATTR { return sums.present(kernels[i + lane]) + GradientRow::kFilter; },
          std::min(lanes, count - i));
    }
    // What every kernel of this query gets, but for factors f and the cost of its removal: colour and
    // hits, contribution and error.
    static_assert(GradientRow::kColor == 8 && GradientRow::kHits == 11 && GradientRow::kContribution == 12 &&
                  GradientRow::kError == 13 && GradientRow::kCost == 14);
    HWY_ALIGN const float factors[8] = {d_sum.x(), d_sum.y(), d_sum.z(), 0, 1, error_share, 0, 0};
    HWY_ALIGN const float hit[8] = {0, 0, 0, 1, 0, 0, 0, 0};
    HWY_ALIGN const float cost_only[8] = {0, 0, 0, 0, 0, 0, 1, 0};
    const hn::CappedTag<float, 8> d8;
    for (std::size_t i = 0; i < count; ++i) {
      float* row = sums.present(kernels[i]) + GradientRow::kColor;
      const auto value = hn::Set(d8, f[i]), cost = hn::Set(d8, costs[i]);
      for (std::size_t c = 0; c < 8; c += hn::Lanes(d8)) {
        const auto add = hn::MulAdd(value, hn::Load(d8, factors + c), hn::Load(d8, hit + c));
        hn::StoreU(hn::Add(hn::LoadU(d8, row + c), hn::MulAdd(cost, hn::Load(d8, cost_only + c), add)), d8,
                   row + c);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin {

HWY_EXPORT(buildFilterT);
HWY_EXPORT(compositeT);
HWY_EXPORT(compositeVjpT);

void FilterTable::build(const KernelSet& kernels) {
  const std::size_t count = kernels.size();
  rows_.resize(count * kStride);
  floors_.resize(count);
  inverse_ranges_.resize(count);
  mean_color_ = kernels.mean_color;
  HWY_DYNAMIC_DISPATCH(buildFilterT)
  (kernels.sharpnesses.data(), kernels.thresholds.data(), count, floors_.data(), inverse_ranges_.data());
  for (std::size_t i = 0; i < count; ++i) {
    float* row = rows_.data() + kStride * i;
    row[0] = kernels.sharpnesses[i];
    row[1] = kernels.thresholds[i];
    row[2] = floors_[i];
    row[3] = inverse_ranges_[i];
    row[4] = kernels.colors[i].x();
    row[5] = kernels.colors[i].y();
    row[6] = kernels.colors[i].z();
    row[7] = 0;
  }
}

void composite(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  const std::size_t queries = responses.counts.size();
  out.f.resize(queries * responses.stride + ResponseBlock::kPadding);
  out.colors.resize(queries);
  out.sums.resize(queries);
  out.weights.resize(queries);
  HWY_DYNAMIC_DISPATCH(compositeT)(responses, filter, out, kept);
}

void compositeVjp(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                  std::span<const Vec3f> d_colors, std::span<const float> errors, float curvature,
                  std::vector<float>& dx, GradientSums& sums) {
  dx.resize(responses.counts.size() * responses.stride + ResponseBlock::kPadding);
  HWY_DYNAMIC_DISPATCH(compositeVjpT)(responses, filter, block, d_colors, errors, curvature, dx, sums);
}

}  // namespace heatskin
#endif
