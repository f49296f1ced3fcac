#include "heatskin/evaluators/evaluate_colors.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <vector>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

/// Numbers of the points, face after face, so that what an evaluator reads for a face it reads once. Empty
/// where the points are in such an order already, or too few to share faces.
std::vector<std::uint32_t> orderByFace(std::span<const SurfacePoint> points) {
  std::size_t faces = 0;
  bool ordered = true;
  for (std::size_t i = 0; i < points.size(); ++i) {
    faces = std::max<std::size_t>(faces, points[i].face + std::size_t{1});
    ordered = ordered && (i == 0 || points[i - 1].face <= points[i].face);
  }
  if (ordered || points.size() < faces || points.size() > kNone) return {};
  std::vector<std::uint32_t> begin(faces + 1, 0), order(points.size());
  for (const SurfacePoint& p : points)
    ++begin[p.face + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::uint32_t i = 0; i < points.size(); ++i)
    order[begin[points[i].face]++] = i;
  return order;
}

/// Calls write(number of the point, its channels).
template <class Write>
void evaluate(const Evaluator& evaluator, const FilterTable& filter, std::span<const SurfacePoint> points,
              std::span<float> weights, const Write& write) {
  const std::vector<std::uint32_t> order = orderByFace(points);
  parallelFor(points.size(), 1024, [&](std::size_t begin, std::size_t end) {
    thread_local ResponseBlock responses;
    thread_local CompositeBlock block;
    thread_local std::vector<SurfacePoint> queries;
    for (std::size_t first = begin; first < end; first += kQueryBlock) {
      const std::size_t count = std::min(kQueryBlock, end - first);
      const auto at = [&](std::size_t i) { return order.empty() ? first + i : order[first + i]; };
      std::span<const SurfacePoint> part = points.subspan(first, count);
      if (!order.empty()) {
        queries.resize(count);
        for (std::size_t i = 0; i < count; ++i)
          queries[i] = points[at(i)];
        part = queries;
      }
      evaluator.respond(part, responses);
      composite(responses, filter, block);
      for (std::size_t i = 0; i < count; ++i) {
        write(at(i), block.channels.row(i));
        if (!weights.empty()) weights[at(i)] = block.weights[i];
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
