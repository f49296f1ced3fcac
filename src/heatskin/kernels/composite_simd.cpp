// Vectorised composite() and compositeVjp(): one source, compiled once for every SIMD level, chosen at run
// time.

#include <algorithm>

#include "heatskin/kernels/composite_block.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/kernels/composite_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin {
namespace HWY_NAMESPACE {

/// Offsets of the table rows of the next kernels; lanes past the last candidate read row 0.
template <class D>
HWY_INLINE auto rowOffsets(D /*d*/, const std::uint32_t* kernels, std::size_t remaining) {
  const hn::RebindToSigned<D> di;
  const auto loaded = hn::BitCast(di, hn::LoadU(hn::RebindToUnsigned<D>(), kernels));
  static_assert(FilterTable::kStride == 8);
  return hn::ShiftLeft<3>(hn::IfThenElseZero(hn::FirstN(di, remaining), loaded));
}

void compositeT(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t queries = responses.counts.size(), capacity = responses.capacity;
  const float* table = filter.data();
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f), least = hn::Set(d, kNegligibleWeight);
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * capacity;
    const std::size_t count = responses.counts[q];
    float* f = out.f.data() + base;
    std::uint32_t* kernels = responses.kernels.data() + base;
    std::uint32_t* pairs = responses.pairs.data() + base;
    float* x = responses.x.data() + base;
    std::size_t staying = 0;
    for (std::size_t i = 0; i < count; i += lanes) {
      const auto index = rowOffsets(d, kernels + i, count - i);
      const auto sharpness = hn::GatherIndex(d, table, index);
      const auto threshold = hn::GatherIndex(d, table + 1, index);
      const auto floor = hn::GatherIndex(d, table + 2, index);
      const auto inverse_range = hn::GatherIndex(d, table + 3, index);
      const auto response = hn::LoadU(d, x + i);
      const auto a = fastLogistic(d, hn::Mul(sharpness, hn::Sub(response, threshold)));
      const auto value = hn::Min(hn::Mul(hn::Sub(a, floor), inverse_range), one);
      const auto mask = hn::And(hn::Gt(value, least), hn::FirstN(d, count - i));
      const auto kernel = hn::LoadU(du, kernels + i), pair = hn::LoadU(du, pairs + i);
      // Compressed stores write at most a whole vector at `staying` <= i, behind what is still to be read.
      const std::size_t stored = hn::CompressStore(value, mask, d, f + staying);
      hn::CompressStore(response, mask, d, x + staying);
      hn::CompressStore(kernel, hn::RebindMask(du, mask), du, kernels + staying);
      hn::CompressStore(pair, hn::RebindMask(du, mask), du, pairs + staying);
      staying += stored;
    }
    staying = keepWanted<Wanted::kLargest>(f, kernels, pairs, x, staying, kept);
    responses.counts[q] = static_cast<std::uint32_t>(staying);
    auto red = zero, green = zero, blue = zero, weight = zero;
    for (std::size_t i = 0; i < staying; i += lanes) {
      const auto index = rowOffsets(d, kernels + i, staying - i);
      const auto value = hn::IfThenElseZero(hn::FirstN(d, staying - i), hn::LoadU(d, f + i));
      red = hn::MulAdd(value, hn::GatherIndex(d, table + 4, index), red);
      green = hn::MulAdd(value, hn::GatherIndex(d, table + 5, index), green);
      blue = hn::MulAdd(value, hn::GatherIndex(d, table + 6, index), blue);
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
                   std::span<const Vec3f> d_colors, std::span<const float> errors, std::vector<float>& dx,
                   GradientSums& sums) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kMaxLanes = 64;
  const std::size_t queries = responses.counts.size(), capacity = responses.capacity;
  const float* table = filter.data();
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  alignas(64) float bend_x[kMaxLanes], bends[kMaxLanes], gains[kMaxLanes], gain_f[kMaxLanes];
  for (std::size_t q = 0; q < queries; ++q) {
    const std::size_t base = q * capacity, count = responses.counts[q];
    const float weight = block.weights[q], inverse = 1 / std::max(weight, 1.0f);
    const Vec3f d_sum = d_colors[q] * inverse;
    const float common = weight > 1 ? d_sum.dot(block.sums[q]) * inverse : 0.0f;
    const float error_share = errors.empty() ? 0.0f : errors[q] / (weight + 1e-8f);
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const float* f = block.f.data() + base;
    for (std::size_t i = 0; i < count; i += lanes) {
      const auto index = rowOffsets(d, kernels + i, count - i);
      const auto sharpness = hn::GatherIndex(d, table, index);
      const auto threshold = hn::GatherIndex(d, table + 1, index);
      const auto floor = hn::GatherIndex(d, table + 2, index);
      const auto inverse_range = hn::GatherIndex(d, table + 3, index);
      auto g = hn::Set(d, -common);
      g = hn::MulAdd(hn::Set(d, d_sum.x()), hn::GatherIndex(d, table + 4, index), g);
      g = hn::MulAdd(hn::Set(d, d_sum.y()), hn::GatherIndex(d, table + 5, index), g);
      g = hn::MulAdd(hn::Set(d, d_sum.z()), hn::GatherIndex(d, table + 6, index), g);
      const auto value = hn::LoadU(d, f + i);
      const auto inside = hn::And(hn::Gt(value, zero), hn::Lt(value, one));
      g = hn::IfThenElseZero(inside, g);
      const auto a = hn::Add(hn::Div(value, inverse_range), floor);
      const auto bend = hn::Mul(g, hn::Mul(a, hn::Sub(one, a)));
      hn::StoreU(hn::Mul(bend, hn::Mul(sharpness, inverse_range)), d, dx.data() + base + i);
      hn::Store(bend, d, bends);
      hn::Store(hn::Mul(bend, hn::Sub(hn::LoadU(d, responses.x.data() + base + i), threshold)), d, bend_x);
      hn::Store(g, d, gains);
      hn::Store(hn::Mul(g, value), d, gain_f);
      const std::size_t valid = std::min(lanes, count - i);
      for (std::size_t lane = 0; lane < valid; ++lane) {
        float* row = sums.row(kernels[i + lane]);
        const float weight_here = f[i + lane];
        row[GradientRow::kFilter] += bends[lane];
        row[GradientRow::kFilter + 1] += bend_x[lane];
        row[GradientRow::kFilter + 2] += gains[lane];
        row[GradientRow::kFilter + 3] += gain_f[lane];
        row[GradientRow::kColor] += weight_here * d_sum.x();
        row[GradientRow::kColor + 1] += weight_here * d_sum.y();
        row[GradientRow::kColor + 2] += weight_here * d_sum.z();
        row[GradientRow::kHits] += 1;
        row[GradientRow::kContribution] += weight_here;
        row[GradientRow::kError] += weight_here * error_share;
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin {

HWY_EXPORT(compositeT);
HWY_EXPORT(compositeVjpT);

void composite(ResponseBlock& responses, const FilterTable& filter, CompositeBlock& out, std::size_t kept) {
  const std::size_t queries = responses.counts.size();
  out.f.resize(queries * responses.capacity + ResponseBlock::kPadding);
  out.colors.resize(queries);
  out.sums.resize(queries);
  out.weights.resize(queries);
  HWY_DYNAMIC_DISPATCH(compositeT)(responses, filter, out, kept);
}

void compositeVjp(const ResponseBlock& responses, const FilterTable& filter, const CompositeBlock& block,
                  std::span<const Vec3f> d_colors, std::span<const float> errors, std::vector<float>& dx,
                  GradientSums& sums) {
  dx.resize(responses.counts.size() * responses.capacity + ResponseBlock::kPadding);
  HWY_DYNAMIC_DISPATCH(compositeVjpT)(responses, filter, block, d_colors, errors, dx, sums);
}

}  // namespace heatskin
#endif
