#pragma once

// The bridge from assets to surfaces: every triangle of every instance, in the asset's coordinates.

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Builds the surface of everything in the asset; Surface::sources() leads back to its triangles. Refuses an
/// asset without area, and one whose surface would not fit into the memory budget.
Result<Surface> buildSurface(const Asset& asset, const SurfaceOptions& options = {});

}  // namespace heatskin
