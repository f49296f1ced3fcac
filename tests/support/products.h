#pragma once

// Assets of every kind and kernels on them, for tests of the product file.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heatskin/base/rng.h"
#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/surface/surface.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {

/// One primitive with a set of texture coordinates.
inline Primitive primitiveOf(const Soup& soup, int material = -1) {
  Primitive primitive;
  primitive.positions = soup.positions;
  primitive.material = material;
  auto& uvs = primitive.uv_sets.emplace_back();
  for (const Vec3& p : soup.positions)
    uvs.emplace_back(static_cast<float>(0.3 * p.x() + 0.5), static_cast<float>(0.3 * p.y() + 0.5));
  for (const auto& face : soup.faces)
    primitive.triangles.insert(primitive.triangles.end(), face.begin(), face.end());
  return primitive;
}

inline Asset assetOf(const Soup& soup) {
  Asset asset;
  asset.format = "glb";
  asset.meshes.push_back({soup.name, {primitiveOf(soup)}});
  asset.instances.push_back({soup.name, 0, Affine3::Identity()});
  return asset;
}

/// An image with a pattern and, on request, transparent texels.
inline Image patternImage(int size, bool transparent) {
  Image image;
  image.name = "pattern";
  image.width = image.height = size;
  image.format = "png";
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const auto shade = static_cast<std::uint8_t>((x * 37 + y * 59) % 256);
      const bool hole = transparent && (x + y) % 3 == 0;
      for (const int channel : {static_cast<int>(shade), 255 - shade, (x * 11) % 256, hole ? 0 : 255})
        image.rgba.push_back(static_cast<std::uint8_t>(channel));
    }
  }
  return image;
}

/// A cube whose sides alternate between two materials (textured and double-sided; a red factor with half
/// alpha) and a third primitive with vertex colours, and a sphere beside it with a cut-out texture.
inline Asset manyMaterials() {
  Asset asset;
  asset.format = "glb";
  asset.images = {std::make_shared<const Image>(patternImage(16, false)),
                  std::make_shared<const Image>(patternImage(8, true))};
  asset.textures = {{0, Wrap::kRepeat, Wrap::kRepeat}, {1, Wrap::kClampToEdge, Wrap::kMirroredRepeat}};
  Material textured, red, cut;
  textured.name = "textured";
  textured.base_color.texture = 0;
  textured.double_sided = true;
  red.name = "red glass";
  red.base_color_factor = {0.8f, 0.1f, 0.1f, 0.5f};
  red.alpha_mode = AlphaMode::kBlend;
  cut.name = "cut out";
  cut.base_color.texture = 1;
  cut.alpha_mode = AlphaMode::kMask;
  cut.alpha_cutoff = 0.4f;
  asset.materials = {textured, red, cut};

  Soup box = cube(2);
  Mesh mesh{"box", {}};
  for (int part = 0; part < 3; ++part) {
    Soup side{"side", box.positions, {}};
    for (std::size_t f = 0; f < box.faces.size(); ++f) {
      if (static_cast<int>(f / 8) % 3 == part) side.faces.push_back(box.faces[f]);
    }
    mesh.primitives.push_back(primitiveOf(side, part == 2 ? -1 : part));
  }
  for (const Vec3& p : box.positions)
    mesh.primitives[2].colors.emplace_back(p.cast<float>().cwiseAbs().x(), 0.2f, 0.5f, 0.75f);
  asset.meshes.push_back(std::move(mesh));
  asset.meshes.push_back({"ball", {primitiveOf(icosphere(1), 2)}});
  asset.instances.push_back({"box", 0, Affine3::Identity()});
  Affine3 aside = Affine3::Identity();
  aside.translate(Vec3(3, 0, 0));
  asset.instances.push_back({"ball", 1, aside});
  return asset;
}

/// One bumpy mesh three times: as it is, mirrored, and mirrored, turned and stretched.
inline Asset mirroredInstances() {
  Asset asset = assetOf(bumpySphere(2, 0.2, 3));
  Affine3 mirrored = Affine3::Identity();
  mirrored.translate(Vec3(2.6, 0, 0)).scale(Vec3(-1, 1, 1));
  asset.instances.push_back({"mirrored", 0, mirrored});
  Affine3 stretched = Affine3::Identity();
  stretched.translate(Vec3(0, 3, 0.5));
  stretched.rotate(Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()));
  stretched.scale(Vec3(1, -0.8, 1.2));
  asset.instances.push_back({"stretched", 0, stretched});
  return asset;
}

/// Base colour, a number and vectors of the tangent plane.
inline ChannelLayout vectorLayout() {
  ChannelGroup vectors{"vectors", 2, 0, {-3.0f, 3.0f}};
  vectors.kind = ChannelKind::kTangent;
  return *ChannelLayout::make({{"base_color", 3}, {"height", 1, 0, {-2.0f, 6.0f}}, vectors});
}

/// Kernels all over the surface with every parameter spread over its range, lengths from 1/64 to 4; the same
/// ones every time.
inline KernelSet randomKernels(const Surface& surface, std::size_t count, std::uint64_t seed = 1,
                               const ChannelLayout& layout = {}) {
  KernelSet kernels(layout);
  kernels.resize(count);
  for (Eigen::Index c = 0; c < kernels.mean.size(); ++c)
    kernels.mean[c] = layout.groupOf(static_cast<std::size_t>(c)).isTangent()
                          ? kTangentZero
                          : std::array{0.4f, 0.5f, 0.6f}[static_cast<std::size_t>(c % 3)];
  kernels.positions = sampleSurface(surface, count, seed, 5);
  const RandomStream random(seed, 6);
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = random.uniform2(4 * i), v = random.uniform2(4 * i + 1), w = random.uniform2(4 * i + 2);
    kernels.angles[i] = static_cast<float>(u[0] * KernelRanges::kMaxAngle);
    kernels.anisotropies[i] = static_cast<float>(std::exp(u[1] * std::log(200.0)));
    kernels.thresholds[i] = static_cast<float>(1 - 0.7 * std::exp(-6 * v[0]));
    kernels.sharpnesses[i] = static_cast<float>(10 * std::exp(v[1] * std::log(20.0)));
    kernels.lengths[i] = static_cast<float>(std::exp2(8 * RandomStream(seed, 8).uniform(i) - 6));
    const std::array<double, 3> first = {w[0], w[1], random.uniform(4 * i + 3)};
    const RandomStream more(seed, 7);
    for (std::size_t c = 0; c < layout.size(); ++c) {
      const double part = c < 3 ? first[c] : more.uniform(kMaxChannels * i + c);
      kernels.channels.row(i)[c] = static_cast<float>(2 * part - 1);
    }
    if (layout.hasTangents()) kernels.clampChannels(i);
  }
  return kernels;
}

}  // namespace heatskin::testing
