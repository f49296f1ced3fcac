#include "heatskin/training/checkpoint.h"

#include <cstring>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/training/test_fits.h"

#include "support/temporary_folder.h"

namespace heatskin {
namespace {

Checkpoint smallCheckpoint() {
  Checkpoint c;
  c.program = "0.0.1";
  c.config = "steps = 5\n";
  for (std::size_t i = 0; i < c.input.size(); ++i)
    c.input[i] = static_cast<std::uint8_t>(i * 17);
  TrainerState& s = c.state;
  s.step = 20;
  s.kernels.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto f = static_cast<float>(i);
    s.kernels.positions[i] = {i, {0.25 * i, 0.5, 0.5 - 0.25 * i}};
    s.kernels.angles[i] = 0.1f * f;
    s.kernels.channels[i] = Vec3f(0.3f, -f, 0.2f);
    s.optimiser.adam_m.insert(s.optimiser.adam_m.end(), {f, 1, 2, 3, 4, 5, 6, 7});
    s.optimiser.adam_v.insert(s.optimiser.adam_v.end(), {8, f, 9, 0, 0, 0, 0, 0});
    s.optimiser.velocities.emplace_back(i, -1.5);
    s.statistics.hits.push_back(i * 3.0);
    s.statistics.contributions.push_back(i * 0.5);
    s.statistics.errors.push_back(1.0 / (i + 1));
  }
  s.optimiser.mean_m = {1, 2, 3};
  s.optimiser.mean_v = {4, 5, 6};
  s.pool_errors = {1, 2, 3, 4, 5};
  c.history.losses = {0.5f, 0.25f};
  c.history.step_seconds = {0.01f, 0.02f};
  c.history.profile.backward = 12.5;
  c.history.optimise_seconds = 3.25;
  return c;
}

TEST(Checkpoint, TextAndBackIsExact) {
  const Checkpoint c = smallCheckpoint();
  const auto bytes = encodeCheckpoint(c);
  const auto back = decodeCheckpoint(bytes, "c");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->program, c.program);
  EXPECT_EQ(back->config, c.config);
  EXPECT_EQ(back->input, c.input);
  EXPECT_EQ(back->state.step, 20);
  EXPECT_TRUE(testing::sameKernels(back->state.kernels, c.state.kernels));
  EXPECT_EQ(back->state.optimiser.adam_m, c.state.optimiser.adam_m);
  EXPECT_EQ(back->state.optimiser.adam_v, c.state.optimiser.adam_v);
  EXPECT_EQ(back->state.optimiser.velocities, c.state.optimiser.velocities);
  EXPECT_EQ(back->state.optimiser.mean_m, c.state.optimiser.mean_m);
  EXPECT_EQ(back->state.optimiser.mean_v, c.state.optimiser.mean_v);
  EXPECT_EQ(back->state.statistics.hits, c.state.statistics.hits);
  EXPECT_EQ(back->state.statistics.contributions, c.state.statistics.contributions);
  EXPECT_EQ(back->state.statistics.errors, c.state.statistics.errors);
  EXPECT_EQ(back->state.pool_errors, c.state.pool_errors);
  EXPECT_EQ(back->history.losses, c.history.losses);
  EXPECT_EQ(back->history.step_seconds, c.history.step_seconds);
  EXPECT_EQ(back->history.profile.backward, 12.5);
  EXPECT_EQ(back->history.optimise_seconds, 3.25);
  EXPECT_EQ(encodeCheckpoint(*back), bytes);
}

TEST(Checkpoint, BytesDoNotShowPadding) {
  // Two states with equal values whose memory differs between the members of SurfacePoint.
  Checkpoint a = smallCheckpoint(), b = smallCheckpoint();
  const auto fill = [](SurfacePoint& p, int with) {
    const SurfacePoint value = p;
    std::memset(static_cast<void*>(&p), with, sizeof(p));
    p.face = value.face;
    p.barycentric = value.barycentric;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    fill(a.state.kernels.positions[i], 0x00);
    fill(b.state.kernels.positions[i], 0xFF);
  }
  EXPECT_EQ(encodeCheckpoint(a), encodeCheckpoint(b));
}

TEST(Checkpoint, EveryDamagedByteIsNoticed) {
  const auto bytes = encodeCheckpoint(smallCheckpoint());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      auto damaged = bytes;
      damaged[i] = static_cast<std::uint8_t>(damaged[i] ^ flip);
      const auto result = decodeCheckpoint(damaged, "file");
      ASSERT_FALSE(result) << "byte " << i;
      EXPECT_EQ(result.error().kind, ErrorKind::kInput);
      EXPECT_EQ(result.error().message.rfind("file: ", 0), 0u);
      EXPECT_EQ(result.error().code, error_code::kDamagedCheckpoint);
    }
  }
}

TEST(Checkpoint, EveryTruncationAndExtensionIsNoticed) {
  auto bytes = encodeCheckpoint(smallCheckpoint());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeCheckpoint(std::span(bytes).first(size), "file")) << size;
  bytes.push_back(0);
  EXPECT_FALSE(decodeCheckpoint(bytes, "file"));
}

TEST(Checkpoint, MessagesSayWhatIsWrong) {
  const auto bytes = encodeCheckpoint(smallCheckpoint());
  const auto message = [&](std::size_t at, std::uint8_t value) {
    auto damaged = bytes;
    damaged[at] = value;
    return decodeCheckpoint(damaged, "file").error().message;
  };
  EXPECT_NE(message(0, 'x').find("not a checkpoint"), std::string::npos);
  EXPECT_NE(message(8, 9).find("format 9, this program reads " + std::to_string(bytes[8])),
            std::string::npos);
  EXPECT_NE(message(bytes.size() / 2, 77).find("checksum"), std::string::npos);
  const auto cut = decodeCheckpoint(std::span(bytes).first(bytes.size() - 1), "file").error().message;
  EXPECT_NE(cut.find("bytes long"), std::string::npos) << cut;
}

TEST(Checkpoint, AMissingFileIsAnInputError) {
  testing::TemporaryFolder folder;
  const auto missing = loadCheckpoint(folder / "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kInput);
}

TEST(InputHash, FollowsShapeAndColours) {
  const auto hashOf = [](const Asset& asset) {
    const auto surface = buildSurface(asset);
    const Appearance appearance(asset, *surface);
    return inputHash(*surface, AppearanceTarget(appearance, Filter::kAuto));
  };
  const Asset ring = testing::colourfulRing();
  const InputHash hash = hashOf(ring);
  EXPECT_EQ(hash, hashOf(testing::colourfulRing()));
  Asset moved = ring;
  moved.meshes[0].primitives[0].positions[5].x() += 1e-9;
  EXPECT_NE(hashOf(moved), hash);
  Asset recoloured = ring;
  recoloured.meshes[0].primitives[0].colors[5].x() += 0.01f;
  EXPECT_NE(hashOf(recoloured), hash);
}

}  // namespace
}  // namespace heatskin
