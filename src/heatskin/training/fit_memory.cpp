#include "heatskin/training/fit_memory.h"

#include <algorithm>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/local/support_proxy.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/training/growth.h"

namespace heatskin {
namespace {

// Measured on spot with 5,000, 20,000 and 100,000 kernels of preset compact (fit_test.cpp of the command line
// compares estimate and peak).

/// Bytes for whatever the sizes are: threads, textures, code that is used for the first time.
constexpr double kBasis = 20e6;

/// Bytes of a kernel, its optimiser's state, its share of the batch and of the probes.
constexpr double kPerKernel = 1200;

/// Kernel-face pairs for each kernel and for each face that supports live on, and bytes of one.
constexpr double kPairsPerKernel = 10, kPairsPerFace = 14, kPerPair = 182;

/// Bytes for each face of the surface: the order samples are taken in, and what finds it.
constexpr double kPerFace = 60;

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
  // On top of what stays: a checkpoint has all errors; stored samples are sorted once.
  const double per_sample = options.sampling.rule == Sampling::kPaper ? 48 : sizeof(float);
  const double walker =
      surface.faceCount() <= Walker::kMostRecords ? static_cast<double>(sizeof(Walker::Record)) : 0;
  const double running = proxy_kept + poolBytes(options, layout.size()) +
                         per_sample * static_cast<double>(options.sampling.pool) +
                         count * (kPerKernel + kPairsPerKernel * kPerPair) +
                         support_faces * kPairsPerFace * kPerPair + faces * (kPerFace + walker);
  return kBasis + std::max(proxy_peak, running);
}

}  // namespace heatskin
