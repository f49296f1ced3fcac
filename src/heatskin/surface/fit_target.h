#pragma once

// What kernels are fitted to, whatever it comes from: an asset's textures (appearance/appearance_target.h),
// a formula or an array (function_target.h).

#include <cstdint>
#include <span>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class Fingerprint;

/// Values of channels, and how much of them is seen, at points of one surface. Everything but values() has an
/// answer for colours that are opaque and worth fitting everywhere. Calls may come from several threads at
/// once.
class FitTarget {
 public:
  virtual ~FitTarget() = default;

  /// What the channels are; base_color unless told otherwise. The same at every call.
  virtual const ChannelLayout& layout() const;

  /// Values within the ranges of the layout (base_color: sRGB in [0, 1]); `out` is [points, C].
  virtual void values(std::span<const SurfacePoint> points, std::span<float> out) const = 0;

  /// How much of each point is seen: 0 for what nobody sees, 1 for what hides everything behind it; `out` is
  /// [points]. All 1 unless hasAlpha().
  virtual void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const;

  /// True when some point may have a visibility below 1.
  virtual bool hasAlpha() const { return false; }

  /// True when the face has one value in every channel that is known without kernels: none are placed on it.
  virtual bool faceConstant(std::uint32_t /*face*/) const { return false; }

  /// False when every face is so: there is nothing to fit.
  virtual bool hasColor() const { return true; }

  /// Adds what tells this target from others with the same layout, for checkpoints. Here: values and
  /// visibilities at three points of every face.
  virtual void identify(const Surface& surface, Fingerprint& fingerprint) const;
};

/// Values as kernels know them: parts of the layout's ranges. `out` is [points, C].
void unitValues(const FitTarget& target, std::span<const SurfacePoint> points, std::span<float> out);

/// Adds a layout, with what training makes of it.
void identifyLayout(const ChannelLayout& layout, Fingerprint& fingerprint);

/// The part of a surface's area that is seen: the mean visibility, estimated from area-uniform points.
/// Exactly 1 without alpha; 0 means that no point was found that anybody could see.
double visibleShare(const Surface& surface, const FitTarget& target);

}  // namespace heatskin
