#include "heatskin/product/product.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/kernel_columns.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/quantize.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/assets.h"
#include "support/kernel_buffers.h"
#include "support/products.h"
#include "support/temporary_folder.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;

const ProductInfo kInfo = {"heatskin test", "draft", 42, 200};

/// An asset with its surface and kernels on it.
struct Fitted {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  KernelSet kernels;
  EvaluatorOptions options;
};

Fitted fitted(Asset asset, std::size_t count = 400) {
  Fitted out;
  out.asset = std::move(asset);
  auto surface = buildSurface(out.asset);
  if (!surface) {
    ADD_FAILURE() << surface.error().message;
    return out;
  }
  out.surface = std::make_shared<const Surface>(std::move(*surface));
  out.kernels = randomKernels(*out.surface, count);
  return out;
}

std::vector<std::uint8_t> encoded(const Fitted& f) {
  auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
  EXPECT_TRUE(glb) << glb.error().message;
  return glb ? std::move(*glb) : std::vector<std::uint8_t>();
}

Result<Product> decoded(const std::vector<std::uint8_t>& glb) {
  auto asset = readGltfBytes(glb, "product.glb");
  if (!asset) return asset.error();
  return decodeProduct(std::move(*asset));
}

/// 68 to 73 dB were measured for fits of spot. Random kernels have residuals all over [-1, 1], which costs 15
/// dB: 54 dB with 2,000 of them on spot.
constexpr double kSameColors = 50;  // dB

/// PSNR between the fitted set and the product at random points, both asked at the same places in space.
double agreement(const Fitted& f, const Product& product) {
  const std::vector<SurfacePoint> points = sampleSurface(*f.surface, 4000, 9);
  const SourceTriangles from(f.asset, *f.surface), to(product.asset, *product.surface);
  std::vector<SurfacePoint> there;
  for (const SurfacePoint& p : points) {
    const TrianglePoint t = from.toTriangle(p);
    EXPECT_NE(to.faceOf(t.triangle), kNone);
    there.push_back(to.toSurface(t));
    const Vec3 a = f.surface->assetFromSurface()(f.surface->position(p));
    const Vec3 b = product.surface->assetFromSurface()(product.surface->position(there.back()));
    // float32 positions: 6e-8 of the coordinates, here of size up to 4.
    EXPECT_LT((a - b).norm(), 1e-6 / f.surface->surfaceFromAsset().scale);
  }
  std::vector<Vec3f> expected(points.size()), colors(points.size());
  KernelTexture::create(f.surface, f.kernels, f.options, {}, constantFaces(Appearance(f.asset, *f.surface)))
      ->colors(points, expected);
  KernelTexture::create(product.surface, product.kernels, product.options, {}, product.constants)
      ->colors(there, colors);
  double error = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    error += static_cast<double>((colors[i] - expected[i]).squaredNorm()) / 3;
  return -10 * std::log10(error / static_cast<double>(points.size()) + 1e-12);
}

/// Which of the fitted kernels each kernel of a product was: the one with the nearest values.
std::vector<std::uint32_t> orderOf(const KernelSet& stored, const Fitted& f) {
  const KernelSet& k = f.kernels;
  std::vector<std::uint32_t> order(stored.size());
  std::set<std::uint32_t> used;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    double nearest = 1e300;
    for (std::uint32_t j = 0; j < k.size(); ++j) {
      const double distance = std::abs(std::log(stored.lengths[i] / k.lengths[j])) +
                              std::abs(std::log(stored.sharpnesses[i] / k.sharpnesses[j])) +
                              std::abs(std::log(stored.anisotropies[i] / k.anisotropies[j])) +
                              static_cast<double>((stored.channels[i] - k.channels[j]).cwiseAbs().sum());
      if (distance < nearest) nearest = distance, order[i] = j;
    }
    used.insert(order[i]);
  }
  EXPECT_EQ(used.size(), k.size()) << "every kernel is there once";
  return order;
}

void expectRoundTrip(const Fitted& f) {
  const std::vector<std::uint8_t> glb = encoded(f);
  auto product = decoded(glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->kernels.size(), f.kernels.size());
  EXPECT_EQ(product->kernels.mean, f.kernels.mean);
  EXPECT_LE(product->bytesPerKernel(), 20) << "what version 1 took";
  EXPECT_EQ(product->info.generator, kInfo.generator);
  EXPECT_EQ(product->info.seed, kInfo.seed);
  EXPECT_EQ(product->surface->faceCount(), f.surface->faceCount());
  EXPECT_GT(agreement(f, *product), kSameColors);
  const auto again =
      encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, glb) << "reading and writing again changes nothing";
}

TEST(Product, RoundTripOfAPlainMesh) {
  expectRoundTrip(fitted(assetOf(bumpySphere(3, 0.2, 1))));
}

/// `method` with a preprocessing that takes little time.
Fitted fittedWith(std::string_view method, Asset asset, std::size_t count = 400) {
  // As `heatskin fit` does.
  const auto moved = useStoredGeometry(asset);
  EXPECT_TRUE(moved) << moved.error().message;
  Fitted f = fitted(std::move(asset), count);
  MethodChoice options;
  options.method = *methodNamed(method);
  options.thermal.rank = 64;
  options.thermal.oversampling = 32;
  options.thermal.seed = 5;
  options.spectral.modes = 60;
  f.options = options.options();
  return f;
}

class ProductMethod : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ProductMethod, RoundTrip) {
  const Fitted f = fittedWith(GetParam(), assetOf(bumpySphere(2, 0.2, 1)));
  expectRoundTrip(f);
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(methodName(product->options), GetParam());
  if (const auto* thermal = std::get_if<thermal::ThermalOptions>(&product->options)) {
    EXPECT_EQ(thermal->rank, 64u);
  }
  if (const auto* spectral = std::get_if<spectral::HktexOptions>(&product->options)) {
    EXPECT_EQ(spectral->modes, 60u);
  }
}

TEST_P(ProductMethod, RoundTripOfMirroredInstances) {
  expectRoundTrip(fittedWith(GetParam(), mirroredInstances(), 200));
}

// Preset `paper` clamps angles to [0, pi], and many kernels end there. The file's angles have period pi, but
// HKTex's aligned bases at 0 and 180 degrees differ.
TEST_P(ProductMethod, AnglesAtTheEndsOfTheirRangeStayThere) {
  Fitted f = fittedWith(GetParam(), assetOf(bumpySphere(2, 0.2, 1)));
  for (std::size_t i = 0; i < f.kernels.size(); ++i)
    f.kernels.angles[i] = i % 2 == 0 ? KernelRanges::kMinAngle : KernelRanges::kMaxAngle;
  expectRoundTrip(f);
}

TEST(Product, StoredGeometryIsThatOfTheProduct) {
  Soup far = bumpySphere(2, 0.2, 1);
  for (Vec3& p : far.positions)
    p += Vec3(4.5e6, 5.4e6, 300);
  for (Asset asset : {assetOf(bumpySphere(2, 0.2, 1)), manyMaterials(), mirroredInstances(), assetOf(far)}) {
    const auto moved = useStoredGeometry(asset);
    ASSERT_TRUE(moved) << moved.error().message;
    EXPECT_TRUE(*moved);
    const auto again = useStoredGeometry(asset);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(*again) << "once is enough";
    const Fitted f = fitted(asset, 10);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    ASSERT_EQ(product->surface->vertexCount(), f.surface->vertexCount());
    for (std::size_t v = 0; v < f.surface->vertexCount(); ++v)
      ASSERT_EQ(product->surface->positions()[v], f.surface->positions()[v]) << "to the bit";
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ProductMethod, ::testing::Values("local", "thermal", "spectral"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Product, RoundTripOfManyMaterials) {
  expectRoundTrip(fitted(manyMaterials()));
}

TEST(Product, RoundTripOfMirroredInstances) {
  expectRoundTrip(fitted(mirroredInstances()));
}

TEST(Product, RoundTripOfADamagedMesh) {
  // Turned, doubled and degenerate faces: the surface swaps corners and drops triangles.
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Fitted f = fitted(assetOf(damagedSphere(seed, 2)));
    EXPECT_GT(f.surface->report().flipped_faces + f.surface->report().duplicate_faces, 0u);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->kernels.size(), f.kernels.size());
  }
  Soup turned = bumpySphere(2, 0.2, 4);
  for (std::size_t i = 0; i < turned.faces.size(); i += 5)
    std::swap(turned.faces[i][0], turned.faces[i][1]);
  expectRoundTrip(fitted(assetOf(turned)));
}

TEST(Product, RoundTripOfFiles) {
  TemporaryFolder folder;
  // A pyramid over a square, as quads and triangles in OBJ and with vertex colours in PLY.
  folder.write("a.mtl", "newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 0 1\n");
  const std::string obj =
      folder.write("a.obj",
                   "mtllib a.mtl\nv 0.1 0 0\nv 1 0.3 0\nv 1 1 0\nv 0 1 0.12345678901\n"
                   "v .5 .5 1\nusemtl a\nf 4 3 2 1\nf 1 2 5\nf 2 3 5\nusemtl b\nf 3 4 5\nf 4 1 5\n");
  const std::string ply = folder.write(
      "a.ply",
      "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\n"
      "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\n"
      "element face 5\nproperty list uchar int vertex_indices\nend_header\n"
      "0 0 0 255 0 0 255\n1 0 0 0 255 0 255\n1 1 0 0 0 255 255\n0 1 0 9 9 9 255\n.5 .5 1 99 99 99 128\n"
      "4 3 2 1 0\n3 0 1 4\n3 1 2 4\n3 2 3 4\n3 3 0 4\n");
  for (const std::string& path : {obj, ply}) {
    auto asset = loadAsset(path);
    ASSERT_TRUE(asset) << asset.error().message;
    expectRoundTrip(fitted(std::move(*asset), 60));
  }
}

TEST(Product, FarFromTheOriginKernelsStayInPlace) {
  Soup soup = bumpySphere(3, 0.2, 1);
  for (Vec3& p : soup.positions)
    p += Vec3(4.5e6, 5.4e6, 300);
  const Fitted f = fitted(assetOf(soup));
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_GT(agreement(f, *product), kSameColors);
}

TEST(Product, OptionsDecideColoursAndComeBack) {
  Fitted f = fitted(assetOf(bumpySphere(2, 0.2, 1)));
  auto& local = std::get<local::LocalOptions>(f.options);
  local.window_sigma = 0;
  local.diffusion_time = 0.02;
  local.isotropic = true;
  local.rule = local::CandidateRule::kPerFace;
  expectRoundTrip(f);
}

TEST(Product, TheFileHoldsTheGeometryAsItCame) {
  const Fitted f = fitted(manyMaterials());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Asset& out = product->asset;
  ASSERT_EQ(out.meshes.size(), f.asset.meshes.size());
  ASSERT_EQ(out.instances.size(), f.asset.instances.size());
  for (std::size_t m = 0; m < out.meshes.size(); ++m) {
    EXPECT_EQ(out.meshes[m].name, f.asset.meshes[m].name);
    EXPECT_EQ(out.instances[m].name, f.asset.instances[m].name);
    EXPECT_EQ(out.instances[m].asset_from_mesh.matrix(), f.asset.instances[m].asset_from_mesh.matrix());
    for (std::size_t p = 0; p < out.meshes[m].primitives.size(); ++p) {
      const Primitive &a = out.meshes[m].primitives[p], &b = f.asset.meshes[m].primitives[p];
      EXPECT_EQ(a.triangles, b.triangles);
      EXPECT_EQ(a.uv_sets, b.uv_sets);
      ASSERT_EQ(a.positions.size(), b.positions.size());
      for (std::size_t v = 0; v < a.positions.size(); ++v)
        EXPECT_EQ(a.positions[v], b.positions[v].cast<float>().cast<double>());
    }
  }
}

TEST(Product, MaterialsLoseTheirColourAndKeepTheRest) {
  const Fitted f = fitted(manyMaterials());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const std::vector<Material>& materials = product->asset.materials;
  ASSERT_EQ(materials.size(), 3u);
  EXPECT_EQ(materials[0].name, "textured");
  EXPECT_TRUE(materials[0].double_sided);
  EXPECT_EQ(materials[0].base_color.texture, -1) << "kernels take the texture's place";
  EXPECT_EQ(materials[1].base_color_factor, Vec4f(0.8f, 0.1f, 0.1f, 0.5f)) << "one colour needs no kernels";
  EXPECT_EQ(materials[1].alpha_mode, AlphaMode::kBlend);
  EXPECT_EQ(materials[2].alpha_mode, AlphaMode::kMask);
  EXPECT_EQ(materials[2].alpha_cutoff, 0.4f);
  ASSERT_EQ(materials[2].base_color.texture, 0) << "the cut-out keeps its holes";
  ASSERT_EQ(product->asset.images.size(), 1u);
  const Image &white = *product->asset.images[0], &original = *f.asset.images[1];
  for (std::size_t i = 0; i < white.rgba.size(); ++i)
    EXPECT_EQ(white.rgba[i], i % 4 == 3 ? original.rgba[i] : 255);
  for (const Vec4f& color : product->asset.meshes[0].primitives[2].colors)
    EXPECT_EQ(color[3], 0.75f) << "alpha of vertex colours stays";
}

/// Kernels so small that the surface has its mean colour everywhere.
KernelSet plainKernels(const Surface& surface, const Vec3f& mean) {
  KernelSet kernels = randomKernels(surface, 1);
  kernels.thresholds[0] = KernelRanges::kMaxThreshold;
  kernels.sharpnesses[0] = KernelRanges::kMaxSharpness;
  kernels.mean = mean;
  return kernels;
}

TEST(Product, FallbackColoursAreTheTexturesInLinearLight) {
  Fitted f = fitted(assetOf(cube(4)));
  f.kernels = plainKernels(*f.surface, {0.25f, 0.5f, 1.0f});
  auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  for (const Vec4f& color : product->asset.meshes[0].primitives[0].colors) {
    EXPECT_NEAR(color[0], linearFromSrgb(0.25f), 1e-6);
    EXPECT_NEAR(color[1], linearFromSrgb(0.5f), 1e-6);
    EXPECT_NEAR(color[2], 1, 1e-6);
    EXPECT_EQ(color[3], 1);
  }

  // One large kernel: vertices at its centre have its colour, those on the other side the mean.
  f = fitted(assetOf(icosphere(4)), 1);
  f.kernels.mean = Vec3f(0.5f, 0.5f, 0.5f);
  f.kernels.channels[0] = Vec3f(0.5f, -0.5f, 0.0f);
  f.kernels.anisotropies[0] = 1;
  f.kernels.thresholds[0] = 0.3f;
  f.kernels.sharpnesses[0] = 200;
  product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Vec3 center = f.surface->position(f.kernels.positions[0]).normalized();
  const Primitive& primitive = product->asset.meshes[0].primitives[0];
  std::size_t near = 0;
  for (std::size_t v = 0; v < primitive.positions.size(); ++v) {
    const double distance = (primitive.positions[v].normalized() - center).norm();
    if (distance < 0.05) {
      ++near;
      EXPECT_NEAR(primitive.colors[v][0], 1, 0.02);
      EXPECT_NEAR(primitive.colors[v][1], 0, 0.02);
    }
    if (distance > 0.4) {
      EXPECT_NEAR(primitive.colors[v][0], linearFromSrgb(0.5f), 1e-5);
    }
  }
  EXPECT_GT(near, 0u);
}

TEST(Product, SeamsOfTheFallbackAreInvisible) {
  // A cube's sides share positions but no vertices.
  const Fitted f = fitted(assetOf(cube(4)));
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const Primitive& primitive = product->asset.meshes[0].primitives[0];
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < primitive.positions.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (primitive.positions[a] != primitive.positions[b]) continue;
      ++pairs;
      EXPECT_LT((primitive.colors[a] - primitive.colors[b]).norm(), 1e-6f);
    }
  }
  EXPECT_GT(pairs, 20u);
}

TEST(Product, DoubledFacesLookLikeTheOnesTheyRepeat) {
  Soup sheet = flatGrid(3, 3);
  const std::size_t front = sheet.positions.size();
  const auto copy = sheet.positions;
  sheet.positions.insert(sheet.positions.end(), copy.begin(), copy.end());
  const auto faces = sheet.faces;
  for (const auto& [a, b, c] : faces) {
    const auto shift = static_cast<std::uint32_t>(front);
    sheet.faces.push_back({a + shift, b + shift, c + shift});
  }
  const Fitted f = fitted(assetOf(sheet), 50);
  EXPECT_EQ(f.surface->report().duplicate_faces, faces.size());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const auto& colors = product->asset.meshes[0].primitives[0].colors;
  for (std::size_t v = 0; v < front; ++v)
    EXPECT_EQ(colors[v], colors[v + front]);
}

TEST(Product, AnglesAreMeasuredFromTheFirstEdgeTowardsTheThirdCorner) {
  // A triangle in the plane: the axis of the kernel is along the edge from corner 1 to corner 2, at 135
  // degrees.
  Soup soup{"triangle", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, {{0, 1, 2}}};
  for (const bool mirrored : {false, true}) {
    Asset asset = assetOf(soup);
    if (mirrored) asset.instances[0].asset_from_mesh.scale(Vec3(-1, 1, 1));
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const SourceTriangles triangles(asset, *surface);
    const Vec3 edge = mirrored ? Vec3(1, 1, 0) : Vec3(-1, 1, 0);
    const Vec2 axis = surface->frames()[0].directionToFace(edge);
    const double angle = std::atan2(axis.y(), axis.x());
    EXPECT_NEAR(triangles.axisInTriangle(0, angle), 0.75 * std::numbers::pi, 1e-12);
    const double back = triangles.axisInFace(0, 0.75 * std::numbers::pi);
    EXPECT_NEAR(std::abs(std::sin(back - angle)), 0, 1e-12);
  }
}

TEST(Product, TrianglesAreNumberedOverInstancesPrimitivesAndTriangles) {
  const Fitted f = fitted(manyMaterials());
  const SourceTriangles triangles(f.asset, *f.surface);
  EXPECT_EQ(triangles.size(), 48u + 80u);
  EXPECT_EQ(triangles.size(), countTriangles(f.asset));
  std::set<std::uint32_t> faces;
  for (std::uint32_t t = 0; t < triangles.size(); ++t) {
    const std::uint32_t face = triangles.faceOf(t);
    ASSERT_NE(face, kNone);
    faces.insert(face);
    const TrianglePoint point{t, {0.5, 0.3, 0.2}};
    const SurfacePoint p = triangles.toSurface(point);
    EXPECT_LT((f.surface->assetFromSurface()(f.surface->position(p)) - triangles.assetPosition(point)).norm(),
              1e-12);
    EXPECT_EQ(triangles.toTriangle(p).barycentric, point.barycentric);
  }
  EXPECT_EQ(faces.size(), triangles.size());
}

TEST(Product, TextsThatAreTooLongOrNotUtf8CanBeReadBack) {
  const Fitted f = fitted(assetOf(cube(1)), 3);
  const ProductInfo info = {std::string(1000, '\xFF'), std::string(1000, 'x'), 1, 2};
  const auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, info);
  ASSERT_TRUE(glb) << glb.error().message;
  const auto product = decoded(*glb);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->info.preset, std::string(85, 'x'));
}

TEST(Product, SameBytesOnAnyNumberOfThreads) {
  const Fitted f = fitted(mirroredInstances());
  setThreadCount(1);
  const auto one = encoded(f);
  setThreadCount(3);
  const auto three = encoded(f);
  setThreadCount(0);
  EXPECT_EQ(one, three);
}

TEST(Product, WhatCannotBeStoredIsRefused) {
  Fitted f = fitted(assetOf(cube(1)), 3);
  const auto refused = [&] { return !encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo); };
  EXPECT_FALSE(refused());
  f.kernels.channels[1][0] = std::nanf("");
  EXPECT_TRUE(refused());
  f = fitted(assetOf(cube(1)), 3);
  f.kernels.positions[0].face = 10000;
  EXPECT_TRUE(refused());
  f.kernels.resize(0);
  EXPECT_TRUE(refused());
  f = fitted(assetOf(cube(1)), 3);
  std::get<local::LocalOptions>(f.options).max_radius = 0;
  EXPECT_TRUE(refused()) << "options no reader would take";
  f = fitted(assetOf(cube(1)), 3);
  f.kernels = randomKernels(*f.surface, 3, 1, *ChannelLayout::ofNames({"alpha", "base_color"}));
  const auto encoded = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
  ASSERT_FALSE(encoded);
  EXPECT_NE(encoded.error().message.find("must begin with base_color"), std::string::npos)
      << encoded.error().message;
}

TEST(Product, AnyChannelsComeBackWithinTheStepsOfTheCodes) {
  for (const auto& layout :
       {*ChannelLayout::ofNames({"base_color", "alpha"}),
        *ChannelLayout::make({{"base_color", 3}, {"height", 2, 0, {-2, 6}}, {"glow", 11, 0, {0, 100}}})}) {
    for (const Asset& asset : {assetOf(bumpySphere(2, 0.2, 3)), manyMaterials()}) {
      Fitted f = fitted(asset, 0);
      f.kernels = randomKernels(*f.surface, 200, 4, layout);
      const auto glb = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo);
      ASSERT_TRUE(glb) << glb.error().message;
      const auto product = decoded(*glb);
      ASSERT_TRUE(product) << product.error().message;
      EXPECT_EQ(product->kernels.layout, layout);
      EXPECT_EQ(product->kernels.mean, f.kernels.mean);
      const std::vector<std::uint32_t> order = orderOf(product->kernels, f);
      for (std::size_t i = 0; i < f.kernels.size(); ++i) {
        for (std::size_t c = 0; c < layout.size(); ++c) {
          const double step = 1 / (std::exp2(c < 3 ? kColorBits - 1 : kOtherChannelBits - 1) - 1);
          ASSERT_NEAR(product->kernels.channels.row(i)[c], f.kernels.channels.row(order[i])[c], 0.501 * step);
        }
      }
      // Reading and writing again changes nothing.
      const auto again =
          encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *glb);
      // Faces whose material says everything have its colour and alpha; where there are other channels,
      // no material does.
      EXPECT_EQ(product->constants.empty(), asset.materials.empty() || !layout.find("alpha"));
      const auto texture =
          KernelTexture::create(product->surface, product->kernels, product->options, {}, product->constants);
      ASSERT_TRUE(texture);
      const auto points = sampleSurface(*product->surface, 2000, 1);
      std::vector<float> values(points.size() * layout.size()), weights(points.size());
      std::vector<Vec3f> colors(points.size());
      texture->values(points, values, weights);
      texture->colors(points, colors);
      const Appearance appearance(product->asset, *product->surface);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const float* row = values.data() + i * layout.size();
        ASSERT_EQ(colors[i], Vec3f(row));
        for (const ChannelGroup& group : layout.groups()) {
          for (std::size_t c = group.first; c < group.first + group.count; ++c)
            ASSERT_TRUE(row[c] >= group.range[0] && row[c] <= group.range[1]);
        }
        if (product->constants.find(points[i].face) == nullptr) continue;
        ASSERT_EQ(weights[i], 1);
        ASSERT_EQ(row[3], appearance.alpha(points[i]));
        ASSERT_EQ(colors[i], appearance.color(points[i]));
      }
    }
  }
}

TEST(Product, ABaseColourIsStoredTheSameWhateverComesAfterIt) {
  Fitted f = fitted(assetOf(bumpySphere(2, 0.2, 3)), 50);
  const auto plain = decoded(*encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo));
  KernelSet more(*ChannelLayout::ofNames({"base_color", "alpha"}));
  more.resize(50);
  more.positions = f.kernels.positions;
  more.angles = f.kernels.angles;
  more.anisotropies = f.kernels.anisotropies;
  more.thresholds = f.kernels.thresholds;
  more.sharpnesses = f.kernels.sharpnesses;
  more.lengths = f.kernels.lengths;
  more.mean.head<3>() = f.kernels.mean;
  for (std::size_t i = 0; i < 50; ++i)
    std::copy_n(f.kernels.channels.row(i), 3, more.channels.row(i));
  const auto both = decoded(*encodeProduct(f.asset, *f.surface, more, f.options, kInfo));
  ASSERT_TRUE(plain && both);
  const auto points = sampleSurface(*plain->surface, 500, 2);
  std::vector<Vec3f> a(500), b(500);
  KernelTexture::create(plain->surface, plain->kernels, plain->options)->colors(points, a);
  KernelTexture::create(both->surface, both->kernels, both->options)->colors(points, b);
  // Sums of four channels may be added in another order than those of three.
  for (std::size_t i = 0; i < points.size(); ++i)
    ASSERT_LE((a[i] - b[i]).cwiseAbs().maxCoeff(), 1e-6f);
}

// The strict reader.

/// Changes the first `from` in the file's JSON to `to`, of the same length.
std::string errorAfter(std::vector<std::uint8_t> glb, std::string_view from, std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  const auto at = std::search(glb.begin(), glb.end(), from.begin(), from.end());
  EXPECT_NE(at, glb.end()) << from;
  if (at == glb.end()) return "";
  std::copy(to.begin(), to.end(), at);
  const auto product = decoded(glb);
  if (product) return "";
  EXPECT_EQ(product.error().kind, ErrorKind::kInput) << product.error().message;
  EXPECT_EQ(product.error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(product.error().message.starts_with("product.glb: ")) << product.error().message;
  return product.error().message;
}

TEST(ProductReader, SaysWhatIsWrong) {
  const Fitted f = fitted(assetOf(cube(1)), 3);
  const std::vector<std::uint8_t> glb = encoded(f);
  const auto contains = [&](std::string_view from, std::string_view to, std::string_view expected) {
    const std::string message = errorAfter(glb, from, to);
    EXPECT_NE(message.find(expected), std::string::npos) << from << " -> " << to << ": " << message;
  };
  contains("\"version\":\"2.0\",\"tri", "\"version\":\"3.1\",\"tri", "version 3.1 is not supported");
  contains("\"triangles\":12", "\"triangles\":13", "geometry was edited");
  contains("\"count\":3,\"bits", "\"count\":2,\"bits", "is not a zlib stream of 40 bytes, as 2 kernels have");
  contains("\"triangle\":", "\"triongle\":", "kernels.bits has no triangle");
  contains("\"bufferView\":5,\"count\":3", "\"bufferView\":9,\"count\":3", "bufferView 9 does not exist");
  contains("\"bufferView\":5,\"count\":3", "\"bufferView\":4,\"count\":3", "bufferView 4 must not have a ");
  contains("\"extensionsUsed\"", "\"extensionsUnus\"", "not listed in extensionsUsed");
  contains("\"isotropic\"", "\"euclidean\"", "twice");
  contains("\"channels\":", "\"chanells\":", "has no channels");
}

TEST(ProductReader, RefusesKernelsWithoutAPlace) {
  Soup soup = cube(1);
  soup.faces.push_back(soup.faces[0]);  // triangle 12 repeats triangle 0
  Fitted f = fitted(assetOf(soup), 3);
  auto asset = readGltfBytes(encoded(f), "product.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const auto extension = readExtension(asset->raw_extensions[0].json);
  ASSERT_TRUE(extension) << extension.error().message;
  const auto good = unpackColumns(asset->raw_extensions[0].views[0].bytes, 3, extension->scales);
  ASSERT_TRUE(good) << good.error().message;
  for (const auto& [triangle, expected] :
       {std::pair{12u, "repeats another"}, {13u, "does not exist"}, {0xFFFFFFFFu, "does not exist"}}) {
    Asset bad = *asset;
    ProductExtension changed = *extension;
    auto codes = *good;
    codes[2].triangle = triangle;
    changed.scales.bits.triangle = 32;
    bad.raw_extensions[0].json = writeExtension(changed);
    bad.raw_extensions[0].views[0].bytes = packColumns(codes, changed.scales);
    const auto product = decodeProduct(std::move(bad));
    ASSERT_FALSE(product);
    EXPECT_NE(product.error().message.find(expected), std::string::npos) << product.error().message;
    EXPECT_NE(product.error().message.find("kernel 2"), std::string::npos) << product.error().message;
  }
}

TEST(ProductReader, RefusesLengthsOfMethodsWithoutThem) {
  const Fitted f = fittedWith("thermal", assetOf(bumpySphere(2, 0.2, 1)), 3);
  auto asset = readGltfBytes(encoded(f), "product.glb");
  ASSERT_TRUE(asset) << asset.error().message;
  const auto extension = readExtension(asset->raw_extensions[0].json);
  auto codes = unpackColumns(asset->raw_extensions[0].views[0].bytes, 3, extension->scales);
  ASSERT_TRUE(codes) << codes.error().message;
  ++(*codes)[1].length;
  asset->raw_extensions[0].views[0].bytes = packColumns(*codes, extension->scales);
  const auto product = decodeProduct(std::move(*asset));
  ASSERT_FALSE(product);
  EXPECT_NE(product.error().message.find("kernel 1: its length is"), std::string::npos)
      << product.error().message;
}

TEST(Product, KernelsComeBackSortedAndWithinTheStepsOfTheCodes) {
  const Fitted f = fitted(mirroredInstances());
  const auto product = decoded(encoded(f));
  ASSERT_TRUE(product) << product.error().message;
  const SourceTriangles triangles(product->asset, *product->surface);
  const std::vector<std::uint32_t> order = orderOf(product->kernels, f);
  const KernelBits bits;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t triangle = triangles.toTriangle(product->kernels.positions[i]).triangle;
    EXPECT_GE(triangle, last);
    last = triangle;
    const std::size_t j = order[i];
    const Vec3 moved = product->surface->position(product->kernels.positions[i]) -
                       f.surface->position(f.kernels.positions[j]);
    EXPECT_LT(moved.norm(), 1e-3);
    const auto expectNear = [](float a, float b, double range, int n) {
      EXPECT_NEAR(std::log(static_cast<double>(a) / b), 0, 0.501 * std::log(range) / (std::exp2(n) - 1));
    };
    expectNear(product->kernels.lengths[i], f.kernels.lengths[j], 0x1p14, bits.length);
    expectNear(product->kernels.anisotropies[i], f.kernels.anisotropies[j], 200, bits.anisotropy);
    expectNear(product->kernels.sharpnesses[i], f.kernels.sharpnesses[j], 20, bits.sharpness);
    expectNear(1 - product->kernels.thresholds[i], 1 - f.kernels.thresholds[j], 0.7 / 0x1p-24,
               bits.threshold);
  }
}

TEST(Product, PositionsAreFinerWhereTrianglesAreLargeForTheirKernels) {
  const auto bitsOf = [](const Asset& asset, float length) {
    Fitted f = fitted(asset, 200);
    std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), length);
    const auto read = readGltfBytes(encoded(f), "product.glb");
    return readExtension(read->raw_extensions[0].json)->scales.bits.barycentric;
  };
  // Edges of half the length take a bit less, kernels of half the length a bit more.
  const int coarse = bitsOf(assetOf(cube(2)), 0.5f);
  EXPECT_EQ(bitsOf(assetOf(cube(4)), 0.5f), coarse - 1);
  EXPECT_EQ(bitsOf(assetOf(cube(2)), 0.25f), coarse + 1);
  EXPECT_EQ(bitsOf(assetOf(cube(2)), 0x1p-10f), 16) << "the finest there is";
}

TEST(Product, LengthsOfOneStayExact) {
  for (const std::string_view method : {"local", "thermal"}) {
    Fitted f = fittedWith(method, assetOf(bumpySphere(2, 0.2, 1)), 50);
    if (method == "local") std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), 1.0f);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->kernels.lengths, std::vector<float>(50, 1.0f));
  }
}

TEST(ProductReader, ReadsVersionOne) {
  for (const Asset& source : {assetOf(bumpySphere(2, 0.2, 1)), mirroredInstances()}) {
    Asset asset = source;
    ASSERT_TRUE(useStoredGeometry(asset));
    Fitted f = fitted(std::move(asset), 200);
    std::fill(f.kernels.lengths.begin(), f.kernels.lengths.end(), 1.0f);
    Asset old = versionOneProduct(f.asset, *f.surface, f.kernels, f.options);
    const RawExtension raw = old.raw_extensions[0];
    const auto product = decodeProduct(std::move(old));
    ASSERT_TRUE(product) << product.error().message;
    EXPECT_EQ(product->model_bytes, 20u * 200);
    EXPECT_EQ(product->kernels.lengths, f.kernels.lengths);
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(product->kernels.positions[i].face, f.kernels.positions[i].face)
          << "in the order of the file";
      EXPECT_LT((product->kernels.positions[i].barycentric - f.kernels.positions[i].barycentric).norm(),
                3e-5);
    }
    EXPECT_GT(agreement(f, *product), 65);
    // Written again it is a file of version 2, which stays as it is.
    const auto glb =
        encodeProduct(product->asset, *product->surface, product->kernels, product->options, product->info);
    ASSERT_TRUE(glb) << glb.error().message;
    const auto newer = decoded(*glb);
    ASSERT_TRUE(newer) << newer.error().message;
    EXPECT_LT(newer->model_bytes, product->model_bytes);
    EXPECT_GT(agreement(f, *newer), kSameColors);

    for (const auto& [bytes, expected] : {std::pair{3999u,
                                                    "4000 bytes are expected for 200 kernels, the "
                                                    "buffer view has 3999"},
                                          {4020u, "the buffer view has 4020"}}) {
      Asset wrong = f.asset;
      wrong.raw_extensions = {raw};
      wrong.raw_extensions[0].views[0].bytes.resize(bytes);
      const auto refused = decodeProduct(std::move(wrong));
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find(expected), std::string::npos) << refused.error().message;
    }
  }
}

TEST(Product, AsATextureIsRefusedIfKernelsReachEverything) {
  // 20,000 small kernels on 20,000 faces; a little change makes four hundred million pairs of a megabyte.
  Fitted f = fitted(assetOf(torus(100, 100)), 20000);
  std::fill(f.kernels.thresholds.begin(), f.kernels.thresholds.end(), 1 - 1e-6f);
  std::fill(f.kernels.sharpnesses.begin(), f.kernels.sharpnesses.end(), KernelRanges::kMaxSharpness);
  std::get<local::LocalOptions>(f.options).window_sigma = 0.01;
  const std::vector<std::uint8_t> glb = encoded(f);
  ASSERT_TRUE(decoded(glb)) << "with a window they reach little";
  std::vector<std::uint8_t> wide = glb;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\"windowSigma\":0.01", "\"windowSigma\":0.00"},
        {"\"maxRadius\":0.2", "\"maxRadius\":1.0"},
        {"\"diffusionTime\":0.0625", "\"diffusionTime\":9.0e02"}}) {
    const auto at = std::search(wide.begin(), wide.end(), from.begin(), from.end());
    ASSERT_NE(at, wide.end()) << from;
    std::copy(to.begin(), to.end(), at);
  }
  auto product = decoded(wide);
  ASSERT_TRUE(product) << "can be inspected";
  const auto texture = KernelTexture::create(product->surface, product->kernels, product->options);
  ASSERT_FALSE(texture);
  EXPECT_EQ(texture.error().kind, ErrorKind::kInput);
  EXPECT_NE(texture.error().message.find("reach about"), std::string::npos) << texture.error().message;
}

TEST(ProductReader, AnOrdinaryFileIsNoProduct) {
  const Asset asset = assetOf(cube(1));
  EXPECT_FALSE(isProduct(asset));
  const auto glb = encodeGlb(asset);
  ASSERT_TRUE(glb);
  const auto product = decoded(*glb);
  ASSERT_FALSE(product);
  EXPECT_EQ(product.error().kind, ErrorKind::kInput);
  EXPECT_EQ(product.error().code, error_code::kNoKernels);
  EXPECT_FALSE(loadProduct("/nonexistent.glb"));
}

TEST(ProductReader, AProductOpensAsAnOrdinaryAsset) {
  TemporaryFolder folder;
  const auto glb = encoded(fitted(mirroredInstances()));
  const std::string path = folder.write("a.glb", {reinterpret_cast<const char*>(glb.data()), glb.size()});
  const auto asset = loadAsset(path);
  ASSERT_TRUE(asset) << asset.error().message;
  EXPECT_TRUE(isProduct(*asset));
  EXPECT_TRUE(asset->notices.empty());
  const auto product = loadProduct(path);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_EQ(product->kernels.size(), 400u);
}

TEST(Product, RoundTripOfSharedAssets) {
  HEATSKIN_REQUIRE_ASSETS();
  for (const char* name : {"spot/spot_triangulated.obj", "fox.glb"}) {
    auto asset = loadAsset(assetsFolder() / name);
    ASSERT_TRUE(asset) << asset.error().message;
    expectRoundTrip(fitted(std::move(*asset), 2000));
  }
}

}  // namespace
}  // namespace heatskin
