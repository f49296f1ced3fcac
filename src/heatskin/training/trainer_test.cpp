#include "heatskin/training/trainer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/streams.h"
#include "heatskin/training/test_fits.h"

namespace heatskin {
namespace {

TrainOptions smallFit(int steps) {
  TrainOptions options;
  options.steps = steps;
  options.batch = 512;
  options.sampling.pool = 20'000;
  options.start.kernels = 200;
  options.density.max_kernels = 500;
  return options;
}

struct Fit {
  Asset asset = testing::colourfulRing(64, 16);
  Surface surface = std::move(*buildSurface(asset));
  Appearance appearance{asset, surface};
  local::LocalEvaluator evaluator{surface, {}};
};

double psnrOf(Fit& fit, const KernelSet& kernels) {
  fit.evaluator.rebuild(kernels);
  FilterTable filter;
  filter.build(kernels);
  const auto points = sampleSurface(fit.surface, 5000, 1, streams::kEvaluation);
  std::vector<Vec3f> colors(points.size()), truth(points.size());
  evaluateColors(fit.evaluator, filter, points, colors, {});
  fit.appearance.colors(points, truth, Filter::kPaper);
  double error = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    error += (colors[i] - truth[i]).cast<double>().squaredNorm();
  return -10 * std::log10(error / (3.0 * static_cast<double>(points.size())));
}

TEST(Trainer, LearnsARing) {
  Fit fit;
  TrainOptions options = smallFit(800);
  options.batch = 1024;
  options.start.kernels = 1000;
  options.density.max_kernels = 2000;
  const AppearanceTarget target(fit.appearance, Filter::kPaper);
  Trainer trainer(fit.surface, target, fit.evaluator, options);
  const double before = psnrOf(fit, trainer.kernels());
  while (!trainer.finished())
    trainer.step();
  // Smooth colours with one jump; random colours begin near 6 dB.
  EXPECT_LT(before, 12);
  EXPECT_GT(psnrOf(fit, trainer.kernels()), 22);
  EXPECT_EQ(trainer.kernels().size(), 2000u) << "densification fills the budget";
}

bool sameBytes(const KernelSet& a, const KernelSet& b) {
  if (a.size() != b.size() || a.mean != b.mean) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.positions[i].face != b.positions[i].face ||
        a.positions[i].barycentric != b.positions[i].barycentric)
      return false;
  }
  return a.angles == b.angles && a.anisotropies == b.anisotropies && a.thresholds == b.thresholds &&
         a.sharpnesses == b.sharpnesses && a.lengths == b.lengths && a.channels == b.channels;
}

TEST(Trainer, SameBytesForAnyThreadCount) {
  Fit reference;
  setThreadCount(1);
  const AppearanceTarget one_target(reference.appearance, Filter::kPaper);
  Trainer one(reference.surface, one_target, reference.evaluator, smallFit(150));
  while (!one.finished())
    one.step();
  for (const int threads : {2, 3, 8}) {
    setThreadCount(threads);
    Fit fit;
    const AppearanceTarget many_target(fit.appearance, Filter::kPaper);
    Trainer many(fit.surface, many_target, fit.evaluator, smallFit(150));
    while (!many.finished())
      many.step();
    EXPECT_TRUE(sameBytes(one.kernels(), many.kernels())) << threads;
  }
  setThreadCount(0);
}

TEST(Trainer, ParametersStayInRange) {
  Fit fit;
  TrainOptions options = smallFit(120);
  options.rates.anisotropy *= 1e4;
  options.rates.sharpness *= 1e4;
  options.rates.threshold *= 1e3;
  options.rates.color *= 100;
  const AppearanceTarget target(fit.appearance, Filter::kPaper);
  Trainer trainer(fit.surface, target, fit.evaluator, options);
  while (!trainer.finished())
    trainer.step();
  const KernelSet& k = trainer.kernels();
  for (std::size_t i = 0; i < k.size(); ++i) {
    EXPECT_TRUE(k.angles[i] >= 0 && k.angles[i] <= KernelRanges::kMaxAngle);
    EXPECT_TRUE(k.anisotropies[i] >= 1 && k.anisotropies[i] <= 200);
    EXPECT_TRUE(k.thresholds[i] >= KernelRanges::kMinThreshold && k.thresholds[i] < 1);
    EXPECT_TRUE(k.sharpnesses[i] >= 10 && k.sharpnesses[i] <= 200);
    EXPECT_LE(k.channels[i].cwiseAbs().maxCoeff(), 1.0f);
    EXPECT_GE(k.positions[i].barycentric.minCoeff(), 0);
  }
}

}  // namespace
}  // namespace heatskin
