// Tangent groups on surfaces: what a kernel's vector is where another face sees it.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluators/composite_batch.h"
#include "heatskin/evaluators/evaluate_colors.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/geodesic/walk.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/surface/sampling.h"

#include "support/tiny_surfaces.h"

namespace heatskin::local {
namespace {

using testing::Soup;

ChannelLayout colorAndVector() {
  ChannelGroup vector{"vector", 2, 0, {-1.0f, 1.0f}};
  vector.kind = ChannelKind::kTangent;
  return *ChannelLayout::make({{"base_color", 3}, vector});
}
constexpr std::size_t kVector = 3;

/// Corners of faces begin anywhere, so that first axes, which are edges, point anywhere.
Soup anyCorners(Soup soup) {
  for (std::size_t f = 0; f < soup.faces.size(); ++f)
    std::rotate(soup.faces[f].begin(), soup.faces[f].begin() + static_cast<long>((f * 7 + f / 3) % 3),
                soup.faces[f].end());
  return soup;
}

/// A plane of irregular triangles with frames that point anywhere.
Soup plane(std::uint32_t cells) {
  Soup soup = testing::flatGrid(cells, cells);
  const RandomStream random(3, 1);
  for (std::size_t v = 0; v < soup.positions.size(); ++v) {
    soup.positions[v].x() += 0.5 * random.uniform(2 * v) - 0.25;
    soup.positions[v].y() += 0.5 * random.uniform(2 * v + 1) - 0.25;
  }
  return anyCorners(std::move(soup));
}

/// Round kernels all over a surface that overlap well.
KernelSet wideKernels(const Surface& surface, std::size_t count, std::uint64_t seed) {
  KernelSet kernels(colorAndVector());
  kernels.resize(count);
  kernels.positions = sampleSurface(surface, count, seed);
  const RandomStream random(seed, 4);
  for (std::size_t i = 0; i < count; ++i) {
    kernels.angles[i] = static_cast<float>(3.1 * random.uniform(4 * i));
    kernels.anisotropies[i] = static_cast<float>(1 + 3 * random.uniform(4 * i + 1));
    kernels.thresholds[i] = 0.35f;
    kernels.sharpnesses[i] = 20;
    for (std::size_t c = 0; c < 5; ++c)
      kernels.channels.row(i)[c] = static_cast<float>(0.3 * random.uniform(4 * count + 8 * i + c));
  }
  return kernels;
}

/// A vector in space as the residual of a kernel, or the value of a query, on a face.
void setVector(const Surface& surface, KernelSet& kernels, std::size_t i, const Vec3& v) {
  const Vec2 in_face = surface.frames()[kernels.positions[i].face].directionToFace(v);
  kernels.channels.row(i)[kVector] = static_cast<float>(in_face.x());
  kernels.channels.row(i)[kVector + 1] = static_cast<float>(in_face.y());
}

struct Values {
  std::vector<Vec3> vectors;  ///< in space
  std::vector<float> weights, all;
};

Values valuesOf(const Surface& surface, const Evaluator& evaluator, const KernelSet& kernels,
                std::span<const SurfacePoint> points) {
  FilterTable filter;
  filter.build(kernels);
  const std::size_t channels = kernels.layout.size();
  Values out;
  out.weights.resize(points.size());
  out.all.resize(points.size() * channels);
  evaluateChannels(evaluator, filter, points, out.all, out.weights);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const float* v = out.all.data() + i * channels + kVector;
    out.vectors.push_back(surface.frames()[points[i].face].directionFromFace(
        Vec2(static_cast<double>(v[0]) - 0.5, static_cast<double>(v[1]) - 0.5)));
  }
  return out;
}

LocalOptions joined(bool on) {
  LocalOptions options;
  options.join_corners = on;
  if (on) options.sight = Sight::kCarried;
  return options;
}

/// Where kernels cover, all of them have the same vector: so has the surface. Rotations in float are good to
/// some 1e-7, and there are two or three of them.
constexpr double kRounding = 3e-6;

TEST(LocalTangents, AConstantFieldOnAPlaneIsConstantWhateverTheFrames) {
  const Surface surface = testing::build(plane(24));
  std::size_t turned = 0;
  for (const FaceFrame& frame : surface.frames())
    turned += std::abs(frame.x_axis.x()) < 0.7 ? 1 : 0;
  ASSERT_GT(turned, surface.faceCount() / 4) << "frames point anywhere";
  const Vec3 field(0.31, -0.22, 0);
  for (const bool join : {false, true}) {
    KernelSet kernels = wideKernels(surface, 300, 5);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      setVector(surface, kernels, i, field);
    LocalEvaluator evaluator(surface, joined(join));
    evaluator.rebuild(kernels);
    const auto points = sampleSurface(surface, 2000, 8);
    const Values values = valuesOf(surface, evaluator, kernels, points);
    std::size_t covered = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      // Where they do not cover the field fades, and keeps its direction.
      const double share = std::min(1.0, static_cast<double>(values.weights[i]));
      EXPECT_LT((values.vectors[i] - share * field).norm(), kRounding) << i;
      covered += values.weights[i] >= 1 ? 1 : 0;
    }
    EXPECT_GT(covered, points.size() / 2);
  }
}

TEST(LocalTangents, AParallelFieldOnACylinderStaysParallel) {
  const Surface surface = testing::build(anyCorners(testing::cylinderBand(24, 12)));
  for (const bool join : {false, true}) {
    KernelSet kernels = wideKernels(surface, 600, 5);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Vec3 normal = surface.frames()[kernels.positions[i].face].normal();
      setVector(surface, kernels, i, 0.3 * Vec3::UnitZ() + 0.2 * Vec3::UnitZ().cross(normal));
    }
    LocalEvaluator evaluator(surface, joined(join));
    evaluator.rebuild(kernels);
    const auto points = sampleSurface(surface, 2000, 8);
    const Values values = valuesOf(surface, evaluator, kernels, points);
    std::size_t covered = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3 normal = surface.frames()[points[i].face].normal();
      const double share = std::min(1.0, static_cast<double>(values.weights[i]));
      const Vec3 expected = share * (0.3 * Vec3::UnitZ() + 0.2 * Vec3::UnitZ().cross(normal));
      EXPECT_LT((values.vectors[i] - expected).norm(), kRounding) << i;
      covered += values.weights[i] >= 1 ? 1 : 0;
    }
    EXPECT_GT(covered, points.size() / 4);
  }
}

TEST(LocalTangents, OnAPlaneTheVectorIsTheSameFromBothSidesOfAnEdge) {
  const Surface surface = testing::build(plane(12));
  const KernelSet kernels = wideKernels(surface, 40, 5);
  // A kernel may reach one side of an edge only; where these end, f is next to nothing.
  LocalOptions options = joined(true);
  options.support_tail = 1e-4;
  options.max_radius = 0.4;
  LocalEvaluator evaluator(surface, options);
  evaluator.rebuild(kernels);
  std::vector<SurfacePoint> here, there;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t e = 0; e < 3; ++e) {
      const std::uint32_t twin = surface.twins()[f][e];
      if (twin == kNone || twin / 3 < f) continue;
      SurfacePoint a{f, Vec3::Zero()}, b{twin / 3, Vec3::Zero()};
      a.barycentric[static_cast<long>(e)] = b.barycentric[(twin % 3 + 1) % 3] = 0.3;
      a.barycentric[static_cast<long>((e + 1) % 3)] = b.barycentric[twin % 3] = 0.7;
      here.push_back(a);
      there.push_back(b);
    }
  }
  const Values a = valuesOf(surface, evaluator, kernels, here),
               b = valuesOf(surface, evaluator, kernels, there);
  double largest = 0;
  for (std::size_t i = 0; i < here.size(); ++i) {
    // Both sides compute distances from coordinates of their own, rounded to 1e-7: squared distances of 0.02
    // are off by 3e-8, times rates of up to 70 in the exponent and slopes of up to 5 of f; a few kernels end.
    EXPECT_LT((a.vectors[i] - b.vectors[i]).norm(), 2e-4) << i;
    largest = std::max(largest, a.vectors[i].norm());
  }
  EXPECT_GT(largest, 0.1);
}

/// A query's rotation of its first kernel's vector, and the query.
Rigid2 turnOf(const Evaluator& evaluator, const SurfacePoint& query) {
  Workspace workspace;
  const auto batch = evaluator.begin({&query, 1});
  batch->respond(0, 1, workspace);
  EXPECT_EQ(workspace.responses.counts[0], 1u);
  batch->turns(0, 1, workspace);
  return {workspace.responses.cosines[0], workspace.responses.sines[0], Vec2::Zero()};
}

TEST(LocalTangents, VectorsAreCarriedAsAWalkCarriesThem) {
  const Surface surface = testing::build(anyCorners(testing::bumpySphere(2, 0.2, 5)));
  const Walker walker(surface);
  LocalEvaluator evaluator(surface, joined(false));
  const auto starts = sampleSurface(surface, 200, 3);
  const RandomStream random(1, 1);
  std::size_t crossed = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const double angle = 2 * std::numbers::pi * random.uniform(i);
    const WalkOutcome walk = walker.walk(starts[i], 0.08 * Vec2(std::cos(angle), std::sin(angle)));
    // Across one edge there is one way; the development could choose among longer ones.
    if (walk.crossings != 1 || walk.vertices != 0) continue;
    KernelSet kernels = wideKernels(surface, 1, 2);
    kernels.positions[0] = starts[i];
    evaluator.rebuild(kernels);
    const Rigid2 turn = turnOf(evaluator, walk.end);
    EXPECT_NEAR(turn.cosine, walk.end_from_start.cosine, 1e-6);
    EXPECT_NEAR(turn.sine, walk.end_from_start.sine, 1e-6);
    ++crossed;
  }
  EXPECT_GT(crossed, 30u);
}

TEST(LocalTangents, AWalkSinceTheRebuildTakesTheVectorAlongAndQueriesSeeTheSame) {
  for (const bool join : {false, true}) {
    const Surface surface = testing::build(anyCorners(testing::bumpySphere(3, 0.2, 5)));
    const Walker walker(surface);
    KernelSet kernels = wideKernels(surface, 60, 7);
    LocalEvaluator evaluator(surface, joined(join));
    evaluator.rebuild(kernels);
    const auto points = sampleSurface(surface, 300, 8);
    // The vectors alone: where kernels are decides how much of each is seen.
    const auto turns = [&] {
      Workspace workspace;
      const auto batch = evaluator.begin(points);
      batch->respond(0, points.size(), workspace);
      batch->turns(0, points.size(), workspace);
      std::vector<Vec2> seen(points.size() * kernels.size(), Vec2::Zero());
      const ResponseBlock& r = workspace.responses;
      for (std::size_t q = 0; q < points.size(); ++q) {
        for (std::size_t at = q * r.stride; at < q * r.stride + r.counts[q]; ++at) {
          const float* v = kernels.channels.row(r.kernels[at]) + kVector;
          seen[q * kernels.size() + r.kernels[at]] =
              Rigid2{r.cosines[at], r.sines[at], Vec2::Zero()}.rotate(Vec2(v[0], v[1]));
        }
      }
      return seen;
    };
    const auto before = turns();
    std::size_t walked = 0;
    for (int step = 0; step < 3; ++step) {
      std::vector<Rigid2> motions(kernels.size());
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const double angle = static_cast<double>(i + static_cast<std::size_t>(step));
        const WalkOutcome walk =
            walker.walk(kernels.positions[i], 0.05 * Vec2(std::cos(angle), std::sin(angle)));
        kernels.positions[i] = walk.end;
        kernels.carryTangents(i, walk.end_from_start);
        motions[i] = walk.end_from_start;
        walked += walk.crossings > 0 ? 1 : 0;
      }
      evaluator.refresh(kernels, motions);
    }
    EXPECT_GT(walked, 60u);
    const auto after = turns();
    std::size_t compared = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].isZero() || after[i].isZero()) continue;  // fifty candidates may be others now
      EXPECT_LT((before[i] - after[i]).norm(), 1e-6);
      ++compared;
    }
    EXPECT_GT(compared, 300u);
  }
}

TEST(LocalTangents, OnAPlaneAProxyChangesNothing) {
  const Surface surface = testing::build(plane(60));
  LocalOptions options = joined(true);
  options.proxy_faces = 400;
  LocalEvaluator evaluator(surface, options);
  ASSERT_LT(evaluator.supportSurface().faceCount(), surface.faceCount() / 2);
  KernelSet kernels = wideKernels(surface, 300, 5);
  const Vec3 field(0.31, -0.22, 0);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    setVector(surface, kernels, i, field);
  evaluator.rebuild(kernels);
  const auto points = sampleSurface(surface, 1000, 8);
  const Values values = valuesOf(surface, evaluator, kernels, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double share = std::min(1.0, static_cast<double>(values.weights[i]));
    EXPECT_LT((values.vectors[i] - share * field).norm(), kRounding) << i;
  }
}

TEST(LocalTangents, ARigidMotionOfTheMeshMovesTheVectorsWithIt) {
  Soup soup = anyCorners(testing::bumpySphere(3, 0.2, 5)), moved = soup;
  const Eigen::AngleAxisd rotation(1.1, Vec3(1, -2, 0.5).normalized());
  for (Vec3& p : moved.positions)
    p = rotation * p + Vec3(3, -1, 2);
  // Not normalised: the bounding box of a turned mesh is another one.
  SurfaceOptions as_given;
  as_given.principal_axes = as_given.normalise = false;
  const Surface a = *Surface::build(soup.positions, soup.faces, as_given),
                b = *Surface::build(moved.positions, moved.faces, as_given);
  for (const bool join : {false, true}) {
    const KernelSet kernels = wideKernels(a, 200, 7);
    LocalEvaluator in_a(a, joined(join)), in_b(b, joined(join));
    in_a.rebuild(kernels);
    in_b.rebuild(kernels);
    const auto points = sampleSurface(a, 500, 8);
    const Values of_a = valuesOf(a, in_a, kernels, points), of_b = valuesOf(b, in_b, kernels, points);
    std::size_t same = 0;
    for (std::size_t i = 0; i < points.size(); ++i)
      same += (rotation * of_a.vectors[i] - of_b.vectors[i]).norm() < 1e-4 ? 1 : 0;
    // A development that passes an edge's end within rounding may go another way.
    EXPECT_GE(same, points.size() - 2);
  }
}

TEST(LocalTangents, EverySimdLevelTurnsAsThePlainTwin) {
  const Surface surface = testing::build(anyCorners(testing::bumpySphere(2, 0.3, 5)));
  const KernelSet kernels = wideKernels(surface, 300, 7);
  const auto points = sampleSurface(surface, 100, 8);
  for (const bool join : {false, true}) {
    LocalEvaluator evaluator(surface, joined(join));
    evaluator.rebuild(kernels);
    for (const std::string& level : simdLevels()) {
      SCOPED_TRACE(level);
      ASSERT_TRUE(setSimdLevel(level));
      Workspace workspace;
      evaluator.begin(points)->respond(0, points.size(), workspace);
      ResponseBlock fast = workspace.responses, slow = workspace.responses;
      fast.resizeTurns();
      slow.resizeTurns();
      std::vector<QueryRow> rows;
      for (const SurfacePoint& point : points)
        rows.push_back(evaluator.queryRow(point));
      turnBlock(evaluator.tables(), rows, fast);
      turnBlockScalar(evaluator.tables(), rows, slow);
      for (std::size_t q = 0; q < points.size(); ++q) {
        for (std::size_t at = q * fast.stride; at < q * fast.stride + fast.counts[q]; ++at) {
          EXPECT_NEAR(fast.cosines[at], slow.cosines[at], 1e-6f);
          EXPECT_NEAR(fast.sines[at], slow.sines[at], 1e-6f);
          EXPECT_NEAR(std::hypot(fast.cosines[at], fast.sines[at]), 1, 1e-5f);
        }
      }
    }
  }
  ASSERT_TRUE(setSimdLevel(""));
}

TEST(LocalTangents, TheSameBitsForAnyOrderAndNumberOfThreads) {
  const Surface surface = testing::build(anyCorners(testing::bumpySphere(3, 0.2, 5)));
  const KernelSet kernels = wideKernels(surface, 300, 7);
  LocalEvaluator evaluator(surface, joined(true));
  evaluator.rebuild(kernels);
  auto points = sampleSurface(surface, 3000, 8);
  const Values all = valuesOf(surface, evaluator, kernels, points);
  for (const int threads : {1, 3}) {
    setThreadCount(threads);
    EXPECT_EQ(valuesOf(surface, evaluator, kernels, points).all, all.all);
  }
  setThreadCount(0);
  for (std::size_t i = 0; i < points.size(); i += 101) {
    const Values one = valuesOf(surface, evaluator, kernels, {&points[i], 1});
    EXPECT_EQ(one.vectors[0], all.vectors[i]);
  }
}

TEST(NearestTurn, IsTheRotationOfAStretchedRotation) {
  const RandomStream random(4, 4);
  for (std::uint64_t i = 0; i < 100; ++i) {
    const double a = 6.3 * random.uniform(4 * i), b = 6.3 * random.uniform(4 * i + 1);
    const double s = 0.2 + 2 * random.uniform(4 * i + 2), t = 0.2 + 2 * random.uniform(4 * i + 3);
    const Eigen::Rotation2Dd turn(a), axes(b);
    const Mat2 m = turn * axes.toRotationMatrix() * Eigen::DiagonalMatrix<double, 2>(s, t) *
                   axes.toRotationMatrix().transpose();
    const Turn<double> found = nearestTurn(m(0, 0), m(0, 1), m(1, 0), m(1, 1));
    EXPECT_NEAR(found.cosine, std::cos(a), 1e-12);
    EXPECT_NEAR(found.sine, std::sin(a), 1e-12);
  }
  // A reflection prefers no rotation.
  const Turn<float> none = nearestTurn(1.0f, 0.0f, 0.0f, -1.0f);
  EXPECT_EQ(none.cosine, 1.0f);
  EXPECT_EQ(none.sine, 0.0f);
}

TEST(MethodChannels, OnlyLocalTakesTangentGroups) {
  for (const Method method : kMethods) {
    EXPECT_TRUE(checkChannels(method, ChannelLayout()));
    const auto checked = checkChannels(method, colorAndVector());
    EXPECT_EQ(checked.ok(), method == Method::kLocal);
    if (!checked) {
      EXPECT_EQ(checked.error().code, error_code::kOtherMethod);
      EXPECT_EQ(checked.error().kind, ErrorKind::kInput);
    }
  }
}

}  // namespace
}  // namespace heatskin::local
