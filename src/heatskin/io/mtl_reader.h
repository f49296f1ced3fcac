#pragma once

// MTL, the material file of OBJ: colours, and what its physically based statements (Pr, Pm, Ke, norm) say.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/texture_file.h"

namespace heatskin {

/// A map statement. Texture coordinates, v up, become scale * uv + offset.
struct MtlTexture {
  std::string file;  ///< as written
  Vec2 scale = {1, 1};
  Vec2 offset = {0, 0};
  bool clamp = false;
};

/// A newmtl block.
struct MtlMaterial {
  std::string name;
  std::optional<Vec3f> diffuse;  ///< Kd, a display (sRGB) colour in [0, 1]
  float dissolve = 1;            ///< d, or 1 - Tr
  std::optional<MtlTexture> diffuse_map;
  std::optional<float> roughness, metallic;                             ///< Pr, Pm, in [0, 1]
  std::optional<Vec3f> emissive;                                        ///< Ke, linear light
  std::optional<MtlTexture> roughness_map, metallic_map, emissive_map;  ///< map_Pr, map_Pm, map_Ke
  std::optional<MtlTexture> normal_map;  ///< norm; bump maps are heights and are not read
};

struct MtlFile {
  std::vector<MtlMaterial> materials;
  std::vector<Notice> notices;
};

/// Reads what there is; lines that make no sense are left out with a notice. `name` is the file's name in
/// messages. Of two blocks with one name the first counts.
MtlFile parseMtl(std::span<const std::uint8_t> bytes, const std::string& name);

/// The material in the conventions of an Asset: linear factors, v down. Loads its textures through
/// `textures`.
Result<Material> materialFromMtl(const MtlMaterial& mtl, TextureFiles& textures,
                                 std::vector<Notice>& notices);

}  // namespace heatskin
