#include "heatskin/training/probes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluators/composite_batch.h"
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

ProbeDraw gapProbes(const TrainOptions& options, std::size_t kernels, int round) {
  ProbeDraw draw = densityProbes(options, options.steps + constants::kFillRounds + round);
  draw.count = std::max(constants::kProbes, constants::kGapProbes * kernels);
  return draw;
}

ProbeDraw solveProbes(const TrainOptions& options, std::size_t kernels, int step) {
  const auto at = static_cast<std::uint64_t>(step);
  const std::size_t each =
      kernels > constants::kManyKernels ? constants::kFewSolveProbes : constants::kSolveProbes;
  return {std::max(constants::kProbes, each * kernels), options.seed, streams::kSolve + (at << 8),
          streams::kSolveDraws + at};
}

std::size_t probeCount(const SamplePool& pool, const ProbeDraw& draw) {
  return std::min(draw.count, pool.size());
}

void forProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool, const ProbeDraw& draw,
               const std::function<void(std::size_t block, const Probes& probes)>& use) {
  // Probes are all over the surface: they need nearly everything.
  evaluator.rebuildForSteps(kernels);
  evaluator.complete();
  FilterTable filter;
  filter.build(kernels);
  const RandomStream random(draw.seed, draw.stream);
  const std::size_t count = probeCount(pool, draw), channels = filter.channels();
  const bool masked = pool.samples().masked();
  const bool tangents = !filter.tangents().empty();
  parallelBlocks(count, kProbeBlock, [&](std::size_t number, std::size_t begin, std::size_t end) {
    Workspace workspace;
    ResponseBlock& responses = workspace.responses;
    CompositeBlock block;
    Probes probes;
    probes.resize(end - begin, channels);
    probes.visibilities.resize(masked ? end - begin : 0);
    probes.left_out.resize(pool.partial() ? end - begin : 0);
    std::vector<std::uint32_t> indices;
    std::unique_ptr<EvaluatorBatch> batch;
    for (std::size_t first = 0; first < end - begin; first += kQueryBlock) {
      const std::size_t size = std::min(kQueryBlock, end - begin - first);
      const auto queries = std::span(probes.points).subspan(first, size);
      indices.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        // Stratified over the pool, which is in the order of the surface.
        const std::size_t probe = begin + first + i;
        const double place = (static_cast<double>(probe) + random.uniform(probe)) /
                             static_cast<double>(count) * static_cast<double>(pool.size());
        indices[i] = static_cast<std::uint32_t>(std::min(static_cast<std::size_t>(place), pool.size() - 1));
      }
      pool.samples().points(draw.draw, begin + first, indices, queries);
      const auto visibilities = std::span(probes.visibilities).subspan(masked ? first : 0, masked ? size : 0);
      pool.samples().values(indices, queries,
                            std::span(probes.targets.values).subspan(first * channels, size * channels),
                            visibilities);
      batch = evaluator.begin(queries, std::move(batch));
      batch->respond(0, size, workspace);
      compositeBatch(*batch, 0, size, filter, workspace, block);
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t probe = first + i;
        probes.errors[probe] = block.channels[i] - probes.targets[probe];
        if (pool.partial()) probes.left_out[probe] = pool.leftOut(queries[i].face);
        for (const ChannelGroup& group : pool.layout().groups()) {
          if (!masked && !pool.partial()) break;
          for (std::size_t c = group.first; c < group.first + group.count; ++c)
            probes.errors.row(probe)[c] *= probes.countOf(probe, c, group);
        }
        probes.sums[probe] = block.sums[i];
        probes.weights[probe] = block.weights[i];
        for (std::size_t n = 0; n < responses.counts[i]; ++n) {
          const std::size_t at = i * responses.stride + n;
          probes.influences.push_back({responses.kernels[at], block.f[at]});
          if (tangents) probes.turns.push_back({responses.cosines[at], responses.sines[at]});
        }
        probes.begin[probe + 1] = static_cast<std::uint32_t>(probes.influences.size());
      }
    }
    use(number, probes);
  });
}

Probes takeProbes(Evaluator& evaluator, const KernelSet& kernels, const SamplePool& pool,
                  const ProbeDraw& draw) {
  const std::size_t count = probeCount(pool, draw), channels = kernels.layout.size();
  Probes probes;
  probes.resize(count, channels);
  if (pool.samples().masked()) probes.visibilities.resize(count);
  if (pool.partial()) probes.left_out.resize(count);
  std::vector<std::vector<Influence>> influences(blockCount(count, kProbeBlock));
  std::vector<std::vector<ProbeTurn>> turns(influences.size());
  const auto put = [](const auto& from, auto& to, std::size_t at) {
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(at));
  };
  forProbes(evaluator, kernels, pool, draw, [&](std::size_t block, const Probes& part) {
    const std::size_t first = block * kProbeBlock;
    put(part.points, probes.points, first);
    put(part.targets.values, probes.targets.values, first * channels);
    put(part.errors.values, probes.errors.values, first * channels);
    put(part.sums.values, probes.sums.values, first * channels);
    put(part.weights, probes.weights, first);
    if (!probes.visibilities.empty()) put(part.visibilities, probes.visibilities, first);
    if (!probes.left_out.empty()) put(part.left_out, probes.left_out, first);
    for (std::size_t i = 0; i < part.size(); ++i)
      probes.begin[first + i + 1] = part.begin[i + 1] - part.begin[i];
    influences[block] = part.influences;  // a copy takes no more room than it needs
    turns[block] = part.turns;
  });
  for (std::size_t i = 0; i < count; ++i)
    probes.begin[i + 1] += probes.begin[i];
  probes.influences.reserve(probes.begin.back());
  if (kernels.layout.hasTangents()) probes.turns.reserve(probes.begin.back());
  for (std::size_t part = 0; part < influences.size(); ++part) {
    probes.influences.insert(probes.influences.end(), influences[part].begin(), influences[part].end());
    probes.turns.insert(probes.turns.end(), turns[part].begin(), turns[part].end());
    influences[part] = {};
    turns[part] = {};
  }
  return probes;
}

bool visiblyWrong(const float* errors, const ChannelLayout& layout) {
  constexpr float kWrong = 2.0f / 255;
  for (const ChannelGroup& group : layout.groups()) {
    const float* of = errors + group.first;
    if (group.isTangent() ? std::hypot(of[0], of[1]) > kWrong
                          : std::any_of(of, of + group.count, [](float e) { return std::abs(e) > kWrong; })) {
      return true;
    }
  }
  return false;
}

std::vector<std::uint8_t> uncoveredProbes(const Probes& probes, const ChannelLayout& layout, float enough) {
  std::vector<std::uint8_t> result(probes.size());
  for (std::size_t i = 0; i < probes.size(); ++i)
    result[i] = probes.weights[i] < enough && visiblyWrong(probes.errors.row(i), layout) ? 1 : 0;
  return result;
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
