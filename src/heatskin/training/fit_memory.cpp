#include "heatskin/training/fit_memory.h"

#include <algorithm>
#include <cmath>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/local/support_proxy.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/training/growth.h"
#include "heatskin/training/probes.h"

namespace heatskin {
namespace {

// docs/fitting.md has the parts; fit_test.cpp of the command line compares estimate and peak.

/// Bytes for whatever the sizes are: threads, textures, code that is used for the first time.
constexpr double kBasis = 20e6;

/// Bytes of a kernel with its optimiser's state and counts, and of what an evaluator has for it, with three
/// channels; of each further channel.
constexpr double kPerKernel = 310, kPerChannel = 24;

/// Bytes of a kernel in a checkpoint, which is encoded in memory.
constexpr double kPerSavedKernel = 200;

/// Bytes of a probe's share of a solve, of which those for the kernels that act there are more with tangent
/// groups (two dozen kernels, in the last steps of long fits of many channels three), and of a kernel's; of a
/// probe of density control, and of its kernels.
constexpr double kPerSolveProbe = 108, kPerTurnedProbe = 96, kPerSolvedKernel = 110, kPerProbe = 220;

/// Bytes of a kernel-face pair: its chart, its place in a leaf, and for a moment what was found anew.
constexpr double kPerPair = 48;

/// Kernels acting at a point, and the circle around a face in units of the square root of its area: a
/// kernel's support meets the faces within its own radius and theirs.
constexpr double kActing = 20, kFaceRadius = 1.4;

/// Bytes for each face of the surface: the order samples are taken in, and what finds it; while that order is
/// made.
constexpr double kPerFace = 40, kPerFaceOrdered = 60;

/// What the allocator holds beyond what is in use: spot with 320,000 kernels peaks 9 % above the sum of the
/// parts.
constexpr double kAllocator = 1.15;

double supportPairs(double kernels, double faces) {
  const double reach = std::sqrt(kActing * faces / std::max(kernels, 1.0)) + kFaceRadius;
  return kernels * reach * reach;
}

}  // namespace

double poolBytes(const TrainOptions& options, std::size_t channels) {
  // An error each and the sums of sixteen; stored samples also have points and values.
  const double errors = sizeof(float) + sizeof(double) / 16.0;
  const bool stored = options.sampling.rule == Sampling::kPaper;
  const double sample =
      errors + (stored ? static_cast<double>(sizeof(SurfacePoint) + channels * sizeof(float)) : 0.0);
  return sample * static_cast<double>(options.sampling.pool);
}

double fitBytes(const Surface& surface, const FitConfig& config, const ChannelLayout& layout,
                std::size_t kernels) {
  if (config.evaluator.method != Method::kLocal) return 0;
  TrainOptions options = stageOptions(trainOptions(config), kernels);
  followBudget(options);
  const double faces = surface.faceCount(), count = static_cast<double>(kernels);
  const std::size_t proxy_faces = config.evaluator.local.proxy_faces;
  double support_faces = faces, proxy_peak = 0, proxy_kept = 0;
  if (proxy_faces > 0 && surface.faceCount() > 2 * proxy_faces) {
    support_faces = static_cast<double>(proxy_faces);
    const auto bytes = local::SupportProxy::bytes(faces, surface.vertexCount(), proxy_faces, threadCount());
    proxy_peak = bytes.peak;
    proxy_kept = bytes.kept;
  }
  const auto pool = static_cast<double>(options.sampling.pool);
  const bool stored_samples = options.sampling.rule == Sampling::kPaper;
  const double walker =
      surface.faceCount() <= Walker::kMostRecords ? static_cast<double>(sizeof(Walker::Record)) : 0;
  const double channels = static_cast<double>(std::max<std::size_t>(layout.size(), 3)) - 3;
  const double kept = proxy_kept + poolBytes(options, layout.size()) +
                      count * (kPerKernel + channels * kPerChannel) +
                      supportPairs(count, support_faces) * kPerPair + faces * (kPerFace + walker);
  // On top of what stays, one at a time: a checkpoint with all errors, stored samples that are sorted, probes
  // of density control or of a solve.
  const double saved = pool * sizeof(float) + count * kPerSavedKernel;
  const double sorted = stored_samples ? 48 * pool : kPerFaceOrdered * faces;
  const double probed = kPerProbe * static_cast<double>(densityProbes(options, 0).count);
  const double solved = options.solves > 0
                            ? (kPerSolveProbe + (layout.hasTangents() ? kPerTurnedProbe : 0.0)) *
                                      static_cast<double>(solveProbes(options, kernels, 0).count) +
                                  count * (kPerSolvedKernel + channels * kPerChannel)
                            : 0.0;
  return kBasis + std::max(proxy_peak, kAllocator * (kept + std::max({saved, sorted, probed, solved})));
}

}  // namespace heatskin
