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
Reseated reseat(const Product& product, const KernelSet& all, const Surface& surface,
                const MeshChanges& changes, const Correspondence* there, bool has_lengths) {
  const double scale = surface.surfaceFromAsset().scale / product.surface->surfaceFromAsset().scale;
  Reseated out{all, {}, 0};
  std::vector<std::uint32_t> same, moved;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    (changes.same.face[all.positions[i].face] != kNone ? same : moved).push_back(i);
  KernelSet kept = all;
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
  KernelSet others = all;
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

/// Groups of channels that primitives have from their materials, as the unchanged faces had them by `faces`,
/// constants of the product or of one of its looks.
std::vector<std::vector<std::uint32_t>> constantsOf(const Product& product, const ConstantFaces& faces,
                                                    const Asset& mesh, const Surface& surface,
                                                    const MeshChanges& changes) {
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& m : mesh.meshes)
    constants.emplace_back(m.primitives.size(), 0u);
  const std::vector<std::vector<std::uint32_t>> before = primitiveConstants(product, faces);
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

/// A look of a material variant, with what it is to look like on the changed mesh.
struct EditedLook {
  CarriedLook carried;
  KernelSet kernels;
  bool everywhere = false;  ///< all values are to be solved for, not only those around the changes
  std::unique_ptr<const Appearance> appearance;
  std::unique_ptr<const KernelTexture> texture;
  std::unique_ptr<const FitTarget> values, target;  ///< no target: nothing to solve for
};

Result<EditOutcome> edited(const LoadedProduct& loaded, Asset changed, const EditOptions& options) {
  const Product& product = loaded.product;
  const Method method = methodOf(product.options);
  const bool has_lengths = traits(method).has_lengths;
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  EditOutcome outcome;
  auto mesh = meshForKernels(std::move(changed));
  if (!mesh) return mesh.error();
  const auto source_looks = productLooks(product);
  if (!source_looks) return source_looks.error();
  mesh = withVariantNames(std::move(*mesh), variantNames(product.asset, *source_looks));
  if (!mesh) return mesh.error();
  auto built = buildSurface(*mesh, productSurfaceOptions(method));
  if (!built) return built.error();
  const auto surface = std::make_shared<const Surface>(std::move(*built));
  outcome.notices = mesh->notices;
  for (Notice& notice : surface->notices())
    outcome.notices.push_back(std::move(notice));

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

  Reseated reseated = reseat(product, product.kernels, *surface, changes, there.get(), has_lengths);
  KernelSet& kernels = reseated.kernels;
  outcome.kernels_dropped = reseated.dropped;
  if (kernels.size() == 0) return inputError(messagePrefix(*mesh) + "no kernel is left on it");

  // The looks of material variants: the same kernels with other values.
  std::vector<std::unique_ptr<EditedLook>> looks;
  for (CarriedLook& found : looksOnMesh(*mesh, *source_looks)) {
    EditedLook& own_look = *looks.emplace_back(std::make_unique<EditedLook>());
    own_look.carried = std::move(found);
    const ProductLook* source = own_look.carried.source;
    own_look.kernels =
        source == nullptr
            ? kernels
            : reseat(product, source->kernels, *surface, changes, there.get(), has_lengths).kernels;
    if (source == nullptr) continue;
    // Without the materials that say constant values, kernels have to.
    own_look.everywhere = own_look.carried.look.changes.empty() && !source->look.changes.empty();
    if (!any_change && !own_look.everywhere) continue;
    if (outcome.look_of_mesh && !own_look.carried.look.changes.empty()) {
      Asset other = *mesh;
      setLook(other, own_look.carried.look);
      own_look.appearance = std::make_unique<const Appearance>(other, *surface);
      own_look.target = std::make_unique<const AppearanceTarget>(
          *own_look.appearance, fitFilter(product.info), product.kernels.layout);
      if (!checkSomethingToFit(*surface, *own_look.target)) own_look.target = nullptr;  // factors alone
      continue;
    }
    if (back == nullptr) back = std::make_unique<Correspondence>(*surface, *product.surface);
    own_look.texture =
        std::make_unique<const KernelTexture>(loaded.texture.withValues(source->kernels, source->constants));
    own_look.values = std::make_unique<const TextureTarget>(*own_look.texture);
    own_look.target = std::make_unique<const CarriedTarget>(*own_look.values, *back);
  }
  const bool solve = std::any_of(looks.begin(), looks.end(), [](const auto& l) { return l->everywhere; });
  if (any_change || solve) {
    const FitConfig config = configFor(product.options, kernels.size(), options.seed);
    std::optional<PreprocessingCache> own;
    if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
    auto evaluator = makeEvaluator(*surface, product.options, {&progress, own ? &*own : options.open.cache});
    if (!evaluator) return evaluator.error();
    std::vector<std::uint8_t>& free = reseated.free;
    std::vector<std::uint8_t> region;
    if (any_change) {
      const FitTarget& target = outcome.look_of_mesh ? static_cast<const FitTarget&>(of_mesh) : *carried;
      const RegionTarget edit(target, changes.changed);
      outcome.kernels_added =
          addKernels(*surface, edit, config, missingKernels(*surface, changes, kernels), kernels);
      free.resize(kernels.size(), 1);
      if (auto possible = (*evaluator)->check(kernels, 1); !possible)
        return inputError(possible.error().message, possible.error().code);
      progress.begin("refitting", 0);
      const std::vector<std::uint8_t> reach =
          kernelsInReach(*surface, edit, **evaluator, kernels, config, kReachesEdit);
      for (std::size_t i = 0; i < free.size(); ++i)
        free[i] = free[i] != 0 || reach[i] != 0 ? 1 : 0;
      region = facesInReach(*surface, kernels, free, product.options);
      for (std::size_t f = 0; f < region.size(); ++f)
        region[f] = region[f] != 0 || changes.changed[f] != 0 ? 1 : 0;
      const RegionTarget around(target, region);
      outcome.refit = refitKernels(*surface, around, **evaluator, free, config, options.refit, kernels);
      outcome.kernels_changed = static_cast<std::size_t>(std::count(free.begin(), free.end(), 1));
      progress.end();
    }
    if (!looks.empty()) progress.begin("values of material variants", looks.size());
    for (const auto& own_look : looks) {
      own_look->kernels =
          own_look->carried.source == nullptr ? kernels : withChannelsOf(kernels, own_look->kernels);
      if (own_look->target == nullptr) continue;
      if (own_look->everywhere) {
        const std::vector<std::uint8_t> all(kernels.size(), 1);
        solveLook(*surface, *own_look->target, **evaluator, all, config, own_look->kernels);
      } else {
        const RegionTarget around(*own_look->target, region);
        solveLook(*surface, around, **evaluator, free, config, own_look->kernels);
      }
    }
    if (!looks.empty()) progress.end();
  }
  outcome.kernels_kept = kernels.size() - outcome.kernels_changed;

  // A mesh with a look of its own is treated as a fit does; otherwise materials decide where they decided
  // before.
  ProductFile file;
  const auto constants = constantsOf(product, product.constants, *mesh, *surface, changes);
  if (!outcome.look_of_mesh) file.constants = &constants;
  for (const auto& own_look : looks) {
    VariantKernels& variant =
        file.variants.emplace_back(VariantKernels{own_look->carried.look, std::move(own_look->kernels)});
    if (own_look->carried.source != nullptr && !outcome.look_of_mesh)
      variant.constants = constantsOf(product, own_look->carried.source->constants, *mesh, *surface, changes);
  }
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
  for (const auto& own_look : looks) {
    if (own_look->target == nullptr) continue;
    const auto own = textureOfVariant(*outcome.stored, own_look->carried.look.names.front());
    if (!own) return own.error();
    outcome.variants.push_back(
        {own_look->carried.look.names, texturePsnr(*own, *own_look->target, options.samples, options.seed)});
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
