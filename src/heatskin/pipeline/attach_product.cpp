#include "heatskin/pipeline/attach_product.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/product/reseat_kernels.h"
#include "heatskin/surface/face_matching.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

std::string nameOf(const Asset& asset) {
  return asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
}

/// The model as a glTF file, which is what gets the kernels.
Result<Asset> asGltf(Asset model) {
  if (model.file != nullptr) return model;
  const auto glb = encodeGlb(model);
  if (!glb) return glb.error();
  auto read = readGltfBytes(*glb, model.path);
  if (!read) return read.error();
  read->notices = std::move(model.notices);
  return read;
}

/// Groups of channels, one bit each, in which a face of the product has its material's values.
std::uint32_t constantGroupsOf(const Product& product, std::uint32_t face) {
  const std::uint32_t channels = product.constants.channelsOf(face);
  std::uint32_t groups = 0;
  for (std::size_t g = 0; g < product.kernels.layout.groups().size(); ++g)
    groups |= (channels >> product.kernels.layout.groups()[g].first & 1u) << g;
  return groups;
}

/// In which groups the primitives of the model have their materials' values: as the faces of the product that
/// theirs match. Refuses primitives where these differ.
Result<std::vector<std::vector<std::uint32_t>>> constantPrimitives(const Product& product, const Asset& model,
                                                                   const Surface& surface,
                                                                   const FaceMatching& matching) {
  constexpr std::uint32_t kUnknown = ~0u;
  std::vector<std::vector<std::uint32_t>> constant;
  for (const Mesh& mesh : model.meshes)
    constant.emplace_back(mesh.primitives.size(), kUnknown);
  for (std::uint32_t f = 0; f < product.surface->faceCount(); ++f) {
    if (matching.face[f] == kNone) continue;
    const FaceSource& source = surface.sources()[matching.face[f]];
    const auto mesh = static_cast<std::size_t>(model.instances[source.instance].mesh);
    std::uint32_t& groups = constant[mesh][source.primitive];
    const std::uint32_t here = constantGroupsOf(product, f);
    if (groups == kUnknown) groups = here;
    if (groups == here) continue;
    return inputError(
        fmt::format("mesh {}, primitive {}: parts with kernels and parts of one colour, which "
                    "had materials of their own, were joined",
                    model.meshes[mesh].source, model.meshes[mesh].primitives[source.primitive].source),
        error_code::kOtherShape);
  }
  for (std::vector<std::uint32_t>& mesh : constant)
    std::replace(mesh.begin(), mesh.end(), kUnknown, 0u);
  return constant;
}

/// Colours before and after at the same points.
void compareColors(const KernelTexture& before, const KernelTexture& after, const FaceMatching& matching,
                   const AttachOptions& options, AttachOutcome& outcome) {
  std::vector<SurfacePoint> here, there;
  for (const SurfacePoint& point : sampleSurface(before.surface(), options.check_samples, options.seed)) {
    if (matching.face[point.face] == kNone) continue;
    here.push_back(point);
    there.push_back(matchingPoint(matching, point));
  }
  if (here.empty()) return;
  std::vector<Vec3f> old_colors(here.size()), new_colors(here.size());
  before.colors(here, old_colors);
  after.colors(there, new_colors);
  std::vector<double> largest(here.size());
  double sum = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    const Vec3 difference = 255 * (old_colors[i] - new_colors[i]).cast<double>().cwiseAbs();
    largest[i] = difference.maxCoeff();
    sum += difference.sum();
  }
  outcome.mean_difference = sum / static_cast<double>(3 * here.size());
  const auto at = largest.begin() + static_cast<std::ptrdiff_t>((largest.size() - 1) * 99 / 100);
  std::nth_element(largest.begin(), at, largest.end());
  outcome.p99_difference = *at;
  outcome.largest_difference = *std::max_element(at, largest.end());
}

Result<AttachOutcome> attach(const LoadedProduct& loaded, Asset model, const AttachOptions& options) {
  const Product& product = loaded.product;
  AttachOutcome outcome;
  auto converted = asGltf(std::move(model));
  if (!converted) return converted.error();
  const Asset target = std::move(*converted);
  auto built = buildSurface(target, productSurfaceOptions(methodOf(product.options)));
  if (!built) return built.error();
  const auto surface = std::make_shared<const Surface>(std::move(*built));
  outcome.notices = target.notices;
  for (Notice& notice : surface->notices())
    outcome.notices.push_back(std::move(notice));
  if (!product.variants.empty()) {
    outcome.notices.push_back({"variants_left_out",
                               "kernels are attached with the values of the default materials; those of "
                               "material variants are left out"});
  }

  const auto matching = matchFaces(*product.surface, *surface);
  if (!matching) return matching.error().prefixed(nameOf(target));
  auto constants = constantPrimitives(product, target, *surface, *matching);
  if (!constants) return constants.error().prefixed(nameOf(target));
  const ReseatedKernels reseated = reseatKernels(product.kernels, *product.surface, *surface, *matching);

  ProductFile file(Fallback::kOriginal);
  file.extras = options.extras;
  file.constants = &*constants;
  const auto writer = ProductWriter::create(target, surface, true, reseated.kernels, product.options,
                                            product.info, file, product.rounding);
  if (!writer) return writer.error();
  std::optional<PreprocessingCache> own;
  if (options.open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  const Preparation preparation{options.open.progress != nullptr ? options.open.progress : &silentProgress(),
                                own ? &*own : options.open.cache};
  const auto texture = KernelTexture::create(writer->surface(), writer->kernels(), product.options,
                                             preparation, writer->constants());
  if (!texture) return texture.error();
  auto bytes = writer->finish(*texture);
  if (!bytes) return bytes.error();
  auto read = readGltfBytes(*bytes, "product.glb");
  if (!read) return failure(read.error().message);
  if (const auto same = writer->readBack(std::move(*read)); !same) return same.error();

  compareColors(loaded.texture, *texture, *matching, options, outcome);
  outcome.kernels = reseated.kernels.size();
  outcome.triangles = product.surface->faceCount();
  outcome.lost_triangles = matching->lost;
  outcome.moved_kernels = reseated.moved;
  outcome.largest_move = matching->largest_move / 2;  // the longest side is 2
  outcome.tolerance = matching->tolerance / 2;
  if (!(outcome.mean_difference <= kMostMeanDifference)) {
    return inputError(
        fmt::format(
            "{}the colours of the kernels are not the same there: they differ by {:.1f} of 255 levels in "
            "the mean and by {:.0f} at most",
            nameOf(target), outcome.mean_difference, outcome.largest_difference),
        error_code::kOtherShape);
  }
  outcome.bytes = std::move(*bytes);
  return outcome;
}

}  // namespace

Result<AttachOutcome> attachKernels(const LoadedProduct& product, Asset model, const AttachOptions& options) {
  try {
    return attach(product, std::move(model), options);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory to attach the kernels");
  }
}

Result<std::vector<std::uint8_t>> encodeSidecar(const Product& product) {
  Asset bare = product.asset;
  bare.file = nullptr;
  bare.images.clear();
  bare.textures.clear();
  for (Material& material : bare.materials)
    material.base_color = {};
  for (Mesh& mesh : bare.meshes) {
    for (Primitive& primitive : mesh.primitives) {
      primitive.uv_sets.clear();
      primitive.colors.clear();
    }
  }
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& mesh : bare.meshes)
    constants.emplace_back(mesh.primitives.size(), 0u);
  for (std::uint32_t f = 0; f < product.surface->faceCount(); ++f) {
    const FaceSource& source = product.surface->sources()[f];
    constants[static_cast<std::size_t>(bare.instances[source.instance].mesh)][source.primitive] =
        constantGroupsOf(product, f);
  }
  // Positions and triangles as glTF, without normals.
  GlbOptions options;
  options.normals = false;
  const auto glb = encodeGlb(bare, options);
  if (!glb) return glb.error();
  auto read = readGltfBytes(*glb, "sidecar.glb");
  if (!read) return failure(read.error().message);
  if (read->meshes.size() != bare.meshes.size()) return failure("a mesh without triangles cannot be written");
  auto surface = buildSurface(*read, productSurfaceOptions(methodOf(product.options)));
  if (!surface) return surface.error();
  // The same positions give the same surface, and hence the same faces.
  if (surface->faceCount() != product.surface->faceCount()) return failure("triangles were lost in writing");
  ProductFile file(Fallback::kOriginal);
  file.constants = &constants;
  const auto shared = std::make_shared<const Surface>(std::move(*surface));
  const auto writer = ProductWriter::create(*read, shared, true, product.kernels, product.options,
                                            product.info, file, product.rounding);
  if (!writer) return writer.error();
  return writer->finishPlain();
}

}  // namespace heatskin
