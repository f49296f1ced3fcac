#pragma once

// Finer meshes with the same shape and the same texture: every triangle becomes four, cut at the middles of
// its sides.

#include "heatskin/io/asset.h"

namespace heatskin::study {

/// Cuts every triangle `times` times. Texture coordinates and colours are interpolated; the polyhedron stays
/// what it was. Vertices that coincide (texture seams) keep doing so to the bit.
void subdivide(Asset& asset, int times);

}  // namespace heatskin::study
