#pragma once

// The pumpkin's stem, the hard part of the demo: thin, curved, behind a sharp crease.

#include <cstdint>

#include "heatskin/rendering/camera.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// A sphere around the top of the surface.
BoundingSphere stemSphere(const Surface& surface);

/// Share of the stem with a weight sum below one half.
double stemBelowHalf(const KernelTexture& texture, std::uint64_t seed);

}  // namespace heatskin
