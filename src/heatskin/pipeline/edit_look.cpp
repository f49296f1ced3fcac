#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/fingerprint.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/carried_looks.h"
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

/// Values of a kernel as bytes.
void addChannels(const KernelSet& kernels, std::size_t i, std::string& key) {
  for (std::size_t c = 0; c < kernels.layout.size(); ++c) {
    char bytes[sizeof(float)];
    std::memcpy(bytes, kernels.channels.row(i) + c, sizeof(float));
    key.append(bytes, sizeof(float));
  }
}

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
  addChannels(kernels, i, key);
  return key;
}

/// The kernels of a product with their values in all looks.
struct LookedKernels {
  const KernelSet* kernels;
  std::span<const ProductLook> looks;

  /// Their values in the variant of a name.
  const KernelSet& in(const std::string& name) const {
    for (const ProductLook& look : looks) {
      if (std::find(look.look.names.begin(), look.look.names.end(), name) != look.look.names.end())
        return look.kernels;
    }
    return *kernels;
  }
};

/// Kernels of one product that another one of the same variants has not, in some look.
std::vector<std::uint32_t> onlyIn(const LookedKernels& set, const LookedKernels& other,
                                  const std::vector<std::string>& names) {
  std::vector<std::pair<const KernelSet*, const KernelSet*>> pairs = {{set.kernels, other.kernels}};
  for (const std::string& name : names) {
    const std::pair pair(&set.in(name), &other.in(name));
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  const auto key = [&](const auto& of, std::size_t i) {
    std::string all = kernelKey(*of(pairs[0]), i);
    for (std::size_t p = 1; p < pairs.size(); ++p)
      addChannels(*of(pairs[p]), i, all);
    return all;
  };
  const auto mine = [](const auto& pair) { return pair.first; };
  const auto theirs = [](const auto& pair) { return pair.second; };
  std::map<std::string, std::size_t> there;
  for (std::size_t i = 0; i < other.kernels->size(); ++i)
    ++there[key(theirs, i)];
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < set.kernels->size(); ++i) {
    const auto found = there.find(key(mine, i));
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

/// A look with the operations that change it. The default one comes first and has no names.
struct PaintedLook {
  VariantLook look;
  const ProductLook* source = nullptr;  ///< whose values it had; null: the default's
  std::vector<std::uint8_t> applies;    // [operations] nonzero: that one does
  std::optional<KernelTexture> texture;
  std::optional<LookEdit> edit;  ///< nothing: no operation applies
  std::unique_ptr<const FitTarget> values, target;
  KernelSet kernels;

  bool painted() const { return edit.has_value(); }
  const ConstantFaces& constants(const Product& product) const {
    return source == nullptr ? product.constants : source->constants;
  }
};

/// The looks there will be: variants that have one look and are changed alike stay one.
Result<std::vector<PaintedLook>> paintedLooks(const LoadedProduct& loaded, std::span<const ProductLook> looks,
                                              const std::vector<EditOperation>& operations) {
  const Product& product = loaded.product;
  const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto appliesTo = [&](const std::string& name) {
    std::vector<std::uint8_t> applies;
    for (const EditOperation& operation : operations)
      applies.push_back(!operation.variants || contains(*operation.variants, name) ? 1 : 0);
    return applies;
  };
  std::vector<PaintedLook> result(1);
  result[0].applies = appliesTo("");
  // A product that was opened with one of its variants has that look alone.
  if (!product.asset.variant.empty()) result[0].applies.assign(operations.size(), 1);
  for (const std::string& name :
       product.asset.variant.empty() ? product.asset.variants : std::vector<std::string>()) {
    const auto source = std::find_if(
        looks.begin(), looks.end(), [&](const ProductLook& look) { return contains(look.look.names, name); });
    PaintedLook own;
    own.source = source == looks.end() ? nullptr : &*source;
    own.applies = appliesTo(name);
    if (own.source == nullptr && own.applies == result[0].applies) continue;
    const auto known = std::find_if(result.begin() + 1, result.end(), [&](const PaintedLook& other) {
      return other.source == own.source && other.applies == own.applies;
    });
    if (known != result.end()) {
      known->look.names.push_back(name);
      continue;
    }
    own.look.names.push_back(name);
    if (own.source != nullptr) own.look.changes = own.source->look.changes;
    result.push_back(std::move(own));
  }
  for (PaintedLook& look : result) {
    std::vector<EditOperation> own;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (look.applies[i] != 0) own.push_back(operations[i]);
    }
    if (!own.empty()) {
      auto edit = LookEdit::create(std::move(own), *product.surface, product.kernels.layout);
      if (!edit) return edit.error();
      look.edit.emplace(std::move(*edit));
    }
    look.kernels = look.source == nullptr ? product.kernels : look.source->kernels;
    look.texture.emplace(look.source == nullptr
                             ? loaded.texture
                             : loaded.texture.withValues(look.kernels, look.source->constants));
  }
  for (PaintedLook& look : result) {  // they stay where they are from here on
    look.values = std::make_unique<const TextureTarget>(*look.texture);
    if (look.painted()) {
      look.target = std::make_unique<const EditedTarget>(*look.values, *look.edit);
    } else {
      look.target = std::make_unique<const TextureTarget>(*look.texture);
    }
  }
  return result;
}

/// Writes the product with other kernels; `before` are its looks.
Result<EditOutcome> finished(const LoadedProduct& loaded, std::span<const ProductLook> before,
                             const KernelSet& kernels, std::vector<VariantKernels> variants,
                             const EditOptions& options, EditOutcome outcome) {
  const Product& product = loaded.product;
  auto written = replaceKernels(product, kernels, options.open, positionBits(product), std::move(variants));
  if (!written) return written.error();
  outcome.bytes = std::move(written->bytes);
  outcome.stored.emplace(std::move(written->stored));
  const KernelSet& after = outcome.stored->product.kernels;
  const auto looks = productLooks(outcome.stored->product);
  if (!looks) return looks.error();
  outcome.kernels_changed =
      onlyIn({&after, *looks}, {&product.kernels, before}, product.asset.variants).size();
  outcome.kernels_kept = after.size() - outcome.kernels_changed;
  return outcome;
}

Result<EditOutcome> applied(const LoadedProduct& loaded, const std::vector<EditOperation>& operations,
                            const EditOptions& options, EditPatch* patch) {
  const Product& product = loaded.product;
  const Surface& surface = *product.surface;
  Progress& progress = options.open.progress != nullptr ? *options.open.progress : silentProgress();
  const auto edit = LookEdit::create(operations, surface, product.kernels.layout);
  if (!edit) return edit.error();
  const auto before = productLooks(product);
  if (!before) return before.error();
  auto painted = paintedLooks(loaded, *before, operations);
  if (!painted) return painted.error();
  std::vector<PaintedLook>& looks = *painted;
  const auto first_painted =
      std::find_if(looks.begin(), looks.end(), [](const PaintedLook& look) { return look.painted(); });
  if (first_painted == looks.end()) return inputError("the edit names no look of the product");
  // All kernels are in all looks: one of them, the first that changes, says where they go.
  PaintedLook& lead = *first_painted;
  const std::vector<std::uint8_t> faces = edit->faces();
  const RegionTarget brush(*lead.target, faces, [&](const SurfacePoint& p) { return edit->weight(p) > 0; });
  const Error nothing = inputError("the edit reaches nothing of the surface");
  if (std::none_of(faces.begin(), faces.end(), [](std::uint8_t f) { return f != 0; })) return nothing;

  EditOutcome outcome;
  std::size_t inside = 0;
  const std::vector<SurfacePoint> points = sampleSurface(surface, kAreaPoints, 1);
  for (const SurfacePoint& p : points)
    inside += edit->weight(p) > 0 ? 1 : 0;
  outcome.changed_area = static_cast<double>(inside) / static_cast<double>(points.size());
  outcome.changed_triangles = static_cast<std::size_t>(std::count(faces.begin(), faces.end(), 1));

  KernelSet kernels = lead.kernels;
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
  for (std::size_t f = 0; f < region.size(); ++f)
    region[f] = region[f] != 0 || faces[f] != 0 ? 1 : 0;
  const RegionTarget around(*lead.target, region);
  outcome.refit = refitKernels(surface, around, **evaluator, free, config, options.refit, kernels);
  if (outcome.refit.free_kernels == 0) {
    progress.end();
    return nothing;
  }
  if (!(outcome.refit.psnr_after > outcome.refit.psnr_before)) {
    // Nothing was to be changed: the look is what was asked for.
    kernels = lead.kernels;
    free.resize(kernels.size());
    outcome.kernels_added = 0;
  }
  for (PaintedLook& look : looks) {
    if (&look == &lead) continue;
    KernelSet values = withChannelsOf(kernels, look.kernels);
    const RegionTarget own_around(*look.target, region);
    solveLook(surface, own_around, **evaluator, free, config, values);
    look.kernels = std::move(values);
  }
  lead.kernels = std::move(kernels);
  progress.end();

  std::vector<VariantKernels> variants;
  for (std::size_t l = 1; l < looks.size(); ++l)
    variants.push_back({looks[l].look, std::move(looks[l].kernels),
                        primitiveConstants(product, looks[l].constants(product))});
  auto done = finished(loaded, *before, looks[0].kernels, std::move(variants), options, std::move(outcome));
  if (!done) return done.error();
  const KernelTexture& texture = done->stored->texture;
  done->surface_psnr = texturePsnr(texture, *looks[0].target, options.samples, options.seed);
  // Outside of the edit nothing is to change.
  done->surface_psnr_source = texturePsnr(texture, *looks[0].values, options.samples, options.seed, faces);
  for (std::size_t l = 1; l < looks.size(); ++l) {
    const auto now = textureOfVariant(*done->stored, looks[l].look.names.front());
    if (!now) return now.error();
    done->variants.push_back(
        {looks[l].look.names, texturePsnr(*now, *looks[l].target, options.samples, options.seed)});
  }
  if (patch != nullptr) {
    const auto after_looks = productLooks(done->stored->product);
    if (!after_looks) return after_looks.error();
    const LookedKernels after{&done->stored->product.kernels, *after_looks}, old{&product.kernels, *before};
    const std::vector<std::string>& names = product.asset.variants;
    patch->operations = operations;
    patch->before = kernelFingerprint(product.kernels, *before);
    patch->after = kernelFingerprint(*after.kernels, *after_looks);
    patch->replaced = onlyIn(after, old, names);
    const std::vector<std::uint32_t> gone = onlyIn(old, after, names);
    patch->restored = product.kernels;
    patch->restored.select(gone);
    for (const ProductLook& look : *before) {
      KernelSet back = look.kernels;
      back.select(gone);
      patch->looks.push_back({look.look.names, look.kernels.mean, std::move(back.channels)});
    }
  }
  return done;
}

Result<EditOutcome> undone(const LoadedProduct& loaded, const EditPatch& patch, const EditOptions& options) {
  const Product& product = loaded.product;
  if (patch.after.empty()) return inputError("the patch has nothing to undo");
  const auto looks = productLooks(product);
  if (!looks) return looks.error();
  if (kernelFingerprint(product.kernels, *looks) != patch.after) {
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
  const LookedKernels now{&product.kernels, *looks};
  std::vector<VariantKernels> variants;
  for (const EditPatch::Look& restored : patch.looks) {
    const std::string& name = restored.names.front();
    const auto found = std::find_if(looks->begin(), looks->end(), [&](const ProductLook& look) {
      return std::find(look.look.names.begin(), look.look.names.end(), name) != look.look.names.end();
    });
    VariantKernels& variant = variants.emplace_back();
    variant.look.names = restored.names;
    if (found != looks->end()) variant.look.changes = found->look.changes;
    variant.constants =
        primitiveConstants(product, found == looks->end() ? product.constants : found->constants);
    variant.kernels = kernels;
    variant.kernels.mean = restored.mean;
    const KernelSet& values = now.in(name);
    for (std::size_t i = 0; i < kept.size(); ++i)
      std::copy_n(values.channels.row(kept[i]), values.layout.size(), variant.kernels.channels.row(i));
    for (std::size_t i = 0; i < back.size(); ++i)
      std::copy_n(restored.channels.row(i), back.layout.size(), variant.kernels.channels.row(before + i));
  }
  auto done = finished(loaded, *looks, kernels, std::move(variants), options, EditOutcome());
  if (!done) return done.error();
  const auto back_again = productLooks(done->stored->product);
  if (!back_again) return back_again.error();
  if (kernelFingerprint(done->stored->product.kernels, *back_again) != patch.before)
    return inputError("the patch is damaged: what it restores is not what was there");
  const TextureTarget look(loaded.texture);
  done->surface_psnr_source = texturePsnr(done->stored->texture, look, options.samples, options.seed);
  done->surface_psnr = done->surface_psnr_source;
  return done;
}

}  // namespace

std::string kernelFingerprint(const KernelSet& kernels, std::span<const ProductLook> looks) {
  Fingerprint fingerprint;
  std::string all;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    all += kernelKey(kernels, i);
  for (const ProductLook& look : looks) {
    for (const std::string& name : look.look.names)
      all += name + '\n';
    for (std::size_t i = 0; i < look.kernels.size(); ++i)
      addChannels(look.kernels, i, all);
  }
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
