#pragma once

// Pictures the verbs put together from what the library returns.

#include "heatskin/io/image_f.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/render.h"

namespace heatskin::cli {

/// The atlas in colour: a texel has the colour of its surface point, or `background` where no chart is.
ImageF atlasPicture(const AtlasBuffer& atlas, const ColorSource& colors, const Vec3f& background);

}  // namespace heatskin::cli
