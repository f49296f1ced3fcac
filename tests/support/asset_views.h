#pragma once

// What tests ask of an asset's notices and triangles.

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "heatskin/io/asset.h"

namespace heatskin::testing {

/// The notice with this code, or null.
inline const Notice* findNotice(const Asset& asset, std::string_view code) {
  for (const Notice& notice : asset.notices) {
    if (notice.code == code) return &notice;
  }
  return nullptr;
}

/// Notices that are warnings.
inline std::size_t warnings(const Asset& asset) {
  return static_cast<std::size_t>(std::count_if(asset.notices.begin(), asset.notices.end(),
                                                [](const Notice& notice) { return notice.warning; }));
}

/// Corner positions of the first mesh's triangles, in order.
inline std::vector<Vec3> corners(const Asset& asset) {
  std::vector<Vec3> result;
  for (const Primitive& primitive : asset.meshes.at(0).primitives) {
    for (const std::uint32_t vertex : primitive.triangles)
      result.push_back(primitive.positions.at(vertex));
  }
  return result;
}

}  // namespace heatskin::testing
