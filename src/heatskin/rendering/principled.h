#pragma once

// How a surface reflects light: the part of the principled BSDF that METHOD section 14 names, a diffuse lobe
// with retro-reflection and a specular one with GGX microfacets.
//
// Burley, "Physically based shading at Disney", SIGGRAPH 2012 course, and "Extending the Disney BRDF to a
// BSDF", 2015 (whose diffuse lobe this is); Walter et al., "Microfacet models for refraction through rough
// surfaces", EGSR 2007; Heitz, "Sampling the GGX distribution of visible normals", JCGT 2018. Masking and
// shadowing are Smith's and independent of each other. A dielectric reflects by Fresnel's equations, a metal
// by Schlick's approximation of them.
//
// The model is not strict about energy: diffuse light is not lessened by what the specular lobe reflects. A
// white surface of roughness 0.5 reflects 1.04 times what it receives when seen straight on and up to 1.19
// times at grazing angles (principled_test.cpp).
//
// Directions are unit vectors in the shading frame, whose z axis is the normal; `out` leads to the viewer,
// `in` to the light. Everything is zero unless both are above the surface. All lobes are affine in the base
// colour and directions are drawn without regard to it: pictures that differ in base colours alone can be
// made along the same paths.

#include <optional>

#include "heatskin/base/vec.h"

namespace heatskin {

/// Everything but the base colour.
struct PrincipledOptions {
  double roughness = 0.5;  ///< 0 .. 1; GGX alpha is its square, at least kMinAlpha
  double metallic = 0;     ///< 0: dielectric, 1: metal
  double index = 1.5;      ///< of refraction, of the dielectric part; above 1
};

/// Smoother than this no highlight gets: a mirror could not be found by drawing directions.
inline constexpr double kMinAlpha = 1e-3;

/// A quantity that depends on the base colour: plain + tinted * base_color, channel by channel.
struct ByBaseColor {
  double plain = 0;
  double tinted = 0;

  Vec3f operator()(const Vec3f& base_color) const {
    return Vec3f::Constant(static_cast<float>(plain)) + static_cast<float>(tinted) * base_color;
  }
  ByBaseColor operator*(double factor) const { return {plain * factor, tinted * factor}; }
  ByBaseColor operator+(const ByBaseColor& other) const {
    return {plain + other.plain, tinted + other.tinted};
  }
};

/// See the head of the file.
class PrincipledBsdf {
 public:
  explicit PrincipledBsdf(const PrincipledOptions& options = {});

  /// Value, without the cosine; reciprocal.
  ByBaseColor value(const Vec3& out, const Vec3& in) const;

  struct Sample {
    Vec3 in;
    double density = 0;  ///< per solid angle
    ByBaseColor weight;  ///< value times cosine, divided by the density
  };

  /// A direction of the light, with `u` (0 .. 1) for the direction and `lobe` (0 .. 1) for the lobe; nothing
  /// if it lies below the surface.
  std::optional<Sample> sample(const Vec3& out, const Vec2& u, double lobe) const;

  /// The density sample() draws `in` with. It integrates to one, up to directions below the surface.
  double density(const Vec3& out, const Vec3& in) const;

 private:
  double specularShare(const Vec3& out) const;
  double specularDensity(const Vec3& out, const Vec3& half) const;
  double masking(const Vec3& direction) const;
  double normals(const Vec3& half) const;

  PrincipledOptions options_;
  double alpha_ = 0.25;
};

/// Part of unpolarised light that a dielectric of the given index reflects, seen from outside at an angle
/// with this cosine (0 .. 1).
double fresnelReflectance(double cosine, double index);

/// A direction above the surface, with density cosine / pi.
Vec3 cosineDirection(const Vec2& u);

}  // namespace heatskin
