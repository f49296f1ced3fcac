#pragma once

// A small thing to fit, and when two outcomes are the same; for tests of this folder.

#include <cmath>
#include <utility>

#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/config.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {

/// A thin ring with smoothly varying vertex colours and one jump: little area, so that few kernels cover it.
inline Asset colourfulRing(std::uint32_t around = 40, std::uint32_t across = 10) {
  const Soup soup = torus(around, across, 0.15);
  Asset asset;
  Primitive primitive;
  primitive.positions = soup.positions;
  for (const auto& f : soup.faces)
    primitive.triangles.insert(primitive.triangles.end(), f.begin(), f.end());
  for (const Vec3& x : soup.positions) {
    const Vec3 n = x.normalized();
    primitive.colors.emplace_back(static_cast<float>(0.5 + 0.5 * n.x()),
                                  static_cast<float>(0.5 + 0.5 * std::sin(5 * n.y())),
                                  static_cast<float>(n.z() > 0 ? 0.9 : 0.1), 1.0f);
  }
  asset.meshes.push_back({"", {primitive}});
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  return asset;
}

/// Few samples and kernels. In so few steps density control comes more often than rebuilds.
inline FitConfig tinyConfig(int steps) {
  FitConfig config;
  config.train.steps = steps;
  config.train.batch = 256;
  config.train.sampling.pool = 4000;
  config.train.start.kernels = 60;
  config.train.density.max_kernels = 200;
  config.train.density.min_kernels = 10;
  return config;
}

/// The same to the bit.
inline bool sameKernels(const KernelSet& a, const KernelSet& b) {
  if (a.size() != b.size() || a.mean != b.mean) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.positions[i].face != b.positions[i].face ||
        a.positions[i].barycentric != b.positions[i].barycentric)
      return false;
  }
  return a.angles == b.angles && a.anisotropies == b.anisotropies && a.thresholds == b.thresholds &&
         a.sharpnesses == b.sharpnesses && a.lengths == b.lengths && a.channels == b.channels;
}

}  // namespace heatskin::testing
