#include "heatskin/pipeline/transfer_product.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/files.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/training/value_solve.h"
#include "heatskin/transfer/carried_target.h"
#include "heatskin/transfer/carry_kernels.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

/// Root mean square error around a kernel, as a part of the channels' ranges, from which it is refitted: half
/// an 8-bit level. Kernels come to 40 to 50 dB of their asset, and twice their own error would be a loss of
/// 0.3 dB at 46 dB.
constexpr double kWrong = 0.5 / 255;

/// If more of the kernels than this are to be refitted, all are: the others would only be in the way (fox on
/// half the faces: 34.0 dB with two thirds of the kernels, 34.6 dB with all).
constexpr double kMostWrong = 0.3;

/// A mesh with its surface.
struct Target {
  Asset asset;
  std::shared_ptr<const Surface> surface;
};

Result<Target> openTarget(Asset mesh, Method method, std::span<const std::string> variants,
                          std::vector<Notice>& notices) {
  auto gltf = meshForKernels(std::move(mesh));
  if (!gltf) return gltf.error();
  gltf = withVariantNames(std::move(*gltf), variants);
  if (!gltf) return gltf.error();
  auto surface = buildSurface(*gltf, productSurfaceOptions(method));
  if (!surface) return surface.error();
  notices = gltf->notices;
  for (Notice& notice : surface->notices())
    notices.push_back(std::move(notice));
  return Target{std::move(*gltf), std::make_shared<const Surface>(std::move(*surface))};
}

Result<void> checkInCommon(const Correspondence& there, const Asset& mesh) {
  if (there.matchedShare() >= kLeastInCommon) return {};
  return inputError(
      fmt::format("{}has nothing in common with the source: {:.0f} % of its area has a counterpart there, "
                  "which has to be near and to face the same way",
                  messagePrefix(mesh), std::floor(100 * there.matchedShare())));
}

/// Figures and pictures of the finished product.
Result<void> measure(const CarriedTarget& target, const TransferOptions& options, TransferOutcome& outcome) {
  const KernelTexture& texture = outcome.stored->texture;
  outcome.surface_psnr_source =
      texturePsnr(texture, target, options.samples, options.seed, target.unmatchedFaces());
  outcome.surface_psnr = outcome.surface_psnr_source;
  if (options.error_map) outcome.error_map = targetErrorSheet(texture, target);
  if (options.reference == nullptr) return {};
  const auto reference =
      Reference::match(texture.surface(), *options.reference->surface, options.reference->appearance,
                       displayPath(options.reference->asset.path));
  if (!reference) return reference.error();
  EvaluationOptions figures;
  figures.surface_samples = options.samples;
  figures.seed = options.seed;
  figures.seam_samples = 0;
  figures.atlas_size = figures.view_size = figures.query_runs = 0;
  figures.filter = options.filter ? *options.filter : fitFilter(outcome.stored->product.info);
  const auto evaluation = evaluate(texture, *reference, figures);
  if (!evaluation) return evaluation.error();
  outcome.surface_psnr = evaluation->surface_psnr;
  return {};
}

/// The same for a look of the finished product.
Result<void> measureLook(const CarriedTarget& target, const std::vector<std::string>& names,
                         const TransferOptions& options, TransferOutcome& outcome) {
  const auto texture = textureOfVariant(*outcome.stored, names.front());
  if (!texture) return texture.error();
  outcome.variants.push_back(
      {names, texturePsnr(*texture, target, options.samples, options.seed, target.unmatchedFaces())});
  return {};
}

void noteUnmatched(TransferOutcome& outcome) {
  constexpr double kWorthAWord = 0.001;
  if (outcome.unmatched_area < kWorthAWord) return;
  outcome.notices.push_back(
      {"unmatched_area",
       fmt::format("{:.1f} % of its area has no counterpart in the source and was filled from its "
                   "surroundings",
                   100 * outcome.unmatched_area)});
}

/// Kernels for the area that has none: as many as the same area has elsewhere.
std::size_t kernelsFor(const CarriedTarget& target, std::size_t kernels) {
  constexpr double kLeastMatched = 0.05;
  return static_cast<std::size_t>(std::ceil(static_cast<double>(kernels) * target.unmatchedArea() /
                                            std::max(1 - target.unmatchedArea(), kLeastMatched)));
}

ProductFile fileOf(const TransferOptions& options, const std::vector<std::vector<std::uint32_t>>& constants) {
  ProductFile file(options.fallback);
  file.extras = options.extras;
  file.charts = options.charts;
  file.constants = &constants;
  return file;
}

/// Nothing of the mesh is left to its materials.
std::vector<std::vector<std::uint32_t>> noConstants(const Asset& asset) {
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& mesh : asset.meshes)
    constants.emplace_back(mesh.primitives.size(), 0u);
  return constants;
}

Result<TransferOutcome> transferKernels(const LoadedProduct& loaded, Asset mesh,
                                        const TransferOptions& options) {
  const Product& product = loaded.product;
  const Method method = methodOf(product.options);
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  TransferOutcome outcome;
  const auto source_looks = productLooks(product);
  if (!source_looks) return source_looks.error();
  auto opened =
      openTarget(std::move(mesh), method, variantNames(product.asset, *source_looks), outcome.notices);
  if (!opened) return opened.error();
  const Target& onto = *opened;

  progress.begin("finding counterparts", 0);
  const Correspondence back(*onto.surface, *product.surface, options.most_apart);
  if (auto common = checkInCommon(back, onto.asset); !common) return common.error();
  const Correspondence there(*product.surface, *onto.surface, options.most_apart);
  const TextureTarget look(loaded.texture);
  const CarriedTarget target(look, back);
  progress.end();
  outcome.unmatched_area = target.unmatchedArea();
  outcome.source_unmatched_area = 1 - there.matchedShare();
  noteUnmatched(outcome);

  CarriedKernels carried = carryKernels(product.kernels, there, traits(method).has_lengths);
  KernelSet& kernels = carried.kernels;
  outcome.kernels_dropped = carried.dropped;
  FitConfig config = configFor(product.options, kernels.size(), options.seed);
  const std::size_t carried_count = kernels.size();
  if (target.unmatchedArea() > 0) {
    const RegionTarget part(target, target.unmatchedFaces());
    outcome.kernels_added =
        addKernels(*onto.surface, part, config, kernelsFor(target, kernels.size()), kernels);
  }
  if (kernels.size() == 0)
    return inputError(messagePrefix(onto.asset) + "no kernel of the source has a counterpart there");

  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  const Preparation preparation{&progress, own ? &*own : options.open.cache};
  auto evaluator = makeEvaluator(*onto.surface, product.options, preparation);
  if (!evaluator) return evaluator.error();
  if (auto possible = (*evaluator)->check(kernels, 1); !possible)
    return inputError(possible.error().message, possible.error().code);

  // The looks of material variants: the same kernels with other values.
  struct OtherLook {
    CarriedLook look;
    std::unique_ptr<const KernelTexture> texture;
    std::unique_ptr<const TextureTarget> values;
    std::unique_ptr<const CarriedTarget> target;
    KernelSet kernels;
  };
  std::vector<OtherLook> looks;
  for (CarriedLook& found : looksOnMesh(onto.asset, *source_looks)) {
    OtherLook& other = looks.emplace_back();
    other.look = std::move(found);
    const ProductLook* source = other.look.source;
    if (source == nullptr) continue;
    other.texture =
        std::make_unique<const KernelTexture>(loaded.texture.withValues(source->kernels, source->constants));
    other.values = std::make_unique<const TextureTarget>(*other.texture);
    other.target = std::make_unique<const CarriedTarget>(*other.values, back);
    other.kernels =
        withChannelsOf(kernels, carryKernels(source->kernels, there, traits(method).has_lengths).kernels);
  }

  std::vector<std::uint8_t> free(kernels.size(), 0);
  bool better = false;
  if (options.refit) {
    progress.begin("looking for what came out wrong", 0);
    std::vector<double> errors = errorsAround(*onto.surface, target, **evaluator, kernels, config);
    for (const OtherLook& other : looks) {
      if (other.target == nullptr) continue;
      const auto there_too = errorsAround(*onto.surface, *other.target, **evaluator, other.kernels, config);
      for (std::size_t i = 0; i < errors.size(); ++i)
        errors[i] = std::max(errors[i], there_too[i]);
    }
    for (std::size_t i = 0; i < free.size(); ++i)
      free[i] = i >= carried_count || errors[i] > kWrong ? 1 : 0;
    const auto wrong = static_cast<double>(std::count(free.begin(), free.end(), 1));
    if (wrong > kMostWrong * static_cast<double>(free.size())) std::fill(free.begin(), free.end(), 1);
    progress.end();
    progress.begin("refitting", 0);
    outcome.refit =
        refitKernels(*onto.surface, target, **evaluator, free, config, options.refit_options, kernels);
    better = outcome.refit.psnr_after > outcome.refit.psnr_before;
    for (OtherLook& other : looks) {
      if (other.target == nullptr) continue;
      other.kernels = withChannelsOf(kernels, other.kernels);
      better |= solveLook(*onto.surface, *other.target, **evaluator, free, config, other.kernels);
    }
    progress.end();
  }
  outcome.kernels_changed = better ? outcome.refit.free_kernels : outcome.kernels_added;
  outcome.kernels_kept = kernels.size() - outcome.kernels_changed;

  const auto constants = noConstants(onto.asset);
  ProductFile file = fileOf(options, constants);
  for (OtherLook& other : looks)
    file.variants.push_back(
        {other.look.look, other.look.source == nullptr ? kernels : std::move(other.kernels)});
  auto written =
      rewriteProduct(onto.asset, onto.surface, kernels, product.options, product.info, file, options.open);
  if (!written) return written.error();
  outcome.bytes = std::move(written->bytes);
  outcome.stored.emplace(std::move(written->stored));
  if (auto measured = measure(target, options, outcome); !measured) return measured.error();
  for (const OtherLook& other : looks) {
    if (other.target == nullptr) continue;
    if (auto done = measureLook(*other.target, other.look.look.names, options, outcome); !done)
      return done.error();
  }
  return outcome;
}

Result<TransferOutcome> fitLook(const LoadedAsset& source, Asset mesh, FitConfig config,
                                const ChannelLayout& layout, const TransferOptions& options) {
  if (isProduct(source.asset)) {
    return inputError(
        messagePrefix(source.asset) + "is a fitted texture already; its kernels can be carried over",
        error_code::kAlreadyFitted);
  }
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  TransferOutcome outcome;
  const std::vector<VariantLook> source_variants = variantLooks(source.asset);
  if (source_variants.size() > kMaxLooks) {
    return inputError(fmt::format("{}has {} material variants that differ, more than {}",
                                  messagePrefix(source.asset), source_variants.size(), kMaxLooks));
  }
  std::vector<ProductLook> source_looks;
  for (const VariantLook& variant : source_variants)
    source_looks.push_back({variant, {}, {}});
  auto opened = openTarget(std::move(mesh), config.evaluator.method, variantNames(source.asset, source_looks),
                           outcome.notices);
  if (!opened) return opened.error();
  const Target& onto = *opened;
  const AppearanceTarget look(source.appearance, config.train.filter, layout);
  if (auto something = checkSomethingToFit(*source.surface, look); !something)
    return something.error().prefixed(messagePrefix(source.asset));
  progress.begin("finding counterparts", 0);
  const Correspondence back(*onto.surface, *source.surface, options.most_apart);
  if (auto common = checkInCommon(back, onto.asset); !common) return common.error();
  const CarriedTarget target(look, back);
  progress.end();
  outcome.unmatched_area = target.unmatchedArea();
  outcome.source_unmatched_area =
      1 - Correspondence(*source.surface, *onto.surface, options.most_apart).matchedShare();
  noteUnmatched(outcome);

  settleBudget(config, *onto.surface);
  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  FitControl control;
  control.progress = &progress;
  control.cache = own ? &*own : options.open.cache;
  control.notify = options.open.notify;
  auto fitted = fit(*onto.surface, target, config, control);
  if (!fitted) return fitted.error();
  if (!fitted->complete) return failure("interrupted", error_code::kCancelled);
  const ProductInfo info{fmt::format("heatskin {}", kVersion), config.preset, config.train.seed,
                         stepsOf(config), std::string(filterName(config.train.filter))};
  const auto constants = noConstants(onto.asset);
  ProductFile file = fileOf(options, constants);
  // Looks of the mesh that the source does not have keep the default's values.
  std::vector<CarriedLook> looks = looksOnMesh(onto.asset, source_looks);
  const auto forLook = [&](const CarriedLook& carried, const auto& use) {
    Asset other = source.asset;
    setLook(other, carried.source->look);
    const Appearance appearance(other, *source.surface);
    const AppearanceTarget values(appearance, config.train.filter, layout);
    const CarriedTarget other_target(values, back);
    return use(other_target);
  };
  if (!looks.empty()) progress.begin("values of material variants", looks.size());
  for (std::size_t l = 0; l < looks.size(); ++l) {
    VariantKernels& variant = file.variants.emplace_back(VariantKernels{looks[l].look, fitted->kernels});
    if (looks[l].source != nullptr) {
      variant.kernels = forLook(looks[l], [&](const CarriedTarget& other) {
        return solveValues(*fitted->evaluator, fitted->kernels, *onto.surface, target, other, config.train);
      });
    }
    progress.update(l + 1, {});
  }
  if (!looks.empty()) progress.end();
  auto written = rewriteProduct(onto.asset, onto.surface, fitted->kernels, config.evaluator.options(), info,
                                file, options.open);
  if (!written) return written.error();
  outcome.kernels_changed = fitted->kernels.size();
  outcome.bytes = std::move(written->bytes);
  outcome.stored.emplace(std::move(written->stored));
  if (auto measured = measure(target, options, outcome); !measured) return measured.error();
  for (const CarriedLook& carried : looks) {
    if (carried.source == nullptr) continue;
    const Result<void> done = forLook(carried, [&](const CarriedTarget& other) {
      return measureLook(other, carried.look.names, options, outcome);
    });
    if (!done) return done.error();
  }
  return outcome;
}

}  // namespace

Result<TransferOutcome> transferProduct(const LoadedProduct& product, Asset mesh,
                                        const TransferOptions& options) {
  try {
    return transferKernels(product, std::move(mesh), options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the transfer");
  }
}

Result<TransferOutcome> transferLook(const LoadedAsset& source, Asset mesh, FitConfig config,
                                     const ChannelLayout& layout, const TransferOptions& options) {
  try {
    return fitLook(source, std::move(mesh), std::move(config), layout, options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the transfer");
  }
}

}  // namespace heatskin
