#pragma once

// Some rows of an atlas: large ones are drawn in bands.

#include "heatskin/rendering/atlas.h"

namespace heatskin {

/// Rows [first_row, first_row + rows) of rasteriseAtlas(), to the bit; AtlasBuffer::height is `rows`. Rows
/// outside of the image give an empty result.
AtlasBuffer rasteriseAtlasRows(std::uint32_t face_count, const FaceUvs& uvs, const AtlasOptions& options,
                               int first_row, int rows);

}  // namespace heatskin
