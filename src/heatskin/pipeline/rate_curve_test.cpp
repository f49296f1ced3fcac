#include "heatskin/pipeline/rate_curve.h"

#include <cmath>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(RateCurve, KeepsOnlyWhatIsWorthHaving) {
  // Out of order, one beaten by a smaller one, one beaten at the same size, one that is perfect.
  const RateCurve curve(
      {{1000, 30}, {100, 20}, {500, 19}, {1000, 25}, {8000, std::numeric_limits<double>::infinity()}});
  ASSERT_EQ(curve.points().size(), 3u);
  EXPECT_EQ(curve.points()[0].bytes, 100);
  EXPECT_EQ(curve.points()[1].psnr, 30);
  EXPECT_EQ(curve.points()[2].psnr, kPerfectPsnr);
  EXPECT_TRUE(RateCurve().empty());
  EXPECT_TRUE(std::isinf(RateCurve().bytesFor(1)));
}

TEST(RateCurve, InterpolatesOverTheLogarithmOfBytes) {
  const RateCurve curve({{100, 20}, {10'000, 40}});
  EXPECT_DOUBLE_EQ(curve.psnrAt(100), 20);
  EXPECT_NEAR(curve.psnrAt(1000), 30, 1e-12) << "half way between 10^2 and 10^4";
  EXPECT_DOUBLE_EQ(curve.psnrAt(10'000), 40);
  EXPECT_DOUBLE_EQ(curve.psnrAt(1e9), 40) << "nobody has to spend more";
  EXPECT_TRUE(std::isinf(curve.psnrAt(99)));
  for (const double bytes : {100.0, 317.0, 5000.0, 10'000.0})
    EXPECT_NEAR(curve.bytesFor(curve.psnrAt(bytes)), bytes, 1e-9 * bytes);
  EXPECT_DOUBLE_EQ(curve.bytesFor(10), 100);
  EXPECT_TRUE(std::isinf(curve.bytesFor(41)));
}

TEST(RateCurve, FindsTheCrossingOfTwoCurves) {
  // 25 + 5 t and 20 + 10 t over t = log10(bytes) - 3, equal at t = 1.
  const RateCurve flat({{1e3, 25}, {1e6, 40}}), steep({{1e3, 20}, {1e6, 50}});
  const RateComparison c = compareCurves(flat, steep);
  EXPECT_EQ(c.from, 1e3);
  EXPECT_EQ(c.to, 1e6);
  ASSERT_EQ(c.spans.size(), 2u);
  EXPECT_EQ(c.spans[0].better, 1);
  EXPECT_NEAR(c.spans[0].to, 1e4, 1e-6);
  EXPECT_NEAR(c.spans[0].gap, 5, 1e-12);
  EXPECT_EQ(c.spans[0].at, 1e3);
  EXPECT_EQ(c.spans[1].better, -1);
  EXPECT_NEAR(c.spans[1].gap, 10, 1e-12);
  EXPECT_EQ(c.spans[1].at, 1e6);
  // The gap is 5 - 5 t, its mean over t = 0 .. 3 is -2.5.
  EXPECT_NEAR(c.mean_gap, -2.5, 1e-12);
  EXPECT_EQ(c.choice(), -1);

  // The other way round everything changes its sign.
  const RateComparison back = compareCurves(steep, flat);
  EXPECT_NEAR(back.mean_gap, 2.5, 1e-12);
  EXPECT_EQ(back.spans[0].better, -1);
  EXPECT_EQ(back.choice(), 1);
}

TEST(RateCurve, NoticesAPlantedError) {
  // A curve that is 2 dB too good in the middle only: three spans where there was one.
  const RateCurve rival({{1e3, 20}, {1e4, 30}, {1e5, 40}});
  const RateCurve honest({{1e3, 19}, {1e4, 29}, {1e5, 39}}), planted({{1e3, 19}, {1e4, 31}, {1e5, 39}});
  ASSERT_EQ(compareCurves(honest, rival).spans.size(), 1u);
  EXPECT_NEAR(compareCurves(honest, rival).mean_gap, -1, 1e-12);
  const RateComparison c = compareCurves(planted, rival);
  ASSERT_EQ(c.spans.size(), 3u);
  EXPECT_EQ(c.spans[1].better, 1);
  EXPECT_NEAR(c.spans[1].gap, 1, 1e-12);
  EXPECT_NEAR(c.mean_gap, 0, 1e-12);
  EXPECT_EQ(c.choice(), 0);
}

TEST(RateCurve, ComparesOnlyWhatWasTried) {
  const RateCurve kernels({{1e4, 30}, {1e5, 35}});
  // The rival ends early: its best stays available, and it is beaten there.
  const RateComparison early = compareCurves(kernels, RateCurve({{1e3, 20}, {2e3, 30}}));
  EXPECT_EQ(early.from, 1e4);
  EXPECT_EQ(early.to, 1e5);
  EXPECT_NEAR(early.mean_gap, 2.5, 1e-12);
  ASSERT_EQ(early.spans.size(), 1u);
  EXPECT_EQ(early.spans[0].better, 1);
  // It begins late: nothing is said about smaller sizes, and larger ones only up to the kernels' last.
  const RateComparison late = compareCurves(kernels, RateCurve({{5e4, 34}, {1e7, 60}}));
  EXPECT_EQ(late.from, 5e4);
  EXPECT_EQ(late.to, 1e5);
  // It begins after the kernels' last: one point.
  const RateComparison after = compareCurves(kernels, RateCurve({{1e6, 40}}));
  EXPECT_EQ(after.from, 1e6);
  EXPECT_NEAR(after.mean_gap, -5, 1e-12);
  ASSERT_EQ(after.spans.size(), 1u);
  EXPECT_EQ(after.spans[0].better, -1);
  // The same curve twice.
  const RateComparison same = compareCurves(kernels, kernels);
  ASSERT_EQ(same.spans.size(), 1u);
  EXPECT_EQ(same.spans[0].better, 0);
  EXPECT_TRUE(compareCurves(kernels, RateCurve()).spans.empty());
}

}  // namespace
}  // namespace heatskin
