#include "heatskin/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/training/channel_solve.h"
#include "heatskin/training/constants.h"
#include "heatskin/training/density.h"
#include "heatskin/training/optimiser.h"
#include "heatskin/training/probes.h"
#include "heatskin/training/start.h"
#include "heatskin/training/stretch.h"

namespace heatskin {
namespace {

TrainOptions settled(TrainOptions options) {
  followBudget(options);
  return options;
}

}  // namespace

Trainer::Trainer(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
                 const TrainOptions& options)
    : surface_(&surface),
      evaluator_(&evaluator),
      options_(settled(options)),
      schedule_(options_),
      pool_(surface, target, options_.sampling, options_.seed),
      walker_(surface),
      loss_(options_.batch, options_.clamp_gradient, target.layout()),
      gradient_(options_.batch) {
  state_.kernels = startKernels(surface, target, options_, pool_.mean());
  state_.optimiser.reset(state_.kernels.size(), state_.kernels.layout.size());
  state_.statistics.reset(state_.kernels.size());
  sortAlongSurface(state_, surface);
}

bool Trainer::densityDue() const {
  return schedule_.pruneDue(state_.step) || schedule_.densifyDue(state_.step) ||
         schedule_.coverDue(state_.step);
}

bool Trainer::rebuildDue() const {
  return rebuilt_at_ < 0 || state_.step - rebuilt_at_ >= schedule_.rebuildInterval(state_.step);
}

bool Trainer::canSave() const {
  return rebuildDue() || densityDue() || schedule_.solveDue(state_.step);
}

TrainerState Trainer::state() const {
  TrainerState state = state_;
  state.pool_errors.assign(pool_.errors().begin(), pool_.errors().end());
  return state;
}

bool Trainer::restore(TrainerState state) {
  // What the channels are follows from the input and is not stored.
  state.kernels.layout = state_.kernels.layout;
  state.kernels.channels.channels = state.kernels.layout.size();
  state.optimiser.parameters = adamParameters(state.kernels.layout.size());
  const std::size_t count = state.kernels.size();
  if (state.step < 0 || state.step > options_.steps || count == 0 || count > options_.density.max_kernels ||
      state.pool_errors.size() != pool_.size() || !isConsistent(state, *surface_)) {
    return false;
  }
  pool_.restoreErrors(state.pool_errors);
  state.pool_errors.clear();
  state_ = std::move(state);
  rebuilt_at_ = -1;
  return true;
}

StepReport Trainer::step() {
  Stopwatch watch, total;
  controlDensity();
  profile_.density += watch.lap();
  solveIfDue();
  profile_.solve += watch.lap();
  rebuildIfDue();
  filter_.build(state_.kernels);
  profile_.rebuild += watch.lap();

  pool_.prepareDraw(state_.step, schedule_.warmup(state_.step), options_.batch);
  profile_.sampling += watch.lap();
  gradient_.evaluate(pool_, state_.step, *evaluator_, filter_, loss_, state_.kernels.size(),
                     schedule_.countsErrors(state_.step), profile_);
  pool_.visit(gradient_.indices(), gradient_.squaredErrors());

  watch.lap();
  moveKernels();
  evaluator_->refresh(state_.kernels, motions_);
  profile_.optimiser += watch.lap();

  StepReport report;
  report.step = state_.step++;
  watch.lap();
  if (finished()) {
    fillGaps();
    profile_.density += watch.lap();
    solveIfDue();
  }
  profile_.solve += watch.lap();
  report.loss = gradient_.lossSums().loss / static_cast<double>(options_.batch);
  report.psnr = -10 * std::log10(report.loss / state_.kernels.layout.totalWeight());
  report.kernels = state_.kernels.size();
  report.seconds = total.lap();
  return report;
}

double Trainer::psnr() {
  // As many as the figure needs that decides about the next stage: errors are in few places.
  constexpr std::size_t kLeast = std::size_t{1} << 17;
  ProbeDraw draw = densityProbes(options_, options_.steps);
  draw.count = std::max(draw.count, kLeast);
  makeRoom();
  const Probes probes = takeProbes(*evaluator_, state_.kernels, pool_, draw);
  rebuilt_at_ = -1;
  return psnrOf(probes, pool_.layout());
}

void Trainer::makeRoom() {
  gradient_.release();
  filter_ = {};
  motions_ = {};
}

void Trainer::controlDensity() {
  if (!densityDue()) return;
  makeRoom();  // probes of the whole surface and gradients of a batch are not needed at the same time
  const bool densified = schedule_.densifyDue(state_.step);
  if (options_.density.rule == Density::kBudget) {
    rebalance(state_, options_, walker_,
              takeProbes(*evaluator_, state_.kernels, pool_, densityProbes(options_, state_.step)),
              densified ? Rebalance::kAll : Rebalance::kCoverage);
  } else {
    if (schedule_.pruneDue(state_.step)) prune(state_, options_.density, schedule_.pruneScale());
    if (densified) densify(state_, options_, walker_, schedule_.densifyScale());
  }
  if (densified) sortAlongSurface(state_, *surface_);
  rebuilt_at_ = -1;
}

void Trainer::fillGaps() {
  // Kernels that fit detail become small and leave gaps until the last step. Draws of their own for each
  // round, and none of those of psnr().
  if (options_.density.rule != Density::kBudget) return;
  makeRoom();
  for (int round = 1; round <= constants::kFillRounds; ++round) {
    const std::size_t inserted = rebalance(
        state_, options_, walker_,
        takeProbes(*evaluator_, state_.kernels, pool_, densityProbes(options_, options_.steps + round)),
        Rebalance::kLast);
    rebuilt_at_ = -1;
    if (static_cast<double>(inserted) < constants::kFilled * static_cast<double>(state_.kernels.size()))
      break;
  }
  std::fill(state_.statistics.costs.begin(), state_.statistics.costs.end(), 0.0);
  if (options_.lengths == Lengths::kSpacing) closeGaps();
}

void Trainer::closeGaps() {
  // Gaps between small kernels are smaller still: two probes for each kernel meet few of them, however often.
  for (int round = 1; round <= constants::kGapRounds; ++round) {
    const ProbeDraw draw = gapProbes(options_, state_.kernels.size(), round);
    const std::size_t count = probeCount(pool_, draw);
    std::vector<std::vector<Stretch>> stretches(blockCount(count, kProbeBlock));
    forProbes(*evaluator_, state_.kernels, pool_, draw, [&](std::size_t block, const Probes& probes) {
      std::vector<std::uint8_t> gaps =
          uncoveredProbes(probes, state_.kernels.layout, static_cast<float>(constants::kCovered));
      stretches[block] = stretchesOver(state_.kernels, probes, gaps);
    });
    std::size_t met = 0;
    for (const std::vector<Stretch>& some : stretches)
      met += some.size();
    lengthen(state_.kernels, stretches);
    rebuilt_at_ = -1;
    if (static_cast<double>(met) < constants::kGapsLeft * static_cast<double>(count)) break;
  }
}

void Trainer::solveIfDue() {
  if (!schedule_.solveDue(state_.step)) return;
  makeRoom();
  // Values are fitted to the probes more than to the surface between them. Steps mend that, but none follow
  // the last solve: it is the mean of several, each with probes of its own, which take no more memory than
  // one.
  const int rounds = finished() ? constants::kLastSolves : 1;
  for (int round = 0; round < rounds; ++round) {
    const ProbeDraw draw = solveProbes(options_, state_.kernels.size(), state_.step + round);
    ChannelSystem system(state_.kernels, blockCount(probeCount(pool_, draw), kProbeBlock));
    forProbes(*evaluator_, state_.kernels, pool_, draw,
              [&](std::size_t block, const Probes& probes) { system.add(block, probes); });
    system.solve({}, state_.kernels, 1.0f / static_cast<float>(round + 1));
  }
  rebuilt_at_ = -1;
}

void Trainer::rebuildIfDue() {
  if (!rebuildDue()) return;
  evaluator_->rebuildForSteps(state_.kernels);
  rebuilt_at_ = state_.step;
}

void Trainer::moveKernels() {
  const Optimiser optimiser(options_, state_.kernels.layout, walker_, state_.step,
                            schedule_.pace(state_.step));
  const bool count_use = schedule_.countsUse(state_.step);
  const bool all = options_.idle == Idle::kCoast;
  const std::size_t count = all ? state_.kernels.size() : gradient_.touched().size();
  motions_.assign(state_.kernels.size(), Rigid2());
  constexpr std::size_t kKernelBlock = 256;
  parallelFor(count, kKernelBlock, [&](std::size_t begin, std::size_t end) {
    GradientRowBuffer buffer;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t kernel = all ? static_cast<std::uint32_t>(i) : gradient_.touched()[i];
      GradientRow& row = buffer.clear();
      gradient_.addTo(row, kernel);
      evaluator_->finish(kernel, row.geometry);
      state_.statistics.add(kernel, row.use, count_use);
      motions_[kernel] = optimiser.moveKernel(kernel, row, state_);
    }
  });
  optimiser.moveMean(gradient_.lossSums().d_mean, state_);
}

}  // namespace heatskin
