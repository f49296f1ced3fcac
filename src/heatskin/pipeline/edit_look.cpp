#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/fingerprint.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/edit_patch.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/transfer/carried_target.h"

namespace heatskin {
namespace {

/// Of a value at edited places: kernels with a larger part there are fitted again.
constexpr float kReachesStroke = 0.02f;

/// Kernels across the radius of a brush, for its rim to be as sharp as it is asked for.
constexpr double kKernelsAcross = 5;
constexpr std::size_t kLeastNewKernels = 8;

/// Points that say how much of the surface is edited.
constexpr std::size_t kAreaPoints = 50'000;

/// A kernel as bytes, to tell whether it is the same one.
std::string kernelKey(const KernelSet& kernels, std::size_t i) {
  std::string key;
  const auto add = [&](const auto& value) {
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    key.append(bytes, sizeof(value));
  };
  add(kernels.positions[i].face);
  for (const double b : kernels.positions[i].barycentric)
    add(b);
  for (const float x : {kernels.angles[i], kernels.anisotropies[i], kernels.thresholds[i],
                        kernels.sharpnesses[i], kernels.lengths[i]})
    add(x);
  for (std::size_t c = 0; c < kernels.layout.size(); ++c)
    add(kernels.channels.row(i)[c]);
  return key;
}

/// Kernels of one set that the other has not.
std::vector<std::uint32_t> onlyIn(const KernelSet& set, const KernelSet& other) {
  std::map<std::string, std::size_t> there;
  for (std::size_t i = 0; i < other.size(); ++i)
    ++there[kernelKey(other, i)];
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < set.size(); ++i) {
    const auto found = there.find(kernelKey(set, i));
    if (found != there.end() && found->second > 0) {
      --found->second;
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

/// Kernels that the strokes need besides those that are there.
std::size_t kernelsForStrokes(const LookEdit& edit, const Surface& surface, const KernelSet& kernels) {
  double finest = 0;
  for (const EditOperation& operation : edit.operations()) {
    if (operation.kind != EditOperation::Kind::kPaint) continue;
    for (const EditRegion& region : operation.regions) {
      const double radius = region.radius * surface.surfaceFromAsset().scale;
      finest = finest > 0 ? std::min(finest, radius) : radius;
    }
  }
  if (!(finest > 0)) return 0;
  std::size_t inside = 0, there = 0;
  for (const SurfacePoint& p : sampleSurface(surface, kAreaPoints, 0))
    inside += edit.weight(p) > 0 ? 1 : 0;
  for (const SurfacePoint& p : kernels.positions)
    there += edit.weight(p) > 0 ? 1 : 0;
  const double area = surface.totalArea() * static_cast<double>(inside) / kAreaPoints;
  const double spacing = finest / kKernelsAcross;
  const auto wanted = static_cast<std::size_t>(
      std::min(area / (spacing * spacing), 0.5 * static_cast<double>(kernels.size())));
  return std::max(kLeastNewKernels, wanted > there ? wanted - there : 0);
}

Result<EditOutcome> finished(const LoadedProduct& loaded, const KernelSet& kernels,
                             const EditOptions& options, EditOutcome outcome) {
  const Product& product = loaded.product;
  auto written = replaceKernels(product, kernels, options.open, positionBits(product));
  if (!written) return written.error();
  outcome.bytes = std::move(written->bytes);
  outcome.stored.emplace(std::move(written->stored));
  const KernelSet& after = outcome.stored->product.kernels;
  outcome.kernels_changed = onlyIn(after, product.kernels).size();
  outcome.kernels_kept = after.size() - outcome.kernels_changed;
  if (!product.variants.empty()) {
    outcome.notices.push_back({"variants_left_out",
                               "the values of material variants are left out; those of the default "
                               "materials are edited"});
  }
  return outcome;
}

Result<EditOutcome> applied(const LoadedProduct& loaded, const std::vector<EditOperation>& operations,
                            const EditOptions& options, EditPatch* patch) {
  const Product& product = loaded.product;
  const Surface& surface = *product.surface;
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  const auto edit = LookEdit::create(operations, surface, product.kernels.layout);
  if (!edit) return edit.error();
  const std::vector<std::uint8_t> faces = edit->faces();
  const TextureTarget look(loaded.texture);
  const EditedTarget target(look, *edit);
  const RegionTarget brush(target, faces, [&](const SurfacePoint& p) { return edit->weight(p) > 0; });
  const Error nothing = inputError("the edit reaches nothing of the surface");
  if (std::none_of(faces.begin(), faces.end(), [](std::uint8_t f) { return f != 0; })) return nothing;

  EditOutcome outcome;
  std::vector<std::uint8_t> touched(surface.faceCount(), 0);
  std::size_t inside = 0;
  const std::vector<SurfacePoint> points = sampleSurface(surface, kAreaPoints, 1);
  for (const SurfacePoint& p : points)
    inside += edit->weight(p) > 0 ? 1 : 0;
  outcome.changed_area = static_cast<double>(inside) / static_cast<double>(points.size());
  outcome.changed_triangles = static_cast<std::size_t>(std::count(faces.begin(), faces.end(), 1));

  KernelSet kernels = product.kernels;
  const FitConfig config = configFor(product.options, kernels.size(), options.seed);
  outcome.kernels_added =
      addKernels(surface, brush, config, kernelsForStrokes(*edit, surface, kernels), kernels);
  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  auto evaluator = makeEvaluator(surface, product.options, {&progress, own ? &*own : options.open.cache});
  if (!evaluator) return evaluator.error();
  if (auto possible = (*evaluator)->check(kernels, 1); !possible)
    return inputError(possible.error().message, possible.error().code);
  progress.begin("refitting", 0);
  std::vector<std::uint8_t> free =
      kernelsInReach(surface, brush, **evaluator, kernels, config, kReachesStroke);
  std::fill(free.begin() + static_cast<std::ptrdiff_t>(product.kernels.size()), free.end(), 1);
  std::vector<std::uint8_t> region = facesInReach(surface, kernels, free, product.options);
  for (std::size_t f = 0; f < region.size(); ++f) {
    region[f] = region[f] != 0 || faces[f] != 0 ? 1 : 0;
    touched[f] = region[f];
  }
  const RegionTarget around(target, std::move(region));
  outcome.refit = refitKernels(surface, around, **evaluator, free, config, options.refit, kernels);
  progress.end();
  if (outcome.refit.free_kernels == 0) return nothing;
  if (!(outcome.refit.psnr_after > outcome.refit.psnr_before)) {
    // Nothing was to be changed: the look is what was asked for.
    kernels = product.kernels;
    outcome.kernels_added = 0;
  }
  auto done = finished(loaded, kernels, options, std::move(outcome));
  if (!done) return done.error();
  const KernelTexture& texture = done->stored->texture;
  done->surface_psnr = texturePsnr(texture, target, options.samples, options.seed);
  // Outside of the edit nothing is to change.
  done->surface_psnr_source = texturePsnr(texture, look, options.samples, options.seed, faces);
  if (patch != nullptr) {
    const KernelSet& after = done->stored->product.kernels;
    patch->operations = operations;
    patch->before = kernelFingerprint(product.kernels);
    patch->after = kernelFingerprint(after);
    patch->replaced = onlyIn(after, product.kernels);
    patch->restored = product.kernels;
    patch->restored.select(onlyIn(product.kernels, after));
  }
  return done;
}

Result<EditOutcome> undone(const LoadedProduct& loaded, const EditPatch& patch, const EditOptions& options) {
  const Product& product = loaded.product;
  if (patch.after.empty()) return inputError("the patch has nothing to undo");
  if (kernelFingerprint(product.kernels) != patch.after) {
    return inputError(messagePrefix(product.asset) +
                      "its kernels are not those that the patch made: it can be undone only where it was the "
                      "last edit");
  }
  std::vector<std::uint32_t> kept;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < product.kernels.size(); ++i) {
    if (next < patch.replaced.size() && patch.replaced[next] == i) {
      ++next;
    } else {
      kept.push_back(i);
    }
  }
  if (next != patch.replaced.size()) return inputError("the patch names kernels that do not exist");
  KernelSet kernels = product.kernels;
  kernels.select(kept);
  const KernelSet& back = patch.restored;
  const std::size_t before = kernels.size();
  kernels.resize(before + back.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    if (back.positions[i].face >= product.surface->faceCount())
      return inputError("the patch names triangles that do not exist");
    kernels.positions[before + i] = back.positions[i];
    kernels.angles[before + i] = back.angles[i];
    kernels.anisotropies[before + i] = back.anisotropies[i];
    kernels.thresholds[before + i] = back.thresholds[i];
    kernels.sharpnesses[before + i] = back.sharpnesses[i];
    kernels.lengths[before + i] = back.lengths[i];
    std::copy_n(back.channels.row(i), back.layout.size(), kernels.channels.row(before + i));
  }
  if (kernels.size() == 0) return inputError("the patch leaves no kernels");
  auto done = finished(loaded, kernels, options, EditOutcome());
  if (!done) return done.error();
  if (kernelFingerprint(done->stored->product.kernels) != patch.before)
    return inputError("the patch is damaged: what it restores is not what was there");
  const TextureTarget look(loaded.texture);
  done->surface_psnr_source = texturePsnr(done->stored->texture, look, options.samples, options.seed);
  done->surface_psnr = done->surface_psnr_source;
  return done;
}

}  // namespace

std::string kernelFingerprint(const KernelSet& kernels) {
  Fingerprint fingerprint;
  std::string all;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    all += kernelKey(kernels, i);
  fingerprint.add(std::span<const char>(all.data(), all.size()));
  std::string text;
  for (const std::uint8_t byte : fingerprint.value())
    text += fmt::format("{:02x}", byte);
  return text;
}

Result<EditOutcome> editLook(const LoadedProduct& product, const std::vector<EditOperation>& operations,
                             const EditOptions& options, EditPatch* patch) {
  try {
    return applied(product, operations, options, patch);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the edit");
  }
}

Result<EditOutcome> undoEdit(const LoadedProduct& product, const EditPatch& patch,
                             const EditOptions& options) {
  try {
    return undone(product, patch, options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the edit");
  }
}

}  // namespace heatskin
