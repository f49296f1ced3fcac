#pragma once

// How far directions of a texture are from those of the asset's maps: normals, directions of anisotropy.

#include <optional>
#include <span>

#include "heatskin/evaluation/evaluation.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Angles between the texture's shading normals and the reference's, over what has a normal map and is seen;
/// with kCoatNormalSlot those of the clearcoat, with kAnisotropySlot between lines along the directions of
/// anisotropy, weighted by the reference's strength. `values` are the texture's at the points, [points, C],
/// `visible` is [points]. Nothing if the texture has no such channels, or the reference no such map that is
/// seen.
std::optional<AngleError> angleError(const KernelTexture& texture, const Reference& reference,
                                     std::size_t slot, std::span<const SurfacePoint> points,
                                     std::span<const float> values, std::span<const float> visible,
                                     Filter filter);

}  // namespace heatskin
