#include "heatskin/pipeline/lod_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/product/file_contents.h"
#include "heatskin/transfer/carried_target.h"
#include "heatskin/transfer/carry_kernels.h"
#include "heatskin/transfer/merge_kernels.h"
#include "heatskin/transfer/simplified_asset.h"

namespace heatskin {
namespace {

/// A level has this many triangles and kernels at least.
constexpr std::size_t kLeastTriangles = 16, kLeastKernels = 16;

/// Levels far away are coarse: points further apart than this part of the longest side do not match.
constexpr double kFarApart = 0.1;

double longestSide(const Surface& surface) {
  return 2 / surface.surfaceFromAsset().scale;
}

/// What a distance between surfaces means on a screen.
void onScreen(const Surface& surface, LodLevel& level) {
  const double side = longestSide(surface);
  level.pixels = level.largest_distance / side * kScreenLines;
  const double half_field = kScreenField / 2 * std::acos(-1.0) / 180;
  level.switch_distance = level.largest_distance * kScreenLines / (2 * std::tan(half_field));
  level.screen_coverage = level.pixels > 1 ? 1 / level.pixels : 1;
}

Result<LodLevel> makeLevel(const LoadedProduct& loaded, const LodOptions& options, int number) {
  const Product& product = loaded.product;
  const Method method = methodOf(product.options);
  LodLevel level;
  const auto part = [&](std::size_t count, double ratio, int times, std::size_t least) {
    return std::max(
        least, static_cast<std::size_t>(std::lround(static_cast<double>(count) * std::pow(ratio, times))));
  };
  const std::size_t faces = part(product.surface->faceCount(), options.face_ratio, number, kLeastTriangles);
  auto simplified = simplifiedAsset(product.asset, *product.surface, faces);
  if (!simplified) return simplified.error();
  auto mesh = meshForKernels(std::move(*simplified));
  if (!mesh) return mesh.error();
  auto built = buildSurface(*mesh, productSurfaceOptions(method));
  if (!built) return built.error();
  const auto surface = std::make_shared<const Surface>(std::move(*built));

  const Correspondence back(*surface, *product.surface, kFarApart);
  const Correspondence there(*product.surface, *surface, kFarApart);
  const TextureTarget look(loaded.texture);
  const CarriedTarget target(look, back);
  const bool has_lengths = traits(method).has_lengths;
  KernelSet kernels = carryKernels(product.kernels, there, has_lengths).kernels;
  if (kernels.size() == 0) return failure("no kernel has a place on a level of so few triangles");
  const bool merged = number >= options.merge_from && options.kernel_ratio < 1;
  if (merged) {
    kernels = mergedKernels(
        kernels, *surface,
        part(product.kernels.size(), options.kernel_ratio, number - options.merge_from + 1, kLeastKernels),
        has_lengths);
  }
  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  auto evaluator =
      makeEvaluator(*surface, product.options, {options.open.progress, own ? &*own : options.open.cache});
  if (!evaluator) return evaluator.error();
  if (auto possible = (*evaluator)->check(kernels, 1); !possible)
    return inputError(possible.error().message, possible.error().code);
  if (options.refit) {
    const std::vector<std::uint8_t> all(kernels.size(), 1);
    level.refit =
        refitKernels(*surface, target, **evaluator, all,
                     configFor(product.options, kernels.size(), options.seed), RefitOptions(), kernels);
  }
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& m : mesh->meshes)
    constants.emplace_back(m.primitives.size(), 0u);
  ProductFile file(Fallback::kVertex);
  file.charts = options.charts;
  file.constants = &constants;
  auto written = rewriteProduct(*mesh, surface, kernels, product.options, product.info, file, options.open);
  if (!written) return written.error();
  level.bytes = std::move(written->bytes);
  level.stored.emplace(std::move(written->stored));
  level.triangles = surface->faceCount();
  level.kernels = kernels.size();
  const SurfaceDistance distance = surfaceDistance(*product.surface, *surface);
  level.mean_distance = distance.mean;
  level.largest_distance = distance.p99;
  level.surface_psnr_source =
      texturePsnr(level.stored->texture, target, options.samples, options.seed, target.unmatchedFaces());
  onScreen(*product.surface, level);
  return level;
}

/// Levels after the first are bare.
void noteDropped(const Product& product, std::vector<Notice>& notices) {
  const auto contents = contentsOf(product.asset);
  if (!contents) return;
  std::string words;
  for (const char* word : {"animations", "skins", "morph_targets", "cameras", "images"}) {
    if (contents->contains(word)) words += (words.empty() ? "" : ", ") + std::string(word);
  }
  if (words.empty()) return;
  notices.push_back({"levels_without", fmt::format("levels after the first have triangles, materials and "
                                                   "kernels alone, not what the product has besides ({})",
                                                   words)});
}

Result<LodOutcome> makeLevels(const LoadedProduct& product, const LodOptions& options) {
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  LodOutcome outcome;
  LodLevel& first = outcome.levels.emplace_back();
  if (product.product.asset.file != nullptr) first.bytes = *product.product.asset.file;
  first.triangles = product.product.surface->faceCount();
  first.kernels = product.product.kernels.size();
  first.surface_psnr_source = std::numeric_limits<double>::infinity();
  if (options.levels > 1) noteDropped(product.product, outcome.notices);
  progress.begin("levels of detail", static_cast<std::size_t>(options.levels));
  for (int number = 1; number < options.levels; ++number) {
    if (progress.cancelled()) return failure("interrupted", error_code::kCancelled);
    progress.update(static_cast<std::size_t>(number), {});
    LodOptions quiet = options;
    quiet.open.progress = nullptr;
    auto level = makeLevel(product, quiet, number);
    if (!level) return level.error();
    outcome.levels.push_back(std::move(*level));
  }
  progress.end();
  return outcome;
}

}  // namespace

Result<LodOutcome> lodProduct(const LoadedProduct& product, const LodOptions& options) {
  try {
    return makeLevels(product, options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the levels of detail");
  }
}

Result<std::vector<std::uint8_t>> joinLevels(const LodOutcome& outcome) {
  const auto container = gltf::splitGlb(outcome.levels.front().bytes);
  if (!container) return container.error();
  GltfJson root = GltfJson::parse(container->json.begin(), container->json.end(), nullptr, false);
  if (root.is_discarded() || !container->bin) return failure("the first level cannot be read again");
  GlbBuilder builder(std::move(root), {container->bin->begin(), container->bin->end()});
  const GltfJson default_scene = builder.root().contains("scene") ? builder.root()["scene"] : GltfJson(0);
  GltfJson ids = GltfJson::array(), coverage = GltfJson::array();
  for (std::size_t l = 1; l < outcome.levels.size(); ++l) {
    const std::size_t scenes = builder.root()["scenes"].size();
    if (auto added = addAsset(builder, outcome.levels[l].stored->product.asset, {}); !added)
      return added.error();
    // What was added as a scene of its own becomes the children of one node.
    GltfJson nodes = builder.root()["scenes"][scenes]["nodes"];
    builder.root()["scenes"].erase(scenes);
    ids.push_back(
        builder.append("nodes", {{"name", fmt::format("level {}", l)}, {"children", std::move(nodes)}}));
  }
  builder.root()["scene"] = default_scene;
  for (const LodLevel& level : outcome.levels)
    coverage.push_back(&level == &outcome.levels.back() ? 0.0 : (&level + 1)->screen_coverage);
  GltfJson& scene = builder.root()["scenes"][default_scene.get<std::size_t>()];
  GltfJson top = {{"name", "levels of detail"}, {"children", scene["nodes"]}};
  top["extensions"]["MSFT_lod"]["ids"] = std::move(ids);
  top["extras"]["MSFT_screencoverage"] = std::move(coverage);
  const int node = builder.append("nodes", std::move(top));
  builder.root()["scenes"][default_scene.get<std::size_t>()]["nodes"] = GltfJson::array({node});
  builder.useExtension("MSFT_lod");
  return builder.finish();
}

}  // namespace heatskin
