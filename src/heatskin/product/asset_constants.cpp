#include "heatskin/product/asset_constants.h"

#include <algorithm>
#include <map>

#include "heatskin/io/color_space.h"

namespace heatskin {

ConstantFaces constantFaces(const Appearance& appearance, const ChannelLayout& layout) {
  ConstantFaces out;
  out.values.channels = layout.size();
  if (appearance.constantFaces() == 0 || !appearance.hasColor()) return out;
  out.row_of_face.assign(appearance.faceCount(), kNone);
  std::map<int, std::uint32_t> known;  // by material
  for (std::uint32_t f = 0; f < appearance.faceCount(); ++f) {
    if (!appearance.faceConstant(f)) continue;
    const auto [entry, is_new] =
        known.try_emplace(appearance.faceMaterial(f), static_cast<std::uint32_t>(out.values.size()));
    if (is_new) {
      const SurfacePoint middle{f, Vec3::Constant(1.0 / 3)};
      out.values.resize(out.values.size() + 1);
      appearance.values({&middle, 1}, layout, {out.values.row(entry->second), layout.size()});
    }
    out.row_of_face[f] = entry->second;
  }
  return out;
}

ConstantFaces constantFaces(const Asset& asset, const Surface& surface,
                            std::span<const std::size_t> materials, const ChannelLayout& layout) {
  ConstantFaces out;
  out.values.channels = layout.size();
  if (materials.empty()) return out;
  const ChannelGroup *base_color = layout.find("base_color"), *alpha = layout.find("alpha");
  out.values.resize(materials.size());
  for (std::size_t m = 0; m < materials.size(); ++m) {
    const Material& material = asset.materials[materials[m]];
    const Vec4f factor = material.base_color_factor.cwiseMax(0.0f).cwiseMin(1.0f);
    float* row = out.values.row(m);
    for (std::size_t c = 0; c < 3 && base_color != nullptr; ++c)
      row[base_color->first + c] = srgbFromLinear(factor[static_cast<Eigen::Index>(c)]);
    if (alpha != nullptr) row[alpha->first] = material.alpha_mode == AlphaMode::kOpaque ? 1.0f : factor.w();
  }
  out.row_of_face.assign(surface.faceCount(), kNone);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const Mesh& mesh = asset.meshes[static_cast<std::size_t>(asset.instances[source.instance].mesh)];
    const int material = mesh.primitives[source.primitive].material;
    if (material < 0) continue;
    const auto found = std::find(materials.begin(), materials.end(), static_cast<std::size_t>(material));
    if (found != materials.end()) out.row_of_face[f] = static_cast<std::uint32_t>(found - materials.begin());
  }
  return out;
}

bool hasOneColor(const Asset& asset, const Primitive& primitive) {
  if (!primitive.colors.empty()) return false;
  if (primitive.material < 0) return true;
  const TextureUse& use = asset.materials[static_cast<std::size_t>(primitive.material)].base_color;
  const auto set = static_cast<std::size_t>(use.uv_set);
  return use.texture < 0 || asset.textures[static_cast<std::size_t>(use.texture)].image < 0 ||
         set >= primitive.uv_sets.size() || primitive.uv_sets[set].empty();
}

}  // namespace heatskin
