#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/appearance/asset_channels.h"
#include "heatskin/appearance/shading_normals.h"
#include "heatskin/appearance/variant_target.h"
#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluation/evaluate.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/reference.h"
#include "heatskin/io/variants.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/evaluate_product.h"
#include "heatskin/pipeline/fallback_atlas.h"
#include "heatskin/pipeline/fallback_texture.h"
#include "heatskin/pipeline/fit_files.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/sufficient_rounding.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/file_contents.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/product/stored_kernels.h"
#include "heatskin/training/value_solve.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

/// Shows progress and does not hear the wish to stop.
class Unstoppable : public Progress {
 public:
  explicit Unstoppable(Progress& shown) : shown_(shown) {}
  void begin(std::string_view phase, std::size_t total) override { shown_.begin(phase, total); }
  void update(std::size_t done, std::string_view detail) override { shown_.update(done, detail); }
  void end() override { shown_.end(); }
  bool cancelled() const override { return false; }

 private:
  Progress& shown_;
};

/// Bytes a product of the asset has at least: positions, indices and fallback colours of its triangles.
std::size_t smallestProduct(const Asset& asset) {
  std::size_t bytes = 0;
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives)
      bytes += 12 * primitive.positions.size() + 2 * primitive.triangles.size();
  }
  return bytes;
}

/// Surface PSNR only, as evaluate() measures it.
Result<double> surfacePsnr(const KernelTexture& texture, const Reference& reference,
                           EvaluationOptions options) {
  options.seam_samples = 0;
  options.atlas_size = options.view_size = options.query_runs = 0;
  options.lpips = nullptr;
  const auto evaluation = evaluate(texture, reference, options);
  if (!evaluation) return evaluation.error();
  return evaluation->surface_psnr;
}

/// Evaluates the stored texture; `exact` is the PSNR of the kernels before they were stored.
Result<void> evaluateStored(const LoadedAsset& asset, const EvaluationOptions& options, double exact,
                            Progress& progress, FitOutcome& outcome) {
  const auto reference = Reference::match(outcome.stored->texture.surface(), *asset.surface, asset.appearance,
                                          displayPath(asset.asset.path));
  if (!reference) return reference.error();
  auto evaluation = evaluate(outcome.stored->texture, *reference, options, progress);
  if (!evaluation) return evaluation.error();
  const double loss = exact - evaluation->surface_psnr;
  outcome.quantisation_loss_db = std::isfinite(loss) ? loss : 0;
  outcome.evaluation = std::move(*evaluation);  // whole, or not there
  return {};
}

/// What makes the product larger than its input, the largest part first.
std::string whyLarger(const Asset& asset, std::span<const std::uint8_t> product,
                      std::span<const FallbackImage> images) {
  const FileParts parts = partsOf(product);
  std::vector<std::pair<std::size_t, std::string_view>> reasons = {
      {parts.kernels, "kernels"}, {parts.colors, "vertex colours"}, {parts.extras, "kernels in extras"}};
  std::size_t drawn = 0;
  for (const FallbackImage& image : images)
    drawn += image.bytes.size();
  reasons.emplace_back(drawn, "images of their colours");
  if (asset.file == nullptr) {
    const std::size_t named = parts.kernels + parts.colors + parts.extras + parts.images;
    reasons.emplace_back(product.size() - std::min(named, product.size()), "the mesh as glTF");
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [bytes, what] : reasons) {
    if (bytes == 0) continue;
    text += fmt::format("{}{} ({} kB)", text.empty() ? "" : ", ", what, (bytes + 999) / 1000);
  }
  return text;
}

KernelSet withFirstChannels(const KernelSet& kernels, const ChannelLayout& layout);
bool asReadersBuild(const LoadedAsset& asset, Method method);

/// Products of a fit that goes on, with a surface and an evaluator of their own: the fit's are in use.
class Snapshots {
 public:
  Snapshots(const LoadedAsset& asset, const FitJob& job, const FitConfig& config, PreprocessingCache* cache)
      : asset_(asset), job_(job), config_(config), cache_(cache) {}

  Result<std::vector<std::uint8_t>> take(const KernelSet& kernels, int steps) {
    const EvaluatorOptions evaluator = config_.evaluator.options();
    ProductFile file(Fallback::kPlain);
    const ProductInfo info{fmt::format("heatskin {}", kVersion), config_.preset, config_.train.seed, steps,
                           std::string(filterName(config_.train.filter))};
    const auto writer =
        ProductWriter::create(asset_.asset, asset_.surface, asReadersBuild(asset_, config_.evaluator.method),
                              withFirstChannels(kernels, job_.layout), evaluator, info, file);
    if (!writer) return writer.error();
    if (evaluator_ == nullptr || surface_ != writer->surface()) {
      surface_ = writer->surface();
      auto made = makeEvaluator(*surface_, evaluator, {nullptr, cache_, {}});
      if (!made) return made.error();
      evaluator_ = std::move(*made);
    }
    const auto texture =
        KernelTexture::withEvaluator(surface_, writer->kernels(), evaluator, evaluator_, writer->constants());
    if (!texture) return texture.error();
    return writer->finish(*texture);
  }

 private:
  const LoadedAsset& asset_;
  const FitJob& job_;
  const FitConfig& config_;
  PreprocessingCache* cache_;
  std::shared_ptr<const Surface> surface_;
  std::shared_ptr<Evaluator> evaluator_;
};

/// The product as whoever opens it will find it: from the disk, or from its bytes if it was not written. Its
/// surface is that of `writer`.
Result<Product> readBack(const FitJob& job, const FitOutcome& outcome, const ProductWriter& writer) {
  auto asset = job.output.empty() ? readGltfBytes(outcome.bytes, "product.glb") : loadAsset(job.output);
  if (!asset) return asset.error();
  return writer.readBack(std::move(*asset));
}

Result<void> checkLooks(const Asset& asset, std::span<const VariantLook> looks) {
  if (looks.size() <= kMaxLooks) return {};
  return inputError(fmt::format("{}has {} material variants that differ, more than {}", prefixOf(asset),
                                grouped(looks.size()), kMaxLooks));
}

/// The kernels with the channels of `layout` alone, which are their first ones.
KernelSet withFirstChannels(const KernelSet& kernels, const ChannelLayout& layout) {
  if (kernels.layout.size() == layout.size()) return kernels;
  KernelSet out = kernels;
  out.layout = layout;
  out.mean = kernels.mean.head(static_cast<Eigen::Index>(layout.size()));
  out.channels = {layout.size(), {}};
  out.channels.resize(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    std::copy_n(kernels.channels.row(i), layout.size(), out.channels.row(i));
  return out;
}

/// Values of the kernels in all looks, one after the other.
std::vector<VariantKernels> solveLooks(const LoadedAsset& asset, const FitJob& job,
                                       std::vector<VariantLook> looks, FitOutcome& outcome,
                                       Progress& progress) {
  std::vector<VariantKernels> variants;
  if (looks.empty()) return variants;
  const TrainOptions& train = outcome.config.train;
  const AppearanceTarget base(asset.appearance, train.filter, job.layout);
  Asset other = asset.asset;
  progress.begin("values of material variants", looks.size());
  for (VariantLook& look : looks) {
    Stopwatch watch;
    setLook(other, look);
    const Appearance appearance(other, *asset.surface);
    unsetLook(other, asset.asset, look);
    const AppearanceTarget target(appearance, train.filter, job.layout);
    // A look of factors alone has no values of its own.
    const bool nothing = !checkSomethingToFit(*asset.surface, target);
    KernelSet kernels = nothing ? outcome.fit.kernels
                                : solveValues(*outcome.fit.evaluator, outcome.fit.kernels, *asset.surface,
                                              base, target, train);
    double seconds = watch.lap();
    for (const std::string& name : look.names) {
      outcome.variants.push_back({name, 0, seconds, {}});
      seconds = 0;
    }
    variants.push_back({std::move(look), std::move(kernels)});
    progress.update(variants.size(), {});
  }
  progress.end();
  return variants;
}

/// Surface figures of variants as they are stored; `texture` is that of the default.
Result<void> evaluateVariants(const LoadedAsset& asset, const KernelTexture& texture,
                              const ProductWriter& writer, std::span<const VariantKernels> variants,
                              EvaluationOptions options, Progress& progress, FitOutcome& outcome) {
  options.seam_samples = 0;
  options.atlas_size = options.view_size = options.query_runs = 0;
  options.five_frame_samples = 0;
  options.lpips = nullptr;
  Asset other = variants.empty() ? Asset() : asset.asset;
  std::size_t at = 0;
  for (std::size_t v = 0; v < writer.variants().size(); ++v) {
    const ProductWriter::Variant& stored = writer.variants()[v];
    setLook(other, variants[v].look);
    const Appearance appearance(other, *asset.surface);
    unsetLook(other, asset.asset, variants[v].look);
    const auto reference =
        Reference::match(texture.surface(), *asset.surface, appearance, displayPath(asset.asset.path));
    if (!reference) return reference.error();
    const auto evaluation =
        evaluate(texture.withValues(stored.kernels, stored.constants), *reference, options, progress);
    if (!evaluation) return evaluation.error();
    for (std::size_t n = 0; n < variants[v].look.names.size(); ++n)
      outcome.variants[at++].evaluation = *evaluation;
  }
  return {};
}

/// A product with a fallback image along coordinates of its own.
struct AtlasedProduct {
  ProductWriter writer;
  std::vector<FallbackImage> images;
  std::vector<std::uint8_t> bytes;
};

/// The product again with a fallback image along a new atlas, if that looks better than colours at vertices
/// by kAtlasGain and takes no more bytes than it may (fallback_atlas.h). `create` makes the writer for an
/// asset with the triangles of `asset`.
Result<std::optional<AtlasedProduct>> drawnAlongAtlas(
    const LoadedAsset& asset, const ProductWriter& plain, const KernelTexture& texture,
    std::size_t plain_bytes, const std::function<Result<ProductWriter>(const Asset&)>& create) {
  using None = std::optional<AtlasedProduct>;
  const auto atlased = fallbackAtlas(asset.asset, *asset.surface, texture.layout(), plain.constants());
  if (!atlased) return atlased.error();
  if (!*atlased) return None();
  auto writer = create(**atlased);
  if (!writer) return writer.error();
  if (writer->surface() != plain.surface() || writer->fallbackRequests().empty()) return None();
  // The texture whose place the images take was never there: nobody expects them to be as small as it was.
  std::vector<FallbackRequest> requests = writer->fallbackRequests();
  for (FallbackRequest& request : requests)
    request.bytes = 0;
  double gained = 0;
  auto images = bakeFallback(texture, **atlased, requests, &gained);
  if (!images) return images.error();
  const bool all =
      std::all_of(images->begin(), images->end(), [](const auto& i) { return !i.bytes.empty(); });
  if (!all || gained < kAtlasGain) return None();
  auto bytes = writer->finish(texture, *images);
  if (!bytes) return bytes.error();
  if (bytes->size() > plain_bytes + kAtlasBytes &&
      static_cast<double>(bytes->size()) > kAtlasGrowth * static_cast<double>(plain_bytes))
    return None();
  return std::optional(AtlasedProduct{std::move(*writer), std::move(*images), std::move(*bytes)});
}

/// Whether the surface is the one that readers of the product will build, as far as options decide that.
bool asReadersBuild(const LoadedAsset& asset, Method method) {
  const SurfaceOptions wanted = productSurfaceOptions(method);
  return asset.surface_options.principal_axes == wanted.principal_axes &&
         asset.surface_options.curvature_rings == wanted.curvature_rings &&
         asset.surface_options.normalise == wanted.normalise;
}

}  // namespace

Result<ChannelLayout> fitChannels(const LoadedAsset& asset, std::span<const std::string> names, Filter filter,
                                  Method method) {
  std::vector<std::string> wanted(names.begin(), names.end());
  std::replace(wanted.begin(), wanted.end(), std::string("object_normal"), std::string("normal"));
  const std::vector<VariantLook> looks = variantLooks(asset.asset);
  if (auto few = checkLooks(asset.asset, looks); !few) return few.error();
  ChannelSurvey survey;
  survey.add(asset.appearance, *asset.surface, filter);
  Asset other = looks.empty() ? Asset() : asset.asset;
  for (const VariantLook& look : looks) {
    setLook(other, look);
    survey.add(Appearance(other, *asset.surface), *asset.surface, filter);
    unsetLook(other, asset.asset, look);
  }
  Result<ChannelLayout> layout = wanted.empty() ? survey.layout() : survey.layout(wanted);
  if (!layout) {
    return layout.error().kind == ErrorKind::kInput ? layout.error().prefixed(prefixOf(asset.asset))
                                                    : layout.error();
  }
  if (traits(method).tangents || !layout->hasTangents()) return layout;
  std::vector<ChannelGroup> groups;
  for (const ChannelGroup& group : layout->groups()) {
    if (!group.isTangent()) {
      groups.push_back(group);
    } else if (slotOf(group.name) == kNormalSlot) {
      groups.push_back(objectNormalGroup());
      groups.back().weight = channelWeight(group.name);
    } else if (!wanted.empty()) {
      return usageError(fmt::format("method {} has no directions: channel {} is for method local",
                                    methodName(method), quoteForMessage(group.name)));
    }
  }
  return ChannelLayout::make(std::move(groups));
}

void forgetVariants(Asset& asset) {
  asset.variants.clear();
  for (Mesh& mesh : asset.meshes) {
    for (Primitive& primitive : mesh.primitives)
      primitive.variants.clear();
  }
}

Result<FitOutcome> fitProduct(const LoadedAsset& asset, const FitJob& job) {
  if (isProduct(asset.asset)) {
    return inputError(prefixOf(asset.asset) + "is a fitted texture already; give the asset it was made from",
                      error_code::kAlreadyFitted);
  }
  FitOutcome outcome;
  outcome.config = job.config;
  const std::vector<VariantLook> looks = variantLooks(asset.asset);
  if (auto few = checkLooks(asset.asset, looks); !few) return few.error();
  std::unique_ptr<const FitTarget> joint;
  if (looks.empty()) {
    joint = std::make_unique<AppearanceTarget>(asset.appearance, job.config.train.filter, job.layout);
  } else {
    joint = std::make_unique<VariantTarget>(asset.asset, *asset.surface, asset.appearance, looks,
                                            job.config.train.filter, job.layout);
  }
  const FitTarget& target = *joint;
  if (auto something = checkSomethingToFit(*asset.surface, target); !something)
    return something.error().prefixed(prefixOf(asset.asset));
  const BudgetReport budget = settleBudget(outcome.config, *asset.surface, job.keep_budget);
  if (budget.too_small()) {
    outcome.notices.push_back(budgetNotice(asset.asset, *asset.surface, budget));
    if (job.control.notify) job.control.notify(outcome.notices.back());
  }
  if (!job.output.empty()) {
    if (auto room = checkFreeSpace(job.output, smallestProduct(asset.asset)); !room) return room.error();
  }

  std::optional<PreprocessingCache> own_cache;
  FitControl control = job.control;
  if (control.cache == nullptr) control.cache = &own_cache.emplace(PreprocessingCache::fromEnvironment());
  if (control.progress == nullptr) control.progress = &silentProgress();
  if (!control.bytes_of) {
    control.bytes_of = [&](const KernelSet& kernels) {
      return packKernels(withFirstChannels(kernels, job.layout), asset.asset, *asset.surface, asset.asset,
                         *asset.surface, outcome.config.evaluator.options())
          .bytes.size();
    };
  }
  // A method without charts has no product that others could draw.
  Snapshots snapshots(asset, job, outcome.config, control.cache);
  if (control.watch && outcome.config.evaluator.method == Method::kLocal) {
    control.watch = [&](const FitMoment& moment) {
      FitMoment with_product = moment;
      with_product.product = [&] {
        return snapshots.take(*moment.kernels, static_cast<int>(moment.history->losses.size()));
      };
      job.control.watch(with_product);
    };
  }
  auto fitted = fit(*asset.surface, target, outcome.config, control);
  if (!fitted) return fitted.error();
  outcome.fit = std::move(*fitted);
  outcome.notices.insert(outcome.notices.end(), outcome.fit.notices.begin(), outcome.fit.notices.end());
  if (!outcome.fit.complete) return outcome;
  outcome.init_seconds = asset.surface_seconds + outcome.fit.init_seconds;
  outcome.fit.kernels = withFirstChannels(outcome.fit.kernels, job.layout);
  Unstoppable finishing(*control.progress);
  // Before anything else asks the evaluator, which is rebuilt for it.
  std::vector<VariantKernels> variants = solveLooks(asset, job, looks, outcome, finishing);

  const EvaluatorOptions evaluator = outcome.config.evaluator.options();
  EvaluationOptions evaluation = job.evaluation;
  evaluation.filter = outcome.config.train.filter;
  double exact_psnr = 0;
  if (job.evaluate && !control.progress->cancelled()) {
    const auto exact =
        KernelTexture::withEvaluator(asset.surface, outcome.fit.kernels, evaluator, outcome.fit.evaluator,
                                     constantFaces(asset.appearance, job.layout, !looks.empty()));
    if (!exact) return exact.error();
    const auto psnr = surfacePsnr(*exact, Reference(*asset.surface, asset.appearance), evaluation);
    if (!psnr) return psnr.error();
    exact_psnr = *psnr;
  }

  const auto rounding = sufficientRounding(asset, outcome.config, outcome.fit, !looks.empty());
  if (!rounding) return rounding.error();

  // All steps are done: a wish to stop no longer keeps them from becoming a product.
  const bool asked = outcome.fit.stopped_by == StoppedBy::kAsked;
  const ProductInfo info{fmt::format("heatskin {}", kVersion), outcome.config.preset,
                         outcome.config.train.seed, asked ? outcome.fit.steps_done : stepsOf(outcome.config),
                         std::string(filterName(outcome.config.train.filter))};
  const bool as_readers_build = asReadersBuild(asset, outcome.config.evaluator.method);
  ProductFile file(job.fallback);
  file.extras = job.extras;
  file.charts = job.charts;
  file.variants = std::move(variants);
  auto writer = ProductWriter::create(asset.asset, asset.surface, as_readers_build, outcome.fit.kernels,
                                      evaluator, info, file, *rounding);
  if (!writer) return writer.error();
  outcome.kept = writer->kept();
  outcome.dropped = writer->dropped();
  for (const Notice& notice : writer->notices()) {
    outcome.notices.push_back({notice.code, prefixOf(asset.asset) + notice.message, notice.count});
    if (control.notify) control.notify(outcome.notices.back());
  }
  // A product whose positions differ from the asset's (openAssetToFit() was not used, or its triangles come
  // in another order) has a surface and an evaluator of its own.
  auto texture = writer->surface() == asset.surface
                     ? KernelTexture::withEvaluator(asset.surface, writer->kernels(), evaluator,
                                                    std::move(outcome.fit.evaluator), writer->constants())
                     : KernelTexture::create(writer->surface(), writer->kernels(), evaluator,
                                             {&finishing, control.cache, {}}, writer->constants());
  outcome.fit.evaluator = nullptr;
  if (!texture) return texture.error();
  for (std::size_t v = 0, at = 0; v < writer->variants().size(); ++v) {
    for (std::size_t n = 0; n < file.variants[v].look.names.size(); ++n)
      outcome.variants[at++].bytes = writer->variants()[v].bytes;
  }
  auto images = bakeFallbacks(*texture, asset.asset, *writer, file.variants);
  if (!images) return images.error();
  outcome.fallback = job.fallback;
  bool drawn = std::any_of(images->begin(), images->end(), [](const auto& i) { return !i.bytes.empty(); });
  auto bytes = writer->finish(*texture, *images);
  if (!bytes) return bytes.error();
  outcome.bytes = std::move(*bytes);
  if (job.fallback == Fallback::kTexture && !drawn && looks.empty() && writer->surface() == asset.surface) {
    const auto create = [&](const Asset& atlased) {
      return ProductWriter::create(atlased, asset.surface, as_readers_build, outcome.fit.kernels, evaluator,
                                   info, file, *rounding);
    };
    auto better = drawnAlongAtlas(asset, *writer, *texture, outcome.bytes.size(), create);
    if (!better) return better.error();
    if (*better) {
      writer = std::move((*better)->writer);
      *images = std::move((*better)->images);
      outcome.bytes = std::move((*better)->bytes);
      drawn = true;
    }
  }
  if (job.fallback == Fallback::kTexture && !drawn) outcome.fallback = Fallback::kVertex;
  if (asset.asset.input_bytes > 0 && outcome.bytes.size() > asset.asset.input_bytes)
    outcome.why_larger = whyLarger(asset.asset, outcome.bytes, *images);
  if (auto saved = saveProduct(job, outcome.config, outcome.bytes, outcome.fit.stopped_by); !saved)
    return saved.error();

  auto stored = readBack(job, outcome, *writer);
  if (!stored) return stored.error();
  if (stored->supports != nullptr) {
    // What is evaluated is what readers will compute: with the supports of the file, not with those that the
    // fit found. One set of supports at a time is enough.
    { const KernelTexture searched = std::move(*texture); }
    texture = KernelTexture::create(writer->surface(), writer->kernels(), evaluator,
                                    {&finishing, control.cache, stored->supports}, writer->constants());
    if (!texture) return texture.error();
  }
  outcome.stored.emplace(LoadedProduct{std::move(*stored), std::move(*texture)});
  if (job.evaluate && !control.progress->cancelled()) {
    const auto done = evaluateStored(asset, evaluation, exact_psnr, *control.progress, outcome);
    if (!done && !control.progress->cancelled()) return done.error();
    if (done) {
      const auto variants_done = evaluateVariants(asset, outcome.stored->texture, *writer, file.variants,
                                                  evaluation, *control.progress, outcome);
      if (!variants_done && !control.progress->cancelled()) return variants_done.error();
    }
    if (done) outcome.fallback_psnr = fallbackPsnr(*outcome.stored, asset, evaluation);
  }
  if (own_cache && control.notify) {
    for (const Notice& notice : own_cache->notices())
      control.notify(notice);
  }
  return outcome;
}

Result<FitOutcome> fitProduct(const std::filesystem::path& asset, const FitJob& job) {
  OpenOptions options;
  options.progress = job.control.progress;
  const auto loaded = openAssetToFit(asset, job.config.evaluator.method, options);
  if (!loaded) return loaded.error();
  return fitProduct(*loaded, job);
}

}  // namespace heatskin
