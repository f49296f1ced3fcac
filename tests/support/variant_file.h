#pragma once

// A glTF file with material variants, made by code: two squares, of which the left one changes.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heatskin/io/image.h"

#include "support/gltf_builder.h"

namespace heatskin::testing {

/// An 8 x 8 picture of opaque texels.
inline std::size_t addPicture(GltfBuilder& b, const std::function<std::array<int, 3>(int x, int y)>& texel) {
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (const int value : texel(x, y))
        pixels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  const std::size_t image =
      b.add("images", {{"bufferView", b.addView(*encodePng(pixels, 8, 8, 3))}, {"mimeType", "image/png"}});
  return b.add("textures", {{"source", image}});
}

/// Materials 0 and 1 are textured, 2 has factors alone, 3 is the right square's. Variants: "stripes" gives
/// the left square material 1, "plain" material 2, "usual" material 0, which it has anyway; nothing maps the
/// right one.
inline GltfBuilder variantFile() {
  using Json = GltfBuilder::Json;
  GltfBuilder b;
  for (int i = 0; i < 2; ++i) {
    std::vector<float> positions, uvs;
    std::vector<std::uint16_t> indices;
    constexpr int kCells = 4;
    for (int v = 0; v <= kCells; ++v) {
      for (int u = 0; u <= kCells; ++u) {
        const float s = static_cast<float>(u) / kCells, t = static_cast<float>(v) / kCells;
        positions.insert(positions.end(), {1.5f * static_cast<float>(i) + s, t, 0});
        uvs.insert(uvs.end(), {s, 1 - t});
      }
    }
    for (int v = 0; v < kCells; ++v) {
      for (int u = 0; u < kCells; ++u) {
        const int at = v * (kCells + 1) + u;
        for (const int corner : {at, at + 1, at + kCells + 2, at, at + kCells + 2, at + kCells + 1})
          indices.push_back(static_cast<std::uint16_t>(corner));
      }
    }
    const std::size_t position = b.addAccessor(positions, "VEC3");
    const float left = 1.5f * static_cast<float>(i);
    b.json["accessors"][position]["min"] = {left, 0, 0};
    b.json["accessors"][position]["max"] = {left + 1, 1, 0};
    b.addMesh({{"attributes", {{"POSITION", position}, {"TEXCOORD_0", b.addAccessor(uvs, "VEC2")}}},
               {"indices", b.addAccessor(indices, "SCALAR")},
               {"material", i == 0 ? 0 : 3}});
  }
  const std::size_t waves = addPicture(b, [](int x, int y) { return std::array{30 * x, 30 * y, 90}; });
  const std::size_t stripes = addPicture(b, [](int x, int y) {
    return std::array{x < 4 ? 230 : 20, 60, 25 * (7 - y)};
  });
  const auto textured = [](const char* name, std::size_t texture) {
    return Json{{"name", name}, {"pbrMetallicRoughness", {{"baseColorTexture", {{"index", texture}}}}}};
  };
  b.add("materials", textured("waves", waves));
  b.add("materials", textured("stripes", stripes));
  b.add("materials", {{"name", "plain"}, {"pbrMetallicRoughness", {{"baseColorFactor", {0.25, 0.5, 1, 1}}}}});
  b.add("materials", textured("beside", waves));
  b.json["extensionsUsed"] = {"KHR_materials_variants"};
  b.json["extensions"]["KHR_materials_variants"]["variants"] = {
      {{"name", "stripes"}}, {{"name", "plain"}}, {{"name", "usual"}}};
  b.primitive(0)["extensions"]["KHR_materials_variants"]["mappings"] = {{{"material", 1}, {"variants", {0}}},
                                                                        {{"material", 2}, {"variants", {1}}},
                                                                        {{"material", 0}, {"variants", {2}}}};
  return b;
}

}  // namespace heatskin::testing
