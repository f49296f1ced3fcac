#include "heatskin/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/training/angles.h"
#include "heatskin/training/start.h"
#include "heatskin/training/streams.h"

namespace heatskin {
namespace {

constexpr std::size_t kKernelBlock = 256;

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;

}  // namespace

/// A fixed part of the batch: its sums and its memory.
struct Trainer::Part {
  GradientSums sums;
  ResponseBlock responses;
  CompositeBlock composite;
  std::vector<float> dx;
  std::vector<Vec3f> d_colors;
  std::vector<float> errors;
  Vec3 mean_gradient = Vec3::Zero();
  double loss = 0;
  double sampling_seconds = 0, candidate_seconds = 0, forward_seconds = 0, backward_seconds = 0;
};

Trainer::Trainer(const Surface& surface, const Appearance& appearance, Evaluator& evaluator,
                 const TrainOptions& options)
    : surface_(&surface),
      evaluator_(&evaluator),
      options_(options),
      pool_(surface, appearance, options.sampling, options.seed, options.filter),
      walker_(surface),
      indices_(options.batch),
      losses_(options.batch) {
  state_.kernels =
      startKernels(surface, appearance, options.start, pool_.meanColor(), options.seed, options.filter);
  const std::size_t count = state_.kernels.size();
  state_.adam_m.assign(count, {});
  state_.adam_v.assign(count, {});
  state_.velocities.assign(count, Vec2::Zero());
  state_.hits.assign(count, 0);
  state_.contributions.assign(count, 0);
  state_.errors.assign(count, 0);
  state_.costs.assign(count, 0);
  for (std::size_t p = 0; p < kParts; ++p)
    parts_.push_back(std::make_unique<Part>());
  evaluator_->expectBatches(true);
}

Trainer::~Trainer() {
  evaluator_->expectBatches(false);
}

int Trainer::at(double fraction) const {
  return static_cast<int>(std::lround(fraction * options_.steps));
}

double Trainer::pace() const {
  if (options_.rates.decay == Decay::kHalving)
    return std::pow(0.5, std::floor(5.0 * state_.step / options_.steps));
  const double low = options_.rates.final_rate;
  return low + (1 - low) * 0.5 * (1 + std::cos(std::numbers::pi * state_.step / options_.steps));
}

bool Trainer::rebuildDue() const {
  const int interval = evaluator_->rebuildInterval(pace());
  return rebuilt_at_ < 0 || (interval > 0 && state_.step - rebuilt_at_ >= interval);
}

bool Trainer::canSave() const {
  // An evaluator without an interval keeps nothing but what follows from the kernels.
  return rebuildDue() || pruneDue() || densifyDue() || coverDue() || evaluator_->rebuildInterval(pace()) == 0;
}

TrainerState Trainer::state() const {
  TrainerState state = state_;
  state.pool_errors.assign(pool_.errors().begin(), pool_.errors().end());
  return state;
}

bool Trainer::restore(TrainerState state) {
  const KernelSet& k = state.kernels;
  const std::size_t count = k.size();
  if (state.step < 0 || state.step > options_.steps || count == 0 || count > options_.density.max_kernels ||
      state.pool_errors.size() != pool_.size()) {
    return false;
  }
  for (const std::size_t size :
       {k.angles.size(), k.anisotropies.size(), k.thresholds.size(), k.sharpnesses.size(), k.colors.size(),
        state.adam_m.size(), state.adam_v.size(), state.velocities.size(), state.hits.size(),
        state.contributions.size(), state.errors.size(), state.costs.size()}) {
    if (size != count) return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const SurfacePoint& p = k.positions[i];
    const auto within = [](float x, float low, float high) { return x >= low && x <= high; };
    using R = KernelRanges;
    // Barycentric coordinates that a walk left behind may be off by rounding.
    constexpr double kSlack = 1e-6;
    if (p.face >= surface_->faceCount() || !(p.barycentric.minCoeff() >= -kSlack) ||
        !(std::abs(p.barycentric.sum() - 1) <= kSlack) || !within(k.angles[i], R::kMinAngle, R::kMaxAngle) ||
        !within(k.anisotropies[i], R::kMinAnisotropy, R::kMaxAnisotropy) ||
        !within(k.thresholds[i], R::kMinThreshold, R::kMaxThreshold) ||
        !within(k.sharpnesses[i], R::kMinSharpness, R::kMaxSharpness) || !k.colors[i].allFinite() ||
        !state.velocities[i].allFinite()) {
      return false;
    }
  }
  pool_.restoreErrors(state.pool_errors);
  state.pool_errors.clear();
  state_ = std::move(state);
  rebuilt_at_ = -1;
  return true;
}

StepReport Trainer::step() {
  Stopwatch watch, total;
  densityControl();
  profile_.density += watch.lap();
  if (rebuildDue()) {
    evaluator_->rebuild(state_.kernels);
    rebuilt_at_ = state_.step;
  }
  filter_.build(state_.kernels);
  profile_.rebuild += watch.lap();

  pool_.prepareDraw(state_.step, state_.step < at(options_.sampling.warmup_fraction), indices_.size());
  profile_.sampling += watch.lap();

  evaluateParts();
  pool_.visit(indices_, losses_);

  watch.lap();
  updateKernels(pace());
  evaluator_->refresh(state_.kernels, motions_);
  profile_.optimiser += watch.lap();

  StepReport report;
  report.step = state_.step++;
  for (const auto& part : parts_) {
    report.loss += part->loss;
    profile_.sampling += part->sampling_seconds;
    profile_.candidates += part->candidate_seconds;
    profile_.forward += part->forward_seconds;
    profile_.backward += part->backward_seconds;
  }
  report.loss /= static_cast<double>(options_.batch);
  report.psnr = -10 * std::log10(report.loss / 3);
  report.kernels = state_.kernels.size();
  report.seconds = total.lap();
  return report;
}

void Trainer::evaluateParts() {
  const std::size_t batch = indices_.size(), part_size = (batch + kParts - 1) / kParts;
  const auto scale = static_cast<float>(2.0 / static_cast<double>(batch));
  const bool corrected = pool_.weighted();
  const bool count_errors = state_.step >= at(options_.density.densify_count_from);
  for (auto& part : parts_) {
    part->mean_gradient = Vec3::Zero();
    part->loss = part->sampling_seconds = part->candidate_seconds = part->forward_seconds =
        part->backward_seconds = 0;
    part->sums.reset(state_.kernels.size());
  }
  batch_.resize(batch);
  parallelBlocks(batch, part_size, [&](std::size_t p, std::size_t part_begin, std::size_t part_end) {
    Stopwatch watch;
    pool_.draw(part_begin, std::span(indices_).subspan(part_begin, part_end - part_begin));
    // The pool is far larger than the caches: ask for rows well before they are needed.
    constexpr std::size_t kAhead = 32;
    for (std::size_t i = part_begin; i < part_end; ++i) {
      if (i + kAhead < part_end) {
        __builtin_prefetch(&pool_.points()[indices_[i + kAhead]]);
        __builtin_prefetch(&pool_.colors()[indices_[i + kAhead]]);
      }
      batch_[i] = pool_.points()[indices_[i]];
    }
    parts_[p]->sampling_seconds = watch.lap();
  });
  Stopwatch preparation;
  evaluator_->prepare(batch_);
  profile_.rebuild += preparation.lap();
  parallelBlocks(batch, part_size, [&](std::size_t p, std::size_t part_begin, std::size_t part_end) {
    Part& part = *parts_[p];
    Stopwatch watch;
    for (std::size_t begin = part_begin; begin < part_end; begin += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, part_end - begin);
      const std::span<const SurfacePoint> queries = std::span(batch_).subspan(begin, count);
      part.d_colors.resize(count);
      part.errors.resize(count);
      watch.lap();
      evaluator_->respond(queries, part.responses);
      part.candidate_seconds += watch.lap();
      composite(part.responses, filter_, part.composite);
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t index = indices_[begin + i];
        const Vec3f& color = part.composite.colors[i];
        const Vec3f error = color - pool_.colors()[index];
        const float weight = corrected ? scale * pool_.lossWeight(index) : scale;
        part.d_colors[i] = weight * error;
        if (options_.clamped_colors != ClampedColors::kLedBack) {
          const Vec3f raw =
              filter_.meanColor() + part.composite.sums[i] / std::max(part.composite.weights[i], 1.0f);
          for (Eigen::Index c = 0; c < 3; ++c) {
            if (raw[c] != color[c]) part.d_colors[i][c] = 0;
          }
        }
        part.mean_gradient += part.d_colors[i].cast<double>();
        losses_[begin + i] = error.squaredNorm();
        part.errors[i] = error.cwiseAbs().sum() / 3;
        part.loss += losses_[begin + i] * pool_.rarity(index);
      }
      part.forward_seconds += watch.lap();
      compositeVjp(part.responses, filter_, part.composite, part.d_colors,
                   count_errors ? std::span<const float>(part.errors) : std::span<const float>(),
                   0.5f * scale, part.dx, part.sums);
      evaluator_->respondVjp(queries, part.responses, part.dx, part.sums);
      part.backward_seconds += watch.lap();
    }
  });
}

void Trainer::updateKernels(double rate) {
  const double correction1 = 1 - std::pow(kBeta1, state_.step + 1),
               correction2 = 1 - std::pow(kBeta2, state_.step + 1);
  const LearningRates& rates = options_.rates;
  using Parameters = Eigen::Array<float, kAdamParameters, 1>;
  const auto size = [&](double learning_rate) {
    return static_cast<float>(learning_rate * rate / correction1);
  };
  Parameters step_sizes;
  step_sizes << size(rates.angle), size(rates.anisotropy), size(rates.threshold), size(rates.sharpness),
      size(rates.color), size(rates.color), size(rates.color), 0.0f;
  const auto inverse_correction2 = static_cast<float>(1 / correction2);
  constexpr auto kKeep1 = static_cast<float>(kBeta1), kKeep2 = static_cast<float>(kBeta2);
  constexpr auto kEpsilon = static_cast<float>(kAdamEpsilon);
  const bool count_use = state_.step >= at(options_.density.prune_count_from);
  motions_.assign(state_.kernels.size(), Rigid2());
  parallelFor(state_.kernels.size(), kKernelBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto kernel = static_cast<std::uint32_t>(i);
      std::array<float, GradientRow::kSize> row{};
      for (const auto& part : parts_) {
        const float* add = part->sums.find(kernel);
        if (add == nullptr) continue;
        for (std::size_t c = 0; c < GradientRow::kSize; ++c)
          row[c] += add[c];
      }
      evaluator_->finish(kernel, row.data());
      if (count_use) {
        state_.hits[i] += row[GradientRow::kHits];
        state_.contributions[i] += row[GradientRow::kContribution];
      }
      state_.errors[i] += row[GradientRow::kError];
      state_.costs[i] += row[GradientRow::kCost];

      const SoftThreshold<double> filter(state_.kernels.sharpnesses[i], state_.kernels.thresholds[i]);
      FilterSums<double> sums;
      sums.slope = row[GradientRow::kFilter];
      sums.slope_x = row[GradientRow::kFilter + 1];
      sums.plain = row[GradientRow::kFilter + 2];
      sums.weighted = row[GradientRow::kFilter + 3];
      double d_threshold = 0, d_sharpness = 0;
      sums.finish(filter, d_threshold, d_sharpness);

      Parameters gradient;
      gradient << row[GradientRow::kAngle], row[GradientRow::kAnisotropy], static_cast<float>(d_threshold),
          static_cast<float>(d_sharpness), row[GradientRow::kColor], row[GradientRow::kColor + 1],
          row[GradientRow::kColor + 2], 0.0f;
      const Parameters m =
          kKeep1 * Eigen::Map<const Parameters>(state_.adam_m[i].data()) + (1 - kKeep1) * gradient;
      const Parameters v =
          kKeep2 * Eigen::Map<const Parameters>(state_.adam_v[i].data()) + (1 - kKeep2) * gradient.square();
      const float position_size = state_.adam_v[i][kAdamParameters - 1];
      Eigen::Map<Parameters>(state_.adam_m[i].data()) = m;
      Eigen::Map<Parameters>(state_.adam_v[i].data()) = v;
      state_.adam_v[i][kAdamParameters - 1] = position_size;
      const Parameters change = step_sizes * m / ((v * inverse_correction2).sqrt() + kEpsilon);
      const auto move = [](float& value, double by, float low, float high) {
        value = std::clamp(static_cast<float>(value - by), low, high);
      };

      // GeodesicOpt: the velocity is carried along the walk.
      Vec2& velocity = state_.velocities[i];
      velocity = rates.momentum * velocity + Vec2(row[GradientRow::kPositionX], row[GradientRow::kPositionY]);
      const WalkOutcome outcome =
          walker_.walk(state_.kernels.positions[i], -rates.position * rate * velocity);
      velocity = outcome.end_from_start.rotate(velocity);
      state_.kernels.positions[i] = outcome.end;
      motions_[i] = outcome.end_from_start;
      if (options_.transport_angle) {
        state_.kernels.angles[i] = carriedAngle(state_.kernels.angles[i], outcome.end_from_start);
      }

      if (options_.wrap_angle) {
        state_.kernels.angles[i] = wrappedAngle(state_.kernels.angles[i] - change[0]);
      } else {
        move(state_.kernels.angles[i], change[0], KernelRanges::kMinAngle, KernelRanges::kMaxAngle);
      }
      move(state_.kernels.anisotropies[i], change[1], KernelRanges::kMinAnisotropy,
           KernelRanges::kMaxAnisotropy);
      move(state_.kernels.thresholds[i], change[2], KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
      move(state_.kernels.sharpnesses[i], change[3], KernelRanges::kMinSharpness,
           KernelRanges::kMaxSharpness);
      for (std::size_t c = 0; c < 3; ++c) {
        move(state_.kernels.colors[i][static_cast<Eigen::Index>(c)], change[4 + static_cast<Eigen::Index>(c)],
             -KernelRanges::kMaxResidual, KernelRanges::kMaxResidual);
      }
    }
  });

  Vec3 mean_gradient = Vec3::Zero();
  for (const auto& part : parts_)
    mean_gradient += part->mean_gradient;
  for (std::size_t c = 0; c < 3; ++c) {
    const auto channel = static_cast<Eigen::Index>(c);
    const double g = mean_gradient[channel];
    state_.mean_m[c] = kBeta1 * state_.mean_m[c] + (1 - kBeta1) * g;
    state_.mean_v[c] = kBeta2 * state_.mean_v[c] + (1 - kBeta2) * g * g;
    const double change = rates.mean_color * rate * (state_.mean_m[c] / correction1) /
                          (std::sqrt(state_.mean_v[c] / correction2) + kAdamEpsilon);
    state_.kernels.mean_color[channel] =
        std::clamp(static_cast<float>(state_.kernels.mean_color[channel] - change), 0.0f, 1.0f);
  }
}

Probes Trainer::probe() {
  // Fresh samples and a fresh rebuild: what is found depends on the state alone, also after a resume.
  evaluator_->expectBatches(false);
  evaluator_->rebuild(state_.kernels);
  evaluator_->expectBatches(true);
  filter_.build(state_.kernels);
  const RandomStream random(options_.seed, streams::kProbes + (static_cast<std::uint64_t>(state_.step) << 8));
  // A kernel that no probe meets could go unseen.
  constexpr std::size_t kProbesPerKernel = 4;
  const std::size_t count =
      std::min(std::max(options_.density.insert_samples, kProbesPerKernel * options_.density.max_kernels),
               pool_.size());
  Probes probes;
  probes.points.resize(count);
  probes.begin.assign(count + 1, 0);
  std::vector<Influence> influences(count * kKeptKernels);
  parallelFor(count, 1024, [&](std::size_t begin, std::size_t end) {
    thread_local ResponseBlock responses;
    thread_local CompositeBlock block;
    thread_local std::vector<SurfacePoint> queries;
    thread_local std::vector<std::size_t> indices;
    for (std::size_t first = begin; first < end; first += kQueryBlock) {
      const std::size_t size = std::min(kQueryBlock, end - first);
      queries.resize(size);
      indices.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        // Stratified over the pool, which is in the order of the surface.
        const double place = (static_cast<double>(first + i) + random.uniform(first + i)) /
                             static_cast<double>(count) * static_cast<double>(pool_.size());
        indices[i] = std::min(static_cast<std::size_t>(place), pool_.size() - 1);
        queries[i] = pool_.points()[indices[i]];
      }
      evaluator_->respond(queries, responses);
      composite(responses, filter_, block);
      for (std::size_t i = 0; i < size; ++i) {
        Probe& probe = probes.points[first + i];
        probe.point = queries[i];
        probe.target = pool_.colors()[indices[i]];
        probe.error = block.colors[i] - probe.target;
        probe.sum = block.sums[i];
        probe.weight = block.weights[i];
        probes.begin[first + i + 1] = responses.counts[i];
        for (std::size_t n = 0; n < responses.counts[i]; ++n) {
          const std::size_t at = i * responses.stride + n;
          influences[(first + i) * kKeptKernels + n] = {responses.kernels[at], block.f[at]};
        }
      }
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    const auto own = influences.begin() + static_cast<std::ptrdiff_t>(i * kKeptKernels);
    probes.influences.insert(probes.influences.end(), own, own + probes.begin[i + 1]);
    probes.begin[i + 1] += probes.begin[i];
  }
  return probes;
}

bool Trainer::due(double from, double until, double every) const {
  const int period = std::max(1, at(every));
  return state_.step > 0 && state_.step >= at(from) && state_.step < at(until) && state_.step % period == 0;
}

bool Trainer::pruneDue() const {
  const DensityOptions& d = options_.density;
  return d.rule == Density::kPaper && due(d.prune_from, d.prune_until, d.prune_every);
}

bool Trainer::densifyDue() const {
  const DensityOptions& d = options_.density;
  return due(d.densify_from, d.densify_until, d.densify_every);
}

bool Trainer::coverDue() const {
  const DensityOptions& d = options_.density;
  return d.rule == Density::kBudget && !densifyDue() && due(d.densify_from, d.cover_until, d.densify_every);
}

void Trainer::densityControl() {
  const DensityOptions& d = options_.density;
  const bool pruned = pruneDue(), densified = densifyDue(), covered = coverDue();
  if (d.rule == Density::kBudget) {
    if (densified || covered) {
      rebalance(state_, options_, walker_, probe(), densified ? Rebalance::kAll : Rebalance::kCoverage);
    }
  } else {
    if (pruned) prune(state_, d, std::max(1, at(d.prune_count_from)));
    if (densified) densify(state_, options_, walker_, std::max(1, at(d.error_steps)));
  }
  if (pruned || densified || covered) rebuilt_at_ = -1;
}

}  // namespace heatskin
