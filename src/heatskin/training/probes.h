#pragma once

// The texture as it is, looked up at points all over the surface: what density control decides by.

#include <cstdint>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"
#include "heatskin/training/pool.h"

namespace heatskin {

/// A kernel's f at a probe.
struct Influence {
  std::uint32_t kernel = 0;
  float weight = 0;
};

/// Points in the order of the surface; the texture there, what it should be, and which kernels act.
struct Probes {
  std::vector<SurfacePoint> points;   // [P]
  ChannelTable targets;               // [P, C] of the asset
  ChannelTable errors;                // [P, C] texture - target, as far as it is seen
  ChannelTable sums;                  // [P, C] sum of f c
  std::vector<float> weights;         // [P] sum of f
  std::vector<float> visibilities;    // [P] or empty, as SampleSource::masked()
  std::vector<std::uint32_t> begin;   // [P + 1] of each probe's influences
  std::vector<Influence> influences;  // probe by probe

  std::size_t size() const { return points.size(); }

  /// Room for so many probes, without influences.
  void resize(std::size_t count, std::size_t channels);
};

/// Fresh probes at pool samples, stratified over the surface. They depend on kernels, options and step alone,
/// also after a resume: the evaluator is rebuilt for queries, and expects batches again afterwards.
Probes takeProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool,
                  const TrainOptions& options, int step);

/// PSNR of the texture at the probes, with the weights of the loss.
double psnrOf(const Probes& probes, const ChannelLayout& layout);

}  // namespace heatskin
