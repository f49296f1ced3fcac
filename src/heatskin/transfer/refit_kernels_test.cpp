#include "heatskin/transfer/refit_kernels.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/transfer/merge_kernels.h"
#include "heatskin/transfer/mesh_changes.h"

#include "support/products.h"
#include "support/tiny_surfaces.h"

namespace heatskin::testing {
namespace {

FunctionTarget waves(const Surface& surface) {
  return {surface, [](const Vec3& p, std::span<float> values) {
            for (int c = 0; c < 3; ++c)
              values[static_cast<std::size_t>(c)] = static_cast<float>(0.5 + 0.3 * std::sin(4 * p[c]));
          }};
}

/// Kernels that cover the surface, with values that have nothing to do with the target.
struct Scene {
  Surface surface = build(icosphere(3));
  KernelSet kernels = [this] {
    const FunctionTarget gray(
        [](const SurfacePoint&, std::span<float> v) { std::fill(v.begin(), v.end(), 0.5f); });
    KernelSet k;
    addKernels(surface, gray, configFor(local::LocalOptions(), 150, 1), 150, k);
    return k;
  }();
  FitConfig config = configFor(local::LocalOptions(), 150, 1);
  std::unique_ptr<Evaluator> evaluator = std::move(*makeEvaluator(surface, local::LocalOptions()));
};

bool sameKernel(const KernelSet& a, const KernelSet& b, std::size_t i) {
  return a.positions[i].face == b.positions[i].face &&
         a.positions[i].barycentric == b.positions[i].barycentric && a.angles[i] == b.angles[i] &&
         a.anisotropies[i] == b.anisotropies[i] && a.thresholds[i] == b.thresholds[i] &&
         a.sharpnesses[i] == b.sharpnesses[i] && a.lengths[i] == b.lengths[i] &&
         a.channels[i] == b.channels[i];
}

TEST(RefitKernels, FitsTheFreeOnesAndLeavesTheOthersToTheBit) {
  Scene s;
  const FunctionTarget target = waves(s.surface);
  std::vector<std::uint8_t> free(s.kernels.size(), 0);
  for (std::size_t i = 0; i < free.size(); ++i)
    free[i] = s.surface.position(s.kernels.positions[i]).x() > 0 ? 1 : 0;
  const KernelSet before = s.kernels;
  const RefitReport report =
      refitKernels(s.surface, target, *s.evaluator, free, s.config, {30, 0.6}, s.kernels);
  EXPECT_EQ(report.free_kernels, static_cast<std::size_t>(std::count(free.begin(), free.end(), 1)));
  EXPECT_GT(report.psnr_after, report.psnr_before + 1);
  EXPECT_GT(report.samples, 0u);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const bool same = sameKernel(before, s.kernels, i);
    EXPECT_TRUE(same || free[i] != 0) << i;
    moved += same ? 0 : 1;
  }
  EXPECT_GT(moved, report.free_kernels / 2);
}

TEST(RefitKernels, StepsBringMoreThanValuesAlone) {
  Scene a, b;
  const FunctionTarget target = waves(a.surface);
  const std::vector<std::uint8_t> all(a.kernels.size(), 1);
  const double values =
      refitKernels(a.surface, target, *a.evaluator, all, a.config, {0, 1}, a.kernels).psnr_after;
  const double steps =
      refitKernels(b.surface, target, *b.evaluator, all, b.config, {80, 0.8}, b.kernels).psnr_after;
  EXPECT_GT(steps, values + 1);
}

TEST(RefitKernels, TheSameForAnyNumberOfThreads) {
  KernelSet out[2];
  for (int run = 0; run < 2; ++run) {
    setThreadCount(run == 0 ? 1 : 0);
    Scene s;
    const FunctionTarget target = waves(s.surface);
    const std::vector<std::uint8_t> all(s.kernels.size(), 1);
    refitKernels(s.surface, target, *s.evaluator, all, s.config, {10, 0.6}, s.kernels);
    out[run] = s.kernels;
  }
  setThreadCount(0);
  for (std::size_t i = 0; i < out[0].size(); ++i)
    EXPECT_TRUE(sameKernel(out[0], out[1], i)) << i;
}

TEST(RefitKernels, NothingFreeNothingDone) {
  Scene s;
  const FunctionTarget target = waves(s.surface);
  const RefitReport report =
      refitKernels(s.surface, target, *s.evaluator, std::vector<std::uint8_t>(s.kernels.size(), 0), s.config,
                   {}, s.kernels);
  EXPECT_EQ(report.free_kernels, 0u);
  EXPECT_EQ(report.steps, 0);
}

TEST(Reach, KernelsAndFacesThatCanMeet) {
  Scene s;
  const FunctionTarget target = waves(s.surface);
  std::vector<std::uint8_t> faces(s.surface.faceCount(), 0);
  faces[0] = 1;
  const RegionTarget region(target, faces);
  const auto near = kernelsInReach(s.surface, region, *s.evaluator, s.kernels, s.config);
  const auto count = std::count(near.begin(), near.end(), 1);
  EXPECT_GT(count, 0);
  EXPECT_LT(count, static_cast<std::ptrdiff_t>(near.size()) / 2);
  const auto reached = facesInReach(s.surface, s.kernels, near, local::LocalOptions());
  EXPECT_EQ(reached[0], 1) << "what reaches a face is reached from it";
  for (std::size_t i = 0; i < near.size(); ++i) {
    EXPECT_TRUE(near[i] == 0 || reached[s.kernels.positions[i].face] != 0) << i;
  }
}

TEST(MergeKernels, AsManyAsWantedAndValid) {
  const Surface surface = build(bumpySphere(3, 0.2, 1));
  const KernelSet kernels = randomKernels(surface, 400);
  const KernelSet merged = mergedKernels(kernels, surface, 100);
  EXPECT_EQ(merged.size(), 100u);
  for (std::size_t i = 0; i < merged.size(); ++i) {
    EXPECT_LT(merged.positions[i].face, surface.faceCount());
    EXPECT_GE(merged.anisotropies[i], 1.0f);
    EXPECT_GE(merged.positions[i].barycentric.minCoeff(), -1e-9);
  }
  EXPECT_EQ(mergedKernels(kernels, surface, 400).size(), 400u);
}

TEST(MeshChanges, FindsWhatMovedAndWhatStayed) {
  const Soup soup = icosphere(3);
  Soup edited = soup;
  std::reverse(edited.faces.begin(), edited.faces.end());
  for (auto& face : edited.faces)
    std::rotate(face.begin(), face.begin() + 1, face.end());
  edited.positions[5] *= 0.9;
  const Surface before = build(soup), after = build(edited);
  const MeshChanges changes = meshChanges(before, after);
  std::size_t around = 0;
  for (const auto& face : soup.faces)
    around += std::count(face.begin(), face.end(), 5u) > 0 ? 1 : 0;
  EXPECT_EQ(changes.same.lost, around);
  EXPECT_EQ(changes.same.added, around);
  EXPECT_GT(changes.changed_area, 0);
  const Similarity to_asset = before.assetFromSurface(), asset_of_after = after.assetFromSurface();
  for (std::uint32_t f = 0; f < before.faceCount(); ++f) {
    if (changes.same.face[f] == kNone) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3 here = to_asset(before.positions()[before.faces()[f][c]]);
      const Vec3 there =
          asset_of_after(after.positions()[after.faces()[changes.same.face[f]][changes.same.corners[f][c]]]);
      EXPECT_LT((here - there).norm(), 1e-9);
    }
  }
}

TEST(MeshChanges, NothingChangedAndEverythingChanged) {
  const Surface a = build(icosphere(2)), b = build(cube(3));
  EXPECT_EQ(meshChanges(a, a).same.lost, 0u);
  EXPECT_EQ(meshChanges(a, a).changed_area, 0);
  EXPECT_EQ(meshChanges(a, b).same.lost, a.faceCount());
}

}  // namespace
}  // namespace heatskin::testing
