#include "heatskin/rendering/surface_material.h"

#include <utility>
#include <vector>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/rendering/supersampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kMaterialPoints = 1024;  // per block

}  // namespace

MaterialSource appearanceMaterials(const Appearance& appearance, const ShadingNormals& normals,
                                   Filter filter) {
  return [&appearance, &normals, filter](std::span<const SurfacePoint> points,
                                         std::span<SurfaceMaterial> materials) {
    static const std::size_t kMetallic = slotOf("metallic"), kRoughness = slotOf("roughness"),
                             kOcclusion = slotOf("occlusion"), kEmissive = slotOf("emissive"),
                             kClearcoat = slotOf("clearcoat"), kCoatRoughness = slotOf("clearcoat_roughness"),
                             kSheenColor = slotOf("sheen_color"), kSheenRoughness = slotOf("sheen_roughness");
    const SlotAppearance& slots = appearance.slots();
    const ShadingNormals* coat = appearance.directions(kCoatNormalSlot);
    parallelFor(points.size(), kMaterialPoints, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SurfacePoint& p = points[i];
        const auto value = [&](std::size_t slot) { return slots.value(p, slot, filter); };
        SurfaceMaterial& m = materials[i];
        m.base_color = raster::linearColor(appearance.color(p, filter));
        m.metallic = value(kMetallic)[0];
        m.roughness = value(kRoughness)[0];
        m.occlusion = value(kOcclusion)[0];
        m.emissive = value(kEmissive);
        m.clearcoat = value(kClearcoat)[0];
        m.clearcoat_roughness = value(kCoatRoughness)[0];
        m.sheen_color = raster::linearColor(value(kSheenColor));
        m.sheen_roughness = value(kSheenRoughness)[0];
        m.vertex_normal = normals.vertexNormal(p).cast<float>();
        m.normal = normals.normal(p, slots, filter).cast<float>();
        m.coat_normal = coat == nullptr ? m.vertex_normal : coat->normal(p, slots, filter).cast<float>();
      }
    });
  };
}

NormalSource normalsOf(MaterialSource materials) {
  return [materials = std::move(materials)](std::span<const SurfacePoint> points, std::span<Vec3f> normals) {
    std::vector<SurfaceMaterial> found(points.size());
    materials(points, found);
    for (std::size_t i = 0; i < found.size(); ++i)
      normals[i] = found[i].normal;
  };
}

}  // namespace heatskin
