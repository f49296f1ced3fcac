#include "heatskin/rendering/transparency.h"

#include <utility>

namespace heatskin {

AlphaSource appearanceAlpha(const Appearance& appearance, Filter filter) {
  if (!appearance.hasAlpha()) return {};
  return [&appearance, filter](std::span<const SurfacePoint> points, std::span<float> alpha) {
    appearance.visibilities(points, alpha, filter);
  };
}

std::vector<std::uint8_t> facesSeenThrough(const Appearance& appearance) {
  std::vector<std::uint8_t> result(appearance.faceCount());
  for (std::uint32_t f = 0; f < result.size(); ++f)
    result[f] = appearance.faceOpaque(f) ? 0 : 1;
  return result;
}

Transparency transparencyOf(const Asset& asset, const Appearance& appearance, Filter filter) {
  Transparency result;
  result.alpha = appearanceAlpha(appearance, filter);
  if (result.opaque()) return result;
  result.see_through = facesSeenThrough(appearance);
  std::vector<std::uint8_t> one_sided(appearance.faceCount(), 0);
  bool any_one_sided = false;
  for (std::uint32_t f = 0; f < appearance.faceCount(); ++f) {
    const int material = appearance.faceMaterial(f);
    if (appearance.faceOpaque(f) || appearance.faceAlphaMode(f) != AlphaMode::kBlend || material < 0)
      continue;
    one_sided[f] = asset.materials[static_cast<std::size_t>(material)].double_sided ? 0 : 1;
    any_one_sided = any_one_sided || one_sided[f] != 0;
  }
  if (any_one_sided) result.one_sided = std::move(one_sided);
  return result;
}

}  // namespace heatskin
