#pragma once

// The promises of loadAsset() as a check: what every reader must have made sure of.

#include <cmath>
#include <string>

#include "heatskin/io/asset.h"

namespace heatskin::testing {

/// The first broken promise, or an empty text.
inline std::string assetProblem(const Asset& asset) {
  const auto valid = [](int index, std::size_t count, bool may_be_none) {
    return index < 0 ? (may_be_none && index == -1) : static_cast<std::size_t>(index) < count;
  };
  for (const auto& shared : asset.images) {
    if (shared == nullptr) return "an image that is not there";
    const Image& image = *shared;
    if (image.width <= 0 || image.height <= 0) return "an image without pixels";
    if (image.rgba.size() !=
        4 * static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height)) {
      return "an image whose array does not match its size";
    }
  }
  for (const Texture& texture : asset.textures) {
    if (!valid(texture.image, asset.images.size(), true)) return "a texture without its image";
  }
  for (const Material& material : asset.materials) {
    const TextureUse& use = material.base_color;
    if (!valid(use.texture, asset.textures.size(), true)) return "a material without its texture";
    if (use.uv_set < 0) return "a negative texture coordinate set";
    if (!material.base_color_factor.allFinite() || !use.offset.allFinite() || !use.scale.allFinite() ||
        !std::isfinite(use.rotation)) {
      return "a material with numbers that are not finite";
    }
  }
  std::size_t triangles = 0;
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      const std::size_t count = primitive.positions.size();
      if (!valid(primitive.material, asset.materials.size(), true)) return "a primitive without its material";
      if (primitive.triangles.size() % 3 != 0) return "an incomplete triangle";
      for (const std::uint32_t corner : primitive.triangles) {
        if (corner >= count) return "a corner without its vertex";
      }
      for (const Vec3& p : primitive.positions) {
        if (!p.allFinite()) return "a position that is not finite";
      }
      for (const auto& set : primitive.uv_sets) {
        if (!set.empty() && set.size() != count) return "texture coordinates for another number of vertices";
        for (const Vec2f& uv : set) {
          if (!uv.allFinite()) return "a texture coordinate that is not finite";
        }
      }
      const auto directed = [](const Vec3f& v) { return v.isZero(0) || std::abs(v.norm() - 1) < 1e-5f; };
      if (!primitive.normals.empty() && primitive.normals.size() != count)
        return "normals for another number of vertices";
      if (!primitive.tangents.empty() && (primitive.normals.empty() || primitive.tangents.size() != count))
        return "tangents for another number of vertices or without normals";
      for (const Vec3f& normal : primitive.normals) {
        if (!directed(normal)) return "a normal that is neither a unit vector nor zero";
      }
      for (const Vec4f& tangent : primitive.tangents) {
        if (!directed(tangent.head<3>()) || std::abs(tangent.w()) != 1)
          return "a tangent that is neither a unit vector nor zero, or has a wrong sign";
      }
      if (!primitive.colors.empty() && primitive.colors.size() != count) {
        return "colours for another number of vertices";
      }
      for (const Vec4f& color : primitive.colors) {
        if (!color.allFinite()) return "a colour that is not finite";
      }
    }
  }
  for (const Instance& instance : asset.instances) {
    if (!valid(instance.mesh, asset.meshes.size(), false)) return "an instance without its mesh";
    if (!instance.asset_from_mesh.matrix().allFinite()) return "a transform that is not finite";
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      triangles += primitive.triangleCount();
    }
  }
  if (triangles == 0) return "no triangles";
  for (const Notice& notice : asset.notices) {
    if (notice.code.empty() || notice.message.empty() || notice.count == 0) return "an empty notice";
    if (notice.message.find('\n') != std::string::npos) return "a notice of several lines";
  }
  return {};
}

}  // namespace heatskin::testing
