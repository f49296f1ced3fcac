#pragma once

// A fit to an asset's appearance in one call.

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/fit.h"

namespace heatskin {

/// fit() to an appearance, its textures read with the configuration's filter. Appearance::knows() the layout.
inline Result<FitResult> fit(const Surface& surface, const Appearance& appearance, const FitConfig& config,
                             const FitControl& control = {}, const ChannelLayout& layout = {}) {
  return fit(surface, AppearanceTarget(appearance, config.train.filter, layout), config, control);
}

}  // namespace heatskin
