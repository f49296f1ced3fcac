#pragma once

// Small textures with known colours, for the tests of this module.

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/texture/kernel_texture.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {

/// A soup as an asset whose colour is a factor, linear; optionally moved and scaled as a whole.
inline Asset flatAsset(const Soup& soup, const Vec4f& factor, double scale = 1) {
  Asset asset;
  asset.path = soup.name;
  asset.materials.resize(1);
  asset.materials[0].base_color_factor = factor;
  Primitive primitive;
  for (const Vec3& p : soup.positions)
    primitive.positions.push_back(scale * p);
  for (const auto& face : soup.faces)
    primitive.triangles.insert(primitive.triangles.end(), face.begin(), face.end());
  primitive.material = 0;
  asset.meshes.push_back({"mesh", {primitive}});
  asset.instances.push_back({"instance", 0, Affine3::Identity()});
  return asset;
}

/// `count` kernels with varied shapes and colours, the same on every machine.
inline KernelSet someKernels(const Surface& surface, std::size_t count) {
  KernelSet kernels;
  kernels.mean = Vec3f(0.4f, 0.5f, 0.6f);
  kernels.resize(count);
  const auto points = sampleSurface(surface, count, 3);
  for (std::size_t i = 0; i < count; ++i) {
    const auto phase = static_cast<float>(i);
    kernels.positions[i] = points[i];
    kernels.angles[i] = 1.5f + 1.5f * std::sin(phase);
    kernels.anisotropies[i] = 1 + 10 * std::abs(std::sin(2 * phase));
    kernels.thresholds[i] = 0.35f;
    kernels.sharpnesses[i] = 15;
    kernels.channels[i] = 0.4f * Vec3f(std::sin(phase), std::sin(1 + phase), std::cos(phase));
  }
  return kernels;
}

inline KernelTexture makeTexture(Soup soup, std::size_t kernels) {
  auto surface = std::make_shared<const Surface>(build(soup, true));
  KernelSet set = someKernels(*surface, kernels);
  return std::move(*KernelTexture::create(surface, std::move(set), EvaluatorOptions()));
}

}  // namespace heatskin::testing
