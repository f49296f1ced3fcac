#pragma once

// Derivatives of a texture's values by the parameters of its kernels, for whoever optimises on with a loss of
// their own.

#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Derivatives of a number by the parameters of N kernels. Lengths have none: no method computes them.
struct KernelGradients {
  std::vector<Vec2> positions;      // [N] face coordinates of the kernel's face, surface units
  std::vector<float> angles;        // [N] per radian
  std::vector<float> anisotropies;  // [N]
  std::vector<float> thresholds;    // [N]
  std::vector<float> sharpnesses;   // [N]
  ChannelTable channels;            // [N, C] as KernelSet::channels
  std::vector<float> mean;          // [C] as KernelSet::mean
};

/// The vector-Jacobian product of KernelTexture::values(): derivatives of sum(d_values * values) at `points`,
/// `d_values` [points, C]. Which kernels a point sees is held fast, as in a fit; where a channel is clamped
/// to its range, and on faces whose values need no kernels, derivatives are zero. Deterministic for any
/// number of threads.
KernelGradients kernelGradients(const KernelTexture& texture, std::span<const SurfacePoint> points,
                                std::span<const float> d_values);

}  // namespace heatskin
