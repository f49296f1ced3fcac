#pragma once

// The bridge from an asset's appearance to training: what kernels are fitted to when they are to look like
// the asset.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// An appearance read with one filter. The appearance must outlive it.
class AppearanceTarget final : public FitTarget {
 public:
  /// Appearance::knows() the layout.
  AppearanceTarget(const Appearance& appearance, Filter filter, ChannelLayout layout = {});

  const ChannelLayout& layout() const override { return layout_; }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override {
    appearance_->values(points, layout_, out, filter_);
  }
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const override {
    appearance_->visibilities(points, out, filter_);
  }
  bool hasAlpha() const override { return appearance_->hasAlpha(); }
  bool faceConstant(std::uint32_t face) const override { return constantGroups(face) == all_groups_; }
  std::uint32_t constantGroups(std::uint32_t face) const override;
  bool partlyConstant() const override { return partly_constant_; }
  bool hasColor() const override { return has_color_; }

  /// Every texel of the images, and what the samplers make of them.
  void identify(const Surface& surface, Fingerprint& fingerprint) const override;

 private:
  const Appearance* appearance_;
  Filter filter_;
  ChannelLayout layout_;
  std::vector<std::size_t> slots_;  // [groups] kSlotCount: base_color or alpha
  std::uint32_t all_groups_ = 0;
  bool partly_constant_ = false, has_color_ = false;
};

/// The part of a surface's area that is seen, see visibleShare() of surface/fit_target.h.
double visibleShare(const Surface& surface, const Appearance& appearance, Filter filter = Filter::kAuto);

}  // namespace heatskin
