#include "heatskin/batch/cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "heatskin/surface/surface_memory.h"
#include "heatskin/training/config.h"

namespace heatskin::batch {
namespace {

// Seconds on one thread, fitted by hand to the 27 runs of docs/batch.md, most of which lie within a third.

/// Of any fit: start, reading, writing; of an evaluation.
constexpr double kStart = 0.15, kEvaluation = 1.7;

/// Of a triangle and of a texel: decoding, surface, supports, pictures of the evaluation.
constexpr double kPerTriangle = 7.5e-5, kPerTexel = 2.5e-7;

/// Of a sample in a step of the methods; of a kernel of a stage, whose values are solved for ten times.
constexpr double kPerSample[] = {2.9e-6, 1.6e-5, 1.6e-5};
constexpr double kPerKernel = 2.5e-4;

/// Of a triangle in the preprocessing of thermal and spectral.
constexpr double kPreprocess[] = {0, 5e-3, 6e-3};

/// An automatic budget: its first stage, and bytes of images for each kernel it ends with. Detail takes bytes
/// in an image, and kernels on a surface.
constexpr double kFirstStage = 4000, kImageBytesPerKernel = 12;

/// Bytes of memory: of the program, whose allocator keeps a good deal; of a texel, of a kernel with its share
/// of samples, supports and solves.
constexpr double kBasis = 230e6, kBytesPerTexel = 8, kBytesPerKernel = 3500;
/// Kept operators of the other methods, for each vertex.
constexpr double kFieldBytes[] = {0, 8e3, 1.2e4};

/// The options that decide; nothing if they are wrong, which the fit will say at once.
struct Choice {
  FitConfig config;
  bool evaluate = true;
};

std::optional<Choice> choiceOf(const LineOptions& options) {
  Choice choice;
  const std::string* file = options.find("config");
  const std::string* preset = options.find("preset");
  auto config = file != nullptr ? loadConfig(*file) : presetConfig(preset != nullptr ? *preset : "default");
  if (!config) return {};
  choice.config = std::move(*config);
  for (const LineOption& option : options.options) {
    if (option.of_fit && !setOption(choice.config, option.key + "=" + option.value)) return {};
  }
  choice.evaluate = options.find("no_eval") == nullptr;
  const std::string* kernels = options.find("kernels");
  const std::string* most = options.find("max_kernels");
  for (const std::string* count : {kernels, most}) {
    if (count == nullptr || count->empty() || count->find_first_not_of("0123456789") != std::string::npos)
      continue;
    if (count->size() > 9) return {};
    setKernelBudget(choice.config, static_cast<std::size_t>(std::stoull(*count)));
  }
  if (kernels != nullptr || most != nullptr)
    choice.config.train.budget.automatic = kernels == nullptr || *kernels == "auto";
  return choice;
}

Cost costOf(const AssetSize& size, const Choice& choice) {
  const TrainOptions& train = choice.config.train;
  const auto method = static_cast<std::size_t>(choice.config.evaluator.method);
  const auto most = static_cast<double>(train.density.max_kernels);
  double kernels = most, steps_kernels = 0;
  if (train.budget.automatic && method == 0) {
    kernels = std::clamp(size.image_bytes / kImageBytesPerKernel, std::min(kFirstStage, most), most);
    // Stages grow fourfold; the last one is as large as it has to be.
    for (double stage = std::min(kFirstStage, kernels);; stage = std::min(kernels, 4 * stage)) {
      steps_kernels += stage;
      if (stage >= kernels) break;
    }
  } else {
    kernels = std::min(most, method == 0 ? most : 5000.0);
    steps_kernels = kernels;
  }
  const double per_kernel = train.batch > 0 ? static_cast<double>(train.batch) / kernels : 0.82;
  const double samples =
      static_cast<double>(stepsOf(choice.config)) * std::max(1024.0, per_kernel * steps_kernels);
  Cost cost;
  cost.seconds = kStart + size.triangles * (kPerTriangle + kPreprocess[method]) + size.texels * kPerTexel +
                 samples * kPerSample[method] + steps_kernels * kPerKernel +
                 (choice.evaluate ? kEvaluation : 0.0);
  cost.bytes = kBasis + size.file_bytes + kBytesPerTexel * size.texels +
               surfaceBytes(size.triangles, size.vertices) + kBytesPerKernel * kernels +
               kFieldBytes[method] * size.vertices;
  return cost;
}

}  // namespace

Cost predictCost(const AssetSize& size, const LineOptions& options) {
  const auto choice = size.found ? choiceOf(options) : std::nullopt;
  return choice ? costOf(size, *choice) : Cost{kStart, kBasis};
}

std::vector<Cost> predictCosts(const Manifest& manifest, Progress* progress) {
  if (progress == nullptr) progress = &silentProgress();
  std::map<const LineOptions*, std::optional<Choice>> choices;
  std::vector<Cost> costs;
  costs.reserve(manifest.assets.size());
  progress->begin("predicting", manifest.assets.size());
  for (const BatchAsset& asset : manifest.assets) {
    Cost cost{asset.cost, asset.memory};
    if (cost.seconds <= 0 || cost.bytes <= 0) {
      const auto [known, added] = choices.try_emplace(asset.options.get());
      if (added) known->second = choiceOf(*asset.options);
      const AssetSize size = measureAsset(asset.file);
      const Cost predicted =
          size.found && known->second ? costOf(size, *known->second) : Cost{kStart, kBasis};
      if (cost.seconds <= 0) cost.seconds = predicted.seconds;
      if (cost.bytes <= 0) cost.bytes = predicted.bytes;
    }
    costs.push_back(cost);
    if (costs.size() % 64 == 0) progress->update(costs.size(), {});
    if (progress->cancelled()) break;
  }
  progress->end();
  costs.resize(manifest.assets.size(), Cost{kStart, kBasis});
  return costs;
}

}  // namespace heatskin::batch
