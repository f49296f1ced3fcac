#include "heatskin/evaluators/evaluate_colors.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/base/per_thread.h"
#include "heatskin/evaluators/composite_batch.h"

namespace heatskin {
namespace {

/// Numbers of the points in the order of what evaluating them reads, so that it is read once. Empty where the
/// points are in such an order already, or too few to share anything.
std::vector<std::uint32_t> orderByTable(const Evaluator& evaluator, std::span<const SurfacePoint> points) {
  if (points.size() > kNone) return {};
  std::vector<std::uint32_t> tables(points.size());
  evaluator.tablesOf(points, tables);
  if (std::is_sorted(tables.begin(), tables.end())) return {};
  const std::size_t count = *std::max_element(tables.begin(), tables.end()) + std::size_t{1};
  if (points.size() < count) return {};
  std::vector<std::uint32_t> begin(count + 1, 0), order(points.size());
  for (const std::uint32_t table : tables)
    ++begin[table + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::uint32_t i = 0; i < points.size(); ++i)
    order[begin[tables[i]]++] = i;
  return order;
}

/// A thread's memory.
struct Scratch {
  Workspace workspace;
  CompositeBlock block;
  std::vector<SurfacePoint> queries;
  std::unique_ptr<EvaluatorBatch> batch;
};

/// Calls write(number of the point, its channels).
template <class Write>
void evaluate(const Evaluator& evaluator, const FilterTable& filter, std::span<const SurfacePoint> points,
              std::span<float> weights, const Write& write) {
  const std::vector<std::uint32_t> order = orderByTable(evaluator, points);
  const PerThread<Scratch> scratch;
  parallelFor(points.size(), 1024, [&](std::size_t begin, std::size_t end) {
    Scratch& mine = scratch.mine();
    std::span<const SurfacePoint> part = points.subspan(begin, end - begin);
    if (!order.empty()) {
      mine.queries.resize(part.size());
      for (std::size_t i = 0; i < part.size(); ++i)
        mine.queries[i] = points[order[begin + i]];
      part = mine.queries;
    }
    mine.batch = evaluator.begin(part, std::move(mine.batch));
    for (std::size_t first = 0; first < part.size(); first += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, part.size() - first);
      mine.batch->respond(first, first + count, mine.workspace);
      compositeBatch(*mine.batch, first, first + count, filter, mine.workspace, mine.block);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t point = order.empty() ? begin + first + i : order[begin + first + i];
        write(point, mine.block.channels.row(i));
        if (!weights.empty()) weights[point] = mine.block.weights[i];
      }
    }
  });
}

}  // namespace

void evaluateChannels(const Evaluator& evaluator, const FilterTable& filter,
                      std::span<const SurfacePoint> points, std::span<float> channels,
                      std::span<float> weights) {
  evaluate(evaluator, filter, points, weights, [&](std::size_t i, const float* values) {
    std::copy_n(values, filter.channels(), channels.data() + i * filter.channels());
  });
}

void evaluateColors(const Evaluator& evaluator, const FilterTable& filter,
                    std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> weights) {
  assert(filter.channels() == 3);
  evaluate(evaluator, filter, points, weights,
           [&](std::size_t i, const float* values) { colors[i] = Vec3f(values[0], values[1], values[2]); });
}

}  // namespace heatskin
