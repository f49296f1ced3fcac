#include "heatskin/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/training/start.h"

namespace heatskin {
namespace {

/// Queries that go through the pipeline together: their responses stay in the second-level cache.
constexpr std::size_t kQueryBlock = 64;
constexpr std::size_t kKernelBlock = 256;

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;

}  // namespace

/// A fixed part of the batch: its sums and its memory.
struct Trainer::Part {
  GradientSums sums;
  ResponseBlock responses;
  CompositeBlock composite;
  std::vector<float> dx;
  std::vector<SurfacePoint> queries;
  std::vector<Vec3f> d_colors;
  std::vector<float> errors;
  Vec3 mean_gradient = Vec3::Zero();
  double loss = 0;
  double forward_seconds = 0, backward_seconds = 0;
};

Trainer::Trainer(const Surface& surface, const Appearance& appearance, Evaluator& evaluator,
                 const TrainOptions& options)
    : surface_(&surface),
      evaluator_(&evaluator),
      options_(options),
      pool_(surface, appearance, options.sampling, options.seed),
      walker_(surface),
      kernels_(startKernels(surface, appearance, options.start, options.seed)),
      indices_(options.batch),
      losses_(options.batch) {
  const std::size_t count = kernels_.size();
  adam_m_.assign(count, {});
  adam_v_.assign(count, {});
  velocities_.assign(count, Vec2::Zero());
  hits_.assign(count, 0);
  contributions_.assign(count, 0);
  errors_.assign(count, 0);
  for (std::size_t p = 0; p < kParts; ++p)
    parts_.push_back(std::make_unique<Part>());
}

Trainer::~Trainer() = default;

int Trainer::at(double fraction) const {
  return static_cast<int>(std::lround(fraction * options_.steps));
}

StepReport Trainer::step() {
  Stopwatch watch, total;
  if (step_ > 0) densityControl();
  profile_.density += watch.lap();
  const int interval = evaluator_->rebuildInterval();
  if (rebuilt_at_ < 0 || (interval > 0 && step_ - rebuilt_at_ >= interval)) {
    evaluator_->rebuild(kernels_);
    rebuilt_at_ = step_;
  }
  filter_.build(kernels_);
  profile_.rebuild += watch.lap();

  pool_.draw(step_, step_ < at(options_.sampling.warmup_fraction), indices_);
  profile_.sampling += watch.lap();

  evaluateParts();
  pool_.visit(indices_, losses_);

  double rate = 1;
  if (options_.rates.decay == Decay::kHalving) {
    rate = std::pow(0.5, std::floor(5.0 * step_ / options_.steps));
  } else {
    const double low = options_.rates.final_rate;
    rate = low + (1 - low) * 0.5 * (1 + std::cos(std::numbers::pi * step_ / options_.steps));
  }
  watch.lap();
  updateKernels(rate);
  evaluator_->refresh(kernels_, motions_);
  profile_.optimiser += watch.lap();

  StepReport report;
  report.step = step_++;
  for (const auto& part : parts_) {
    report.loss += part->loss;
    profile_.forward += part->forward_seconds;
    profile_.backward += part->backward_seconds;
  }
  report.loss /= static_cast<double>(options_.batch);
  report.psnr = -10 * std::log10(report.loss / 3);
  report.kernels = kernels_.size();
  report.seconds = total.lap();
  return report;
}

void Trainer::evaluateParts() {
  const std::size_t batch = indices_.size(), part_size = (batch + kParts - 1) / kParts;
  const auto scale = static_cast<float>(2.0 / static_cast<double>(batch));
  const bool count_errors = step_ >= at(options_.density.densify_count_from);
  for (auto& part : parts_) {
    part->mean_gradient = Vec3::Zero();
    part->loss = part->forward_seconds = part->backward_seconds = 0;
    part->sums.reset(kernels_.size());
  }
  parallelBlocks(batch, part_size, [&](std::size_t p, std::size_t part_begin, std::size_t part_end) {
    Part& part = *parts_[p];
    Stopwatch watch;
    for (std::size_t begin = part_begin; begin < part_end; begin += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, part_end - begin);
      part.queries.resize(count);
      part.d_colors.resize(count);
      part.errors.resize(count);
      for (std::size_t i = 0; i < count; ++i)
        part.queries[i] = pool_.points()[indices_[begin + i]];
      watch.lap();
      evaluator_->respond(part.queries, part.responses);
      composite(part.responses, filter_, part.composite);
      part.forward_seconds += watch.lap();
      for (std::size_t i = 0; i < count; ++i) {
        const Vec3f& color = part.composite.colors[i];
        const Vec3f error = color - pool_.colors()[indices_[begin + i]];
        const Vec3f raw =
            filter_.meanColor() + part.composite.sums[i] / std::max(part.composite.weights[i], 1.0f);
        for (Eigen::Index c = 0; c < 3; ++c) {
          part.d_colors[i][c] = raw[c] == color[c] ? scale * error[c] : 0.0f;
        }
        part.mean_gradient += part.d_colors[i].cast<double>();
        losses_[begin + i] = error.squaredNorm();
        part.errors[i] = error.cwiseAbs().sum() / 3;
        part.loss += losses_[begin + i];
      }
      compositeVjp(part.responses, filter_, part.composite, part.d_colors,
                   count_errors ? std::span<const float>(part.errors) : std::span<const float>(), part.dx,
                   part.sums);
      evaluator_->respondVjp(part.queries, part.responses, part.dx, part.sums);
      part.backward_seconds += watch.lap();
    }
  });
}

void Trainer::updateKernels(double rate) {
  const double correction1 = 1 - std::pow(kBeta1, step_ + 1), correction2 = 1 - std::pow(kBeta2, step_ + 1);
  const LearningRates& rates = options_.rates;
  using Parameters = Eigen::Array<float, kParameters, 1>;
  const auto size = [&](double learning_rate) {
    return static_cast<float>(learning_rate * rate / correction1);
  };
  Parameters step_sizes;
  step_sizes << size(rates.angle), size(rates.anisotropy), size(rates.threshold), size(rates.sharpness),
      size(rates.color), size(rates.color), size(rates.color), 0.0f;
  const auto inverse_correction2 = static_cast<float>(1 / correction2);
  constexpr auto kKeep1 = static_cast<float>(kBeta1), kKeep2 = static_cast<float>(kBeta2);
  constexpr auto kEpsilon = static_cast<float>(kAdamEpsilon);
  const bool count_use = step_ >= at(options_.density.prune_count_from);
  motions_.assign(kernels_.size(), Rigid2());
  parallelFor(kernels_.size(), kKernelBlock, [&](std::size_t begin, std::size_t end) {
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
        hits_[i] += row[GradientRow::kHits];
        contributions_[i] += row[GradientRow::kContribution];
      }
      errors_[i] += row[GradientRow::kError];

      const SoftThreshold<double> filter(kernels_.sharpnesses[i], kernels_.thresholds[i]);
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
      const Parameters m = kKeep1 * Eigen::Map<const Parameters>(adam_m_[i].data()) + (1 - kKeep1) * gradient;
      const Parameters v =
          kKeep2 * Eigen::Map<const Parameters>(adam_v_[i].data()) + (1 - kKeep2) * gradient.square();
      Eigen::Map<Parameters>(adam_m_[i].data()) = m;
      Eigen::Map<Parameters>(adam_v_[i].data()) = v;
      const Parameters change = step_sizes * m / ((v * inverse_correction2).sqrt() + kEpsilon);
      const auto move = [](float& value, double by, float low, float high) {
        value = std::clamp(static_cast<float>(value - by), low, high);
      };

      // GeodesicOpt: the velocity is carried along the walk.
      Vec2& velocity = velocities_[i];
      velocity = rates.momentum * velocity + Vec2(row[GradientRow::kPositionX], row[GradientRow::kPositionY]);
      const WalkOutcome outcome = walker_.walk(kernels_.positions[i], -rates.position * rate * velocity);
      velocity = outcome.end_from_start.rotate(velocity);
      kernels_.positions[i] = outcome.end;
      motions_[i] = outcome.end_from_start;
      if (options_.transport_angle) {
        kernels_.angles[i] +=
            static_cast<float>(std::atan2(outcome.end_from_start.sine, outcome.end_from_start.cosine));
      }

      if (options_.wrap_angle) {
        const double angle = kernels_.angles[i] - change[0];
        kernels_.angles[i] =
            static_cast<float>(angle - std::numbers::pi * std::floor(angle / std::numbers::pi));
      } else {
        move(kernels_.angles[i], change[0], KernelRanges::kMinAngle, KernelRanges::kMaxAngle);
      }
      move(kernels_.anisotropies[i], change[1], KernelRanges::kMinAnisotropy, KernelRanges::kMaxAnisotropy);
      move(kernels_.thresholds[i], change[2], KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
      move(kernels_.sharpnesses[i], change[3], KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness);
      for (std::size_t c = 0; c < 3; ++c) {
        move(kernels_.colors[i][static_cast<Eigen::Index>(c)], change[4 + static_cast<Eigen::Index>(c)],
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
    mean_m_[c] = kBeta1 * mean_m_[c] + (1 - kBeta1) * g;
    mean_v_[c] = kBeta2 * mean_v_[c] + (1 - kBeta2) * g * g;
    const double change = rates.mean_color * rate * (mean_m_[c] / correction1) /
                          (std::sqrt(mean_v_[c] / correction2) + kAdamEpsilon);
    kernels_.mean_color[channel] =
        std::clamp(static_cast<float>(kernels_.mean_color[channel] - change), 0.0f, 1.0f);
  }
}

void Trainer::densityControl() {
  const DensityOptions& d = options_.density;
  const auto due = [&](double from, double until, double every) {
    const int period = std::max(1, at(every));
    return step_ >= at(from) && step_ < at(until) && step_ % period == 0;
  };
  const bool pruned = due(d.prune_from, d.prune_until, d.prune_every);
  const bool densified = due(d.densify_from, d.densify_until, d.densify_every);
  if (pruned) prune();
  if (densified) densify();
  if (pruned || densified) rebuilt_at_ = -1;
}

void Trainer::prune() {
  const DensityOptions& d = options_.density;
  const double most = *std::max_element(hits_.begin(), hits_.end());
  const double scale = std::max(1, at(d.prune_count_from));
  std::vector<std::uint32_t> kept, weak;
  for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
    const bool drop = hits_[i] < d.prune_hits * most || contributions_[i] / scale < d.prune_contribution;
    (drop ? weak : kept).push_back(i);
  }
  // Never below the minimum: the strongest of the weak come back.
  std::stable_sort(weak.begin(), weak.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return contributions_[a] > contributions_[b]; });
  for (std::size_t i = 0; i < weak.size() && kept.size() < d.min_kernels; ++i)
    kept.push_back(weak[i]);
  std::sort(kept.begin(), kept.end());
  if (kept.size() < kernels_.size()) {
    kernels_.select(kept);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      adam_m_[k] = adam_m_[kept[k]];
      adam_v_[k] = adam_v_[kept[k]];
      velocities_[k] = velocities_[kept[k]];
      errors_[k] = errors_[kept[k]];
    }
    adam_m_.resize(kept.size());
    adam_v_.resize(kept.size());
    velocities_.resize(kept.size());
    errors_.resize(kept.size());
  }
  hits_.assign(kernels_.size(), 0);
  contributions_.assign(kernels_.size(), 0);
}

void Trainer::densify() {
  const DensityOptions& d = options_.density;
  const double scale = std::max(1, at(d.error_steps));
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t i = 0; i < kernels_.size(); ++i) {
    if (errors_[i] / scale > d.error_threshold) candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return errors_[a] > errors_[b]; });
  const std::size_t room = d.max_kernels > kernels_.size() ? d.max_kernels - kernels_.size() : 0;
  const std::size_t count = std::min(
      {candidates.size(), static_cast<std::size_t>(d.growth * static_cast<double>(kernels_.size())), room});
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t i = candidates[n];
    const std::size_t j = kernels_.size();
    kernels_.append(i);
    adam_m_.push_back({});
    adam_v_.push_back({});
    velocities_.push_back(Vec2::Zero());
    hits_.push_back(hits_[i]);
    contributions_.push_back(contributions_[i]);
    errors_.push_back(0);
    const double reach = 1 - static_cast<double>(kernels_.thresholds[i]);
    if (reach <= d.split_above) continue;
    const double angle = kernels_.angles[i] + (d.split_long_axis ? 0.0 : std::numbers::pi / 2);
    const Vec2 offset = reach * d.split_distance * Vec2(std::cos(angle), std::sin(angle));
    const SurfacePoint from = kernels_.positions[i];
    const auto place = [&](std::size_t k, const Vec2& by) {
      const WalkOutcome outcome = walker_.walk(from, by);
      kernels_.positions[k] = outcome.end;
      if (options_.transport_angle) {
        kernels_.angles[k] +=
            static_cast<float>(std::atan2(outcome.end_from_start.sine, outcome.end_from_start.cosine));
      }
      if (options_.wrap_angle) {
        const double a = kernels_.angles[k];
        kernels_.angles[k] = static_cast<float>(a - std::numbers::pi * std::floor(a / std::numbers::pi));
      } else {
        kernels_.angles[k] = std::clamp(kernels_.angles[k], KernelRanges::kMinAngle, KernelRanges::kMaxAngle);
      }
      kernels_.thresholds[k] = std::clamp(static_cast<float>(1 - reach / d.split_shrink),
                                          KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold);
      adam_m_[k] = {};
      adam_v_[k] = {};
      velocities_[k] = Vec2::Zero();
    };
    place(i, offset);
    place(j, -offset);
  }
  std::fill(errors_.begin(), errors_.end(), 0.0);
}

void evaluateColors(const Evaluator& evaluator, const FilterTable& filter,
                    std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> weights) {
  parallelFor(points.size(), 1024, [&](std::size_t begin, std::size_t end) {
    thread_local ResponseBlock responses;
    thread_local CompositeBlock block;
    for (std::size_t first = begin; first < end; first += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, end - first);
      evaluator.respond(points.subspan(first, count), responses);
      composite(responses, filter, block);
      for (std::size_t i = 0; i < count; ++i) {
        colors[first + i] = block.colors[i];
        if (!weights.empty()) weights[first + i] = block.weights[i];
      }
    }
  });
}

}  // namespace heatskin
