#pragma once

// Every texture slot of a glTF material but the base colour: where the file has it, which components of a
// texel it reads, and what the number means that texel and factor make together. A new extension is a line of
// kMaterialSlots; readers, channels of a fit, products and metrics go by this table.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heatskin/base/vec.h"

namespace heatskin {

/// How numbers are stored: proportional to light (or to whatever they measure), or sRGB-encoded.
enum class ColorSpace : std::uint8_t { kLinear, kSrgb };

/// What texel t and factor f make together; a slot without texture has t = 1.
enum class SlotRule : std::uint8_t {
  kMultiply,   ///< f t
  kOcclusion,  ///< 1 + f (t - 1)
  kBetween,    ///< low (1 - t) + f t: low and f are the ends of a scale
  kTangent,    ///< a direction in the tangent space of the texture's coordinates: not a number of its own
};

/// A slot. Names of JSON properties; empty ones are not there.
struct MaterialSlot {
  std::string_view channel;    ///< name of the channel group
  std::string_view extension;  ///< of the material; empty: the core of glTF
  std::string_view object;     ///< object with texture and factor, in extension or material
  std::string_view texture;    ///< property of the texture
  std::array<std::uint8_t, 3> components =
      {};                                   ///< of the texel (0 red .. 3 alpha), the first `count` of them
  std::size_t count = 1;                    ///< channels
  ColorSpace texels = ColorSpace::kLinear;  ///< how texels are stored
  ColorSpace values = ColorSpace::kLinear;  ///< how values of the channel are; kSrgb only where `bounded`
  std::string_view factor = {};             ///< property of the factor
  bool factor_in_texture = false;           ///< the factor is a property of the texture's object
  float standard = 1;                       ///< the factor where the file has none
  bool bounded = true;                      ///< factors lie in [0, 1]; otherwise they are just not negative
  SlotRule rule = SlotRule::kMultiply;
  std::string_view rotation = {};     ///< kTangent: a property that turns directions, in radians
  std::string_view low = {};          ///< kBetween: the property of the other end
  float standard_low = 0;             ///< where the file has none
  std::string_view strength_in = {};  ///< another extension that multiplies the factor ...
  std::string_view strength = {};     ///< ... by this property
};

// clang-format off
inline constexpr MaterialSlot kMaterialSlots[] = {
    {.channel = "metallic", .extension = "", .object = "pbrMetallicRoughness", .texture = "metallicRoughnessTexture",
     .components = {2}, .factor = "metallicFactor"},
    {.channel = "roughness", .extension = "", .object = "pbrMetallicRoughness", .texture = "metallicRoughnessTexture",
     .components = {1}, .factor = "roughnessFactor"},
    {.channel = "occlusion", .extension = "", .object = "", .texture = "occlusionTexture",
     .components = {0}, .factor = "strength", .factor_in_texture = true, .rule = SlotRule::kOcclusion},
    {.channel = "emissive", .extension = "", .object = "", .texture = "emissiveTexture",
     .components = {0, 1, 2}, .count = 3, .texels = ColorSpace::kSrgb, .factor = "emissiveFactor", .standard = 0, .bounded = false,
     .strength_in = "KHR_materials_emissive_strength", .strength = "emissiveStrength"},
    {.channel = "normal", .extension = "", .object = "", .texture = "normalTexture",
     .components = {0, 1, 2}, .count = 3, .factor = "scale", .factor_in_texture = true, .bounded = false, .rule = SlotRule::kTangent},
    {.channel = "clearcoat", .extension = "KHR_materials_clearcoat", .object = "", .texture = "clearcoatTexture",
     .components = {0}, .factor = "clearcoatFactor", .standard = 0},
    {.channel = "clearcoat_roughness", .extension = "KHR_materials_clearcoat", .object = "", .texture = "clearcoatRoughnessTexture",
     .components = {1}, .factor = "clearcoatRoughnessFactor", .standard = 0},
    {.channel = "clearcoat_normal", .extension = "KHR_materials_clearcoat", .object = "", .texture = "clearcoatNormalTexture",
     .components = {0, 1, 2}, .count = 3, .factor = "scale", .factor_in_texture = true, .bounded = false, .rule = SlotRule::kTangent},
    {.channel = "sheen_color", .extension = "KHR_materials_sheen", .object = "", .texture = "sheenColorTexture",
     .components = {0, 1, 2}, .count = 3, .texels = ColorSpace::kSrgb, .values = ColorSpace::kSrgb, .factor = "sheenColorFactor", .standard = 0},
    {.channel = "sheen_roughness", .extension = "KHR_materials_sheen", .object = "", .texture = "sheenRoughnessTexture",
     .components = {3}, .factor = "sheenRoughnessFactor", .standard = 0},
    {.channel = "transmission", .extension = "KHR_materials_transmission", .object = "", .texture = "transmissionTexture",
     .components = {0}, .factor = "transmissionFactor", .standard = 0},
    {.channel = "thickness", .extension = "KHR_materials_volume", .object = "", .texture = "thicknessTexture",
     .components = {1}, .factor = "thicknessFactor", .standard = 0, .bounded = false},
    {.channel = "specular", .extension = "KHR_materials_specular", .object = "", .texture = "specularTexture",
     .components = {3}, .factor = "specularFactor"},
    {.channel = "specular_color", .extension = "KHR_materials_specular", .object = "", .texture = "specularColorTexture",
     .components = {0, 1, 2}, .count = 3, .texels = ColorSpace::kSrgb, .factor = "specularColorFactor", .bounded = false},
    {.channel = "anisotropy", .extension = "KHR_materials_anisotropy", .object = "", .texture = "anisotropyTexture",
     .components = {0, 1, 2}, .count = 3, .factor = "anisotropyStrength", .standard = 0, .rule = SlotRule::kTangent,
     .rotation = "anisotropyRotation"},
    {.channel = "iridescence", .extension = "KHR_materials_iridescence", .object = "", .texture = "iridescenceTexture",
     .components = {0}, .factor = "iridescenceFactor", .standard = 0},
    {.channel = "iridescence_thickness", .extension = "KHR_materials_iridescence", .object = "", .texture = "iridescenceThicknessTexture",
     .components = {1}, .factor = "iridescenceThicknessMaximum", .standard = 400, .bounded = false, .rule = SlotRule::kBetween,
     .low = "iridescenceThicknessMinimum", .standard_low = 100},
    {.channel = "diffuse_transmission", .extension = "KHR_materials_diffuse_transmission", .object = "", .texture = "diffuseTransmissionTexture",
     .components = {3}, .factor = "diffuseTransmissionFactor", .standard = 0},
    {.channel = "diffuse_transmission_color", .extension = "KHR_materials_diffuse_transmission", .object = "", .texture = "diffuseTransmissionColorTexture",
     .components = {0, 1, 2}, .count = 3, .texels = ColorSpace::kSrgb, .values = ColorSpace::kSrgb, .factor = "diffuseTransmissionColorFactor"},
};
// clang-format on

inline constexpr std::size_t kSlotCount = std::size(kMaterialSlots);

/// The number of the slot of a channel, kSlotCount if there is none: slotOf("metallic"). A normal texture is
/// fitted as "normal" or as "object_normal" (appearance.h).
constexpr std::size_t slotOf(std::string_view channel) {
  if (channel == "object_normal") channel = "normal";
  std::size_t slot = 0;
  while (slot < kSlotCount && kMaterialSlots[slot].channel != channel)
    ++slot;
  return slot;
}

/// Largest factor that is read: squares of values stay far from overflow.
inline constexpr float kMaxFactor = 1e6f;

/// What a texel and factors make together, in linear numbers: components of `texel` as the slot counts them,
/// linear. Ones() stands for a slot without texture. The first `count` numbers matter. Not for kTangent.
Vec3f slotValue(const MaterialSlot& slot, const Vec3f& factor, float low, const Vec3f& texel);

}  // namespace heatskin
