#include "bench/field_steps.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/fields/field_evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/composite_block.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/config.h"
#include "heatskin/training/trainer.h"

namespace heatskin::bench {
namespace {

constexpr std::size_t kKernels = 5000;
constexpr std::size_t kQueries = 200'000;
constexpr std::size_t kTwinQueries = 8192;
constexpr int kWarmSteps = 20, kSteps = 60, kStepsTogether = 10;

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values)
    value *= factor;
  return values;
}

/// All queries in blocks, vectorised or plain, on the calling thread.
void answer(const fields::FieldEvaluator& evaluator, std::span<const fields::FieldQuery> queries,
            bool plain) {
  ResponseBlock block;
  fields::Selection scratch;
  for (std::size_t begin = 0; begin < queries.size(); begin += kQueryBlock) {
    const auto part = queries.subspan(begin, std::min(kQueryBlock, queries.size() - begin));
    block.resize(part.size(), evaluator.tables().candidates);
    if (plain) {
      fields::respondBlockScalar(evaluator.tables(), part, block);
    } else {
      fields::respondBlock(evaluator.tables(), part, scratch, block);
    }
  }
}

}  // namespace

Result<void> measureFieldSteps(const Asset& asset, const Surface& surface, Method method,
                               const BenchOptions& options, std::vector<BenchRow>& rows) {
  auto config = presetConfig("paper");
  if (!config) return config.error();
  config->evaluator.method = method;
  config->train.seed = options.seed;
  // All kernels from the start: the steps a fit spends most of its time on.
  config->train.start.kernels = config->train.density.max_kernels = kKernels;
  auto made = makeEvaluator(surface, config->evaluator.options(), {options.progress, nullptr, {}});
  if (!made) return made.error();
  auto& evaluator = static_cast<fields::FieldEvaluator&>(**made);
  const Appearance appearance(asset, surface);
  const AppearanceTarget target(appearance, config->train.filter);
  Trainer trainer(surface, target, evaluator, trainOptions(*config));
  const int all = threadCount();
  const int measured = options.steps > 0 ? options.steps : kSteps,
            together = std::min(kStepsTogether, measured);
  for (int i = 0; i < std::min(kWarmSteps, measured); ++i)
    trainer.step();
  std::vector<double> steps;
  for (int i = 0; i < measured; ++i)
    steps.push_back(1e3 * trainer.step().seconds);
  rows.push_back(
      measuredRow("step_ms", "ms", steps, fmt::format("{} kernels, {}", kKernels, threadsText(all))));
  double sum = 0;
  for (const double step : steps)
    sum += step / static_cast<double>(steps.size());
  rows.push_back(
      countedRow("step_mean_ms", "ms", sum, "the same steps, new lists every tenth of them included"));

  std::vector<double> two_vs_one;
  for (int r = 0; all > 1 && r < std::max(3, options.repeats / 2); ++r) {
    double spent[2] = {};
    for (const int threads : {1, 2}) {
      setThreadCount(threads);
      spent[threads - 1] = secondsOf([&] {
        for (int i = 0; i < together; ++i)
          trainer.step();
      });
    }
    two_vs_one.push_back(spent[0] / spent[1]);
  }
  setThreadCount(all);
  if (all > 1)
    rows.push_back(measuredRow("two_threads_vs_one", "x", two_vs_one,
                               fmt::format("{} whole steps each, in turns", together)));

  const KernelSet kernels = trainer.kernels();
  FilterTable filter;
  filter.build(kernels);
  evaluator.rebuild(kernels);
  evaluator.complete();
  const std::vector<SurfacePoint> points = sampleSurface(surface, kQueries, options.seed);
  std::vector<Vec3f> colors(points.size());
  std::vector<fields::FieldQuery> queries;
  for (std::size_t i = 0; i < kTwinQueries; ++i)
    queries.push_back(evaluator.query(points[i * points.size() / kTwinQueries]));
  const std::vector<std::function<void()>> subjects = {
      [&] {
        evaluator.rebuild(kernels);
        evaluator.complete();
      },
      [&] {
        evaluator.refresh(kernels, {});
        evaluator.complete();
      },
      [&] { evaluateColors(evaluator, filter, points, colors, {}); },
      [&] { answer(evaluator, queries, false); },
      [&] { answer(evaluator, queries, true); },
  };
  const auto seconds = measureTogether(subjects, options.repeats, options.progress);
  rows.push_back(
      measuredRow("rebuild_ms", "ms", scaled(seconds[0], 1e3), "neighbour lists and heat of all kernels"));
  rows.push_back(
      measuredRow("refresh_ms", "ms", scaled(seconds[1], 1e3),
                  fmt::format("heat at {} pairs of a kernel and a vertex", evaluator.lists().pairCount())));
  std::vector<double> rates, ratios;
  for (const double s : seconds[2])
    rates.push_back(1e-6 * static_cast<double>(kQueries) / s);
  for (std::size_t i = 0; i < seconds[3].size(); ++i)
    ratios.push_back(seconds[4][i] / seconds[3][i]);
  rows.push_back(
      measuredRow("query_mpoints_s", "M/s", rates, fmt::format("{} points, {}", kQueries, threadsText(all))));
  rows.push_back(
      measuredRow("simd_vs_scalar", "x", ratios, "candidates and responses, one thread, same run"));
  return {};
}

}  // namespace heatskin::bench
