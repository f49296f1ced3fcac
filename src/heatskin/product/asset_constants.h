#pragma once

// Which faces of an asset have one colour: their material has a factor and nothing else.

#include <span>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Those of an asset that is fitted. None if all faces are so: then there is nothing to fit, and kernels that
/// are there all the same are meant to be seen. Appearance::knows() the layout.
ConstantFaces constantFaces(const Appearance& appearance, const ChannelLayout& layout = {});

/// Faces of `materials` (indices into Asset::materials): they have the factor's colour, and its alpha unless
/// the material is opaque. Appearance::knows() the layout.
ConstantFaces constantFaces(const Asset& asset, const Surface& surface,
                            std::span<const std::size_t> materials, const ChannelLayout& layout = {});

/// True if nothing but a factor gives the primitive its colour: no vertex colours, and no texture or no
/// coordinates for it. The same as Appearance::faceConstant() of its faces.
bool hasOneColor(const Asset& asset, const Primitive& primitive);

}  // namespace heatskin
