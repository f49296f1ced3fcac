#include "heatskin/evaluators/evaluate_colors.h"

#include <algorithm>

#include "heatskin/base/parallel.h"

namespace heatskin {

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
