#pragma once

// One channel of a file as colours that can be drawn.

#include <string_view>

#include "heatskin/base/result.h"
#include "heatskin/pipeline/loaded_file.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin {

/// True for channels that are colours: base_color, emissive, ...
bool isColorChannel(std::string_view name);

/// A channel of an asset, or of a product: what its kernels say or, where they do not have it, its materials.
/// Colours are shown as colours, numbers as grey; 0 is black and the largest value of the channel's range is
/// white. Refuses names that do not exist. The file must outlive the source.
Result<ColorSource> channelColors(const LoadedFile& file, std::string_view name, Filter filter);

}  // namespace heatskin
