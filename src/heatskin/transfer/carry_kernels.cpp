#include "heatskin/transfer/carry_kernels.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heatskin {

CarriedKernels carryKernels(const KernelSet& kernels, const Correspondence& there, bool has_lengths) {
  CarriedKernels out{kernels, {}, 0};
  std::vector<Counterpart> found(kernels.size());
  there.find(kernels.positions, found);
  const auto scale = static_cast<float>(there.toFromFrom().scale);
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    if (!found[i].matched) {
      ++out.dropped;
      continue;
    }
    out.source.push_back(i);
    const std::uint32_t before = kernels.positions[i].face, after = found[i].point.face;
    out.kernels.positions[i] = found[i].point;
    const auto angle = static_cast<double>(kernels.angles[i]);
    const Vec2 axis = there.carry(before, after, {std::cos(angle), std::sin(angle)});
    double turned = std::atan2(axis.y(), axis.x());
    if (turned < 0) turned += std::numbers::pi;
    out.kernels.angles[i] = std::min(static_cast<float>(turned), KernelRanges::kMaxAngle);
    if (has_lengths) {
      out.kernels.lengths[i] =
          std::clamp(kernels.lengths[i] * scale, KernelRanges::kMinLength, KernelRanges::kMaxLength);
    }
    for (const ChannelGroup& group : kernels.layout.groups()) {
      if (!group.isTangent()) continue;
      float* v = out.kernels.channels.row(i) + group.first;
      const Vec2 carried = there.carry(before, after, {v[0], v[1]});
      v[0] = static_cast<float>(carried.x());
      v[1] = static_cast<float>(carried.y());
    }
  }
  out.kernels.select(out.source);
  return out;
}

}  // namespace heatskin
