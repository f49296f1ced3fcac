// Vectorised composite(), compositeVjp() and FilterTable::build(): one source, compiled once for every SIMD
// level, chosen at run time.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <utility>

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

/// `kFixed` is the number of channels if that is known to the compiler, which saves what padding would cost;
/// 0: any number.
template <std::size_t kFixed>
void compositeOf(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  const Tag d;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const std::size_t channels = kFixed > 0 ? kFixed : filter.channels();
  const float* mean = filter.mean().data();
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
    float divisor = 1;
    float* sums = out.sums.row(q);
    float* values = out.channels.row(q);
    for (std::size_t first = 0; first < channels; first += 4) {
      auto c0 = zero, c1 = zero, c2 = zero, c3 = zero, weight = zero;
      for (std::size_t i = 0; i < staying; i += lanes) {
        const auto c = loadColumns(d, [&](std::size_t lane) HWY_ATTR {
          return filter.row(kernels[i + lane]) + FilterTable::kChannels + first;
        });
        const auto value = hn::IfThenElseZero(hn::FirstN(d, staying - i), hn::LoadU(d, f + i));
        c0 = hn::MulAdd(value, c.c0, c0);
        c1 = hn::MulAdd(value, c.c1, c1);
        c2 = hn::MulAdd(value, c.c2, c2);
        if (kFixed != 3) c3 = hn::MulAdd(value, c.c3, c3);
        weight = hn::Add(weight, value);
      }
      if (first == 0) {
        out.weights[q] = hn::GetLane(hn::SumOfLanes(d, weight));
        divisor = std::max(out.weights[q], 1.0f);
      }
      const auto finish = [&](std::size_t channel, hn::Vec<Tag> lanes_of) HWY_ATTR {
        if (channel >= channels) return;
        sums[channel] = hn::GetLane(hn::SumOfLanes(d, lanes_of));
        const float value = mean[channel] + sums[channel] / divisor;
        values[channel] = std::clamp(value, 0.0f, 1.0f);
      };
      finish(first, c0);
      finish(first + 1, c1);
      finish(first + 2, c2);
      finish(first + 3, c3);
    }
  }
}

void compositeT(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  if (filter.channels() == 3) {
    compositeOf<3>(responses, filter, out, kept);
  } else {
    compositeOf<0>(responses, filter, out, kept);
  }
}

void compositeTangentsT(const ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t q = 0; q < responses.counts.size(); ++q) {
    const std::size_t base = q * responses.stride, count = responses.counts[q];
    const float divisor = std::max(out.weights[q], 1.0f);
    for (const std::size_t first : filter.tangents()) {
      auto x = hn::Zero(d), y = hn::Zero(d);
      for (std::size_t i = 0; i < count; i += lanes) {
        const auto c = loadColumns(d, [&](std::size_t lane) HWY_ATTR {
          return filter.row(responses.kernels[base + i + lane]) + FilterTable::kChannels + first;
        });
        const auto f = hn::IfThenElseZero(hn::FirstN(d, count - i), hn::LoadU(d, out.f.data() + base + i));
        const auto cosine = hn::Mul(f, hn::LoadU(d, responses.cosines.data() + base + i));
        const auto sine = hn::Mul(f, hn::LoadU(d, responses.sines.data() + base + i));
        x = hn::MulAdd(cosine, c.c0, hn::NegMulAdd(sine, c.c1, x));
        y = hn::MulAdd(sine, c.c0, hn::MulAdd(cosine, c.c1, y));
      }
      const Vec2f sum(hn::GetLane(hn::SumOfLanes(d, x)), hn::GetLane(hn::SumOfLanes(d, y)));
      out.setTangent(q, first, sum, divisor);
    }
  }
}

/// `kTangents`: there are tangent groups. Their channels are left out where others are worked on.
template <std::size_t kFixed, bool kTangents>
void compositeVjpOf(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                    std::span<const float> d_channels, std::span<const float> errors,
                    std::span<const float> curvatures, std::vector<float>& dx, GradientSums& sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t queries = responses.counts.size(), stride = responses.stride;
  const std::size_t channels = kFixed > 0 ? kFixed : filter.channels();
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const hn::CappedTag<float, 8> d8;
  HWY_ALIGN const float hit[8] = {1};
  HWY_ALIGN const float cost_only[8] = {0, 0, 0, 1};
  // Use and channels lie one behind the other in a row.
  constexpr std::size_t kRowFloats = (4 + (kFixed > 0 ? kFixed : kMaxChannels) + 7) / 8 * 8;
  static_assert(offsetof(GradientRow, use) + sizeof(KernelUse) == sizeof(GradientRow) &&
                offsetof(KernelUse, hits) == 0 && offsetof(KernelUse, cost) == 3 * sizeof(float));
  HWY_ALIGN float costs[kMostCandidates + ResponseBlock::kPadding];
  assert(stride <= kMostCandidates);
  std::array<bool, kMaxChannels> is_tangent{};
  for (const std::size_t first : filter.tangents())
    is_tangent[first] = is_tangent[first + 1] = true;
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * stride, count = responses.counts[q];
    const float weight = block.weights[q], inverse = 1 / std::max(weight, 1.0f);
    const float error_share = errors.empty() ? 0.0f : errors[q] / (weight + 1e-8f);
    // What every kernel of this query gets, but for factors f and the cost of its removal: its use, and
    // dL/dchannel.
    const float* sum = block.sums.row(q);
    const float* d_channel = d_channels.data() + q * channels;
    const float* curvature = curvatures.data() + (curvatures.size() > channels ? q * channels : 0);
    HWY_ALIGN float factors[kRowFloats] = {0, 1, error_share, 0};
    float* d_sum = factors + 4;
    for (std::size_t c = 0; c < channels; ++c)
      d_sum[c] = d_channel[c] * inverse;
    const float common = weight > 1 ? sumOfProducts(d_sum, sum, channels) * inverse : 0.0f;
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const float* f = block.f.data() + base;
    for (std::size_t i = 0; i < count; ++i)
      sums.row(kernels[i]);
    const float* cosines = kTangents ? responses.cosines.data() + base : nullptr;
    const float* sines = kTangents ? responses.sines.data() + base : nullptr;
    for (std::size_t i = 0; i < count; i += lanes) {
      const auto k = loadColumns(d, [&](std::size_t lane) HWY_ATTR { return filter.row(kernels[i + lane]); });
      auto g = hn::Set(d, -common);
      const auto value = hn::LoadU(d, f + i);
      const auto inverse_without = hn::Div(one, hn::Max(hn::Sub(hn::Set(d, weight), value), one));
      auto cost = zero;
      const auto addChannel = [&](std::size_t channel, hn::Vec<Tag> color) HWY_ATTR {
        if (channel >= channels) return;
        g = hn::MulAdd(hn::Set(d, d_sum[channel]), color, g);
        const auto without = hn::Mul(hn::NegMulAdd(value, color, hn::Set(d, sum[channel])), inverse_without);
        const auto change = hn::Sub(without, hn::Set(d, sum[channel] * inverse));
        cost = hn::MulAdd(
            change, hn::MulAdd(hn::Set(d, curvature[channel]), change, hn::Set(d, d_channel[channel])), cost);
      };
      for (std::size_t first = 0; first < channels; first += 4) {
        const auto c = loadColumns(d, [&](std::size_t lane) HWY_ATTR {
          return filter.row(kernels[i + lane]) + FilterTable::kChannels + first;
        });
        const auto addPlain = [&](std::size_t channel, hn::Vec<Tag> color) HWY_ATTR {
          if (kTangents && channel < channels && is_tangent[channel]) return;
          addChannel(channel, color);
        };
        addPlain(first, c.c0);
        addPlain(first + 1, c.c1);
        addPlain(first + 2, c.c2);
        addPlain(first + 3, c.c3);
      }
      if constexpr (kTangents) {
        const auto cosine = hn::LoadU(d, cosines + i), sine = hn::LoadU(d, sines + i);
        for (const std::size_t first : filter.tangents()) {
          const auto c = loadColumns(d, [&](std::size_t lane) HWY_ATTR {
            return filter.row(kernels[i + lane]) + FilterTable::kChannels + first;
          });
          addChannel(first, hn::MulSub(cosine, c.c0, hn::Mul(sine, c.c1)));
          addChannel(first + 1, hn::MulAdd(sine, c.c0, hn::Mul(cosine, c.c1)));
        }
      }
      g = hn::IfThenElseZero(hn::And(hn::Gt(value, zero), hn::Lt(value, one)), g);
      hn::StoreU(cost, d, costs + i);
      const auto a = hn::Add(hn::Div(value, k.c3), k.c2);
      const auto bend = hn::Mul(g, hn::Mul(a, hn::Sub(one, a)));
      hn::StoreU(hn::Mul(bend, hn::Mul(k.c0, k.c3)), d, dx.data() + base + i);
      const auto bend_x = hn::Mul(bend, hn::Sub(hn::LoadU(d, responses.x.data() + base + i), k.c1));
      addColumns(
          d, Columns<hn::Vec<Tag>>{bend, bend_x, g, hn::Mul(g, value)},
          [&](std::size_t lane) HWY_ATTR { return &sums.present(kernels[i + lane]).filter.slope; },
          std::min(lanes, count - i));
    }
    if constexpr (kTangents) {
      // Gradients of vectors as the kernel sees them.
      for (const std::size_t first : filter.tangents()) {
        const float x = std::exchange(d_sum[first], 0.0f), y = std::exchange(d_sum[first + 1], 0.0f);
        for (std::size_t i = 0; i < count; ++i) {
          float* row = sums.present(kernels[i]).channels() + first;
          row[0] += f[i] * (cosines[i] * x + sines[i] * y);
          row[1] += f[i] * (cosines[i] * y - sines[i] * x);
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      float* row = &sums.present(kernels[i]).use.hits;
      const auto value = hn::Set(d8, f[i]), cost = hn::Set(d8, costs[i]);
      for (std::size_t c = 0; c < 8; c += hn::Lanes(d8)) {
        const auto add = hn::MulAdd(value, hn::Load(d8, factors + c), hn::Load(d8, hit + c));
        hn::StoreU(hn::Add(hn::LoadU(d8, row + c), hn::MulAdd(cost, hn::Load(d8, cost_only + c), add)), d8,
                   row + c);
      }
      for (std::size_t c = 8; c < 4 + channels; c += hn::Lanes(d8)) {
        hn::StoreU(hn::MulAdd(value, hn::Load(d8, factors + c), hn::LoadU(d8, row + c)), d8, row + c);
      }
    }
  }
}

void compositeVjpT(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                   std::span<const float> d_channels, std::span<const float> errors,
                   std::span<const float> curvatures, std::vector<float>& dx, GradientSums& sums) {
  if (!filter.tangents().empty()) {
    compositeVjpOf<0, true>(responses, filter, block, d_channels, errors, curvatures, dx, sums);
  } else if (filter.channels() == 3) {
    compositeVjpOf<3, false>(responses, filter, block, d_channels, errors, curvatures, dx, sums);
  } else {
    compositeVjpOf<0, false>(responses, filter, block, d_channels, errors, curvatures, dx, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin {

HWY_EXPORT(buildFilterT);
HWY_EXPORT(compositeT);
HWY_EXPORT(compositeTangentsT);
HWY_EXPORT(compositeVjpT);

void FilterTable::build(const KernelSet& kernels) {
  const std::size_t count = kernels.size();
  mean_ = kernels.mean;
  stride_ = kChannels + paddedChannels(channels());
  rows_.assign(count * stride_ + kPadding, 0.0f);
  tangents_.clear();
  for (const ChannelGroup& group : kernels.layout.groups()) {
    if (group.isTangent()) tangents_.push_back(group.first);
  }
  floors_.resize(count);
  inverse_ranges_.resize(count);
  HWY_DYNAMIC_DISPATCH(buildFilterT)
  (kernels.sharpnesses.data(), kernels.thresholds.data(), count, floors_.data(), inverse_ranges_.data());
  for (std::size_t i = 0; i < count; ++i) {
    float* row = rows_.data() + stride_ * i;
    row[0] = kernels.sharpnesses[i];
    row[1] = kernels.thresholds[i];
    row[2] = floors_[i];
    row[3] = inverse_ranges_[i];
    std::copy_n(kernels.channels.row(i), channels(), row + kChannels);
  }
}

void composite(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  out.resize(responses, filter.channels());
  HWY_DYNAMIC_DISPATCH(compositeT)(responses, filter, out, kept);
}

void compositeTangents(const ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out) {
  HWY_DYNAMIC_DISPATCH(compositeTangentsT)(responses, filter, out);
}

void compositeVjp(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                  std::span<const float> d_channels, std::span<const float> errors,
                  std::span<const float> curvatures, std::vector<float>& dx, GradientSums& sums) {
  dx.resize(responses.counts.size() * responses.stride + ResponseBlock::kPadding);
  HWY_DYNAMIC_DISPATCH(compositeVjpT)(responses, filter, block, d_channels, errors, curvatures, dx, sums);
}

}  // namespace heatskin
#endif
