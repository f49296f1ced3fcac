#pragma once

// What a surface point does with light: the numbers of a glTF material at that point, whoever knows them (the
// asset's textures, or kernels).

#include <functional>
#include <span>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/vec.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// The metallic-roughness model of glTF 2.0 with the layers of KHR_materials_clearcoat and _sheen. Colours
/// are linear. Factors are included.
struct SurfaceMaterial {
  Vec3f base_color = {1, 1, 1};
  float metallic = 0;
  float roughness = 0.75f;
  float occlusion = 1;  ///< part of the light from all around that arrives
  Vec3f emissive = {0, 0, 0};
  float clearcoat = 0;
  float clearcoat_roughness = 0;
  Vec3f sheen_color = {0, 0, 0};
  float sheen_roughness = 0;
  Vec3f vertex_normal = {0, 0, 1};  ///< unit, interpolated, on the outside
  Vec3f normal = {0, 0, 1};         ///< unit, with the normal map
  Vec3f coat_normal = {0, 0, 1};    ///< unit, of the clearcoat
};

/// Materials of many surface points; the spans have equal length. Called as a ColorSource is.
using MaterialSource =
    std::function<void(std::span<const SurfacePoint> points, std::span<SurfaceMaterial> materials)>;

/// The asset's own materials. Both must outlive the source.
MaterialSource appearanceMaterials(const Appearance& appearance, const ShadingNormals& normals,
                                   Filter filter = Filter::kAuto);

/// The normals of materials, for renderNormals().
NormalSource normalsOf(MaterialSource materials);

}  // namespace heatskin
