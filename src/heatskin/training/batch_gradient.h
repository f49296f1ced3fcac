#pragma once

// Draws a batch and finds its loss and gradients: pool -> evaluator -> compositor -> loss and all the way
// back.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/training/fit.h"
#include "heatskin/training/loss.h"
#include "heatskin/training/pool.h"

namespace heatskin {

/// The gradients of one batch after the other; memory is kept. A batch is cut into a fixed number of parts,
/// each with sums of its own: the order of additions does not depend on threads.
class BatchGradient {
 public:
  explicit BatchGradient(std::size_t batch);
  ~BatchGradient();

  /// The batch the pool prepared for `step`, of kernels the evaluator and the filter table know; `kernels` is
  /// their number. Adds to sampling, candidates, forward, backward and rebuild (the evaluator's begin()).
  void evaluate(const SamplePool& pool, int step, const Evaluator& evaluator, const FilterTable& filter,
                const Loss& loss, std::size_t kernels, bool count_errors, TrainProfile& profile);

  /// Gives back what the last batch needed for its gradients; only lossSums() is left of it.
  void release();

  std::span<const std::uint32_t> indices() const { return indices_; }       // [batch] of pool samples
  std::span<const float> squaredErrors() const { return squared_errors_; }  // [batch]

  /// Sums of all parts.
  LossSums lossSums() const;

  /// Kernels that the batch touched, each once, in an order that follows the samples.
  std::span<const std::uint32_t> touched() const { return touched_; }

  /// Adds the sums of a kernel to `row`; nothing if the batch did not touch it.
  void addTo(GradientRow& row, std::uint32_t kernel) const;

 private:
  struct Part;
  static constexpr std::size_t kParts = 16;

  void draw(const SamplePool& pool, int step, std::size_t part_size);
  void evaluatePart(Part& part, std::size_t begin, std::size_t end, const SamplePool& pool,
                    const FilterTable& filter, const Loss& loss, bool count_errors);

  std::vector<std::uint32_t> indices_;
  std::vector<SurfacePoint> points_;
  std::unique_ptr<EvaluatorBatch> batch_;
  std::vector<float> squared_errors_;
  std::vector<std::unique_ptr<Part>> parts_;
  PerThread<std::vector<std::uint32_t>> row_tables_;

  /// The rows of a kernel in several parts form a list, in the order of parts.
  struct Link {
    std::uint32_t part, slot, next;
  };
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  void linkRows(std::size_t kernels);
  std::vector<Link> links_;
  std::vector<std::uint32_t> touched_, first_, last_;  // [touched] of links
  std::vector<std::uint32_t> place_;                   // [kernels] in touched_, or kNowhere
};

}  // namespace heatskin
