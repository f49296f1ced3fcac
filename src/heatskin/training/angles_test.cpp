#include "heatskin/training/angles.h"

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(Angles, ACarriedAngleKeepsItsDirection) {
  for (double turn = -3.1; turn < 3.1; turn += 0.1) {
    Rigid2 motion;
    motion.cosine = std::cos(turn);
    motion.sine = std::sin(turn);
    for (const float angle : {0.0f, 0.3f, 1.6f, 3.1f}) {
      const float carried = carriedAngle(angle, motion);
      EXPECT_GE(carried, KernelRanges::kMinAngle);
      EXPECT_LE(carried, KernelRanges::kMaxAngle);
      const Vec2 expected = motion.rotate(Vec2(std::cos(angle), std::sin(angle)));
      const Vec2 found(std::cos(carried), std::sin(carried));
      // Float rounding of an angle; the sign is free.
      EXPECT_NEAR(std::abs(expected.dot(found)), 1, 1e-6) << angle << " turned by " << turn;
    }
  }
}

}  // namespace
}  // namespace heatskin
