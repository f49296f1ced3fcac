// Of the conformance suite: an evaluator over time, as a fit uses it. Kernels move and are replaced, batches
// come and go, and nothing of it shows in answers.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/evaluators/test_conformance.h"

namespace heatskin::testing::conformance {
namespace {

/// Every kernel in the middle of a face some edges away.
KernelSet scattered(const Surface& surface, KernelSet kernels, int hops, std::uint64_t seed) {
  const RandomStream random(seed, 3);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (int hop = 0; hop < hops; ++hop) {
      const auto edge = static_cast<std::size_t>(
          2.999 * random.uniform(i * static_cast<std::size_t>(hops) + static_cast<std::size_t>(hop)));
      const std::uint32_t twin = surface.twins()[kernels.positions[i].face][edge];
      if (twin != kNone) kernels.positions[i] = {twin / 3, {0.3, 0.3, 0.4}};
    }
  }
  return kernels;
}

TEST_P(Conformance, RefreshingWithTheSameKernelsChangesNothing) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
  const auto queries = sampleSurface(*s.surface, 100, 8);
  s.evaluator->rebuild(kernels);
  const Answers rebuilt = answersOf(*s.evaluator, queries, 400, 64);
  s.evaluator->refresh(kernels, {});
  EXPECT_TRUE(answersOf(*s.evaluator, queries, 400, 64) == rebuilt);
  s.evaluator->refresh(kernels, std::vector<Rigid2>(kernels.size()));
  EXPECT_TRUE(answersOf(*s.evaluator, queries, 400, 64) == rebuilt);
  s.evaluator->rebuild(kernels);
  EXPECT_TRUE(answersOf(*s.evaluator, queries, 400, 64) == rebuilt);
}

// What batches of a changing evaluator work out piece by piece, complete() works out at once.
TEST_P(Conformance, ACompleteEvaluatorAnswersTheSame) {
  const Soup soup = testing::bumpySphere(2, 0.2, 5);
  const Subject complete = subjectOf(options(), soup), changing = subjectOf(options(), soup);
  KernelSet kernels = smoothKernels(*complete.surface, 400, 3);
  complete.evaluator->rebuild(kernels);
  changing.evaluator->rebuild(kernels);
  for (std::uint64_t step = 0; step < 4; ++step) {
    complete.evaluator->complete();
    // Another batch every time, asked in ranges, and in another order.
    const auto queries = sampleSurface(*complete.surface, 60 + 17 * step, 8 + step);
    const auto asked = [&](std::span<const SurfacePoint> points, std::size_t block_size) {
      return answersOf(*complete.evaluator, points, 400, block_size) ==
             answersOf(*changing.evaluator, points, 400, block_size);
    };
    EXPECT_TRUE(asked(queries, 16)) << "step " << step;
    const std::vector<SurfacePoint> reversed(queries.rbegin(), queries.rend());
    EXPECT_TRUE(asked(reversed, 64)) << "reversed, step " << step;
    if (step == 2) changing.evaluator->complete();  // after some batches: only the rest is worked out
    EXPECT_TRUE(asked(sampleSurface(*complete.surface, 40, 90 + step), 64)) << "more, step " << step;
    kernels = nudged(*complete.surface, std::move(kernels), 0.02, 30 + step);
    complete.evaluator->refresh(kernels, {});
    changing.evaluator->refresh(kernels, {});
  }
}

TEST_P(Conformance, BatchesLiveSideBySideAndTheirMemoryIsUsedAgain) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  const Subject other =
      subjectOf(smallOptions(GetParam() == "local" ? "thermal" : "local"), testing::bumpySphere(1, 0.2, 5));
  const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
  s.evaluator->rebuild(kernels);
  other.evaluator->rebuild(smoothKernels(*other.surface, 50, 3));
  const auto first = sampleSurface(*s.surface, 70, 8), second = sampleSurface(*s.surface, 90, 9);
  const auto elsewhere = sampleSurface(*other.surface, 30, 9);
  const auto xOf = [](const EvaluatorBatch& batch, std::size_t count, Workspace& workspace) {
    batch.respond(0, count, workspace);
    std::vector<float> x;
    for (std::size_t q = 0; q < count; ++q) {
      const auto row =
          workspace.responses.x.begin() + static_cast<std::ptrdiff_t>(q * workspace.responses.stride);
      x.insert(x.end(), row, row + workspace.responses.counts[q]);
    }
    return x;
  };
  Workspace fresh, used;
  auto a = s.evaluator->begin(first);
  const auto expected = xOf(*a, first.size(), fresh);
  // A second batch does not disturb the first, nor does a workspace that another evaluator had.
  auto b = s.evaluator->begin(second);
  const auto of_second = xOf(*b, second.size(), fresh);
  (void)xOf(*other.evaluator->begin(elsewhere), elsewhere.size(), used);
  EXPECT_EQ(xOf(*a, first.size(), used), expected);
  // Memory of a batch, and of one of another evaluator, is taken over.
  b = s.evaluator->begin(first, std::move(b));
  EXPECT_EQ(xOf(*b, first.size(), used), expected);
  a = s.evaluator->begin(second, other.evaluator->begin(elsewhere));
  EXPECT_EQ(xOf(*a, second.size(), used), of_second);
}

// Batches that are begun at once by many threads, from within a parallel loop and without complete().
TEST_P(Conformance, BatchesBeginConcurrently) {
  const Subject s = subjectOf(options(), testing::bumpySphere(2, 0.2, 5));
  const KernelSet kernels = smoothKernels(*s.surface, 400, 3);
  s.evaluator->rebuild(kernels);
  const auto queries = sampleSurface(*s.surface, 64 * 40, 8);
  std::vector<Answers> answers(40);
  parallelFor(answers.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      answers[i] = answersOf(*s.evaluator, std::span(queries).subspan(64 * i, 64), 400, 16);
  });
  s.evaluator->complete();
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_TRUE(answers[i] == answersOf(*s.evaluator, std::span(queries).subspan(64 * i, 64), 400, 16)) << i;
}

// Checkpoints hold kernels and no evaluator: a resumed fit begins with a rebuild() and must go on as if
// nothing had happened.
TEST_P(Conformance, NothingBeforeARebuildLeavesATrace) {
  const Soup soup = testing::bumpySphere(3, 0.2, 5);
  const Subject old = subjectOf(options(), soup), fresh = subjectOf(options(), soup);
  const auto queries = sampleSurface(*old.surface, 100, 8);
  old.evaluator->rebuild(smoothKernels(*old.surface, 30, 9));
  for (const std::size_t count : {std::size_t{2500}, std::size_t{1500}}) {
    KernelSet kernels = smoothKernels(*old.surface, count, 3);
    old.evaluator->rebuild(smoothKernels(*old.surface, count, 7));
    old.evaluator->rebuild(kernels);
    fresh.evaluator->rebuild(kernels);
    // Steps wilder than those of a fit: some kernels are now where nobody has listed them.
    for (std::uint64_t step = 0; step < 3; ++step) {
      if (traits(methodOf(options())).carries_angle) {  // needs the motions of the walk
        kernels = nudged(*old.surface, std::move(kernels), 0.08, 20 + step);
      } else {
        kernels = scattered(*old.surface, std::move(kernels), 1, 20 + step);
      }
      for (float& threshold : kernels.thresholds)
        threshold = std::max(KernelRanges::kMinThreshold, threshold - 0.05f);
      old.evaluator->refresh(kernels, {});
      fresh.evaluator->refresh(kernels, {});
      EXPECT_TRUE(answersOf(*old.evaluator, queries, count, 64) ==
                  answersOf(*fresh.evaluator, queries, count, 64))
          << count << " kernels, step " << step;
    }
  }
}

}  // namespace
}  // namespace heatskin::testing::conformance
