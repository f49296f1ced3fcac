// Of the conformance suite: gradients are those of the responses.

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/evaluators/test_conformance.h"

namespace heatskin::testing::conformance {
namespace {

/// Central differences of responses in all four parameters of every kernel at once: a response depends on one
/// kernel only. `update` tells the evaluator about moved kernels.
template <class Update>
void expectGradients(const Subject& s, Update&& update) {
  constexpr std::size_t kKernels = 40;  // below the capacity: nobody crowds anybody out
  const KernelSet kernels = smoothKernels(*s.surface, kKernels, 3);
  const auto queries = sampleSurface(*s.surface, 600, 8);
  enum { kX, kY, kAngle, kAnisotropy };
  // Float responses carry errors of about 1e-6; the differences divide these by the step. Lengths over which
  // responses change are at least 0.03, so that second differences lose (step / 0.03)^2 / 6 = 2e-4 of the
  // slope; angle and log anisotropy act more slowly. Anisotropy is stepped in per cent.
  constexpr double kSteps[] = {1e-3, 1e-3, 2e-3, 0};
  for (const int parameter : {kX, kY, kAngle, kAnisotropy}) {
    std::vector<double> steps(kKernels, kSteps[parameter]);
    const auto moved = [&](double sign) {
      KernelSet set = kernels;
      for (std::size_t i = 0; i < kKernels; ++i) {
        if (parameter == kAnisotropy) {
          steps[i] = 0.01 * static_cast<double>(kernels.anisotropies[i]);
          set.anisotropies[i] += static_cast<float>(sign * steps[i]);
        } else if (parameter == kAngle) {
          set.angles[i] += static_cast<float>(sign * steps[i]);
        } else {
          SurfacePoint& p = set.positions[i];
          Vec2 at = s.surface->faceCoordinates(p);
          at[parameter == kX ? 0 : 1] += sign * steps[i];
          p.barycentric = s.surface->barycentric(p.face, at);
          EXPECT_GT(p.barycentric.minCoeff(), 0) << "left its face";
        }
      }
      update(set);
      return responses(*s.evaluator, queries, kKernels);
    };
    const auto above = moved(1), below = moved(-1);
    update(kernels);
    Workspace workspace;
    const auto batch = s.evaluator->begin(queries);
    batch->respond(0, queries.size(), workspace);
    const ResponseBlock& block = workspace.responses;
    // Random signs: sums over many queries in which rounding averages out and a bias does not.
    const RandomStream random(17, static_cast<std::uint64_t>(parameter));
    std::vector<float> dx(block.x.size(), 0);
    std::vector<double> expected(kKernels, 0), size(kKernels, 0);
    std::vector<std::size_t> used(kKernels, 0);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (std::size_t n = 0; n < block.counts[q]; ++n) {
        const std::size_t at = q * block.stride + n;
        const std::uint32_t k = block.kernels[at];
        // At the rim of its reach a response jumps to zero.
        if (block.x[at] == 0 || above[q][k] == 0 || below[q][k] == 0) continue;
        dx[at] = random.uniform(at) < 0.5 ? -1.0f : 1.0f;
        const double slope =
            (static_cast<double>(above[q][k]) - static_cast<double>(below[q][k])) / (2 * steps[k]);
        expected[k] += static_cast<double>(dx[at]) * slope;
        size[k] += std::abs(slope);
        ++used[k];
      }
    }
    GradientSums sums;
    sums.reset(kKernels, 3);
    batch->respondVjp(0, queries.size(), workspace, dx, sums);
    double along = 0, along_expected = 0;
    std::size_t compared = 0;
    for (std::uint32_t k = 0; k < kKernels; ++k) {
      if (used[k] < 3) continue;
      ++compared;
      GeometryGradient gradient = sums.row(k).geometry;
      s.evaluator->finish(k, gradient);
      const std::array<float, 4> entries = {gradient.position_x, gradient.position_y, gradient.angle,
                                            gradient.anisotropy};
      const double found = static_cast<double>(entries[static_cast<std::size_t>(parameter)]);
      EXPECT_NEAR(found, expected[k], 3e-3 * size[k]) << "parameter " << parameter << ", kernel " << k;
      along += found * expected[k];
      along_expected += expected[k] * expected[k];
    }
    EXPECT_GT(compared, kKernels / 2);
    EXPECT_NEAR(along, along_expected, 2e-3 * along_expected) << "bias of parameter " << parameter;
  }
}

TEST_P(Conformance, GradientsAreThoseOfTheResponses) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  // On a curved surface a new unfolding may take another way: `local` differentiates the old one.
  s.evaluator->rebuild(smoothKernels(*s.surface, 40, 3));
  expectGradients(s, [&](const KernelSet& kernels) { s.evaluator->refresh(kernels, {}); });
}

TEST_P(Conformance, GradientsAreThoseOfRebuiltResponses) {
  const Subject s = subjectOf(options(), testing::flatGrid(14, 10));
  expectGradients(s, [&](const KernelSet& kernels) { s.evaluator->rebuild(kernels); });
}

TEST(LocalOnAProxy, GradientsAreThoseOfTheResponses) {
  const Subject s = subjectOf(withProxy(2000), testing::bumpySphere(4, 0.1, 5));
  ASSERT_LT(supportFaces(s), s.surface->faceCount() / 2);
  s.evaluator->rebuild(smoothKernels(*s.surface, 40, 3));
  expectGradients(s, [&](const KernelSet& kernels) { s.evaluator->refresh(kernels, {}); });
}

}  // namespace
}  // namespace heatskin::testing::conformance
