#pragma once

// What the files of the conformance suite share: small evaluators, kernels, and everything one can be asked.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/rng.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::testing::conformance {

/// LocalHK with what preset `default` adds to it.
inline constexpr std::string_view kJoined = "local_joined";

/// The method with a preprocessing that takes milliseconds on the meshes of this file.
inline EvaluatorOptions smallOptions(std::string_view method) {
  MethodChoice options;
  options.method = method == kJoined ? Method::kLocal : *methodNamed(method);
  if (method == kJoined) {
    options.local.join_corners = true;
    options.local.rule = local::CandidateRule::kByReach;
    options.local.sight = local::Sight::kCarried;
  }
  options.thermal.rank = 64;
  options.thermal.oversampling = 32;
  options.thermal.routing_dimensions = 48;
  options.spectral.modes = 60;  // not a whole number of vectors
  return options.options();
}

struct Subject {
  std::shared_ptr<const Surface> surface;
  std::unique_ptr<Evaluator> evaluator;
};

inline Subject subjectOf(const EvaluatorOptions& options, const Soup& soup) {
  Subject s;
  s.surface = std::make_shared<const Surface>(testing::build(soup, true));
  auto evaluator = makeEvaluator(*s.surface, options);
  EXPECT_TRUE(evaluator) << evaluator.error().message;
  if (evaluator) s.evaluator = std::move(*evaluator);
  return s;
}

/// Kernels all over the surface, in the inner part of faces; angles and anisotropies in the inner part of the
/// cells of the operator grid, where everything is smooth.
inline KernelSet smoothKernels(const Surface& surface, std::size_t count, std::uint64_t seed) {
  const RandomStream random(seed, 1);
  const auto points = sampleSurface(surface, count, seed);
  KernelSet kernels;
  kernels.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = [&](std::size_t n) { return random.uniform(8 * i + n); };
    const Vec3 middle(1.0 / 3, 1.0 / 3, 1.0 / 3);
    kernels.positions[i] = {points[i].face, 0.5 * points[i].barycentric + 0.5 * middle};
    kernels.angles[i] = static_cast<float>((std::floor(6 * u(0)) + 0.2 + 0.6 * u(1)) * std::numbers::pi / 6);
    constexpr double kCells[] = {1, 5, 15, 30, 60};
    const auto cell = std::min<std::size_t>(3, static_cast<std::size_t>(4 * u(2)));
    kernels.anisotropies[i] =
        static_cast<float>(kCells[cell] + (kCells[cell + 1] - kCells[cell]) * (0.2 + 0.6 * u(3)));
    kernels.thresholds[i] = static_cast<float>(0.3 + 0.6 * u(4));
    kernels.sharpnesses[i] = static_cast<float>(10 + 60 * u(5));
    kernels.lengths[i] = static_cast<float>(0.8 + 0.6 * u(6));  // for methods that know them
    kernels.channels[i] = Vec3(u(6), u(7), 0.5).cast<float>();
  }
  return kernels;
}

/// Every kernel moved within its face.
inline KernelSet nudged(const Surface& surface, KernelSet kernels, double length, std::uint64_t seed) {
  const RandomStream random(seed, 2);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    SurfacePoint& p = kernels.positions[i];
    const double turn = 2 * std::numbers::pi * random.uniform(i);
    const Vec2 to = surface.faceCoordinates(p) + length * Vec2(std::cos(turn), std::sin(turn));
    Vec3 b = surface.barycentric(p.face, to).cwiseMax(0);
    p.barycentric = b / b.sum();
  }
  return kernels;
}

/// Everything an evaluator said about some queries, and the gradients for fixed dL/dx.
struct Answers {
  std::vector<std::uint32_t> counts, kernels;
  std::vector<float> x, gradients;
  bool operator==(const Answers&) const = default;
};

inline Answers answersOf(const Evaluator& evaluator, std::span<const SurfacePoint> queries,
                         std::size_t kernel_count, std::size_t block_size) {
  Answers all;
  GradientSums sums;
  sums.reset(kernel_count, 3);
  const auto batch = evaluator.begin(queries);
  Workspace workspace;
  for (std::size_t begin = 0; begin < queries.size(); begin += block_size) {
    const std::size_t size = std::min(block_size, queries.size() - begin);
    batch->respond(begin, begin + size, workspace);
    const ResponseBlock& block = workspace.responses;
    std::vector<float> dx(block.x.size());
    for (std::size_t q = 0; q < size; ++q) {
      all.counts.push_back(block.counts[q]);
      for (std::size_t n = 0; n < block.counts[q]; ++n) {
        const std::size_t at = q * block.stride + n;
        all.kernels.push_back(block.kernels[at]);
        all.x.push_back(block.x[at]);
        dx[at] = static_cast<float>((begin + q + 3 * n) % 7) - 3;
      }
    }
    batch->respondVjp(begin, begin + size, workspace, dx, sums);
  }
  for (std::uint32_t k = 0; k < kernel_count; ++k) {
    GeometryGradient gradient;
    if (const GradientRow* found = sums.find(k)) gradient = found->geometry;
    evaluator.finish(k, gradient);
    all.gradients.insert(all.gradients.end(),
                         {gradient.position_x, gradient.position_y, gradient.angle, gradient.anisotropy});
  }
  return all;
}

/// x of every pair; 0 where a kernel is no candidate.
inline std::vector<std::vector<float>> responses(const Evaluator& evaluator,
                                                 std::span<const SurfacePoint> queries,
                                                 std::size_t kernel_count) {
  Workspace workspace;
  evaluator.begin(queries)->respond(0, queries.size(), workspace);
  const ResponseBlock& block = workspace.responses;
  std::vector<std::vector<float>> x(queries.size(), std::vector<float>(kernel_count, 0));
  for (std::size_t q = 0; q < queries.size(); ++q) {
    for (std::size_t n = 0; n < block.counts[q]; ++n)
      x[q][block.kernels[q * block.stride + n]] = block.x[q * block.stride + n];
  }
  return x;
}

/// LocalHK whose supports are found on a proxy of about so many faces.
inline EvaluatorOptions withProxy(std::size_t faces) {
  EvaluatorOptions options = smallOptions("local");
  std::get<local::LocalOptions>(options).proxy_faces = faces;
  return options;
}

inline std::size_t supportFaces(const Subject& s) {
  return static_cast<const local::LocalEvaluator&>(*s.evaluator).supportSurface().faceCount();
}

/// One suite, run on every method (conformance_test.cpp instantiates it).
class Conformance : public ::testing::TestWithParam<std::string_view> {
 protected:
  EvaluatorOptions options() const { return smallOptions(GetParam()); }
};

}  // namespace heatskin::testing::conformance
