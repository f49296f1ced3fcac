#include "heatskin/pipeline/attach_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/surface/sampling.h"

#include "support/products.h"

namespace heatskin::testing {
namespace {

/// A product of the asset with random kernels, opened.
LoadedProduct productOf(const Asset& asset, const ProductFile& file = {}) {
  const auto surface = buildSurface(asset);
  EXPECT_TRUE(surface);
  const auto glb =
      encodeProduct(asset, *surface, randomKernels(*surface, 300), {}, {"heatskin", "draft", 0, 5}, {}, file);
  EXPECT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "product.glb");
  EXPECT_TRUE(read) << read.error().message;
  auto product = openProduct(std::move(*read));
  EXPECT_TRUE(product) << product.error().message;
  return std::move(*product);
}

/// What a tool might make of a primitive: triangles in another order, corners rotated, a vertex for every
/// corner, positions on a grid.
Primitive repacked(const Primitive& in, std::uint64_t seed, double step) {
  const RandomStream random(seed, 1), turns(seed, 2);
  std::vector<std::uint32_t> order(in.triangleCount());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<std::size_t>(random.uniform(i) * static_cast<double>(i + 1))]);
  Primitive out;
  out.material = in.material;
  out.uv_sets.resize(in.uv_sets.size());
  for (const std::uint32_t t : order) {
    const auto turn = static_cast<std::uint32_t>(3 * turns.uniform(t));
    for (std::uint32_t c = 0; c < 3; ++c) {
      const std::uint32_t vertex = in.triangles[3 * t + (c + turn) % 3];
      out.triangles.push_back(static_cast<std::uint32_t>(out.positions.size()));
      Vec3 p = in.positions[vertex];
      if (step > 0) p = step * (p / step).array().round().matrix();
      out.positions.push_back(p);
      if (!in.colors.empty()) out.colors.push_back(in.colors[vertex]);
      for (std::size_t set = 0; set < in.uv_sets.size(); ++set) {
        if (!in.uv_sets[set].empty()) out.uv_sets[set].push_back(in.uv_sets[set][vertex]);
      }
    }
  }
  return out;
}

/// The asset's file without kernels, everything repacked and nodes flattened; as a glTF file.
Asset reworked(Asset asset, double step) {
  asset.file = nullptr;
  asset.raw_extensions.clear();
  std::vector<Mesh> meshes;
  std::vector<Instance> instances;
  for (const Instance& instance : asset.instances) {
    Mesh mesh = asset.meshes[static_cast<std::size_t>(instance.mesh)];
    for (Primitive& primitive : mesh.primitives) {
      const bool mirrors = instance.asset_from_mesh.linear().determinant() < 0;
      for (Vec3& p : primitive.positions)
        p = instance.asset_from_mesh * p;
      for (std::size_t t = 0; mirrors && t < primitive.triangleCount(); ++t)
        std::swap(primitive.triangles[3 * t], primitive.triangles[3 * t + 1]);
      primitive = repacked(primitive, 3 + meshes.size(), step);
    }
    std::reverse(mesh.primitives.begin(), mesh.primitives.end());
    instances.push_back({"", static_cast<int>(meshes.size()), Affine3::Identity()});
    meshes.push_back(std::move(mesh));
  }
  asset.meshes = std::move(meshes);
  asset.instances = std::move(instances);
  const auto glb = encodeGlb(asset);
  EXPECT_TRUE(glb) << glb.error().message;
  auto read = readGltfBytes(*glb, "model.glb");
  EXPECT_TRUE(read) << read.error().message;
  return std::move(*read);
}

TEST(Attach, ColoursStayWhereTheyWere) {
  for (const auto& [name, asset] : {std::pair<const char*, Asset>{"sphere", assetOf(bumpySphere(3, 0.2, 1))},
                                    {"many materials", manyMaterials()},
                                    {"mirrored instances", mirroredInstances()}}) {
    const LoadedProduct product = productOf(asset);
    const auto exact = attachKernels(product, reworked(product.product.asset, 0));
    ASSERT_TRUE(exact) << name << ": " << exact.error().message;
    EXPECT_EQ(exact->kernels, 300u) << name;
    EXPECT_EQ(exact->moved_kernels, 0u) << name;
    // Angles get codes anew when corners are rotated: half a step of 0.35 degrees.
    EXPECT_LT(exact->mean_difference, 0.3) << name;
    auto read = readGltfBytes(exact->bytes, "out.glb");
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    EXPECT_TRUE(openProduct(std::move(*read))) << name;

    // A grid of 12 bits, whose centres of cells are not those of the mesh.
    const auto rounded = attachKernels(product, reworked(product.product.asset, 2.0 / 4096));
    ASSERT_TRUE(rounded) << name << ": " << rounded.error().message;
    EXPECT_LT(rounded->mean_difference, kMostMeanDifference) << name;
    EXPECT_LT(rounded->largest_move, 1e-3) << name;
  }
}

TEST(Attach, APlantedErrorInTheKernelsWouldBeSeen) {
  // The comparison of colours is what stands between a wrong match and a wrong file.
  const LoadedProduct product = productOf(assetOf(bumpySphere(3, 0.2, 1)));
  LoadedProduct other = productOf(assetOf(bumpySphere(3, 0.2, 1)));
  std::reverse(other.product.kernels.positions.begin(), other.product.kernels.positions.end());
  const auto attached = attachKernels(other, reworked(product.product.asset, 0));
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().message.find("colours"), std::string::npos) << attached.error().message;
}

TEST(Attach, PartsOfOneColourStaySo) {
  const LoadedProduct product = productOf(manyMaterials());
  ASSERT_FALSE(product.product.constants.empty());
  const auto attached = attachKernels(product, reworked(product.product.asset, 0));
  ASSERT_TRUE(attached) << attached.error().message;
  auto read = readGltfBytes(attached->bytes, "out.glb");
  ASSERT_TRUE(read);
  const auto again = openProduct(std::move(*read));
  ASSERT_TRUE(again) << again.error().message;
  const auto rows = [](const Product& p) {
    return std::count_if(p.constants.row_of_face.begin(), p.constants.row_of_face.end(),
                         [](std::uint32_t row) { return row != kNone; });
  };
  EXPECT_EQ(rows(again->product), rows(product.product));

  // Parts with and without kernels in one primitive: nobody could say any more which is which.
  Asset joined = product.product.asset;
  joined.file = nullptr;
  for (Mesh& mesh : joined.meshes) {
    Primitive all;
    for (const Primitive& primitive : mesh.primitives) {
      const auto first = static_cast<std::uint32_t>(all.positions.size());
      all.positions.insert(all.positions.end(), primitive.positions.begin(), primitive.positions.end());
      for (const std::uint32_t vertex : primitive.triangles)
        all.triangles.push_back(first + vertex);
    }
    all.material = 0;
    mesh.primitives = {all};
  }
  const auto refused = attachKernels(product, joined);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::kOtherShape);
}

TEST(Attach, RefusesAnotherShape) {
  const LoadedProduct product = productOf(assetOf(bumpySphere(3, 0.2, 1)));
  const auto other = attachKernels(product, assetOf(bumpySphere(3, 0.2, 2)));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, error_code::kOtherShape);
  EXPECT_EQ(other.error().kind, ErrorKind::kInput);
}

TEST(Attach, ASidecarIsSmallAndDoes) {
  for (const Asset& asset : {manyMaterials(), mirroredInstances()}) {
    const LoadedProduct product = productOf(asset);
    const auto sidecar = encodeSidecar(product.product);
    ASSERT_TRUE(sidecar) << sidecar.error().message;
    auto read = readGltfBytes(*sidecar, "sidecar.glb");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->images.empty());
    EXPECT_LT(sidecar->size(), product.product.asset.file->size());
    const auto opened = openProduct(std::move(*read));
    ASSERT_TRUE(opened) << opened.error().message;
    const auto attached = attachKernels(*opened, reworked(product.product.asset, 0));
    ASSERT_TRUE(attached) << attached.error().message;
    EXPECT_LT(attached->mean_difference, 0.3);
  }
}

/// The product's file without the extension, as programs write it that keep extras.
std::vector<std::uint8_t> withoutExtension(const LoadedProduct& product) {
  std::string text(product.product.asset.file->begin(), product.product.asset.file->end());
  // The same length, so that nothing else moves; once in the list, once in the object.
  for (const std::string& quoted :
       {std::string("[\"HSK_kernel_texture\"]"), std::string("\"extensions\":{\"HSK_kernel_texture\"")}) {
    const std::size_t at = text.find(quoted);
    EXPECT_NE(at, std::string::npos) << quoted;
    if (at != std::string::npos) text.replace(at + quoted.find("HSK"), 3, "XYZ");
  }
  return {text.begin(), text.end()};
}

TEST(Extras, KernelsAreFoundThereWhenTheExtensionIsGone) {
  ProductFile file;
  file.extras = true;
  const LoadedProduct product = productOf(assetOf(bumpySphere(3, 0.2, 1)), file);
  auto read = readGltfBytes(withoutExtension(product), "kept.glb");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->raw_extensions.size(), 1u);
  EXPECT_TRUE(read->raw_extensions[0].from_extras);
  const Asset kept = *read;
  const auto opened = openProduct(std::move(*read));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->product.kernels.angles, product.product.kernels.angles);
  EXPECT_EQ(opened->product.kernels.channels.values, product.product.kernels.channels.values);

  // Two triangles change places: the same number, another order.
  Asset swapped = kept;
  for (std::size_t c = 0; c < 3; ++c)
    std::swap(swapped.meshes[0].primitives[0].triangles[c], swapped.meshes[0].primitives[0].triangles[3 + c]);
  const auto refused = openProduct(std::move(swapped));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::kOtherGeometry);
}

TEST(Extras, DamagedCopiesAreRefused) {
  ProductFile file;
  file.extras = true;
  const LoadedProduct product = productOf(assetOf(bumpySphere(2, 0.2, 1)), file);
  const std::vector<std::uint8_t> glb = withoutExtension(product);
  const std::string text(glb.begin(), glb.end());
  const auto refused = [&](const std::string& what, const std::string& by) {
    std::string damaged = text;
    const std::size_t at = damaged.find(what, damaged.find("\"geometry\":"));
    ASSERT_NE(at, std::string::npos) << what;
    damaged.replace(at, by.size(), by);
    auto read = readGltfBytes(std::vector<std::uint8_t>(damaged.begin(), damaged.end()), "damaged.glb");
    if (!read) return;
    EXPECT_FALSE(openProduct(std::move(*read))) << what << " -> " << by;
  };
  refused("\"geometry\":\"", "\"geometry\":\"?");
  refused("\"views\":", "\"vjews\":");
  refused("\"extension\":", "\"extensjon\":");
  refused("\"triangles\":", "\"trjangles\":");
  refused("\"bufferView\":", "\"bufferVjew\":");
  refused(":\"e", ":\"*");  // of the first byte of any zlib stream
  refused(":\"e", ":\"f");
}

}  // namespace
}  // namespace heatskin::testing
