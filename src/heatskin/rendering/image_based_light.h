#pragma once

// Light of an Environment, gathered beforehand for every direction and roughness, so that a picture without
// noise needs a few table look-ups per point: the split-sum approximation (Karis, "Real shading in Unreal
// Engine 4", SIGGRAPH 2013 course) with the energy that repeated reflection between facets returns (after
// Fdez-Aguera, "A multiple-scattering microfacet model for real-time image-based lighting", JCGT 2019).
//
// Dome and softboxes are symmetric around an axis each. What they send into a lobe depends on the angle
// between axis and lobe and on the lobe's width alone: two-dimensional tables, made by quadrature, no images.
// What shadows take away is told by whoever asks (SeenLight).

#include <array>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/environment.h"
#include "heatskin/rendering/surface_material.h"

namespace heatskin {

/// A function of the angle to an axis (0 .. pi) and of roughness (0 .. 1), interpolated linearly.
class AngleTable {
 public:
  static constexpr int kAngles = 256, kRoughnesses = 32;

  AngleTable() : values_(static_cast<std::size_t>(kAngles) * kRoughnesses, 0.0f) {}
  float& at(int angle, int roughness) { return values_[index(angle, roughness)]; }
  float operator()(double cosine, double roughness) const;

  static double angleOf(int angle);
  static double roughnessOf(int roughness) { return static_cast<double>(roughness) / (kRoughnesses - 1); }

 private:
  static std::size_t index(int angle, int roughness) {
    return static_cast<std::size_t>(roughness) * kAngles + static_cast<std::size_t>(angle);
  }
  std::vector<float> values_;  // [roughness, angle]
};

/// How much of the environment's light arrives at a point, 0 .. 1 each.
struct SeenLight {
  static constexpr std::size_t kLamps = 4;

  float around = 1;                                ///< of the dome's, weighted with the cosine
  std::array<float, kLamps> lamps = {1, 1, 1, 1};  ///< of each softbox's; further ones are seen whole
};

/// See the head of the file.
class ImageBasedLight {
 public:
  explicit ImageBasedLight(const Environment& environment);

  /// Light on a surface facing `normal`, divided by pi: what a white Lambert surface shows.
  Vec3f diffuse(const Vec3& normal, const SeenLight& seen = {}) const;

  /// Mean light around the mirror direction `reflected`, as wide as GGX of this roughness reflects it.
  Vec3f specular(const Vec3& reflected, double roughness, const SeenLight& seen = {}) const;

  /// Light that leaves a point towards `to_viewer`. `face_normal` and the material's normals are on the
  /// viewer's side or are turned there. Of the material's occlusion and what is seen of the dome the smaller
  /// counts: both tell of the same neighbours.
  Vec3f leaving(const SurfaceMaterial& material, const Vec3& face_normal, const Vec3& to_viewer,
                const SeenLight& seen = {}) const;

 private:
  Environment environment_;
  AngleTable above_, below_;       ///< of the dome's parts that grow with height and with depth
  std::vector<AngleTable> lamps_;  ///< of a softbox of radiance 1
  std::vector<std::array<float, AngleTable::kAngles>> lamp_diffuse_;
  std::array<float, AngleTable::kAngles> above_diffuse_{}, below_diffuse_{};
};

/// Part of the light from everywhere that GGX facets reflect towards a viewer: reflectance F0 gives
/// F0 scale + offset. Cosine of the viewer's angle and roughness, both 0 .. 1.
struct FacetReflectance {
  float scale = 1, offset = 0;
};
FacetReflectance facetReflectance(double cosine, double roughness);

/// The same for a sheen of colour 1 (Charlie's distribution: Estevez and Kulla, "Production friendly
/// microfacet sheen BRDF", SIGGRAPH 2017 course, with Ashikhmin's visibility term, as the extension says).
float sheenReflectance(double cosine, double roughness);

}  // namespace heatskin
