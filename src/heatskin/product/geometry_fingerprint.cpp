#include "heatskin/product/geometry_fingerprint.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/fingerprint.h"

namespace heatskin {

std::string geometryFingerprint(const Asset& asset) {
  // A mesh that is placed often is hashed once.
  std::vector<Fingerprint::Value> of_mesh(asset.meshes.size());
  std::vector<std::array<float, 9>> corners;
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    Fingerprint fingerprint;
    corners.clear();
    for (const Primitive& primitive : asset.meshes[m].primitives) {
      for (std::size_t t = 0; t < primitive.triangleCount(); ++t) {
        auto& nine = corners.emplace_back();
        for (std::size_t c = 0; c < 9; ++c) {
          const double value =
              primitive.positions[primitive.triangles[3 * t + c / 3]][static_cast<Eigen::Index>(c % 3)];
          nine[c] = static_cast<float>(value) + 0.0f;  // there is one zero
        }
      }
    }
    fingerprint.add<std::array<float, 9>>(corners);
    of_mesh[m] = fingerprint.value();
  }
  std::vector<std::uint8_t> all;
  for (const Instance& instance : asset.instances) {
    if (instance.mesh < 0) continue;
    const auto& value = of_mesh[static_cast<std::size_t>(instance.mesh)];
    all.insert(all.end(), value.begin(), value.end());
  }
  Fingerprint fingerprint;
  fingerprint.add<std::uint8_t>(all);
  std::string text;
  for (const std::uint8_t byte : fingerprint.value())
    text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace heatskin
