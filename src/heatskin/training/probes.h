#pragma once

// The texture as it is, looked up at points all over the surface: what density control decides by.

#include <cstdint>
#include <functional>
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

/// The rotation by which a kernel's vectors appear at a probe, in face coordinates of both.
struct ProbeTurn {
  float cosine = 1, sine = 0;

  Vec2f operator()(float x, float y) const { return {cosine * x - sine * y, sine * x + cosine * y}; }
  Vec2f back(float x, float y) const { return {cosine * x + sine * y, cosine * y - sine * x}; }
};

/// Points in the order of the surface; the texture there, what it should be, and which kernels act.
struct Probes {
  std::vector<SurfacePoint> points;     // [P]
  ChannelTable targets;                 // [P, C] of the asset
  ChannelTable errors;                  // [P, C] texture - target, as far as it is seen
  ChannelTable sums;                    // [P, C] sum of f c, vectors in face coordinates of the probe's face
  std::vector<float> weights;           // [P] sum of f
  std::vector<float> visibilities;      // [P] or empty, as SampleSource::masked()
  std::vector<std::uint32_t> left_out;  // [P] bits of channels that do not count, or empty
  std::vector<std::uint32_t> begin;     // [P + 1] of each probe's influences
  std::vector<Influence> influences;    // probe by probe
  std::vector<ProbeTurn> turns;         // of the influences, with tangent groups; else empty

  std::size_t size() const { return points.size(); }

  /// How much a channel of a group counts at a probe; `errors` have that in them already.
  float countOf(std::size_t probe, std::size_t channel, const ChannelGroup& group) const {
    if (!left_out.empty() && (left_out[probe] >> channel & 1) != 0) return 0;
    return group.everywhere || visibilities.empty() ? 1.0f : visibilities[probe];
  }

  /// Room for so many probes, without influences.
  void resize(std::size_t count, std::size_t channels);
};

/// Which probes: how many, and the random numbers that choose them.
struct ProbeDraw {
  std::size_t count = 0;     ///< at most; never more than the pool has
  std::uint64_t seed = 0;    ///< of the fit
  std::uint64_t stream = 0;  ///< of the choice of samples (streams.h)
  std::uint64_t draw = 0;    ///< of the points in them
};

/// For density control before `step`, and for the PSNR after all of them.
ProbeDraw densityProbes(const TrainOptions& options, int step);

/// For closing what is left of gaps after the last step: many more, of which little is kept.
ProbeDraw gapProbes(const TrainOptions& options, std::size_t kernels, int round);

/// For the solve before `step` (channel_solve.h) with so many kernels.
ProbeDraw solveProbes(const TrainOptions& options, std::size_t kernels, int step);

/// How many probes there will be: never more than the pool has.
std::size_t probeCount(const SamplePool& pool, const ProbeDraw& draw);

/// Probes that are taken and handed out together.
inline constexpr std::size_t kProbeBlock = 1024;

/// Fresh probes at pool samples, stratified over the surface. They depend on kernels and draw alone, also
/// after a resume: the evaluator is rebuilt for queries, and expects batches again afterwards. Calls
/// use(block, probes) for each block of kProbeBlock of them, concurrently; the last one may have fewer.
void forProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool, const ProbeDraw& draw,
               const std::function<void(std::size_t block, const Probes& probes)>& use);

/// The same, all together.
Probes takeProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool,
                  const ProbeDraw& draw);

/// Whether a channel of a row of errors is off by more than 2 / 255, twice the rounding of 8 bits; vectors by
/// their lengths, whatever their frame is.
bool visiblyWrong(const float* errors, const ChannelLayout& layout);

/// [P] 1 where the weights sum up to less than `enough` and the texture is visibly wrong: where the mean
/// happens to be right nothing is missing.
std::vector<std::uint8_t> uncoveredProbes(const Probes& probes, const ChannelLayout& layout, float enough);

/// PSNR of the texture at the probes, with the weights of the loss.
double psnrOf(const Probes& probes, const ChannelLayout& layout);

}  // namespace heatskin
