#include "heatskin/pipeline/rewrite_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "heatskin/base/files.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/fallback_texture.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {

std::string messagePrefix(const Asset& asset) {
  return asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
}

std::vector<std::vector<std::uint32_t>> primitiveConstants(const Product& product,
                                                           const ConstantFaces& faces) {
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& mesh : product.asset.meshes)
    constants.emplace_back(mesh.primitives.size(), 0u);
  for (std::uint32_t f = 0; f < product.surface->faceCount(); ++f) {
    const FaceSource& source = product.surface->sources()[f];
    const std::uint32_t channels = faces.channelsOf(f);
    std::uint32_t groups = 0;
    for (std::size_t g = 0; g < product.kernels.layout.groups().size(); ++g)
      groups |= (channels >> product.kernels.layout.groups()[g].first & 1u) << g;
    constants[static_cast<std::size_t>(product.asset.instances[source.instance].mesh)][source.primitive] =
        groups;
  }
  return constants;
}

Result<RewrittenProduct> rewriteProduct(const Asset& asset, std::shared_ptr<const Surface> surface,
                                        const KernelSet& kernels, const EvaluatorOptions& options,
                                        const ProductInfo& info, const ProductFile& file,
                                        const OpenOptions& open, int position_bits) {
  const auto writer =
      ProductWriter::create(asset, std::move(surface), true, kernels, options, info, file, position_bits);
  if (!writer) return writer.error();
  std::optional<PreprocessingCache> own;
  if (open.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  const Preparation preparation{open.progress != nullptr ? open.progress : &silentProgress(),
                                own ? &*own : open.cache};
  auto texture =
      KernelTexture::create(writer->surface(), writer->kernels(), options, preparation, writer->constants());
  if (!texture) return texture.error();
  std::vector<FallbackImage> images;
  if (!writer->fallbackRequests().empty()) {
    auto baked = bakeFallbacks(*texture, asset, *writer, file.variants);
    if (!baked) return baked.error();
    images = std::move(*baked);
  }
  auto bytes = writer->finish(*texture, images);
  if (!bytes) return bytes.error();
  auto read = readGltfBytes(*bytes, "product.glb");
  if (!read) return failure(read.error().message);
  auto product = writer->readBack(std::move(*read));
  if (!product) return product.error();
  return RewrittenProduct{std::move(*bytes), {std::move(*product), std::move(*texture)}};
}

Result<RewrittenProduct> replaceKernels(const Product& product, const KernelSet& kernels,
                                        const OpenOptions& open, int position_bits,
                                        std::vector<VariantKernels> variants) {
  const bool textures = std::any_of(product.asset.materials.begin(), product.asset.materials.end(),
                                    [](const Material& m) { return m.base_color.texture >= 0; });
  const auto constants = primitiveConstants(product, product.constants);
  ProductFile file(textures ? Fallback::kTexture : Fallback::kVertex);
  file.charts = product.chart_bytes > 0;
  file.constants = &constants;
  file.variants = std::move(variants);
  return rewriteProduct(product.asset, product.surface, kernels, product.options, product.info, file, open,
                        position_bits);
}

int positionBits(const Product& product) {
  if (product.asset.file == nullptr) return 0;
  std::span<const std::uint8_t> text = *product.asset.file;
  if (gltf::hasGlbMagic(text)) {
    const auto container = gltf::splitGlb(text);
    if (!container) return 0;
    text = container->json;
  }
  const GltfJson root = GltfJson::parse(text.begin(), text.end(), nullptr, false);
  const GltfJson::json_pointer place("/extensions/HSK_kernel_texture/kernels/bits/barycentric");
  if (root.is_discarded() || !root.contains(place) || !root[place].is_number_integer()) return 0;
  const int bits = root[place].get<int>();
  return bits >= 1 && bits <= 16 ? bits : 0;
}

Result<Asset> meshForKernels(Asset mesh) {
  if (isProduct(mesh)) {
    // Its geometry counts; its kernels and what stands in for them do not.
    mesh.raw_extensions.clear();
    mesh.file = nullptr;
    for (Mesh& m : mesh.meshes) {
      for (Primitive& primitive : m.primitives)
        primitive.colors.clear();
    }
  }
  if (mesh.file != nullptr) return mesh;
  const auto glb = encodeGlb(mesh);
  if (!glb) return glb.error();
  auto read = readGltfBytes(*glb, mesh.path);
  if (!read) return read.error();
  read->notices = std::move(mesh.notices);
  return read;
}

double texturePsnr(const KernelTexture& texture, const FitTarget& target, std::size_t samples,
                   std::uint64_t seed, const std::vector<std::uint8_t>& skip) {
  std::vector<SurfacePoint> points = sampleSurface(texture.surface(), samples, seed);
  if (!skip.empty()) std::erase_if(points, [&](const SurfacePoint& p) { return skip[p.face] != 0; });
  const std::size_t channels = texture.layout().size();
  const std::size_t first = texture.layout().find("base_color")->first;
  std::vector<float> got(points.size() * channels), wanted(got.size()), seen(points.size(), 1.0f);
  texture.values(points, got);
  target.values(points, wanted);
  if (target.hasAlpha()) target.visibilities(points, seen);
  double sum = 0, counted = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t c = first; c < first + 3; ++c) {
      const auto error = static_cast<double>(got[i * channels + c] - wanted[i * channels + c]);
      sum += static_cast<double>(seen[i]) * error * error;
    }
    counted += 3 * static_cast<double>(seen[i]);
  }
  return sum > 0 ? -10 * std::log10(sum / counted) : std::numeric_limits<double>::infinity();
}

ImageF targetErrorSheet(const KernelTexture& texture, const FitTarget& target) {
  const std::size_t channels = texture.layout().size();
  const std::size_t first = texture.layout().find("base_color")->first;
  PictureSources sources;
  sources.surface = &texture.surface();
  sources.reference = [&target, channels, first](std::span<const SurfacePoint> points,
                                                 std::span<Vec3f> colors) {
    std::vector<float> values(points.size() * channels);
    target.values(points, values);
    for (std::size_t i = 0; i < points.size(); ++i)
      colors[i] = Eigen::Map<const Vec3f>(values.data() + i * channels + first);
  };
  sources.fitted = textureColors(texture);
  sources.error = errorMap(sources.reference, sources.fitted);
  sources.coverage = coverageMap(texture);
  return errorSheet(sources);
}

}  // namespace heatskin
