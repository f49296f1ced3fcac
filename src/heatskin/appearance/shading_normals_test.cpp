#include "heatskin/appearance/shading_normals.h"

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/map_frame.h"
#include "heatskin/base/rng.h"
#include "heatskin/io/asset_surface.h"

#include "support/assets.h"

namespace heatskin {
namespace {

/// Random unit vectors.
Vec3 direction(const RandomStream& random, std::uint64_t i) {
  const auto words = random.words(i);
  const double z = 2 * static_cast<double>(unitFloat(words[0])) - 1;
  const double turn = 2 * std::numbers::pi * static_cast<double>(unitFloat(words[1]));
  const double r = std::sqrt(1 - z * z);
  return {r * std::cos(turn), r * std::sin(turn), z};
}

FaceFrame frameOf(const Vec3& normal) {
  const Vec3 x = normal.unitOrthogonal();
  return {Vec3::Zero(), x, normal.cross(x)};
}

TEST(Slopes, StandForNormalsBothWays) {
  const RandomStream random(1, 2);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const FaceFrame frame = frameOf(direction(random, 3 * i));
    const Vec3 n0 = direction(random, 3 * i + 1);
    if (n0.dot(frame.normal()) < -0.999) continue;  // the axis is ill-conditioned close to opposite
    const auto words = random.words(3 * i + 2);
    const double length = 0.999 * kMaxSlope * static_cast<double>(unitFloat(words[0]));
    const double turn = 7 * static_cast<double>(unitFloat(words[1]));
    const Vec2 slope(length * std::cos(turn), length * std::sin(turn));
    const Vec3 normal = normalFromSlope(frame, n0, slope);
    EXPECT_NEAR(normal.norm(), 1, 1e-12);
    // The tilt against n0 is that of the slope.
    EXPECT_NEAR(std::tan(std::acos(std::clamp(normal.dot(n0), -1.0, 1.0))), length,
                1e-6 * (1 + length * length));
    EXPECT_LT((slopeFromNormal(frame, n0, normal) - slope).norm(), 1e-8);
  }
}

TEST(Slopes, OfAFlatFaceAreThoseOfItsPlane) {
  const FaceFrame frame{Vec3::Zero(), Vec3(0, 1, 0), Vec3(0, 0, 1)};  // nf = x
  const Vec3 normal = normalFromSlope(frame, Vec3(1, 0, 0), {0.5, -0.25});
  EXPECT_LT((normal - Vec3(1, 0.5, -0.25).normalized()).norm(), 1e-12);
  EXPECT_EQ(slopeFromNormal(frame, Vec3(1, 0, 0), Vec3(1, 0, 0)), Vec2(0, 0));
}

TEST(Slopes, OfNormalsThatPointAwayAreCut) {
  const FaceFrame frame = frameOf(Vec3(0, 0, 1));
  const Vec3 n0(0, 0, 1);
  for (const Vec3& normal : {Vec3(0.999, 0, 0.01), Vec3(0.6, 0, -0.8), Vec3(0.01, 0.02, -0.999)}) {
    const Vec2 slope = slopeFromNormal(frame, n0, normal.normalized());
    EXPECT_NEAR(slope.norm(), kMaxSlope, 1e-12);
    EXPECT_GT(frame.directionFromFace(slope).dot(normal), 0);
  }
  EXPECT_TRUE(slopeFromNormal(frame, n0, -n0).allFinite());
}

TEST(Slopes, AreDefinedWhereTheVertexNormalIsOppositeToTheFace) {
  const FaceFrame frame = frameOf(Vec3(0.6, 0, 0.8));
  const Vec3 n0 = -frame.normal();
  const Vec2 slope(0.3, -0.7);
  const Vec3 normal = normalFromSlope(frame, n0, slope);
  EXPECT_NEAR(normal.dot(n0), 1 / std::sqrt(1 + slope.squaredNorm()), 1e-12);
  EXPECT_LT((slopeFromNormal(frame, n0, normal) - slope).norm(), 1e-12);
  EXPECT_EQ(normalFromSlope(frame, n0, Vec2::Zero()), n0);
}

/// A square [0, 1]^2 in the xy plane with normals along z (or none) and a normal map of one texel.
Asset mappedSquare(const Vec3& texel_normal, bool normals = true) {
  Asset asset;
  asset.format = "glb";
  Image image;
  image.width = image.height = 1;
  for (int c = 0; c < 3; ++c)
    image.rgba.push_back(static_cast<std::uint8_t>(std::lround(127.5 * (texel_normal[c] + 1))));
  image.rgba.push_back(255);
  asset.images.push_back(std::make_shared<const Image>(std::move(image)));
  asset.textures.push_back({0});
  Material material;
  material.slots = standardSlots();
  material.slots[slotOf("normal")].texture.texture = 0;
  asset.materials.push_back(material);
  Primitive primitive;
  primitive.positions = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  primitive.uv_sets = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
  if (normals) primitive.normals.assign(4, Vec3f(0, 0, 1));
  primitive.triangles = {0, 1, 2, 0, 2, 3};
  primitive.material = 0;
  asset.meshes.push_back({"square", {primitive}});
  Instance instance;
  instance.mesh = 0;
  asset.instances.push_back(instance);
  return asset;
}

/// The mapped normal in the middle of face 0, and the vertex normal.
struct Found {
  Vec3 normal, vertex_normal, face_normal;
  bool mapped = false;
};
Found normalOf(const Asset& asset) {
  const auto surface = buildSurface(asset);
  EXPECT_TRUE(surface);
  const Appearance appearance(asset, *surface);
  const ShadingNormals normals(asset, *surface, appearance.slots());
  const SurfacePoint p{0, {0.3, 0.3, 0.4}};
  return {normals.normal(p, appearance.slots()), normals.vertexNormal(p), surface->frames()[0].normal(),
          normals.faceMapped(0, appearance.slots())};
}

/// 8-bit texels.
constexpr double kTexel = 0.012;

const Vec3 kTilted = Vec3(0.48, 0.36, 0.8);

TEST(ShadingNormals, ReadTheMapAlongUAndUpTheImage) {
  for (const bool authored : {true, false}) {
    const Found found = normalOf(mappedSquare(kTilted, authored));
    EXPECT_TRUE(found.mapped);
    EXPECT_LT((found.normal - kTilted).norm(), kTexel) << authored;
    EXPECT_LT((found.vertex_normal - Vec3(0, 0, 1)).norm(), 1e-6);
  }
}

TEST(ShadingNormals, ScaleStretchesTheTilt) {
  Asset asset = mappedSquare(kTilted);
  asset.materials[0].slots[slotOf("normal")].factor = Vec3f(2, 2, 2);
  EXPECT_LT((normalOf(asset).normal - Vec3(0.96, 0.72, 0.8).normalized()).norm(), 2 * kTexel);
  asset.materials[0].slots[slotOf("normal")].factor = Vec3f(0, 0, 0);
  EXPECT_LT((normalOf(asset).normal - Vec3(0, 0, 1)).norm(), 1e-6);
}

TEST(ShadingNormals, MirroredAndTurnedCoordinatesTurnTheMap) {
  Asset asset = mappedSquare(kTilted);
  for (Vec2f& uv : asset.meshes[0].primitives[0].uv_sets[0])
    uv.x() = 1 - uv.x();
  EXPECT_LT((normalOf(asset).normal - Vec3(-0.48, 0.36, 0.8)).norm(), kTexel);
  // KHR_texture_transform by a quarter turn: what was along u in the image now lies across.
  asset = mappedSquare(kTilted);
  asset.materials[0].slots[slotOf("normal")].texture.rotation = static_cast<float>(std::numbers::pi / 2);
  const Found turned = normalOf(asset);
  // u' = v, v' = -u (up to offsets): u' grows where v grows, that is towards -y, and v' falls towards +x.
  EXPECT_LT((turned.normal - Vec3(0.36, -0.48, 0.8)).norm(), kTexel) << turned.normal.transpose();
}

TEST(ShadingNormals, StoredTangentsWin) {
  Asset asset = mappedSquare(kTilted);
  asset.meshes[0].primitives[0].tangents.assign(4, Vec4f(0, 1, 0, 1));
  // b = n x t = -x.
  EXPECT_LT((normalOf(asset).normal - Vec3(-0.36, 0.48, 0.8)).norm(), kTexel);
}

TEST(ShadingNormals, InstancesTurnStretchAndMirror) {
  Asset asset = mappedSquare(kTilted);
  Affine3& transform = asset.instances[0].asset_from_mesh;
  transform.linear() = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  EXPECT_LT((normalOf(asset).normal - transform.linear() * kTilted).norm(), kTexel);
  // The mirror image of the object has the mirror image of its normals.
  transform.linear() = Vec3(-1, 1, 1).asDiagonal();
  for (const bool authored : {true, false}) {
    if (!authored) asset.meshes[0].primitives[0].normals.clear();
    const Found found = normalOf(asset);
    EXPECT_LT((found.normal - Vec3(-0.48, 0.36, 0.8)).norm(), kTexel) << found.normal.transpose();
    EXPECT_LT((found.vertex_normal - Vec3(0, 0, 1)).norm(), 1e-6);
  }
  // Stretched along x, a sloped normal turns away from x.
  asset = mappedSquare(Vec3(0, 0, 1));
  asset.meshes[0].primitives[0].normals.assign(4, Vec3f(0.6f, 0, 0.8f));
  asset.instances[0].asset_from_mesh.linear() = Vec3(3, 1, 1).asDiagonal();
  EXPECT_LT((normalOf(asset).vertex_normal - Vec3(0.2, 0, 0.8).normalized()).norm(), 1e-6);
}

TEST(ShadingNormals, OfAFaceWoundTheWrongWayAreTurnedOutwards) {
  // Wound the other way: the surface's outside is -z. Normals say +z: both are turned.
  Asset asset = mappedSquare(kTilted);
  // (Tangents are given: MikkTSpace goes by the winding.)
  asset.meshes[0].primitives[0].triangles = {0, 2, 1, 0, 3, 2};
  asset.meshes[0].primitives[0].tangents.assign(4, Vec4f(1, 0, 0, 1));
  const Found found = normalOf(asset);
  EXPECT_GT(found.face_normal.dot(found.vertex_normal), 0.99);
  EXPECT_LT((found.normal + kTilted).norm(), kTexel) << found.normal.transpose();
}

/// mappedSquare() with its texture in another slot; `factor` is scale or strength.
Asset squareWithSlot(std::size_t slot, const Vec3& texel, float factor = 1) {
  Asset asset = mappedSquare(texel);
  SlotUses& slots = asset.materials[0].slots;
  slots[slot].texture = std::exchange(slots[kNormalSlot].texture, {});
  slots[slot].factor.setConstant(factor);
  return asset;
}

/// Texel of a direction in tangent space and a strength.
Vec3 anisotropyTexel(double angle, double strength) {
  return {std::cos(angle), std::sin(angle), 2 * strength - 1};
}

Vec3 anisotropyOf(const Asset& asset) {
  const auto surface = buildSurface(asset);
  EXPECT_TRUE(surface);
  const Appearance appearance(asset, *surface);
  const ShadingNormals* maps = appearance.directions(kAnisotropySlot);
  EXPECT_NE(maps, nullptr);
  const SurfacePoint p{0, {0.3, 0.3, 0.4}};
  const Vec3 vector = maps->anisotropy(p, appearance.slots());
  // The channels hold the same vector, as it lies in the face.
  const auto layout = ChannelLayout::make({tangentGroup(kAnisotropySlot)});
  EXPECT_TRUE(Appearance::knows(*layout));
  std::array<float, 2> values{};
  appearance.values({&p, 1}, *layout, values);
  const Vec2 in_face(values[0], values[1]);
  EXPECT_NEAR(in_face.norm(), vector.norm(), 1e-6) << "planes are turned, not projected";
  EXPECT_LT((shadedFromFace(surface->frames()[0], maps->vertexNormal(p), in_face) - vector).norm(), 1e-6);
  EXPECT_NEAR(vector.dot(maps->vertexNormal(p)), 0, 1e-6);
  return vector;
}

TEST(Anisotropy, LiesAlongUAndUpTheImageAndIsAsLongAsItIsStrong) {
  for (const double angle : {0.0, 0.6, 2.0, -1.2}) {
    const Vec3 found = anisotropyOf(squareWithSlot(kAnisotropySlot, anisotropyTexel(angle, 0.8), 0.5f));
    EXPECT_LT((found - 0.4 * Vec3(std::cos(angle), std::sin(angle), 0)).norm(), kTexel) << found.transpose();
  }
}

TEST(Anisotropy, IsTurnedFromTangentToBitangent) {
  Asset asset = squareWithSlot(kAnisotropySlot, anisotropyTexel(0.2, 1));
  asset.materials[0].slots[kAnisotropySlot].rotation = 0.7f;
  EXPECT_LT((anisotropyOf(asset) - Vec3(std::cos(0.9), std::sin(0.9), 0)).norm(), kTexel);
  // A mirrored map turns the other way.
  for (Vec2f& uv : asset.meshes[0].primitives[0].uv_sets[0])
    uv.x() = 1 - uv.x();
  EXPECT_LT((anisotropyOf(asset) - Vec3(-std::cos(0.9), std::sin(0.9), 0)).norm(), kTexel);
}

TEST(Anisotropy, HasTheTangentsOfTheNormalTexture) {
  // By a quarter turn of its own coordinates u' grows towards -y (see above) ...
  Asset asset = squareWithSlot(kAnisotropySlot, anisotropyTexel(0, 1));
  SlotUses& slots = asset.materials[0].slots;
  slots[kAnisotropySlot].texture.rotation = static_cast<float>(std::numbers::pi / 2);
  EXPECT_LT((anisotropyOf(asset) - Vec3(0, -1, 0)).norm(), kTexel);
  // ... but the coordinates of the normal texture are what tangents follow, if there is one.
  slots[kNormalSlot].texture = slots[kAnisotropySlot].texture;
  slots[kNormalSlot].texture.rotation = 0;
  EXPECT_LT((anisotropyOf(asset) - Vec3(1, 0, 0)).norm(), kTexel);
  // Stored tangents win.
  asset.meshes[0].primitives[0].tangents.assign(4, Vec4f(0.6f, 0.8f, 0, 1));
  EXPECT_LT((anisotropyOf(asset) - Vec3(0.6, 0.8, 0)).norm(), kTexel);
}

TEST(Anisotropy, FollowsInstancesAndSmoothNormals) {
  Asset asset = squareWithSlot(kAnisotropySlot, anisotropyTexel(0.5, 0.75));
  const Vec3 plain = 0.75 * Vec3(std::cos(0.5), std::sin(0.5), 0);
  Affine3& transform = asset.instances[0].asset_from_mesh;
  transform.linear() = Eigen::AngleAxisd(0.7, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  EXPECT_LT((anisotropyOf(asset) - transform.linear() * plain).norm(), kTexel);
  transform.linear() = Vec3(-1, 1, 1).asDiagonal();
  EXPECT_LT((anisotropyOf(asset) - Vec3(-plain.x(), plain.y(), 0)).norm(), kTexel);
  // Under a tilted vertex normal the vector lies in the plane of shading.
  transform.linear().setIdentity();
  asset.meshes[0].primitives[0].normals.assign(4, Vec3f(0.6f, 0, 0.8f));
  EXPECT_NEAR(anisotropyOf(asset).norm(), 0.75, kTexel);
}

TEST(Anisotropy, IsNothingWithoutATexture) {
  Asset asset = squareWithSlot(kAnisotropySlot, anisotropyTexel(0.5, 1));
  asset.materials.push_back(asset.materials[0]);
  asset.materials[1].slots[kAnisotropySlot].texture = {};
  asset.meshes[0].primitives.push_back(asset.meshes[0].primitives[0]);
  asset.meshes[0].primitives[1].material = 1;
  for (Vec3& p : asset.meshes[0].primitives[1].positions)
    p.x() += 2;
  const auto surface = buildSurface(asset);
  ASSERT_TRUE(surface);
  const Appearance appearance(asset, *surface);
  const SurfacePoint p{2, {0.3, 0.3, 0.4}};
  EXPECT_TRUE(appearance.faceConstant(2, "anisotropy"));
  EXPECT_TRUE(appearance.directions(kAnisotropySlot)->anisotropy(p, appearance.slots()).isZero());
}

TEST(ClearcoatNormals, AreReadAsNormalsFromTheirOwnTexture) {
  Asset asset = squareWithSlot(kCoatNormalSlot, kTilted, 2);
  const auto surface = buildSurface(asset);
  ASSERT_TRUE(surface);
  const Appearance appearance(asset, *surface);
  EXPECT_EQ(appearance.normals(), nullptr) << "the surface itself has no map";
  const ShadingNormals* coat = appearance.directions(kCoatNormalSlot);
  ASSERT_NE(coat, nullptr);
  const SurfacePoint p{0, {0.3, 0.3, 0.4}};
  EXPECT_LT((coat->normal(p, appearance.slots()) - Vec3(0.96, 0.72, 0.8).normalized()).norm(), 2 * kTexel);
  const auto layout = ChannelLayout::make({tangentGroup(kCoatNormalSlot)});
  std::array<float, 2> slope{};
  appearance.values({&p, 1}, *layout, slope);
  const NormalChannels channels(*layout, kCoatNormalSlot);
  EXPECT_FALSE(NormalChannels(*layout).any());
  EXPECT_LT((channels.normal(surface->frames()[0], coat->vertexNormal(p), slope.data()) -
             coat->normal(p, appearance.slots()))
                .norm(),
            1e-6);
}

TEST(MapFrame, FindsTheNumbersOfAVectorInSkewedAxes) {
  MapFrame frame;
  frame.tangent = Vec3(0.9, 0.1, 0);
  frame.bitangent = Vec3(-0.2, 1.1, 0.05);
  frame.normal = Vec3(0, 0, 1);
  const Vec2 numbers(0.3, -0.7);
  EXPECT_LT((frame.across(numbers.x() * frame.tangent + numbers.y() * frame.bitangent) - numbers).norm(),
            1e-12);
  frame.bitangent = frame.tangent;
  EXPECT_TRUE(frame.across(Vec3(1, 2, 3)).allFinite());
}

TEST(ShadingNormals, WithoutNormalsGltfIsFlatAndObjIsNot) {
  // Two squares that meet at 20 degrees.
  Asset asset;
  Primitive primitive;
  const double c = std::cos(0.35), s = std::sin(0.35);
  primitive.positions = {{0, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {-1, 1, 0}, {c, 0, -s}, {c, 1, -s}};
  primitive.triangles = {2, 0, 1, 2, 1, 3, 0, 4, 5, 0, 5, 1};
  asset.meshes.push_back({"fold", {primitive}});
  asset.instances.push_back({"fold", 0, Affine3::Identity()});
  for (const char* format : {"glb", "obj"}) {
    asset.format = format;
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const auto normals = cornerNormals(asset, *surface);
    double off = 0;
    for (std::uint32_t f = 0; f < surface->faceCount(); ++f) {
      for (const Vec3f& normal : normals[f])
        off = std::max(off, (normal.cast<double>() - surface->frames()[f].normal()).norm());
    }
    if (asset.format == "glb") {
      EXPECT_LT(off, 1e-6);
    } else {
      EXPECT_GT(off, 0.1);
    }
  }
}

}  // namespace
}  // namespace heatskin
