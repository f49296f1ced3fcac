#include "heatskin/pipeline/edit_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/product/reseat_kernels.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/transfer/carried_target.h"
#include "heatskin/transfer/carry_kernels.h"
#include "heatskin/transfer/mesh_changes.h"

namespace heatskin {
namespace {

/// Of a value at changed places: kernels with a larger part there are fitted again.
constexpr float kReachesEdit = 0.02f;

/// A longest side that differs by less than this is the same one.
constexpr double kSameScale = 1e-9;

/// Kernels before and after, and which may change.
struct Reseated {
  KernelSet kernels;
  std::vector<std::uint8_t> free;  // [N]
  std::size_t dropped = 0;
};

/// Kernels of unchanged faces in their places, those of others at the nearest ones.
Reseated reseat(const Product& product, const Surface& surface, const MeshChanges& changes,
                const Correspondence* there, bool has_lengths) {
  const double scale = surface.surfaceFromAsset().scale / product.surface->surfaceFromAsset().scale;
  Reseated out{product.kernels, {}, 0};
  std::vector<std::uint32_t> same, moved;
  for (std::uint32_t i = 0; i < product.kernels.size(); ++i)
    (changes.same.face[product.kernels.positions[i].face] != kNone ? same : moved).push_back(i);
  KernelSet kept = product.kernels;
  kept.select(same);
  out.kernels = reseatKernels(kept, *product.surface, surface, changes.same).kernels;
  if (has_lengths && std::abs(scale - 1) > kSameScale) {
    for (float& length : out.kernels.lengths)
      length = std::clamp(static_cast<float>(static_cast<double>(length) * scale), KernelRanges::kMinLength,
                          KernelRanges::kMaxLength);
  }
  out.free.assign(same.size(), 0);
  out.dropped = moved.size();
  if (there == nullptr || moved.empty()) return out;
  KernelSet others = product.kernels;
  others.select(moved);
  const CarriedKernels carried = carryKernels(others, *there, has_lengths);
  const std::size_t before = out.kernels.size();
  // Those that end up on faces that did not change are in the way of the kernels there.
  for (std::size_t i = 0; i < carried.kernels.size(); ++i) {
    if (changes.changed[carried.kernels.positions[i].face] == 0) continue;
    const KernelSet& k = carried.kernels;
    out.kernels.resize(out.kernels.size() + 1);
    const std::size_t at = out.kernels.size() - 1;
    out.kernels.positions[at] = k.positions[i];
    out.kernels.angles[at] = k.angles[i];
    out.kernels.anisotropies[at] = k.anisotropies[i];
    out.kernels.thresholds[at] = k.thresholds[i];
    out.kernels.sharpnesses[at] = k.sharpnesses[i];
    out.kernels.lengths[at] = k.lengths[i];
    std::copy_n(k.channels.row(i), k.layout.size(), out.kernels.channels.row(at));
  }
  out.dropped -= out.kernels.size() - before;
  out.free.resize(out.kernels.size(), 1);
  return out;
}

/// Kernels for changed faces besides those that are there: as many as the area has elsewhere.
std::size_t missingKernels(const Surface& surface, const MeshChanges& changes, const KernelSet& kernels) {
  double changed_area = 0;
  std::size_t there = 0;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    if (changes.changed[f] != 0) changed_area += surface.areas()[f];
  }
  for (const SurfacePoint& p : kernels.positions)
    there += changes.changed[p.face] != 0 ? 1 : 0;
  const double rest = surface.totalArea() - changed_area;
  if (!(rest > 0)) return 0;
  const auto wanted =
      static_cast<std::size_t>(std::ceil(static_cast<double>(kernels.size() - there) * changed_area / rest));
  // A handful more or less is none of our business.
  return wanted > there + there / 4 ? wanted - there : 0;
}

/// Groups of channels that primitives have from their materials, as the unchanged faces had them.
std::vector<std::vector<std::uint32_t>> constantsOf(const Product& product, const Asset& mesh,
                                                    const Surface& surface, const MeshChanges& changes) {
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& m : mesh.meshes)
    constants.emplace_back(m.primitives.size(), 0u);
  const std::vector<std::vector<std::uint32_t>> before = primitiveConstants(product);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    if (changes.old[f] == kNone) continue;
    const FaceSource &source = surface.sources()[f], &old = product.surface->sources()[changes.old[f]];
    constants[static_cast<std::size_t>(mesh.instances[source.instance].mesh)][source.primitive] =
        before[static_cast<std::size_t>(product.asset.instances[old.instance].mesh)][old.primitive];
  }
  return constants;
}

/// PSNR of the new texture against the old one on faces that did not change.
double unchangedPsnr(const KernelTexture& before, const KernelTexture& after, const MeshChanges& changes,
                     const EditOptions& options) {
  std::vector<SurfacePoint> old_points, new_points;
  for (const SurfacePoint& p : sampleSurface(before.surface(), options.samples, options.seed)) {
    if (changes.same.face[p.face] == kNone) continue;
    old_points.push_back(p);
    new_points.push_back(matchingPoint(changes.same, p));
  }
  std::vector<Vec3f> a(old_points.size()), b(new_points.size());
  before.colors(old_points, a);
  after.colors(new_points, b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += static_cast<double>((a[i] - b[i]).squaredNorm());
  return sum > 0 ? -10 * std::log10(sum / (3 * static_cast<double>(a.size())))
                 : std::numeric_limits<double>::infinity();
}

Result<EditOutcome> edited(const LoadedProduct& loaded, Asset changed, const EditOptions& options) {
  const Product& product = loaded.product;
  const Method method = methodOf(product.options);
  const bool has_lengths = traits(method).has_lengths;
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  EditOutcome outcome;
  auto mesh = meshForKernels(std::move(changed));
  if (!mesh) return mesh.error();
  auto built = buildSurface(*mesh, productSurfaceOptions(method));
  if (!built) return built.error();
  const auto surface = std::make_shared<const Surface>(std::move(*built));
  outcome.notices = mesh->notices;
  for (Notice& notice : surface->notices())
    outcome.notices.push_back(std::move(notice));
  if (!product.variants.empty()) {
    outcome.notices.push_back({"variants_left_out",
                               "the values of material variants are left out; those of the default "
                               "materials are edited"});
  }

  progress.begin("finding what changed", 0);
  const MeshChanges changes = meshChanges(*product.surface, *surface);
  outcome.changed_area = changes.changed_area;
  outcome.changed_triangles = changes.same.added;
  outcome.removed_triangles = changes.same.lost;
  if (changes.same.lost == product.surface->faceCount()) {
    return inputError(messagePrefix(*mesh) + "has no triangle in common with the product",
                      error_code::kOtherShape);
  }
  const bool any_change = changes.same.added > 0;

  // What it is to look like.
  const Appearance appearance(*mesh, *surface);
  const AppearanceTarget of_mesh(appearance, fitFilter(product.info), product.kernels.layout);
  const bool knows = appearance.knows(product.kernels.layout) && of_mesh.hasColor();
  if (options.look == EditLook::kMesh && !knows) {
    return inputError(messagePrefix(*mesh) +
                      "has neither textures nor vertex colours for what the kernels hold");
  }
  outcome.look_of_mesh = knows && options.look != EditLook::kProduct;
  const TextureTarget look(loaded.texture);
  std::unique_ptr<Correspondence> back, there;
  std::unique_ptr<CarriedTarget> carried;
  if (any_change) {
    back = std::make_unique<Correspondence>(*surface, *product.surface);
    there = std::make_unique<Correspondence>(*product.surface, *surface);
  }
  if (any_change && !outcome.look_of_mesh) {
    carried = std::make_unique<CarriedTarget>(look, *back);
    outcome.unmatched_area = carried->unmatchedArea();
  } else if (any_change) {
    for (std::uint32_t f = 0; f < surface->faceCount(); ++f) {
      if (changes.changed[f] != 0 && !back->find(SurfacePoint{f}).matched)
        outcome.unmatched_area += surface->areas()[f] / surface->totalArea();
    }
  }
  progress.end();

  Reseated reseated = reseat(product, *surface, changes, there.get(), has_lengths);
  KernelSet& kernels = reseated.kernels;
  outcome.kernels_dropped = reseated.dropped;
  if (kernels.size() == 0) return inputError(messagePrefix(*mesh) + "no kernel is left on it");
  if (any_change) {
    const FitTarget& target = outcome.look_of_mesh ? static_cast<const FitTarget&>(of_mesh) : *carried;
    const FitConfig config = configFor(product.options, kernels.size(), options.seed);
    const RegionTarget edit(target, changes.changed);
    outcome.kernels_added =
        addKernels(*surface, edit, config, missingKernels(*surface, changes, kernels), kernels);
    std::vector<std::uint8_t>& free = reseated.free;
    free.resize(kernels.size(), 1);
    std::optional<PreprocessingCache> own;
    if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
    auto evaluator = makeEvaluator(*surface, product.options, {&progress, own ? &*own : options.open.cache});
    if (!evaluator) return evaluator.error();
    if (auto possible = (*evaluator)->check(kernels, 1); !possible)
      return inputError(possible.error().message, possible.error().code);
    progress.begin("refitting", 0);
    const std::vector<std::uint8_t> reach =
        kernelsInReach(*surface, edit, **evaluator, kernels, config, kReachesEdit);
    for (std::size_t i = 0; i < free.size(); ++i)
      free[i] = free[i] != 0 || reach[i] != 0 ? 1 : 0;
    std::vector<std::uint8_t> region = facesInReach(*surface, kernels, free, product.options);
    for (std::size_t f = 0; f < region.size(); ++f)
      region[f] = region[f] != 0 || changes.changed[f] != 0 ? 1 : 0;
    const RegionTarget around(target, std::move(region));
    outcome.refit = refitKernels(*surface, around, **evaluator, free, config, options.refit, kernels);
    outcome.kernels_changed = static_cast<std::size_t>(std::count(free.begin(), free.end(), 1));
    progress.end();
  }
  outcome.kernels_kept = kernels.size() - outcome.kernels_changed;

  // A mesh with a look of its own is treated as a fit does; otherwise materials decide where they decided
  // before.
  ProductFile file;
  const auto constants = constantsOf(product, *mesh, *surface, changes);
  if (!outcome.look_of_mesh) file.constants = &constants;
  file.charts = product.chart_bytes > 0;
  auto written = rewriteProduct(*mesh, surface, kernels, product.options, product.info, file, options.open,
                                positionBits(product));
  if (!written) return written.error();
  outcome.bytes = std::move(written->bytes);
  outcome.stored.emplace(std::move(written->stored));
  const KernelTexture& texture = outcome.stored->texture;
  outcome.surface_psnr_source = unchangedPsnr(loaded.texture, texture, changes, options);
  if (outcome.look_of_mesh) {
    outcome.surface_psnr = texturePsnr(texture, of_mesh, options.samples, options.seed);
  } else {
    outcome.surface_psnr =
        carried ? texturePsnr(texture, *carried, options.samples, options.seed) : outcome.surface_psnr_source;
  }
  return outcome;
}

}  // namespace

Result<EditOutcome> editMesh(const LoadedProduct& product, Asset changed, const EditOptions& options) {
  try {
    return edited(product, std::move(changed), options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the edit");
  }
}

}  // namespace heatskin
