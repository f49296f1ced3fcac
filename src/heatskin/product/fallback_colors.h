#pragma once

// Vertex colours that stand in for the kernels in viewers that do not know them.

#include "heatskin/io/asset.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Fills the vertex colours (linear, as glTF has them) of the primitives of `asset`, from which the texture's
/// surface was built, with the mean of the visible texture around the vertex; primitives without vertex
/// colours are left to their material. Vertices of one primitive at the same place get
/// one colour, so UV seams stay invisible, while borders between materials stay crisp; where no two triangles
/// share a vertex anyway (flat shading), every corner gets its own, the best for its triangle. A mesh with
/// several instances gets their mean. Alpha of existing vertex colours is kept.
void setFallbackColors(const KernelTexture& texture, Asset& asset);

}  // namespace heatskin
