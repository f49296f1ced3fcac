#include "heatskin/pipeline/hktex_model.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/metrics/test_tensors.h"
#include "heatskin/pipeline/npz_writer.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

using testing::Bytes;

constexpr float kPi = std::numbers::pi_v<float>;

/// A sphere as an asset with one primitive.
Asset sphereAsset() {
  const testing::Soup soup = testing::icosphere(2);
  Asset asset;
  asset.path = "sphere.obj";
  Primitive primitive;
  for (const Vec3& p : soup.positions)
    primitive.positions.push_back(p);
  for (const auto& face : soup.faces)
    primitive.triangles.insert(primitive.triangles.end(), face.begin(), face.end());
  asset.meshes.push_back({"mesh", {primitive}});
  asset.instances.push_back({"instance", 0, Affine3::Identity()});
  return asset;
}

KernelSet variedKernels(const Surface& surface, std::size_t count) {
  KernelSet kernels;
  kernels.mean = Vec3f(0.41f, 0.52f, 0.63f);
  kernels.resize(count);
  const auto points = sampleSurface(surface, count, 3);
  const RandomStream random(4, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = random.uniform2(2 * i), v = random.uniform2(2 * i + 1);
    kernels.positions[i] = points[i];
    kernels.angles[i] = kPi * static_cast<float>(u[0]);
    kernels.anisotropies[i] = 1 + 199 * static_cast<float>(u[1]);
    kernels.thresholds[i] = 0.3f + 0.69f * static_cast<float>(v[0]);
    kernels.sharpnesses[i] = 10 + 190 * static_cast<float>(v[1]);
    kernels.channels[i] = Vec3f(std::sin(static_cast<float>(i)), 0.5f, -0.25f);
  }
  return kernels;
}

/// Relative rounding of a half, and an absolute one for what is near zero.
void expectHalf(float found, float expected) {
  EXPECT_NEAR(found, expected, 0x1.0p-11f * std::abs(expected) + 1e-7f);
}

TEST(HktexModel, ARoundTripKeepsEveryFieldWithinHalfPrecision) {
  const Asset asset = sphereAsset();
  const Surface surface = std::move(buildSurface(asset, {})).value();
  const KernelSet kernels = variedKernels(surface, 400);
  const auto model = hktexFromKernels(kernels, asset, surface);
  ASSERT_TRUE(model);
  const auto read = parseHktexModel(encodeHktexModel(*model), "model.npz");
  ASSERT_TRUE(read) << read.error().message;
  const auto back = kernelsFromHktex(*read, asset, surface);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->clamped_values, 0u);
  EXPECT_EQ(back->moved_positions, 0u);
  ASSERT_EQ(back->kernels.size(), kernels.size());
  for (Eigen::Index c = 0; c < 3; ++c)
    expectHalf(back->kernels.mean[c], kernels.mean[c]);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(back->kernels.positions[i].face, kernels.positions[i].face);
    EXPECT_LT((back->kernels.positions[i].barycentric - kernels.positions[i].barycentric).norm(), 1e-6);
    // An axis: a half turn more or less is the same. Theirs is rounded in [0, pi).
    const float turn = std::abs(back->kernels.angles[i] - kernels.angles[i]);
    EXPECT_LT(std::min(turn, kPi - turn), kPi * 0x1.0p-11f);
    expectHalf(back->kernels.anisotropies[i], kernels.anisotropies[i]);
    expectHalf(back->kernels.thresholds[i], kernels.thresholds[i]);
    expectHalf(back->kernels.sharpnesses[i], kernels.sharpnesses[i]);
    EXPECT_EQ(back->kernels.lengths[i], 1);
    for (std::size_t c = 0; c < 3; ++c)
      expectHalf(back->kernels.channels.row(i)[c], kernels.channels.row(i)[c]);
  }
}

TEST(HktexModel, AnglesAreThoseOfTheAxisAcross) {
  const Asset asset = sphereAsset();
  const Surface surface = std::move(buildSurface(asset, {})).value();
  KernelSet kernels = variedKernels(surface, 1);
  kernels.angles[0] = 0.25f;
  const auto model = hktexFromKernels(kernels, asset, surface);
  ASSERT_TRUE(model);
  const bool turned = (surface.sources()[kernels.positions[0].face].corners[0] + 1) % 3 !=
                      surface.sources()[kernels.positions[0].face].corners[1];
  ASSERT_FALSE(turned);
  EXPECT_NEAR(model->angles[0], 0.25f + kPi / 2, 1e-6f);
}

TEST(HktexModel, FacesAreNumberedAsInTheFileAlsoWhereTheSurfaceDropsOrTurnsSome) {
  Asset asset = sphereAsset();
  auto& triangles = asset.meshes[0].primitives[0].triangles;
  triangles.insert(triangles.begin(), {0, 0, 1});     // no area: dropped, all others move by one
  std::swap(triangles[3 * 7], triangles[3 * 7 + 1]);  // the wrong way round: the surface turns it
  const Surface surface = std::move(buildSurface(asset, {})).value();
  ASSERT_EQ(surface.report().flipped_faces, 1u);
  const KernelSet kernels = variedKernels(surface, 2000);
  const auto model = hktexFromKernels(kernels, asset, surface);
  ASSERT_TRUE(model);
  bool on_turned = false;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::uint32_t t = model->faces[i];
    ASSERT_GT(t, 0u);
    on_turned = on_turned || t == 7;
    const Vec3 weights(static_cast<double>(model->barycentric[i].x()),
                       static_cast<double>(model->barycentric[i].y()),
                       1 - static_cast<double>(model->barycentric[i].sum()));
    Vec3 there = Vec3::Zero();
    for (std::size_t c = 0; c < 3; ++c) {
      there += weights[static_cast<Eigen::Index>(c)] *
               asset.meshes[0].primitives[0].positions[triangles[3 * t + c]];
    }
    EXPECT_LT((there - surface.assetFromSurface()(surface.position(kernels.positions[i]))).norm(), 1e-6);
  }
  EXPECT_TRUE(on_turned);
  const auto back = kernelsFromHktex(*model, asset, surface);
  ASSERT_TRUE(back);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const float turn = std::abs(back->kernels.angles[i] - kernels.angles[i]);
    EXPECT_LT(std::min(turn, kPi - turn), 1e-5f);
  }
}

TEST(HktexModel, ThresholdsRoundedToOneAndPositionsOutsideAreBroughtBack) {
  const Asset asset = sphereAsset();
  const Surface surface = std::move(buildSurface(asset, {})).value();
  HktexModel model = *hktexFromKernels(variedKernels(surface, 3), asset, surface);
  model.thresholds[0] = 1.0f;
  model.barycentric[1] = Vec2f(1.02f, -0.01f);
  model.barycentric[2] = Vec2f(3, -2);
  model.sharpnesses[2] = 1e4f;
  const auto kernels = kernelsFromHktex(model, asset, surface);
  ASSERT_TRUE(kernels);
  EXPECT_LT(kernels->kernels.thresholds[0], 1.0f);
  EXPECT_EQ(kernels->clamped_values, 1u);
  EXPECT_EQ(kernels->moved_positions, 1u);
  for (const SurfacePoint& p : kernels->kernels.positions) {
    EXPECT_GE(p.barycentric.minCoeff(), 0);
    EXPECT_NEAR(p.barycentric.sum(), 1, 1e-12);
  }
}

TEST(HktexModel, RefusesWhatTheFormatCannotHold) {
  const Asset asset = sphereAsset();
  const Surface surface = std::move(buildSurface(asset, {})).value();
  KernelSet kernels = variedKernels(surface, 3);
  kernels.lengths[1] = 0.5f;
  const auto model = hktexFromKernels(kernels, asset, surface);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("lengths"), std::string::npos);
}

TEST(HktexModel, RefusesFacesTheMeshDoesNotHave) {
  const Asset asset = sphereAsset();
  const Surface surface = std::move(buildSurface(asset, {})).value();
  HktexModel model = *hktexFromKernels(variedKernels(surface, 3), asset, surface);
  model.faces[2] = 320;
  const auto kernels = kernelsFromHktex(model, asset, surface);
  ASSERT_FALSE(kernels);
  EXPECT_NE(kernels.error().message.find("kernel 2"), std::string::npos) << kernels.error().message;
}

/// The files of a sound model with two kernels, as numpy writes them; made apart from our writer.
std::map<std::string, Bytes> soundFiles() {
  const auto halves = [](std::size_t count) { return Bytes(2 * count, 0x38); };  // 0x3838: 0.527
  std::map<std::string, Bytes> files;
  files["_mean_colour.npy"] = testing::npy("<f2", "(1, 3)", halves(3));
  files["_kernel_colours.npy"] = testing::npy("<f2", "(2, 3)", halves(6));
  for (const char* name : {"_angles", "_anisotropies", "_thresholds", "_sharpnesses"})
    files[std::string(name) + ".npy"] = testing::npy("<f2", "(2,)", halves(2));
  files["_kernel_face_ids.npy"] = testing::npy("<i2", "(2,)", {3, 0, 1, 1});
  files["_kernel_bary_coords.npy"] =
      testing::npy("<f4", "(2, 2)", testing::floatBytes({0.25f, 0.5f, 0.125f, 0.75f}));
  return files;
}

TEST(HktexModel, ReadsWhatNumpyWrites) {
  for (const bool deflated : {false, true}) {
    const auto model = parseHktexModel(testing::zip(soundFiles(), deflated), "model.npz");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->faces, (std::vector<std::uint32_t>{3, 257}));
    EXPECT_EQ(model->barycentric[1], Vec2f(0.125f, 0.75f));
    EXPECT_NEAR(model->angles[0], 0.527f, 1e-3f);
  }
}

TEST(HktexModel, WritesSixteenBitFacesWhereTheyFit) {
  HktexModel model = *parseHktexModel(testing::zip(soundFiles(), true), "model.npz");
  for (const std::uint32_t face : {32767u, 32768u, 70'000u}) {
    model.faces[0] = face;
    const auto bytes = encodeHktexModel(model);
    const auto back = parseHktexModel(bytes, "model.npz");
    ASSERT_TRUE(back);
    EXPECT_EQ(back->faces, model.faces);
    EXPECT_EQ(encodeHktexModel(*back), bytes);
  }
}

TEST(HktexModel, RefusesDamagedFilesWithOneLineThatNamesTheArray) {
  struct Case {
    const char* name;
    Bytes content;
    const char* says;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases = {
      {"_angles.npy", testing::npy("<i4", "(2,)", Bytes(8, 0)), "_angles"},
      {"_angles.npy", testing::npy("<f2", "(3,)", Bytes(6, 0)), "shape (2,)"},
      {"_angles.npy", testing::npy("<f2", "(2, 1)", Bytes(4, 0)), "shape (2,)"},
      {"_angles.npy", testing::npy("<f2", "(1000000000000,)", Bytes(4, 0)), "_angles"},
      {"_angles.npy", testing::npy(">f2", "(2,)", Bytes(4, 0)), "little-endian"},
      {"_angles.npy", testing::npy("|O", "(2,)", Bytes(16, 0)), "_angles"},
      {"_angles.npy", Bytes{1, 2, 3}, "_angles"},
      {"_thresholds.npy", testing::npy("<f4", "(2,)", testing::floatBytes({0.5f, nan})), "not finite"},
      {"_kernel_face_ids.npy", testing::npy("<f4", "(2,)", Bytes(8, 0)), "_kernel_face_ids"},
      {"_kernel_face_ids.npy", testing::npy("<i2", "(2,)", Bytes(4, 0xff)), "face -1"},
      {"_kernel_face_ids.npy", testing::npy("<i2", "(0,)", {}), "no kernels"},
      {"_kernel_face_ids.npy", testing::npy("<i2", "(1, 2)", Bytes(4, 0)), "one dimension"},
      {"_kernel_face_ids.npy", testing::npy("<i2", "(1500000,)", Bytes(3'000'000, 0)), "more than 1000000"},
      {"_mean_colour.npy", testing::npy("<f2", "(3,)", Bytes(6, 0)), "shape (1, 3)"},
  };
  for (const Case& damaged : cases) {
    auto files = soundFiles();
    files[damaged.name] = damaged.content;
    const auto model = parseHktexModel(testing::zip(files, true), "model.npz");
    ASSERT_FALSE(model) << damaged.says;
    EXPECT_EQ(model.error().kind, ErrorKind::kInput);
    EXPECT_NE(model.error().message.find(damaged.says), std::string::npos) << model.error().message;
    EXPECT_TRUE(model.error().message.starts_with("model.npz: ")) << model.error().message;
    EXPECT_EQ(model.error().message.find('\n'), std::string::npos);
  }
  for (const auto& [name, content] : soundFiles()) {
    auto files = soundFiles();
    files.erase(name);
    EXPECT_FALSE(parseHktexModel(testing::zip(files, true), "model.npz")) << name;
  }
}

TEST(HktexModel, SurvivesEveryCutAndEveryFlippedByte) {
  const Bytes sound = testing::zip(soundFiles(), true);
  for (std::size_t length = 0; length < sound.size(); ++length)
    EXPECT_FALSE(
        parseHktexModel(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(length)), "m"));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (const int bits : {0x01, 0x80, 0xff}) {
      Bytes flipped = sound;
      flipped[at] = static_cast<std::uint8_t>(flipped[at] ^ bits);
      const auto model = parseHktexModel(flipped, "m");  // many bytes do not matter (times, flags)
      if (model) {
        EXPECT_EQ(model->size(), 2u);
      }
    }
  }
}

}  // namespace
}  // namespace heatskin
