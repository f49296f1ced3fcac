#include "heatskin/rendering/image_based_light.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "heatskin/rendering/principled.h"

namespace heatskin {
namespace {

Environment oddStudio() {
  Environment e;
  e.up = Vec3(0.1, 0.9, -0.2).normalized();
  e.zenith = {0.4f, 0.5f, 0.6f};
  e.horizon = {0.2f, 0.2f, 0.1f};
  e.nadir = {0.05f, 0.1f, 0.3f};
  e.softboxes.push_back({Vec3(1, 1, 0.5).normalized(), 0.3, {5, 4, 3}});
  e.softboxes.push_back({Vec3(-1, 0.2, 0.5).normalized(), 0.2, {2, 3, 7}});
  return e;
}

Vec3f radiance(const Environment& e, const Vec3& direction) {
  return e.dome(direction) + e.lamps(direction);
}

TEST(ImageBasedLight, DiffuseLightIsThatOfAnOpenFloor) {
  // openFloorLight() is a quadrature of its own.
  Environment e = oddStudio();
  const Vec3 up = e.up;
  const ImageBasedLight light(e);
  for (const Vec3& normal : {Vec3(0, 1, 0), Vec3(1, 0, 0), Vec3(-0.48, -0.6, 0.64)}) {
    // Only the dome depends on `up`: with lamps alone any normal can play the floor's.
    Environment lamps = oddStudio();
    lamps.zenith = lamps.horizon = lamps.nadir = Vec3f::Zero();
    lamps.up = normal;
    const Vec3f expected = openFloorLight(lamps);
    Environment dark = e;
    dark.zenith = dark.horizon = dark.nadir = Vec3f::Zero();
    EXPECT_LT((ImageBasedLight(dark).diffuse(normal) - expected).norm(), 0.02f * expected.norm() + 2e-3f);
  }
  e.softboxes.clear();
  EXPECT_LT((ImageBasedLight(e).diffuse(up) - openFloorLight(e)).norm(), 2e-3f);
}

TEST(ImageBasedLight, AMirrorShowsTheEnvironment) {
  const Environment e = oddStudio();
  const ImageBasedLight light(e);
  for (const Vec3& direction :
       {e.softboxes[0].direction, Vec3(0.2, -0.7, 0.4).normalized(), e.up, Vec3(-e.up)})
    EXPECT_LT((light.specular(direction, 0) - radiance(e, direction)).norm(), 0.02f);
}

TEST(ImageBasedLight, ARoughMirrorShowsTheMeanOfItsLobe) {
  const Environment e = oddStudio();
  const ImageBasedLight light(e);
  const Vec3 axis = Vec3(0.8, 0.9, 0.1).normalized();
  const Vec3 x = axis.unitOrthogonal(), y = axis.cross(x);
  for (const double roughness : {0.2, 0.5, 1.0}) {
    // Brute force: facets drawn by a grid of numbers.
    Vec3 sum = Vec3::Zero();
    double weights = 0;
    constexpr int kSide = 400;
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        const double u = (i + 0.5) / kSide, turn = 2 * std::numbers::pi * (j + 0.5) / kSide;
        const double half = std::atan(roughness * roughness * std::sqrt(u / (1 - u)));
        const double cosine = std::cos(2 * half);
        if (cosine <= 0) continue;
        const Vec3 direction = std::sin(2 * half) * (std::cos(turn) * x + std::sin(turn) * y) + cosine * axis;
        sum += cosine * radiance(e, direction).cast<double>();
        weights += cosine;
      }
    }
    const Vec3 expected = sum / weights;
    EXPECT_LT((light.specular(axis, roughness).cast<double>() - expected).norm(), 0.03 * expected.norm())
        << roughness;
  }
}

TEST(ImageBasedLight, FacetsReflectWhatThePathTracersFacetsReflect) {
  // Under uniform light a white metal reflects scale + offset: the integral of the BSDF.
  for (const double roughness : {0.3, 0.6, 1.0}) {
    PrincipledOptions options;
    options.roughness = roughness;
    options.metallic = 1;
    const PrincipledBsdf bsdf(options);
    for (const double cosine : {0.2, 0.5, 1.0}) {
      const Vec3 out(std::sqrt(1 - cosine * cosine), 0, cosine);
      double sum = 0;
      constexpr int kRings = 300, kTurns = 300;
      for (int i = 0; i < kRings; ++i) {
        const double z = std::sqrt((i + 0.5) / kRings), r = std::sqrt(1 - z * z);
        for (int j = 0; j < kTurns; ++j) {
          const double turn = 2 * std::numbers::pi * (j + 0.5) / kTurns;
          const ByBaseColor value = bsdf.value(out, {r * std::cos(turn), r * std::sin(turn), z});
          sum += std::numbers::pi * (value.plain + value.tinted);
        }
      }
      const FacetReflectance found = facetReflectance(cosine, roughness);
      EXPECT_NEAR(found.scale + found.offset, sum / (kRings * kTurns), 0.02) << roughness << " " << cosine;
    }
  }
}

TEST(ImageBasedLight, AWhiteFurnaceNeitherAddsNorLosesMuch) {
  const ImageBasedLight light{Environment{}};  // 1 everywhere
  SurfaceMaterial m;
  m.base_color = {1, 1, 1};
  for (const float metallic : {0.0f, 1.0f}) {
    for (const float roughness : {0.05f, 0.5f, 1.0f}) {
      for (const double cosine : {0.3, 0.7, 1.0}) {
        m.metallic = metallic;
        m.roughness = roughness;
        const Vec3 to_viewer(std::sqrt(1 - cosine * cosine), 0, cosine);
        const Vec3f out = light.leaving(m, Vec3(0, 0, 1), to_viewer);
        EXPECT_NEAR(out.x(), 1, 0.04f) << metallic << " " << roughness << " " << cosine;
      }
    }
  }
  // Emission is added, occlusion and a black body take away.
  m = {};
  m.base_color.setZero();
  m.emissive = {2, 1, 0};
  const Vec3f glow = light.leaving(m, Vec3(0, 0, 1), Vec3(0, 0, 1));
  EXPECT_NEAR(glow.x() - glow.z(), 2, 1e-5f);
  EXPECT_LT(glow.z(), 0.06f);
}

TEST(ImageBasedLight, BothSidesOfAFaceLookAlike) {
  const ImageBasedLight light(oddStudio());
  SurfaceMaterial m;
  m.normal = Vec3f(0.3f, 0.1f, 0.9f).normalized();
  m.clearcoat = 1;
  m.sheen_color = {0.5f, 0.2f, 0.1f};
  m.sheen_roughness = 0.4f;
  const Vec3 to_viewer = Vec3(0.2, 0.3, 0.8).normalized();
  SurfaceMaterial back = m;
  back.normal = -m.normal;
  back.vertex_normal = -m.vertex_normal;
  back.coat_normal = -m.coat_normal;
  EXPECT_EQ(light.leaving(m, Vec3(0, 0, 1), to_viewer), light.leaving(back, Vec3(0, 0, -1), to_viewer));
}

TEST(ImageBasedLight, SheenNeverReflectsMoreThanArrives) {
  for (double roughness = 0; roughness <= 1; roughness += 0.1) {
    for (double cosine = 0; cosine <= 1; cosine += 0.1) {
      const float part = sheenReflectance(cosine, roughness);
      EXPECT_GE(part, 0);
      EXPECT_LE(part, 1);
    }
  }
}

}  // namespace
}  // namespace heatskin
