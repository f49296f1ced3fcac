#include "heatskin/rendering/path_tracer.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/rendering/test_views.h"
#include "heatskin/rendering/transparency.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

/// Sides of pictures: enough pixels to look at, fewer where the program is sanitised.
constexpr int kSide = testing::casesToTry(64, 24);

/// A sphere of radius 1 whose fronts look outwards, or inwards: seen from outside it then is black.
Surface sphere(bool inside_out = false, int levels = 5) {
  testing::TriangleMesh mesh = testing::icosphere(levels);
  if (inside_out) {
    for (auto& face : mesh.faces)
      std::swap(face[0], face[1]);
  }
  return testing::surfaceOf(mesh);
}

Camera frontCamera(double distance = 3.7) {
  Camera camera;
  camera.eye = {0, 0, distance};
  return camera;
}

TracedPicture traceOne(const Surface& surface, const Camera& camera, const ColorSource& colors,
                       const PathOptions& options, int side = kSide) {
  const std::vector<ColorSource> sources = {colors};
  return tracePaths(surface, camera, side, side, sources, options).at(0);
}

/// What a point shows of an environment, by quadrature in the frame of its normal.
Vec3 reflected(const Environment& environment, const Vec3& normal, const Vec3& to_viewer,
               const Vec3f& base_color) {
  constexpr int kRings = 160, kTurns = 320;
  const Vec3 x_axis = normal.unitOrthogonal(), y_axis = normal.cross(x_axis);
  const auto local = [&](const Vec3& v) { return Vec3(x_axis.dot(v), y_axis.dot(v), normal.dot(v)); };
  const PrincipledBsdf bsdf;
  const Vec3 out = local(to_viewer);
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < kRings; ++i) {
    const double z2 = (i + 0.5) / kRings;  // equal shares of cosine-weighted solid angle
    for (int j = 0; j < kTurns; ++j) {
      const double turn = 2 * std::numbers::pi * (j + 0.5) / kTurns, r = std::sqrt(1 - z2);
      const Vec3 in(r * std::cos(turn), r * std::sin(turn), std::sqrt(z2));
      const Vec3 world = in.x() * x_axis + in.y() * y_axis + in.z() * normal;
      const Vec3f light = environment.dome(world) + environment.lamps(world);
      sum += bsdf.value(out, in)(base_color).cwiseProduct(light).cast<double>();
    }
  }
  return sum * std::numbers::pi / (kRings * kTurns);
}

/// Differences of a picture of the sphere from the quadrature.
struct Deviation {
  double worst = 0;  ///< of any channel of any pixel
  double mean = 0;   ///< with its sign: what is left is no noise
};

Deviation deviationOfSphere(const Environment& environment, int samples, const PathOptions& base) {
  const Surface surface = sphere();
  const Vec3f color(0.8f, 0.5f, 0.2f);
  PathOptions options = base;
  options.samples = samples;
  options.environment = environment;
  options.colors_are_linear = true;
  const Camera camera = frontCamera();
  const TracedPicture picture = traceOne(surface, camera, constantColor(color), options);
  const Projection projection(camera, kSide, kSide);
  Deviation result;
  int count = 0;
  for (int y = 3; y < kSide; y += 5) {
    for (int x = 3; x < kSide; x += 5) {
      const Vec3 ray = projection.surfaceDirectionFromView(projection.viewRay(x + 0.5, y + 0.5)).normalized();
      // The sphere of radius 1; near its rim a pixel holds too many angles.
      const double b = projection.eye().dot(ray), c = projection.eye().squaredNorm() - 1;
      if (b * b - c < 0.35) continue;
      const Vec3 normal = projection.eye() + (-b - std::sqrt(b * b - c)) * ray;
      const Vec3 expected = reflected(environment, normal.normalized(), -ray, color);
      const std::size_t pixel = static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x);
      EXPECT_EQ(picture.coverage[pixel], 1);
      const Vec3 difference = picture.light[pixel].cast<double>() - expected;
      result.worst = std::max(result.worst, difference.cwiseAbs().maxCoeff());
      result.mean += difference.sum();
      count += 3;
    }
  }
  result.mean /= count;
  return result;
}

TEST(PathTracer, SphereInTheConstantEnvironmentShowsItsAlbedo) {
  PathOptions smooth;
  smooth.crease_angle = 60 * kDegree;  // the quadrature knows the round sphere
  const Deviation round = deviationOfSphere(Environment(), testing::casesToTry(256, 64), smooth);
  EXPECT_LT(round.worst, testing::casesToTry(0.02, 0.04));
  EXPECT_LT(std::abs(round.mean), testing::casesToTry(0.0015, 0.006));
  // Flat faces are off by up to two degrees, which light from everywhere hardly shows.
  const Deviation flat = deviationOfSphere(Environment(), testing::casesToTry(256, 64), {});
  EXPECT_LT(flat.worst, testing::casesToTry(0.02, 0.04));
  EXPECT_LT(std::abs(flat.mean), testing::casesToTry(0.0015, 0.006));
}

TEST(PathTracer, TheSphereTellsASlightlyDenserMaterial) {
  PathOptions denser;
  denser.material.index = 1.6;  // reflects 0.053 straight on instead of 0.040
  EXPECT_GT(deviationOfSphere(Environment(), 64, denser).mean, 0.006);
}

TEST(PathTracer, LampsAreFoundWithTheRightStrength) {
  Environment environment;
  environment.zenith = environment.horizon = environment.nadir = Vec3f(0.2f, 0.3f, 0.4f);
  environment.softboxes.push_back({Vec3(0.5, 0.7, 0.6).normalized(), 25 * kDegree, Vec3f(6, 4, 2)});
  environment.softboxes.push_back({Vec3(-0.9, 0.1, 0.4).normalized(), 10 * kDegree, Vec3f(3, 9, 9)});
  PathOptions smooth;
  smooth.crease_angle = 60 * kDegree;
  const Deviation found = deviationOfSphere(environment, testing::casesToTry(256, 64), smooth);
  EXPECT_LT(found.worst, testing::casesToTry(0.04, 0.08));
  EXPECT_LT(std::abs(found.mean), testing::casesToTry(0.003, 0.012));
}

/// A camera above the floor at y = -1 that sees a patch around (x, -1, 0), straight down.
Camera downwards(double x) {
  Camera camera;
  camera.eye = {x, 5, 0};
  camera.target = {x, -1, 0};
  camera.up = {0, 0, -1};
  camera.vertical_fov = 0.2 * kDegree;
  return camera;
}

Surface farAway() {
  testing::TriangleMesh mesh = testing::icosphere(0);
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  for (Vec3& x : mesh.positions)
    x += Vec3(0, 300, 0);
  return std::move(Surface::build(mesh.positions, mesh.faces, options)).value();
}

TEST(PathTracer, EmptyFloorReflectsItsAlbedoExactly) {
  PathOptions options;
  options.samples = 4;
  options.has_floor = true;
  const TracedPicture picture = traceOne(farAway(), downwards(2), constantColor(Vec3f::Ones()), options, 4);
  for (const Vec3f& light : picture.light)
    EXPECT_NEAR((light - Vec3f::Constant(0.3f)).norm(), 0,
                1e-3);  // 300 away the object hides 1e-5 of the sky
}

TEST(PathTracer, FloorUnderALampHasTheAnalyticIrradiance) {
  PathOptions options;
  options.samples = 4096;
  options.has_floor = true;
  options.environment.zenith = options.environment.horizon = Vec3f::Constant(0.5f);
  const double half_angle = 15 * kDegree, tilt = 40 * kDegree;
  options.environment.softboxes.push_back(
      {Vec3(std::sin(tilt), std::cos(tilt), 0), half_angle, Vec3f(8, 4, 2)});
  const TracedPicture picture = traceOne(farAway(), downwards(2), constantColor(Vec3f::Ones()), options, 2);
  // A disc on the sky of half angle a gives the irradiance pi sin^2 a cos(tilt) times its radiance.
  const double lamp = std::sin(half_angle) * std::sin(half_angle) * std::cos(tilt);
  const Vec3 expected = 0.3 * (Vec3::Constant(0.5) + lamp * Vec3(8, 4, 2));
  EXPECT_LT((picture.light[0].cast<double>() - expected).cwiseAbs().maxCoeff(), 0.003);
  EXPECT_LT((openFloorLight(options.environment).cast<double>() - expected / 0.3).cwiseAbs().maxCoeff(),
            0.003);
}

TEST(PathTracer, ShadowOfABlackSphereHasTheAnalyticDepth) {
  // From a point of the floor a sphere of radius r at distance d, whose centre is h above the floor, hides
  // r^2 h / d^3 of the cosine-weighted sky as long as all of it is above the horizon.
  const Surface black = sphere(true);
  for (const bool backdrop : {false, true}) {
    PathOptions options;
    options.samples = testing::casesToTry(4096, 1024);
    options.one_sided = true;
    options.has_floor = true;
    options.floor.center = {0, -2, 0};
    options.floor.half_side = 100;
    if (backdrop) options.surroundings = Surroundings::kBackdrop;
    for (const double x : {1.2, 1.6, 2.5, 4.0}) {
      Camera camera = downwards(x);
      camera.target.y() = -2;
      const TracedPicture picture = traceOne(black, camera, constantColor(Vec3f::Ones()), options, 2);
      const double open = 1 - 2.0 / std::pow(4 + x * x, 1.5);
      const double found = backdrop ? static_cast<double>(picture.backdrop[0].x())
                                    : static_cast<double>(picture.light[0].x()) / 0.3;
      EXPECT_NEAR(found, open, testing::casesToTry(0.006, 0.015)) << x << " " << backdrop;
    }
  }
}

TEST(PathTracer, BackdropWithoutShadowHasNoNoise) {
  PathOptions options;
  options.samples = 3;
  options.has_floor = true;
  options.floor.half_side = std::numeric_limits<double>::infinity();
  options.surroundings = Surroundings::kBackdrop;
  options.environment.softboxes.push_back({Vec3(0, 1, 0), 20 * kDegree, Vec3f(5, 5, 5)});
  const Surface surface = farAway();
  const TracedPicture picture = traceOne(surface, downwards(2), constantColor(Vec3f::Ones()), options, 4);
  int exact = 0;
  for (const Vec3f& light : picture.backdrop)
    exact += light == Vec3f::Ones() ? 1 : 0;
  EXPECT_GE(exact, 15);
  for (const float covered : picture.coverage)
    EXPECT_EQ(covered, 0);
}

TEST(PathTracer, BacksAreBlackOnlyWhereFacesAreOneSided) {
  PathOptions options;
  options.samples = 4;
  options.max_bounces = 16;
  const Surface inside_out = sphere(true, 3);
  const std::size_t middle = static_cast<std::size_t>(kSide / 2) * kSide + kSide / 2;
  const ColorSource grey = constantColor(Vec3f::Constant(0.5f));
  EXPECT_GT(traceOne(inside_out, frontCamera(), grey, options).light[middle].x(), 0.1f);
  options.one_sided = true;
  EXPECT_EQ(traceOne(inside_out, frontCamera(), grey, options).light[middle].x(), 0.0f);
}

/// Colours that change over the surface.
ColorSource stripes(const Surface& surface, double frequency) {
  return [&surface, frequency](std::span<const SurfacePoint> points, std::span<Vec3f> colors) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 x = surface.position(points[i]);
      const auto v = static_cast<float>(0.5 + 0.5 * std::sin(frequency * x.y()));
      colors[i] = Vec3f(v, 1 - v, 0.5f * v);
    }
  };
}

PathOptions everything(const Transparency& transparency) {
  PathOptions options;
  options.samples = 6;
  options.crease_angle = 35 * kDegree;
  options.has_floor = true;
  options.surroundings = Surroundings::kBackdrop;
  options.environment = studioEnvironment({0, 1, 0}, {0, 0, 1}, {1, 0, 0});
  options.transparency = &transparency;
  return options;
}

bool same(const TracedPicture& a, const TracedPicture& b) {
  return a.light == b.light && a.coverage == b.coverage && a.backdrop == b.backdrop;
}

TEST(PathTracer, PicturesAlongTheSamePathsAreThoseDrawnAlone) {
  const Surface surface = testing::surfaceOf(testing::torus(24, 12));
  Transparency half;
  half.alpha = [](std::span<const SurfacePoint>, std::span<float> alpha) {
    std::fill(alpha.begin(), alpha.end(), 0.5f);
  };
  const PathOptions options = everything(half);
  const std::vector<ColorSource> both = {stripes(surface, 5), stripes(surface, 9)};
  const auto together = tracePaths(surface, frontCamera(), kSide, kSide, both, options);
  ASSERT_EQ(together.size(), 2u);
  EXPECT_FALSE(same(together[0], together[1]));
  for (std::size_t s = 0; s < 2; ++s)
    EXPECT_TRUE(same(together[s], traceOne(surface, frontCamera(), both[s], options)));
  const std::vector<ColorSource> twice = {both[0], both[0]};
  const auto equal = tracePaths(surface, frontCamera(), kSide, kSide, twice, options);
  EXPECT_TRUE(same(equal[0], equal[1]));
}

TEST(PathTracer, PicturesDoNotDependOnTheNumberOfThreads) {
  const Surface surface = testing::surfaceOf(testing::torus(24, 12));
  Transparency half;
  half.alpha = [](std::span<const SurfacePoint> points, std::span<float> alpha) {
    for (std::size_t i = 0; i < points.size(); ++i)
      alpha[i] = points[i].face % 2 == 0 ? 0.3f : 1.0f;
  };
  const PathOptions options = everything(half);
  const int threads = threadCount();
  setThreadCount(1);
  const TracedPicture one = traceOne(surface, frontCamera(), stripes(surface, 5), options);
  setThreadCount(3);
  const TracedPicture three = traceOne(surface, frontCamera(), stripes(surface, 5), options);
  setThreadCount(threads);
  EXPECT_TRUE(same(one, three));
}

TEST(PathTracer, AnotherSeedGivesOtherNoiseAndTheSameMean) {
  const Surface surface = sphere(false, 3);
  PathOptions options;
  options.samples = 16;
  const ColorSource grey = constantColor(Vec3f::Constant(0.5f));
  const TracedPicture one = traceOne(surface, frontCamera(), grey, options);
  options.seed = 2;
  const TracedPicture other = traceOne(surface, frontCamera(), grey, options);
  EXPECT_FALSE(same(one, other));
  double sum = 0, other_sum = 0;
  for (std::size_t i = 0; i < one.light.size(); ++i) {
    sum += static_cast<double>(one.light[i].x());
    other_sum += static_cast<double>(other.light[i].x());
  }
  EXPECT_NEAR(sum / other_sum, 1, 0.01);
}

TEST(PathTracer, TransparentFacesLetTheirShareOfLightThrough) {
  // A wall in front of a bright environment, lit by nothing that it could reflect towards the camera.
  const Surface wall =
      testing::surfaceOf({{{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}}, {{0, 1, 2}, {0, 2, 3}}});
  PathOptions options;
  options.samples = 1024;
  options.surroundings = Surroundings::kBackdrop;
  for (const float alpha : {0.0f, 0.25f, 1.0f}) {
    Transparency transparency;
    transparency.alpha = [alpha](std::span<const SurfacePoint>, std::span<float> out) {
      std::fill(out.begin(), out.end(), alpha);
    };
    options.transparency = &transparency;
    const TracedPicture picture =
        traceOne(wall, frontCamera(), constantColor(Vec3f::Constant(0.5f)), options, 8);
    EXPECT_NEAR(picture.coverage[4 * 8 + 4], alpha, alpha > 0 && alpha < 1 ? 0.05f : 0.0f);
  }
}

TEST(PathTracer, RefusesSizesAndSourcesItCannotDraw) {
  const Surface surface = sphere(false, 1);
  const std::vector<ColorSource> none, one(1, constantColor(Vec3f::Ones())), three(3, one[0]);
  EXPECT_TRUE(tracePaths(surface, frontCamera(), 8, 8, none, {}).empty());
  EXPECT_TRUE(tracePaths(surface, frontCamera(), 8, 8, three, {}).empty());
  EXPECT_TRUE(tracePaths(surface, frontCamera(), 0, 8, one, {}).empty());
  EXPECT_TRUE(tracePaths(surface, frontCamera(), 8, 1 << 20, one, {}).empty());
}

}  // namespace
}  // namespace heatskin
