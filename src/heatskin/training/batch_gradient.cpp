#include "heatskin/training/batch_gradient.h"

#include <algorithm>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluators/composite_batch.h"

namespace heatskin {

/// A fixed part of the batch: its sums and its memory.
struct BatchGradient::Part {
  GradientSums sums;
  LossSums loss_sums;
  Workspace workspace;
  CompositeBlock composite;
  LossBlock loss;
  std::vector<float> targets;  // [Q, C]
  std::vector<float> weights;
  std::vector<double> inverse_probability_weights;
  std::vector<float> visibilities;      // [Q] or empty, as the pool's
  std::vector<std::uint32_t> left_out;  // [Q] or empty, as the pool's
  std::vector<float> dx;
  TrainProfile profile;
};

BatchGradient::BatchGradient(std::size_t batch) : indices_(batch), squared_errors_(batch) {
  for (std::size_t p = 0; p < kParts; ++p)
    parts_.push_back(std::make_unique<Part>());
}

BatchGradient::~BatchGradient() = default;

void BatchGradient::evaluate(const SamplePool& pool, int step, const Evaluator& evaluator,
                             const FilterTable& filter, const Loss& loss, std::size_t kernels,
                             bool count_errors, TrainProfile& profile) {
  const std::size_t batch = indices_.size(), part_size = (batch + kParts - 1) / kParts;
  for (auto& part : parts_) {
    part->loss_sums = {};
    part->profile = {};
    part->sums.takeTable({});  // also of parts that this batch has no samples for
  }
  points_.resize(batch);
  draw(pool, step, part_size);
  Stopwatch preparation;
  batch_ = evaluator.begin(points_, std::move(batch_));
  profile.rebuild += preparation.lap();
  parallelBlocks(batch, part_size, [&](std::size_t p, std::size_t begin, std::size_t end) {
    GradientSums& sums = parts_[p]->sums;
    sums.takeTable(std::move(row_tables_.mine()));
    sums.reset(kernels, filter.channels());
    evaluatePart(*parts_[p], begin, end, pool, filter, loss, count_errors);
    row_tables_.mine() = sums.giveTable();
  });
  linkRows(kernels);
  for (const auto& part : parts_) {
    profile.sampling += part->profile.sampling;
    profile.candidates += part->profile.candidates;
    profile.forward += part->profile.forward;
    profile.backward += part->profile.backward;
  }
}

void BatchGradient::release() {
  for (auto& part : parts_)
    part->sums = GradientSums();
  batch_ = {};
  points_ = {};
  links_ = {};
  touched_ = {};
  first_ = {};
  last_ = {};
  place_ = {};
}

void BatchGradient::draw(const SamplePool& pool, int step, std::size_t part_size) {
  parallelBlocks(indices_.size(), part_size, [&](std::size_t p, std::size_t begin, std::size_t end) {
    Stopwatch watch;
    const auto own = std::span(indices_).subspan(begin, end - begin);
    pool.draw(begin, own);
    pool.samples().points(static_cast<std::uint64_t>(step), begin, own,
                          std::span(points_).subspan(begin, end - begin));
    parts_[p]->profile.sampling = watch.lap();
  });
}

void BatchGradient::evaluatePart(Part& part, std::size_t part_begin, std::size_t part_end,
                                 const SamplePool& pool, const FilterTable& filter, const Loss& loss,
                                 bool count_errors) {
  const std::size_t channels = filter.channels();
  Stopwatch watch;
  for (std::size_t begin = part_begin; begin < part_end; begin += kQueryBlock) {
    const std::size_t count = std::min(kQueryBlock, part_end - begin);
    part.targets.resize(count * channels);
    part.weights.resize(count);
    part.inverse_probability_weights.resize(count);
    part.visibilities.resize(pool.samples().masked() ? count : 0);
    pool.samples().values(std::span(indices_).subspan(begin, count), std::span(points_).subspan(begin, count),
                          part.targets, part.visibilities);
    part.left_out.resize(pool.partial() ? count : 0);
    for (std::size_t i = 0; i < part.left_out.size(); ++i)
      part.left_out[i] = pool.leftOut(points_[begin + i].face);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t index = indices_[begin + i];
      part.weights[i] = pool.weighted() ? pool.lossWeight(index) : 1.0f;
      part.inverse_probability_weights[i] = pool.inverseProbabilityWeight(index);
    }
    part.profile.sampling += watch.lap();
    batch_->respond(begin, begin + count, part.workspace);
    part.profile.candidates += watch.lap();
    compositeBatch(*batch_, begin, begin + count, filter, part.workspace, part.composite);
    loss.evaluate(
        part.composite, filter.mean(),
        {part.targets, part.weights, part.inverse_probability_weights, part.visibilities, part.left_out},
        part.loss, std::span(squared_errors_).subspan(begin, count), part.loss_sums);
    part.profile.forward += watch.lap();
    compositeVjp(part.workspace.responses, filter, part.composite, part.loss.d_channels,
                 count_errors ? std::span<const float>(part.loss.absolute_errors) : std::span<const float>(),
                 loss.curvatures(part.loss), part.dx, part.sums);
    batch_->respondVjp(begin, begin + count, part.workspace, part.dx, part.sums);
    part.profile.backward += watch.lap();
  }
}

LossSums BatchGradient::lossSums() const {
  LossSums sums;
  for (const auto& part : parts_) {
    sums.loss += part->loss_sums.loss;
    for (std::size_t c = 0; c < kMaxChannels; ++c)
      sums.d_mean[c] += part->loss_sums.d_mean[c];
  }
  return sums;
}

void BatchGradient::linkRows(std::size_t kernels) {
  for (const std::uint32_t kernel : touched_)
    place_[kernel] = kNowhere;
  if (place_.size() < kernels) place_.resize(kernels, kNowhere);
  touched_.clear();
  first_.clear();
  last_.clear();
  links_.clear();
  for (std::uint32_t p = 0; p < kParts; ++p) {
    const auto rows = parts_[p]->sums.touched();
    for (std::uint32_t slot = 0; slot < rows.size(); ++slot) {
      const std::uint32_t kernel = rows[slot], link = static_cast<std::uint32_t>(links_.size());
      links_.push_back({p, slot, kNowhere});
      if (std::uint32_t& place = place_[kernel]; place == kNowhere) {
        place = static_cast<std::uint32_t>(touched_.size());
        touched_.push_back(kernel);
        first_.push_back(link);
        last_.push_back(link);
      } else {
        links_[last_[place]].next = link;
        last_[place] = link;
      }
    }
  }
}

void BatchGradient::addTo(GradientRow& row, std::uint32_t kernel) const {
  if (place_[kernel] == kNowhere) return;
  for (std::uint32_t at = first_[place_[kernel]]; at != kNowhere; at = links_[at].next) {
    const GradientSums& sums = parts_[links_[at].part]->sums;
    sums.add(row, sums.at(links_[at].slot));
  }
}

}  // namespace heatskin
