// How fast LocalHK fits and answers: one fit with the paper's preset, then the parts of a step by themselves,
// each against its plain twin, one thread, or what the machine's exponentials allow.

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/hilbert.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/config.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/trainer.h"

#include "bench/exp_roofline.h"
#include "bench/harness.h"

namespace heatskin::bench::speed {
namespace {

constexpr std::size_t kQueries = 200'000;   // METHOD section 10
constexpr std::size_t kBatch = 4096;        // of a step
constexpr float kRebuildRadius = 0.15f;     // the paper's propagation figure
constexpr std::size_t kExpRounds = 20'000;  // 40 million exponentials: some tens of milliseconds
constexpr int kStepsTogether = 40;          // of a run with one or two threads

/// An asset with its surface and colours.
struct Subject {
  Asset asset;
  Surface surface;
  Appearance appearance;
  std::string name;
};

Result<std::unique_ptr<Subject>> makeSubject(Asset asset, std::string name) {
  auto surface = buildSurface(asset);
  if (!surface) return surface.error();
  Appearance appearance(asset, *surface);
  return std::make_unique<Subject>(
      Subject{std::move(asset), std::move(*surface), std::move(appearance), std::move(name)});
}

Result<std::unique_ptr<Subject>> loadSubject(const std::filesystem::path& path) {
  auto asset = loadAsset(path);
  if (!asset) return asset.error();
  return makeSubject(std::move(*asset), path.filename().string());
}

std::filesystem::path sharedAsset(const char* file) {
  const std::filesystem::path path = assetsFolder() / file;
  std::error_code error;
  return std::filesystem::exists(path, error) ? path : std::filesystem::path();
}

/// Late steps of fits on two assets, when budgets are full, in turns: how many times longer the first one's
/// take.
std::vector<double> lateStepRatios(const Subject& first, const Subject& second, FitConfig config) {
  constexpr int kTurn = 50;
  const int most = std::min(1500, config.train.steps);
  config.train.steps = most - most % kTurn;
  local::LocalEvaluator evaluators[] = {{first.surface, config.evaluator.local},
                                        {second.surface, config.evaluator.local}};
  const AppearanceTarget targets[] = {{first.appearance, config.train.filter},
                                      {second.appearance, config.train.filter}};
  Trainer trainers[] = {{first.surface, targets[0], evaluators[0], trainOptions(config)},
                        {second.surface, targets[1], evaluators[1], trainOptions(config)}};
  std::vector<double> ratios;
  for (int step = 0; step < config.train.steps; step += kTurn) {
    double seconds[2];
    for (std::size_t i = 0; i < 2; ++i) {
      seconds[i] = secondsOf([&] {
        for (int n = 0; n < kTurn; ++n)
          trainers[i].step();
      });
    }
    if (step >= config.train.steps / 2) ratios.push_back(seconds[0] / seconds[1]);
  }
  return ratios;
}

/// Forward and backward of a batch in blocks, with the vectorised loops or their plain twins.
class PairLoops {
 public:
  PairLoops(const local::LocalEvaluator& evaluator, const KernelSet& kernels,
            std::span<const SurfacePoint> points)
      : tables_(evaluator.tables()), count_(kernels.size()) {
    filter_.build(kernels);
    for (const SurfacePoint& p : points)
      queries_.push_back(evaluator.queryRow(p));
    for (std::size_t i = 0; i < kQueryBlock * filter_.channels(); ++i)
      d_channels_.push_back(std::array{1e-4f, -1e-4f, 2e-4f}[i % filter_.channels() % 3]);
    curvatures_.resize(filter_.channels());
  }

  std::size_t pairs() const {
    std::size_t sum = 0;
    for (const local::QueryRow& q : queries_) {
      sum += tables_.supports->of(q.face).count;
    }
    return sum;
  }

  void responses() {
    blocks(
        [&](std::span<const local::QueryRow> q) { local::respondBlock(tables_, q, selection_, responses_); });
  }

  void vectorised() {
    sums_.reset(count_, filter_.channels());
    blocks([&](std::span<const local::QueryRow> q) {
      local::respondBlock(tables_, q, selection_, responses_);
      composite(responses_, filter_, block_);
      if (!filter_.tangents().empty()) {
        responses_.resizeTurns();
        local::turnBlock(tables_, q, responses_);
        compositeTangents(responses_, filter_, block_);
      }
      compositeVjp(responses_, filter_, block_, gradients(q.size()), {}, curvatures_, dx_, sums_);
      local::respondVjpBlock(tables_, q, responses_, dx_, sums_);
    });
  }

  void plain() {
    sums_.reset(count_, filter_.channels());
    blocks([&](std::span<const local::QueryRow> q) {
      local::respondBlockScalar(tables_, q, responses_);
      compositeScalar(responses_, filter_, block_);
      compositeVjpScalar(responses_, filter_, block_, gradients(q.size()), {}, curvatures_, dx_, sums_);
      local::respondVjpBlockScalar(tables_, q, responses_, dx_, sums_);
    });
  }

 private:
  std::span<const float> gradients(std::size_t queries) const {
    return std::span(d_channels_).first(filter_.channels() * queries);
  }

  template <class Work>
  void blocks(const Work& work) {
    for (std::size_t begin = 0; begin < queries_.size(); begin += kQueryBlock) {
      const std::size_t size = std::min(kQueryBlock, queries_.size() - begin);
      responses_.resize(size, tables_.candidates);
      work(std::span(queries_).subspan(begin, size));
    }
  }

  local::PairTables tables_;
  std::size_t count_;
  FilterTable filter_;
  std::vector<local::QueryRow> queries_;
  std::vector<float> d_channels_, curvatures_;
  local::Selection selection_;
  ResponseBlock responses_;
  CompositeBlock block_;
  GradientSums sums_;
  std::vector<float> dx_;
};

/// The kernels with two channels more: numbers, or a vector of the tangent plane.
KernelSet withTwoMore(const KernelSet& kernels, ChannelKind kind) {
  ChannelGroup group{"more", 2, 0, {-1.0f, 1.0f}};
  group.kind = kind;
  KernelSet more = kernels;
  more.layout = *ChannelLayout::make({{"base_color", 3}, group});
  more.mean = ChannelValues::Constant(5, 0.5f);
  more.channels = {5, {}};
  more.channels.resize(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::size_t c = 0; c < 5; ++c)
      more.channels.row(i)[c] = kernels.channels.row(i)[c % 3];
  }
  return more;
}

std::vector<double> ratios(std::span<const double> numerators, std::span<const double> denominators) {
  std::vector<double> result;
  for (std::size_t i = 0; i < numerators.size(); ++i)
    result.push_back(numerators[i] / denominators[i]);
  return result;
}

std::vector<double> scaled(std::span<const double> values, double factor) {
  std::vector<double> result(values.begin(), values.end());
  for (double& v : result)
    v *= factor;
  return result;
}

std::vector<double> rates(std::span<const double> seconds, double amount) {
  std::vector<double> result;
  for (const double s : seconds)
    result.push_back(amount / s);
  return result;
}

/// Which part of its steps a fit spends on choosing samples, moving kernels, rebuilding supports and density
/// control: on everything but the texture itself and its gradient.
double upkeepShare(const TrainProfile& p) {
  const double upkeep = p.sampling + p.optimiser + p.rebuild + p.density;
  return upkeep / (upkeep + p.candidates + p.forward + p.backward + p.solve);
}

/// The share of a whole fit with one thread: some phases count every thread's time, others the clock's.
double upkeepShareOf(const Subject& subject, FitConfig config) {
  const int threads = threadCount();
  setThreadCount(1);
  local::LocalEvaluator evaluator(subject.surface, config.evaluator.local);
  const AppearanceTarget target(subject.appearance, config.train.filter);
  Trainer trainer(subject.surface, target, evaluator, trainOptions(config));
  while (!trainer.finished())
    trainer.step();
  setThreadCount(threads);
  return upkeepShare(trainer.profile());
}

Result<BenchReport> runSpeedBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "speed";
  std::filesystem::path path = options.asset;
  if (path.empty()) path = sharedAsset("spot/spot_triangulated.obj");
  auto loaded = path.empty() ? makeSubject(makePumpkin(), "built-in pumpkin") : loadSubject(path);
  if (!loaded) return loaded.error();
  const Subject& subject = **loaded;
  FitConfig config = *presetConfig("paper");
  config.train.seed = options.seed;
  if (options.steps > 0) config.train.steps = options.steps;
  report.subject = fmt::format("{}, {} faces, preset paper, {} steps", subject.name,
                               subject.surface.faceCount(), config.train.steps);
  const int threads_before = threadCount();
  const int all = threads_before;
  auto& rows = report.rows;
  Progress* progress = options.progress;

  // Initialisation: everything between a loaded surface and the first step.
  std::vector<double> init;
  for (int r = 0; r < 3; ++r) {
    init.push_back(secondsOf([&] {
      local::LocalEvaluator evaluator(subject.surface, config.evaluator.local);
      const AppearanceTarget target(subject.appearance, config.train.filter);
      const Trainer trainer(subject.surface, target, evaluator, trainOptions(config));
      evaluator.rebuild(trainer.kernels());
    }));
  }
  rows.push_back(measuredRow("init_s", "s", init));

  local::LocalEvaluator evaluator(subject.surface, config.evaluator.local);
  const AppearanceTarget target(subject.appearance, config.train.filter);
  Trainer trainer(subject.surface, target, evaluator, trainOptions(config));
  std::vector<double> steps;
  if (progress != nullptr) progress->begin("fit", static_cast<std::size_t>(config.train.steps));
  Stopwatch watch;
  TrainerState late;  // to go on from when comparing thread counts
  while (!trainer.finished()) {
    if (trainer.canSave() && trainer.stepsDone() >= config.train.steps - 12 * kStepsTogether &&
        late.step == 0) {
      late = trainer.state();
    }
    steps.push_back(1e3 * trainer.step().seconds);
    if (progress != nullptr) progress->update(steps.size(), "");
  }
  const double optimise = watch.lap();
  if (progress != nullptr) progress->end();
  rows.push_back(measuredRow("step_ms", "ms", steps, threadsText(all) + ", all steps"));
  rows.push_back(
      countedRow("optimise_s", "s", optimise, fmt::format("{} steps, {}", steps.size(), threadsText(all))));
  const TrainProfile& p = trainer.profile();
  for (const auto& [name, seconds] : {std::pair{"sampling", p.sampling},
                                      {"candidates", p.candidates},
                                      {"forward", p.forward},
                                      {"backward", p.backward},
                                      {"optimiser", p.optimiser},
                                      {"rebuild", p.rebuild},
                                      {"density", p.density},
                                      {"solve", p.solve}}) {
    rows.push_back(countedRow(fmt::format("profile_{}_s", name), "s", seconds,
                              "whole fit; parallel loops count every thread"));
  }
  for (const std::string preset : {"paper", "compact"}) {
    FitConfig one_thread = *presetConfig(preset);
    one_thread.train.seed = options.seed;
    if (options.steps > 0) one_thread.train.steps = options.steps;
    rows.push_back(
        countedRow("upkeep_share_" + preset, "", upkeepShareOf(subject, one_thread),
                   fmt::format("sampling, optimiser, rebuild and density in all {} steps, one thread",
                               one_thread.train.steps)));
  }
  const KernelSet& kernels = trainer.kernels();
  rows.push_back(countedRow("kernels", "", static_cast<double>(kernels.size())));
  evaluator.rebuild(kernels);
  rows.push_back(countedRow("pairs", "", static_cast<double>(evaluator.supports().pairCount())));

  FilterTable filter;
  filter.build(kernels);
  const auto points = sampleSurface(subject.surface, kQueries, options.seed, streams::kEvaluation);
  std::vector<Vec3f> colors(points.size()), truth(points.size());
  subject.appearance.colors(points, truth, Filter::kPaper);
  evaluateColors(evaluator, filter, points, colors, {});
  const auto quality = psnr(std::span(truth.front().data(), 3 * truth.size()),
                            std::span(colors.front().data(), 3 * colors.size()));
  if (!quality) return quality.error();
  rows.push_back(countedRow("surface_psnr", "dB", *quality));

  // Supports of radius 0.15, queries, and the pair loops.
  std::vector<local::SupportSource> sources;
  std::vector<Vec3> centers;
  for (const SurfacePoint& k : kernels.positions) {
    sources.push_back({k.face, subject.surface.faceCoordinates(k).cast<float>(), kRebuildRadius});
    centers.push_back(subject.surface.position(k));
  }
  local::SupportBuilder builder(subject.surface, config.evaluator.local);
  local::SupportTable table;
  const std::size_t batch = std::min(kBatch, points.size());
  PairLoops loops(evaluator, kernels, std::span(points).first(batch));
  PairLoops five(evaluator, withTwoMore(kernels, ChannelKind::kPlain), std::span(points).first(batch));
  PairLoops vectors(evaluator, withTwoMore(kernels, ChannelKind::kTangent), std::span(points).first(batch));
  const std::vector<std::function<void()>> subjects = {
      [&] { builder.build(sources, hilbertOrder(centers), table); },
      [&] { evaluateColors(evaluator, filter, points, colors, {}); },
      [&] { loops.vectorised(); },
      [&] { loops.plain(); },
      [&] { loops.responses(); },
      [&] { runExponentials(kExpRounds); },
      [&] {
        setThreadCount(1);
        builder.build(sources, hilbertOrder(centers), table);
        setThreadCount(all);
      },
      [&] {
        setThreadCount(1);
        evaluateColors(evaluator, filter, points, colors, {});
        setThreadCount(all);
      },
      [&] { five.vectorised(); },
      [&] { vectors.vectorised(); },
  };
  const auto seconds = measureTogether(subjects, options.repeats, progress);
  rows.push_back(measuredRow(
      "rebuild_r015_ms", "ms", scaled(seconds[0], 1e3),
      fmt::format("{} kernels, {} pairs, {}", kernels.size(), table.pairCount(), threadsText(all))));
  rows.push_back(measuredRow("query_mpoints_s", "M/s", rates(seconds[1], 1e-6 * kQueries),
                             fmt::format("{} points, {}", kQueries, threadsText(all))));
  rows.push_back(measuredRow("query_1t_mpoints_s", "M/s", rates(seconds[7], 1e-6 * kQueries), "one thread"));
  rows.push_back(measuredRow("simd_vs_scalar", "x", ratios(seconds[3], seconds[2]),
                             "forward and backward of 4,096 queries, one thread, same run"));
  rows.push_back(measuredRow("five_channels_vs_three", "x", ratios(seconds[8], seconds[2]),
                             "the same with two more channels"));
  rows.push_back(measuredRow("tangent_vs_plain", "x", ratios(seconds[9], seconds[8]),
                             "the same when these two are a tangent group"));
  const auto pairs = static_cast<double>(loops.pairs());
  const std::vector<double> pair_rate = rates(seconds[4], 1e-6 * pairs);
  const std::vector<double> exp_rate = rates(seconds[5], 1e-6 * static_cast<double>(kExpRounds) * 2048);
  rows.push_back(measuredRow("pair_responses_m_s", "M/s", pair_rate, "candidates and responses, one thread"));
  rows.push_back(measuredRow("exp_m_s", "M/s", exp_rate, "nothing but exponentials, one thread"));
  rows.push_back(measuredRow("exp_roofline_fraction", "", ratios(pair_rate, exp_rate),
                             "pair responses / exponentials, same run"));
  rows.push_back(
      measuredRow("rebuild_two_threads_vs_one", "x", ratios(seconds[6], seconds[0]), threadsText(all)));

  // Steps with one and with two threads, from the same state, in turns.
  std::vector<double> two_vs_one;
  for (int r = 0; all > 1 && r < std::max(3, options.repeats / 2); ++r) {
    double spent[2] = {};
    for (const int threads : {1, 2}) {
      if (!trainer.restore(late)) break;
      setThreadCount(threads);
      for (int i = 0; i < 5; ++i)
        trainer.step();
      spent[threads - 1] = secondsOf([&] {
        for (int i = 0; i < kStepsTogether; ++i)
          trainer.step();
      });
    }
    if (spent[1] > 0) two_vs_one.push_back(spent[0] / spent[1]);
  }
  setThreadCount(all);
  if (all > 1) {
    rows.push_back(
        measuredRow("two_threads_vs_one", "x", two_vs_one, "whole steps from one state, in turns"));
  }

  // Large faces (trap 11.7).
  const std::filesystem::path fox_path = options.asset.empty() ? sharedAsset("fox.glb") : "";
  if (!fox_path.empty()) {
    auto fox = loadSubject(fox_path);
    if (!fox) return fox.error();
    rows.push_back(measuredRow("fox_vs_spot_step", "x", lateStepRatios(**fox, subject, config),
                               "late steps of two fits, rebuilds included, in turns"));
  }
  rows.push_back(countedRow("peak_rss_mb", "MB", static_cast<double>(peakResidentBytes()) * 1e-6,
                            "the whole benchmark"));
  setThreadCount(threads_before);
  return report;
}

const RegisterBench registration{
    "speed", "LocalHK: steps, initialisation, supports, queries, and ratios of each", &runSpeedBench};

}  // namespace
}  // namespace heatskin::bench::speed
