#include "heatskin/training/probes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/streams.h"

namespace heatskin {

void Probes::resize(std::size_t count, std::size_t channels) {
  points.resize(count);
  targets.channels = errors.channels = sums.channels = channels;
  targets.resize(count);
  errors.resize(count);
  sums.resize(count);
  weights.resize(count);
  begin.assign(count + 1, 0);
}

ProbeDraw densityProbes(const TrainOptions& options, int step) {
  // A kernel that no probe meets could go unseen.
  constexpr std::size_t kProbesPerKernel = 2;
  const auto at = static_cast<std::uint64_t>(step);
  return {std::max(constants::kProbes, kProbesPerKernel * options.density.max_kernels), options.seed,
          streams::kProbes + (at << 8), streams::kProbeDraws + at};
}

ProbeDraw solveProbes(const TrainOptions& options, std::size_t kernels, int step) {
  const auto at = static_cast<std::uint64_t>(step);
  const std::size_t each =
      kernels > constants::kManyKernels ? constants::kFewSolveProbes : constants::kSolveProbes;
  return {std::max(constants::kProbes, each * kernels), options.seed, streams::kSolve + (at << 8),
          streams::kSolveDraws + at};
}

Probes takeProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool,
                  const ProbeDraw& draw) {
  // Probes are all over the surface: they need nearly everything.
  evaluator.rebuildForSteps(kernels);
  evaluator.complete();
  FilterTable filter;
  filter.build(kernels);
  const RandomStream random(draw.seed, draw.stream);
  const std::size_t count = std::min(draw.count, pool.size());
  Probes probes;
  const std::size_t channels = filter.channels();
  probes.resize(count, channels);
  const bool masked = pool.samples().masked();
  if (masked) probes.visibilities.resize(count);
  if (pool.partial()) probes.left_out.resize(count);
  constexpr std::size_t kBlock = 1024;
  std::vector<std::vector<Influence>> influences(blockCount(count, kBlock));
  parallelBlocks(count, kBlock, [&](std::size_t part, std::size_t begin, std::size_t end) {
    Workspace workspace;
    ResponseBlock& responses = workspace.responses;
    CompositeBlock block;
    std::vector<SurfacePoint> queries;
    std::vector<std::uint32_t> indices;
    std::unique_ptr<EvaluatorBatch> batch;
    for (std::size_t first = begin; first < end; first += kQueryBlock) {
      const std::size_t size = std::min(kQueryBlock, end - first);
      queries.resize(size);
      indices.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        // Stratified over the pool, which is in the order of the surface.
        const double place = (static_cast<double>(first + i) + random.uniform(first + i)) /
                             static_cast<double>(count) * static_cast<double>(pool.size());
        indices[i] = static_cast<std::uint32_t>(std::min(static_cast<std::size_t>(place), pool.size() - 1));
      }
      pool.samples().points(draw.draw, first, indices, queries);
      const auto visibilities = std::span(probes.visibilities).subspan(masked ? first : 0, masked ? size : 0);
      pool.samples().values(indices, queries,
                            std::span(probes.targets.values).subspan(first * channels, size * channels),
                            visibilities);
      batch = evaluator.begin(queries, std::move(batch));
      batch->respond(0, size, workspace);
      composite(responses, filter, block);
      for (std::size_t i = 0; i < size; ++i) {
        probes.points[first + i] = queries[i];
        probes.errors[first + i] = block.channels[i] - probes.targets[first + i];
        if (pool.partial()) probes.left_out[first + i] = pool.leftOut(queries[i].face);
        for (const ChannelGroup& group : pool.layout().groups()) {
          if (!masked && !pool.partial()) break;
          for (std::size_t c = group.first; c < group.first + group.count; ++c)
            probes.errors.row(first + i)[c] *= probes.countOf(first + i, c, group);
        }
        probes.sums[first + i] = block.sums[i];
        probes.weights[first + i] = block.weights[i];
        probes.begin[first + i + 1] = responses.counts[i];
        for (std::size_t n = 0; n < responses.counts[i]; ++n) {
          const std::size_t at = i * responses.stride + n;
          influences[part].push_back({responses.kernels[at], block.f[at]});
        }
      }
    }
  });
  for (std::size_t i = 0; i < count; ++i)
    probes.begin[i + 1] += probes.begin[i];
  probes.influences.reserve(probes.begin.back());
  for (std::vector<Influence>& part : influences) {
    probes.influences.insert(probes.influences.end(), part.begin(), part.end());
    part = {};
  }
  return probes;
}

double psnrOf(const Probes& probes, const ChannelLayout& layout) {
  double sum = 0, counted = 0;
  for (const ChannelGroup& group : layout.groups()) {
    for (std::size_t c = group.first; c < group.first + group.count; ++c) {
      for (std::size_t i = 0; i < probes.size(); ++i) {
        const double seen = static_cast<double>(probes.countOf(i, c, group));
        if (!(seen > 0)) continue;
        const double error = static_cast<double>(probes.errors.row(i)[c]);  // times what is seen
        sum += group.weight * error * error / seen;
        counted += group.weight * seen;
      }
    }
  }
  return -10 * std::log10(sum / counted);
}

}  // namespace heatskin
