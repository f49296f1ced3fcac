#include "heatskin/transfer/refit_kernels.h"

#include <algorithm>
#include <cmath>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/training/batch_gradient.h"
#include "heatskin/training/channel_solve.h"
#include "heatskin/training/loss.h"
#include "heatskin/training/optimiser.h"
#include "heatskin/training/pool.h"
#include "heatskin/training/probes.h"
#include "heatskin/training/schedule.h"
#include "heatskin/training/start.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {
namespace {

/// Hardly any damping: values are new, not only refined. The second round is for what clamping changed.
constexpr ChannelSolveOptions kRefitSolve{30, 0.003};
constexpr int kSolveRounds = 2;

/// Draws of refits are none of those of the fit's own steps.
constexpr int kDrawsFrom = 1 << 20;

/// Of the pool, for each kernel and at least.
constexpr std::size_t kSamplesInPool = 200, kLeastPool = std::size_t{1} << 14;

/// Samples for each kernel that errors and reach are found with.
constexpr std::size_t kSamplesPerKernel = 40;

TrainOptions optionsFor(const FitConfig& config, std::size_t kernels) {
  TrainOptions options = trainOptions(config);
  options.batch = 0;
  options.density.max_kernels = std::max<std::size_t>(kernels, 1);
  // As many samples for each kernel as a fit has, but fewer at least: a refit may be of a few kernels.
  options.sampling.pool = std::clamp(kSamplesInPool * kernels, kLeastPool, std::size_t{1} << 25);
  followBudget(options);
  return options;
}

/// The least-squares problem of some kernels: what the others contribute is in the errors.
std::size_t solveFree(Evaluator& evaluator, const SamplePool& pool, const ProbeDraw& draw,
                      std::span<const std::uint32_t> numbers, std::size_t count, KernelSet& kernels) {
  std::vector<std::uint32_t> chosen(count);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != kNone) chosen[numbers[i]] = i;
  }
  KernelSet part = kernels;
  part.select(chosen);
  ChannelSystem system(part, blockCount(probeCount(pool, draw), kProbeBlock));
  forProbes(evaluator, kernels, pool, draw, [&](std::size_t block, const Probes& all) {
    Probes probes = all;
    probes.influences.clear();
    probes.turns.clear();
    for (std::size_t p = 0; p < all.size(); ++p) {
      for (std::uint32_t n = all.begin[p]; n < all.begin[p + 1]; ++n) {
        const std::uint32_t number = numbers[all.influences[n].kernel];
        if (number == kNone) continue;
        probes.influences.push_back({number, all.influences[n].weight});
        if (!all.turns.empty()) probes.turns.push_back(all.turns[n]);
      }
      probes.begin[p + 1] = static_cast<std::uint32_t>(probes.influences.size());
    }
    system.add(block, probes);
  });
  system.solve(kRefitSolve, part);
  for (std::size_t k = 0; k < count; ++k)
    std::copy_n(part.channels.row(k), kernels.layout.size(), kernels.channels.row(chosen[k]));
  return probeCount(pool, draw);
}

double psnrNow(Evaluator& evaluator, const SamplePool& pool, const TrainOptions& options,
               const KernelSet& kernels, int at) {
  return psnrOf(takeProbes(evaluator, kernels, pool, densityProbes(options, at)), pool.layout());
}

}  // namespace

FitConfig configFor(const EvaluatorOptions& evaluator, std::size_t kernels, std::uint64_t seed) {
  FitConfig config = *presetConfig("compact");
  config.evaluator.method = methodOf(evaluator);
  if (const auto* local = std::get_if<local::LocalOptions>(&evaluator)) config.evaluator.local = *local;
  if (const auto* thermal = std::get_if<thermal::ThermalOptions>(&evaluator))
    config.evaluator.thermal = *thermal;
  if (const auto* spectral = std::get_if<spectral::HktexOptions>(&evaluator))
    config.evaluator.spectral = *spectral;
  config.train.seed = seed;
  setKernelBudget(config, std::max<std::size_t>(kernels, 1));
  return config;
}

RefitReport refitKernels(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
                         std::span<const std::uint8_t> free, const FitConfig& config,
                         const RefitOptions& refit, KernelSet& kernels) {
  RefitReport report;
  std::vector<std::uint32_t> numbers(kernels.size(), kNone);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (free[i] != 0) numbers[i] = static_cast<std::uint32_t>(report.free_kernels++);
  }
  if (report.free_kernels == 0) return report;
  TrainOptions options = optionsFor(config, report.free_kernels);
  // The last steps of a run whose learning rates have come down to `pace`.
  const double low = options.rates.final_rate;
  const double fraction =
      std::acos(std::clamp(2 * (refit.pace - low) / (1 - low) - 1, -1.0, 1.0)) / std::acos(-1.0);
  options.rates.decay = Decay::kCosine;
  options.steps = static_cast<int>(std::lround(refit.steps / std::max(1 - fraction, 0.01)));
  const int first = options.steps - refit.steps;

  const SamplePool measured(surface, target, options.sampling, options.seed);
  SamplePool pool(surface, target, options.sampling, options.seed);
  const KernelSet before = kernels;
  report.psnr_before = psnrNow(evaluator, measured, options, kernels, kDrawsFrom);
  const auto solve = [&](int at) {
    for (int round = 0; round < kSolveRounds; ++round) {
      report.samples +=
          solveFree(evaluator, measured,
                    solveProbes(options, report.free_kernels, kDrawsFrom + kSolveRounds * at + round),
                    numbers, report.free_kernels, kernels);
    }
  };
  solve(0);

  if (refit.steps > 0) {
    TrainerState state;
    state.kernels = std::move(kernels);
    state.optimiser.reset(state.kernels.size(), state.kernels.layout.size());
    state.statistics.reset(state.kernels.size());
    const Schedule schedule(options);
    const Walker walker(surface);
    const Loss loss(options.batch, options.clamp_gradient, target.layout());
    BatchGradient gradient(options.batch);
    FilterTable filter;
    TrainProfile profile;
    std::vector<Rigid2> motions;
    int rebuilt = -1;
    for (state.step = first; state.step < options.steps; ++state.step) {
      if (rebuilt < 0 || state.step - rebuilt >= schedule.rebuildInterval(state.step)) {
        evaluator.rebuildForSteps(state.kernels);
        rebuilt = state.step;
      }
      filter.build(state.kernels);
      pool.prepareDraw(state.step, schedule.warmup(state.step), options.batch);
      gradient.evaluate(pool, state.step, evaluator, filter, loss, state.kernels.size(), false, profile);
      pool.visit(gradient.indices(), gradient.squaredErrors());
      // Adam counts its own steps, which begin here.
      const Optimiser optimiser(options, state.kernels.layout, walker, state.step - first,
                                schedule.pace(state.step));
      motions.assign(state.kernels.size(), Rigid2());
      const std::span<const std::uint32_t> touched = gradient.touched();
      constexpr std::size_t kKernelsAtOnce = 256;
      parallelFor(touched.size(), kKernelsAtOnce, [&](std::size_t begin, std::size_t end) {
        GradientRowBuffer buffer;
        for (std::size_t i = begin; i < end; ++i) {
          if (free[touched[i]] == 0) continue;
          GradientRow& row = buffer.clear();
          gradient.addTo(row, touched[i]);
          evaluator.finish(touched[i], row.geometry);
          motions[touched[i]] = optimiser.moveKernel(touched[i], row, state);
        }
      });
      evaluator.refresh(state.kernels, motions);
      report.samples += options.batch;
    }
    kernels = std::move(state.kernels);
    report.steps = refit.steps;
    solve(1);
  }
  report.psnr_after = psnrNow(evaluator, measured, options, kernels, kDrawsFrom + 2);
  if (!(report.psnr_after > report.psnr_before)) {
    kernels = before;
    report.psnr_after = report.psnr_before;
  }
  return report;
}

std::vector<double> errorsAround(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
                                 const KernelSet& kernels, const FitConfig& config) {
  const TrainOptions options = optionsFor(config, kernels.size());
  const SamplePool pool(surface, target, options.sampling, options.seed);
  ProbeDraw draw = densityProbes(options, kDrawsFrom + 3);
  draw.count = std::max(draw.count, kSamplesPerKernel * kernels.size());
  const Probes probes = takeProbes(evaluator, kernels, pool, draw);
  std::vector<double> sums(kernels.size(), 0), parts(kernels.size(), 0);
  const double channels = static_cast<double>(kernels.layout.size());
  for (std::size_t p = 0; p < probes.size(); ++p) {
    const double squared =
        static_cast<double>(sumOfSquares(probes.errors.row(p), kernels.layout.size())) / channels;
    const float scale = 1 / std::max(probes.weights[p], 1.0f);
    for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n) {
      const auto part = static_cast<double>(probes.influences[n].weight * scale);
      sums[probes.influences[n].kernel] += part * squared;
      parts[probes.influences[n].kernel] += part;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = parts[i] > 0 ? std::sqrt(sums[i] / parts[i]) : -1;
  return sums;
}

std::vector<std::uint8_t> kernelsInReach(const Surface& surface, const FitTarget& target,
                                         Evaluator& evaluator, const KernelSet& kernels,
                                         const FitConfig& config, float part) {
  TrainOptions options = optionsFor(config, 1);
  const SamplePool pool(surface, target, options.sampling, options.seed);
  ProbeDraw draw = densityProbes(options, kDrawsFrom + 4);
  draw.count = std::size_t{1} << 15;
  const Probes probes = takeProbes(evaluator, kernels, pool, draw);
  std::vector<std::uint8_t> reached(kernels.size(), 0);
  for (std::size_t p = 0; p < probes.size(); ++p) {
    const float scale = 1 / std::max(probes.weights[p], 1.0f);
    for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n) {
      if (probes.influences[n].weight * scale >= part) reached[probes.influences[n].kernel] = 1;
    }
  }
  return reached;
}

std::vector<std::uint8_t> facesInReach(const Surface& surface, const KernelSet& kernels,
                                       std::span<const std::uint8_t> which, const EvaluatorOptions& options) {
  const MethodTraits& method = traits(methodOf(options));
  std::vector<std::uint8_t> reached(surface.faceCount(), 0);
  std::vector<std::uint32_t> seen(surface.faceCount(), kNone), front;
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (which[k] == 0) continue;
    // Where the response is below the threshold, a kernel's part is small; a little further it is nothing.
    constexpr double kBelow = 0.8;
    const double radius = static_cast<double>(kernels.lengths[k]) *
                          method.reach(options, kBelow * static_cast<double>(kernels.thresholds[k]));
    const Vec3 center = surface.position(kernels.positions[k]);
    front.assign(1, kernels.positions[k].face);
    seen[front[0]] = k;
    while (!front.empty()) {
      const std::uint32_t face = front.back();
      front.pop_back();
      const auto& corners = surface.faces()[face];
      const Vec3 nearest_weights =
          closestBarycentric(center, surface.positions()[corners[0]], surface.positions()[corners[1]],
                             surface.positions()[corners[2]]);
      if ((surface.position({face, nearest_weights}) - center).norm() > radius) continue;
      reached[face] = 1;
      for (const std::uint32_t twin : surface.twins()[face]) {
        if (twin == kNone || seen[twin / 3] == k) continue;
        seen[twin / 3] = k;
        front.push_back(twin / 3);
      }
    }
  }
  return reached;
}

std::size_t addKernels(const Surface& surface, const FitTarget& target, const FitConfig& config,
                       std::size_t count, KernelSet& kernels) {
  if (count == 0) return 0;
  TrainOptions train = trainOptions(config);
  train.start.kernels = count;
  const KernelSet fresh = startKernels(surface, target, train, kernels.mean);
  const std::size_t before = kernels.size();
  kernels.resize(before + fresh.size());
  const auto put = [&](const auto& from, auto& to) {
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(before));
  };
  put(fresh.positions, kernels.positions);
  put(fresh.angles, kernels.angles);
  put(fresh.anisotropies, kernels.anisotropies);
  put(fresh.thresholds, kernels.thresholds);
  put(fresh.sharpnesses, kernels.sharpnesses);
  put(fresh.lengths, kernels.lengths);
  for (std::size_t i = 0; i < fresh.size(); ++i)
    std::copy_n(fresh.channels.row(i), fresh.layout.size(), kernels.channels.row(before + i));
  return fresh.size();
}

}  // namespace heatskin
