#pragma once

// The texture as it is, looked up at points all over the surface: what density control decides by.

#include <cstdint>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface_point.h"
#include "heatskin/training/options.h"
#include "heatskin/training/pool.h"

namespace heatskin {

/// The texture at a surface point, and what it should be there.
struct Probe {
  SurfacePoint point;
  Vec3f target;      ///< colour of the asset
  Vec3f error;       ///< colour of the texture - target
  Vec3f sum;         ///< sum of f c
  float weight = 0;  ///< sum of f
};

/// A kernel's f at a probe.
struct Influence {
  std::uint32_t kernel = 0;
  float weight = 0;
};

/// Probes in the order of the surface, and which kernels act at them.
struct Probes {
  std::vector<Probe> points;
  std::vector<std::uint32_t> begin;   // [points + 1] of each probe's influences
  std::vector<Influence> influences;  // probe by probe
};

/// Fresh probes at pool samples, stratified over the surface. They depend on kernels, options and step alone,
/// also after a resume: the evaluator is rebuilt for queries, and expects batches again afterwards.
Probes takeProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool,
                  const TrainOptions& options, int step);

}  // namespace heatskin
