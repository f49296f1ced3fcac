// libFuzzer entry for products: the glTF reader hands the extension on, decodeProduct() reads it, and what
// was read must give colours. scripts/fuzz.sh builds it with clang from the modules up to texture. An input
// that begins with "glTF" is a whole file; any other is the extension's JSON, a zero byte and its buffer, for
// a cube. If the buffer begins with another zero byte, the planes of the kernels follow as they are and are
// compressed here: damage would not get past the checksum of a stream. With HEATSKIN_FUZZ_SEEDS=FOLDER valid
// inputs of all kinds are written there first, of version 1, too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/kernel_buffers.h"
#include "support/products.h"

namespace {

using namespace heatskin;
using namespace heatskin::testing;

const Asset& cubeAsset() {
  static const Asset asset = assetOf(cube(2));
  return asset;
}

void writeSeed(const std::filesystem::path& path, const RawExtension& raw,
               const std::vector<std::uint8_t>& buffer) {
  std::string input = raw.json + '\0';
  input.append(buffer.begin(), buffer.end());
  if (!writeFileAtomically(path, input)) std::abort();
}

void writeSeeds(const std::filesystem::path& folder) {
  int number = 0;
  for (const Asset& asset : {cubeAsset(), manyMaterials(), mirroredInstances()}) {
    const auto surface = buildSurface(asset);
    if (!surface) std::abort();
    const auto glb = encodeProduct(asset, *surface, randomKernels(*surface, 20), {}, {"fuzz", "draft", 1, 2});
    if (!glb) std::abort();
    const auto with_vectors = encodeProduct(asset, *surface, randomKernels(*surface, 20, 1, vectorLayout()),
                                            {}, {"fuzz", "draft", 1, 2});
    if (!with_vectors) std::abort();
    const std::string name = "product" + std::to_string(number++);
    if (!writeFileAtomically(folder / (name + "_vectors.glb"), *with_vectors)) std::abort();
    if (!writeFileAtomically(folder / (name + ".glb"), *glb)) std::abort();
    const auto read = readGltfBytes(*glb, "a.glb");
    if (!read) std::abort();
    const RawExtension& raw = read->raw_extensions.at(0);
    writeSeed(folder / name, raw, raw.views.at(0).bytes);
    const auto extension = readExtension(raw.json);
    if (!extension) std::abort();
    std::vector<std::uint8_t> planes =
        inflated(raw.views.at(0).bytes, extension->kernels * planeBytes(extension->scales));
    planes.insert(planes.begin(), 0);
    writeSeed(folder / (name + "_planes"), raw, planes);
    const RawExtension old =
        versionOneProduct(asset, *surface, randomKernels(*surface, 20), {}).raw_extensions.at(0);
    writeSeed(folder / (name + "_version1"), old, old.views.at(0).bytes);
  }
}

void check(Result<Product> product) {
  if (!product) {
    if (product.error().message.empty() || product.error().message.find('\n') != std::string::npos)
      std::abort();
    return;
  }
  const std::vector<SurfacePoint> points = sampleSurface(*product->surface, 8, 1);
  std::vector<Vec3f> colors(points.size());
  Preparation preparation;
  preparation.supports = product->supports;
  const auto texture =
      KernelTexture::create(product->surface, product->kernels, product->options, preparation);
  if (!texture) return;  // too much work for its kernels
  texture->colors(points, colors);
  for (const Vec3f& color : colors) {
    if (!(color.minCoeff() >= 0 && color.maxCoeff() <= 1)) {
      std::fprintf(stderr, "a colour out of range\n");
      std::abort();
    }
  }
  const ChannelLayout& layout = texture->layout();
  std::vector<float> values(points.size() * layout.size());
  texture->values(points, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [low, high] = layout.groupOf(i % layout.size()).range;
    if (!(values[i] >= low && values[i] <= high)) {
      std::fprintf(stderr, "a value out of range\n");
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setThreadCount(1);
  if (const char* folder = std::getenv("HEATSKIN_FUZZ_SEEDS"); folder != nullptr) writeSeeds(folder);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("glTF")) {
    LoadOptions options;
    options.max_image_pixels = options.max_total_pixels = std::size_t{1} << 20;
    options.max_vertices = options.max_triangles = std::size_t{1} << 14;
    auto asset = readGltfBytes(std::span(data, size), "/nonexistent/a.glb", options);
    if (asset) check(decodeProduct(std::move(*asset)));
    return 0;
  }
  Asset asset = cubeAsset();
  const std::size_t end = std::min(input.find('\0'), size);
  RawExtension raw;
  raw.name = "HSK_kernel_texture";
  raw.json = input.substr(0, end);
  raw.listed = true;
  std::vector<std::uint8_t> buffer(data + std::min(end + 1, size), data + size);
  if (!buffer.empty() && buffer[0] == 0) buffer = deflated(std::span(buffer).subspan(1));
  // Whatever small index the JSON names, the buffer is there.
  for (std::size_t view = 0; view < 32; ++view)
    raw.views.push_back({view, buffer});
  asset.raw_extensions.push_back(std::move(raw));
  check(decodeProduct(std::move(asset)));
  return 0;
}
