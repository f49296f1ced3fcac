#pragma once

// What kernels are fitted to when an asset has material variants: the default look and, beside its channels,
// as many of the other looks' channels as say something new. Kernels then lie where some look needs them;
// each look gets its values afterwards (training/value_solve.h).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/variants.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Channels of other looks that a fit sees besides those of the default: each costs time at every step.
inline constexpr std::size_t kMaxVariantChannels = 12;

/// See the head of the file. Its layout begins with that of the default look.
class VariantTarget final : public FitTarget {
 public:
  /// `layout` is what the fit has for every look; `base` is the appearance of `asset`, whose surface is
  /// `surface`. Groups of looks are taken one after the other, the one first that those already there say
  /// least about (by linear regression at points of the surface), until what is left is hardly visible, or
  /// kMaxVariantChannels. A recoloured copy of the default's texture often adds nothing. `base` must outlive
  /// it.
  VariantTarget(const Asset& asset, const Surface& surface, const Appearance& base,
                std::span<const VariantLook> looks, Filter filter, const ChannelLayout& layout);

  const ChannelLayout& layout() const override { return layout_; }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const override;
  bool hasAlpha() const override { return base_.hasAlpha(); }

  /// True where every look is constant.
  bool faceConstant(std::uint32_t face) const override { return !varies_[face]; }
  std::uint32_t constantGroups(std::uint32_t face) const override;
  bool partlyConstant() const override { return true; }
  bool hasColor() const override { return has_color_; }
  void identify(const Surface& surface, Fingerprint& fingerprint) const override;

 private:
  /// Groups of one look.
  struct Part {
    std::shared_ptr<const Appearance> appearance;
    std::shared_ptr<const AppearanceTarget> target;  ///< of the appearance, with these groups alone
    std::size_t first = 0;                           ///< channel of the layout that its first one is
  };

  AppearanceTarget base_;
  std::vector<Part> parts_;
  ChannelLayout layout_;
  std::vector<bool> varies_;  // [F] in some look
  bool has_color_ = false;
};

}  // namespace heatskin
