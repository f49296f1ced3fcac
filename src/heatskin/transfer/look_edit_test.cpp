#include "heatskin/transfer/look_edit.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing {
namespace {

EditOperation dot(const Vec3& at, double radius, std::vector<float> color) {
  EditOperation operation;
  operation.regions.push_back({{at}, radius, 0.5});
  operation.values["base_color"] = std::move(color);
  return operation;
}

TEST(LookEdit, PaintsWithinTheRadiusAndNowhereElse) {
  const Surface surface = build(icosphere(4));
  const auto edit = LookEdit::create({dot({0, 0, 1}, 0.3, {1, 0, 0})}, surface, {});
  ASSERT_TRUE(edit) << edit.error().message;
  const Similarity to_asset = surface.assetFromSurface();
  std::size_t inside = 0;
  for (const SurfacePoint& p : sampleSurface(surface, 2000, 1)) {
    const double distance = (to_asset(surface.position(p)) - Vec3(0, 0, 1)).norm();
    std::vector<float> v = {0.2f, 0.4f, 0.6f};
    edit->apply(p, v);
    if (distance >= 0.3) {
      EXPECT_EQ(v, (std::vector<float>{0.2f, 0.4f, 0.6f}));
      EXPECT_EQ(edit->weight(p), 0);
    } else if (distance <= 0.15) {
      EXPECT_NEAR(v[0], 1, 1e-6);
      EXPECT_NEAR(v[1], 0, 1e-6);
      ++inside;
      EXPECT_EQ(edit->faces()[p.face], 1);
    }
  }
  EXPECT_GT(inside, 5u);
}

TEST(LookEdit, DoesNotGoThroughThinWalls) {
  Soup soup = flatGrid(8, 8);
  const auto count = static_cast<std::uint32_t>(soup.positions.size());
  const std::size_t faces = soup.faces.size();
  for (std::uint32_t v = 0; v < count; ++v)
    soup.positions.push_back(soup.positions[v] - Vec3(0, 0, 0.01));
  for (std::size_t f = 0; f < faces; ++f)
    soup.faces.push_back({soup.faces[f][0] + count, soup.faces[f][2] + count, soup.faces[f][1] + count});
  const Surface surface = build(soup);
  const Vec3 middle = soup.positions[count / 2] + Vec3(0, 0, 0.001);
  const auto edit = LookEdit::create({dot(middle, 0.5, {1, 0, 0})}, surface, {});
  ASSERT_TRUE(edit);
  std::size_t above = 0;
  for (const SurfacePoint& p : sampleSurface(surface, 2000, 1)) {
    const bool up = surface.frames()[p.face].normal().z() > 0;
    if (!up) {
      EXPECT_EQ(edit->weight(p), 0);
    }
    above += up && edit->weight(p) > 0 ? 1 : 0;
  }
  EXPECT_GT(above, 0u);
}

TEST(LookEdit, BlendsOpacityAndMasks) {
  const Surface surface = build(icosphere(3));
  EditOperation operation = dot({0, 0, 1}, 3, {0.5f, 0.5f, 0.5f});
  operation.regions[0].hardness = 0.99;
  operation.blend = EditBlend::kMultiply;
  operation.opacity = 0.5;
  EditOperation mask;
  mask.without.push_back({{Vec3(0, 0, 1)}, 0.2, 0.9});
  limitTo(operation, mask);
  const auto edit = LookEdit::create({operation}, surface, {});
  ASSERT_TRUE(edit);
  const Similarity to_asset = surface.assetFromSurface();
  for (const SurfacePoint& p : sampleSurface(surface, 500, 1)) {
    const Vec3 place = to_asset(surface.position(p));
    if (surface.frames()[p.face].normal().z() <= 0.2) continue;
    std::vector<float> v = {0.8f, 0.8f, 0.8f};
    edit->apply(p, v);
    const double distance = (place - Vec3(0, 0, 1)).norm();
    if (distance < 0.17) {
      EXPECT_NEAR(v[0], 0.8, 1e-5);
    } else if (distance > 0.21) {
      EXPECT_NEAR(v[0], 0.6, 1e-5);
    }
  }
}

TEST(LookEdit, RecolorsByHueLevelsAndTable) {
  EXPECT_TRUE(recolored({1, 0, 0}, 120, 1).isApprox(Vec3f(0, 1, 0), 1e-5f));
  EXPECT_TRUE(recolored({0.2f, 0.4f, 0.6f}, 0, 1).isApprox(Vec3f(0.2f, 0.4f, 0.6f), 1e-5f));
  EXPECT_TRUE(recolored({0.2f, 0.4f, 0.6f}, 0, 0).isApprox(Vec3f(0.6f, 0.6f, 0.6f), 1e-5f));
  EXPECT_TRUE(recolored({0.3f, 0.7f, 0.1f}, 90, 1).isApprox(recolored({0.3f, 0.7f, 0.1f}, -270, 1), 1e-4f));
  const Surface surface = build(icosphere(1));
  EditOperation operation;
  operation.kind = EditOperation::Kind::kRecolor;
  operation.levels = {0.2, 0.6};
  operation.table[2] = {1, 0};
  const auto edit = LookEdit::create({operation}, surface, {});
  std::vector<float> v = {0.2f, 0.4f, 0.6f};
  edit->apply(SurfacePoint{}, v);
  EXPECT_NEAR(v[0], 0, 1e-5);
  EXPECT_NEAR(v[1], 0.5, 1e-5);
  EXPECT_NEAR(v[2], 0, 1e-5) << "1 became 0 in the table";
}

TEST(LookEdit, RefusesChannelsThatDoNotExist) {
  const Surface surface = build(icosphere(1));
  EditOperation wrong = dot({0, 0, 1}, 1, {1, 0, 0});
  wrong.values["glitter"] = {1};
  const auto unknown = LookEdit::create({wrong}, surface, {});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kInput);
  EXPECT_NE(unknown.error().message.find("glitter"), std::string::npos);
  EXPECT_FALSE(LookEdit::create({dot({0, 0, 1}, 1, {1, 0})}, surface, {}));
}

}  // namespace
}  // namespace heatskin::testing
