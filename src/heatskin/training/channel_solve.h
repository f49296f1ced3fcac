#pragma once

// The best values of all kernels while everything else about them stays: a texture is linear in them. Steps
// of a gradient method find them slowly where many kernels overlap; a few iterations of conjugate gradients
// over points all over the surface do not.

#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/probes.h"

namespace heatskin {

struct ChannelSolveOptions {
  int iterations = 12;   ///< of conjugate gradients: the early ones gain most
  double damping = 0.1;  ///< what a change of a value costs, in units of the mean curvature of the loss
};

/// Minimises, over changes of the kernels' values, the squared error at the probes (as far as they are seen)
/// plus damping times the squared change. Errors are those of clamped values, as with straight-through
/// gradients. Values stay in their range. Deterministic for any number of threads.
void solveChannels(const Probes& probes, const ChannelSolveOptions& options, KernelSet& kernels);

}  // namespace heatskin
