#pragma once

// How far the normals of a texture are from those of the asset's normal maps.

#include <optional>
#include <span>

#include "heatskin/evaluation/evaluation.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Angles between the texture's shading normals and the reference's, over what has a normal map and is seen.
/// `values` are the texture's at the points, [points, C], `visible` is [points]. Nothing if the texture has
/// no channels for normals, or the reference no normal map that is seen.
std::optional<NormalError> normalError(const KernelTexture& texture, const Reference& reference,
                                       std::span<const SurfacePoint> points, std::span<const float> values,
                                       std::span<const float> visible, Filter filter);

}  // namespace heatskin
