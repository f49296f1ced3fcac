#pragma once

// The bridge from assets to surfaces: every triangle of every instance, in the asset's coordinates.

#include <cstddef>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Builds the surface of everything in the asset; Surface::sources() leads back to its triangles. Refuses an
/// asset without area, and one whose surface would not fit into the memory budget.
Result<Surface> buildSurface(const Asset& asset, const SurfaceOptions& options = {});

/// Surfaces that buildSurface() has made in this process: tests see that no work is done twice.
std::size_t surfacesBuilt();

}  // namespace heatskin
