#include "heatskin/rendering/transparency.h"

#include <algorithm>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr std::size_t kPointsPerBlock = 4096;

/// Alpha of a material's mode from the product of its factors.
float effectiveAlpha(const Material* material, float alpha) {
  if (material == nullptr || material->alpha_mode == AlphaMode::kOpaque) return 1;
  if (material->alpha_mode == AlphaMode::kMask) return alpha >= material->alpha_cutoff ? 1.0f : 0.0f;
  return std::clamp(alpha, 0.0f, 1.0f);
}

}  // namespace

Transparency transparencyOf(const Asset& asset, const Appearance& appearance, std::size_t face_count,
                            Filter filter) {
  Transparency result;
  if (!appearance.hasAlpha()) return result;  // a mode without a texel or factor to make use of it
  std::vector<Material> materials = asset.materials;
  const auto materialOf = [](const std::vector<Material>& all, int index) {
    return index < 0 ? nullptr : &all[static_cast<std::size_t>(index)];
  };
  std::vector<std::uint8_t> see_through(face_count, 0), one_sided(face_count, 0);
  bool any = false, any_one_sided = false;
  for (std::uint32_t f = 0; f < face_count; ++f) {
    const Material* material = materialOf(materials, appearance.faceMaterial(f));
    if (material == nullptr || material->alpha_mode == AlphaMode::kOpaque) continue;
    see_through[f] = 1;
    any = true;
    if (material->alpha_mode == AlphaMode::kBlend && !material->double_sided) {
      one_sided[f] = 1;
      any_one_sided = true;
    }
  }
  if (!any) return result;
  result.see_through = std::move(see_through);
  if (any_one_sided) result.one_sided = std::move(one_sided);
  result.alpha = [&appearance, materials = std::move(materials), materialOf, filter](
                     std::span<const SurfacePoint> points, std::span<float> alpha) {
    parallelFor(points.size(), kPointsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        alpha[i] = effectiveAlpha(materialOf(materials, appearance.faceMaterial(points[i].face)),
                                  appearance.alpha(points[i], filter));
      }
    });
  };
  return result;
}

}  // namespace heatskin
