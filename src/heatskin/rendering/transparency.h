#pragma once

// Where a surface lets through what is behind it: cut-outs (glTF's MASK) and blended materials (BLEND).
//
// Colours and alpha are two questions on purpose. Two pictures that are to be compared, such as an asset's
// and its fitted texture's, take their colours from two sources and their alpha from one, and so show the
// same parts of the surface.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Effective alpha of many surface points, 0 (not there) to 1 (opaque): cut-outs give 0 or 1. The spans have
/// equal length; called from one thread at a time with batches of up to kColorBatch points.
using AlphaSource = std::function<void(std::span<const SurfacePoint> points, std::span<float> alpha)>;

/// What a renderer needs to know. The default is opaque.
struct Transparency {
  AlphaSource alpha;                      ///< null: opaque everywhere
  std::vector<std::uint8_t> see_through;  // [F] nonzero: alpha may be below 1; or empty: any face's may
  std::vector<std::uint8_t> one_sided;    // [F] nonzero: the back is not drawn; or empty: both sides are

  bool opaque() const { return !alpha; }
  bool maySeeThrough(std::uint32_t face) const { return see_through.empty() || see_through[face] != 0; }
};

/// The transparency of an asset's materials. Both sides of opaque and cut-out faces are drawn whatever
/// doubleSided says: a mesh with its faces turned over, or open where nobody looks, is still shown. A blended
/// face without doubleSided shows its front only, as in viewers, because its back would tint a second time
/// what is behind it. `appearance` must outlive the result.
Transparency transparencyOf(const Asset& asset, const Appearance& appearance, Filter filter = Filter::kAuto);

/// Transparency::see_through of the asset's own alpha.
std::vector<std::uint8_t> facesSeenThrough(const Appearance& appearance);

/// The asset's own alpha alone; null if it is opaque. `appearance` must outlive the source.
AlphaSource appearanceAlpha(const Appearance& appearance, Filter filter = Filter::kAuto);

}  // namespace heatskin
