#pragma once

// What kernels are fitted to, whatever it comes from: an asset's textures (appearance/appearance_target.h),
// an array of colours, a formula.

#include <cstdint>
#include <span>

#include "heatskin/base/fingerprint.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Colours, and how much of them is seen, at points of one surface. Everything but colors() has an answer for
/// what is opaque and worth fitting everywhere. Calls may come from several threads at once.
class FitTarget {
 public:
  virtual ~FitTarget() = default;

  /// sRGB colours in [0, 1]; `out` is [points].
  virtual void colors(std::span<const SurfacePoint> points, std::span<Vec3f> out) const = 0;

  /// How much of each point is seen: 0 for what nobody sees, 1 for what hides everything behind it; `out` is
  /// [points]. All 1 unless hasAlpha().
  virtual void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const;

  /// True when some point may have a visibility below 1.
  virtual bool hasAlpha() const { return false; }

  /// True when the face has one colour that is known without kernels: none are placed on it.
  virtual bool faceConstant(std::uint32_t /*face*/) const { return false; }

  /// False when every face has one colour: there is nothing to fit.
  virtual bool hasColor() const { return true; }

  /// Adds what tells this target from others, for checkpoints. Here: colours and visibilities at three points
  /// of every face.
  virtual void identify(const Surface& surface, Fingerprint& fingerprint) const;
};

/// The part of a surface's area that is seen: the mean visibility, estimated from area-uniform points.
/// Exactly 1 without alpha; 0 means that no point was found that anybody could see.
double visibleShare(const Surface& surface, const FitTarget& target);

}  // namespace heatskin
