#include "heatskin/operators/spectral_bases.h"

#include <cmath>

#include <gtest/gtest.h>

#include "heatskin/operators/dense_kernels.h"

#include "support/temporary_folder.h"
#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

SpectralOptions few(std::size_t count) {
  SpectralOptions options;
  options.eigen.count = count;
  return options;
}

testing::Soup twoSpheres() {
  testing::Soup soup = testing::bumpySphere(2, 0.2, 1);
  const auto offset = static_cast<std::uint32_t>(soup.positions.size());
  const auto faces = soup.faces;
  for (std::uint32_t v = 0; v < offset; ++v)
    soup.positions.push_back(soup.positions[v] + Vec3(3, 0, 0));
  for (const auto& f : faces)
    soup.faces.push_back({f[0] + offset, f[1] + offset, f[2] + offset});
  return soup;
}

TEST(SpectralBases, CacheGivesTheSameBits) {
  const testing::TemporaryFolder folder;
  const Surface surface = testing::build(testing::bumpySphere(2, 0.3, 1));
  PreprocessingCache cache(folder.path()), none;
  SpectralProfile profile;
  const auto first = buildSpectralBases(surface, cache, few(30), silentProgress(), &profile);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(profile.from_cache);
  const auto second = buildSpectralBases(surface, cache, few(30), silentProgress(), &profile);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(profile.from_cache);
  const auto without = buildSpectralBases(surface, none, few(30), silentProgress(), &profile);
  EXPECT_FALSE(profile.from_cache);
  for (const auto* other : {&second, &without}) {
    EXPECT_EQ(first->values, (*other)->values);
    EXPECT_EQ(first->vectors, (*other)->vectors);
    EXPECT_EQ(first->embedding, (*other)->embedding);
    EXPECT_EQ(first->count, (*other)->count);
  }
  // Other options are another file.
  ASSERT_TRUE(buildSpectralBases(surface, cache, few(20), silentProgress(), &profile).ok());
  EXPECT_FALSE(profile.from_cache);
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST(SpectralBases, ShapesAndRows) {
  const Surface surface = testing::build(testing::bumpySphere(2, 0.3, 1));
  PreprocessingCache none;
  const auto bases = buildSpectralBases(surface, none, few(40));
  ASSERT_TRUE(bases.ok());
  const std::size_t k = 40, vertices = surface.vertexCount();
  EXPECT_EQ(bases->count, k);
  EXPECT_EQ(bases->values.size(), kAlignedBases * k);
  EXPECT_EQ(bases->vectors.size(), kAlignedBases * k * vertices);
  EXPECT_EQ(bases->embedding_dimensions, k - 1);
  EXPECT_EQ(bases->embedding.size(), vertices * (k - 1));
  // The isotropic basis is not turned: its columns are the eigenvectors, up to half precision.
  const Operators operators = assembleOperators(surface);
  const auto pairs = EigenSolver(operators, few(40).eigen).solve(kIsotropic);
  ASSERT_TRUE(pairs.ok());
  std::vector<float> rows(vertices * k);
  floatFromHalf(bases->vectorsOf(kAlignedIsotropic), rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    ASSERT_NEAR(rows[i], pairs->vectors[i], 1e-3f * std::abs(pairs->vectors[i]) + 1e-6f);
  for (std::size_t e = 0; e + 1 < k; ++e) {
    EXPECT_NEAR(bases->embedding[5 * (k - 1) + e] * pairs->values[e + 1], pairs->vectors[5 * k + e + 1],
                1e-5);
  }
  EXPECT_EQ(bases->valuesOf(kAlignedIsotropic)[7], pairs->values[7]);
}

TEST(SpectralBases, PointsOfAComponentAreToldApart) {
  const Surface surface = testing::build(twoSpheres());
  ASSERT_EQ(surface.componentCount(), 2u);
  PreprocessingCache none;
  const auto bases = buildSpectralBases(surface, none, few(30));
  ASSERT_TRUE(bases.ok());
  const Operators operators = assembleOperators(surface);
  const std::size_t d = bases->embedding_dimensions;
  // Mass-weighted means over a component vanish: modes are orthogonal to its constant.
  std::vector<double> means(2 * d), spread(2);
  for (std::size_t v = 0; v < surface.vertexCount(); ++v) {
    const std::uint32_t component = operators.components[v];
    for (std::size_t e = 0; e < d; ++e) {
      means[component * d + e] += operators.mass[v] * bases->embedding[v * d + e];
      spread[component] =
          std::max(spread[component], std::abs(static_cast<double>(bases->embedding[v * d + e])));
    }
  }
  for (const double mean : means)
    EXPECT_NEAR(mean, 0, 1e-5);
  EXPECT_GT(spread[0], 0.01);
  EXPECT_GT(spread[1], 0.01);
}

TEST(SpectralBases, TinyMeshes) {
  PreprocessingCache none;
  for (const testing::Soup& soup : {testing::tetrahedron(), testing::saddle(), testing::flatGrid(1, 1)}) {
    const Surface surface = testing::build(soup);
    const auto bases = buildSpectralBases(surface, none);
    ASSERT_TRUE(bases.ok()) << soup.name;
    EXPECT_EQ(bases->count, surface.vertexCount() - 1u);
    for (const float x : bases->embedding)
      EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(SpectralBases, RefusesMeshesItCannotHold) {
  const Surface surface = testing::build(testing::flatGrid(400, 300));
  PreprocessingCache none;
  const auto bases = buildSpectralBases(surface, none);
  ASSERT_FALSE(bases.ok());
  EXPECT_EQ(bases.error().kind, ErrorKind::kInput);
  EXPECT_NE(bases.error().message.find("120701"), std::string::npos) << bases.error().message;
}

TEST(SpectralBases, RefusesMorePiecesThanPairs) {
  testing::Soup soup{"loose triangles", {}, {}};
  for (std::uint32_t i = 0; i < 20; ++i) {
    for (const Vec3& corner : {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(0, 1, 0)})
      soup.positions.push_back(corner + Vec3(2.0 * i, 0, 0));
    soup.faces.push_back({3 * i, 3 * i + 1, 3 * i + 2});
  }
  PreprocessingCache none;
  const Surface surface = testing::build(soup);
  EXPECT_TRUE(buildSpectralBases(surface, none, few(21)).ok());
  const auto bases = buildSpectralBases(surface, none, few(20));
  ASSERT_FALSE(bases.ok());
  EXPECT_EQ(bases.error().kind, ErrorKind::kInput);
}

TEST(SpectralBases, StopsWhenAsked) {
  struct Stop : Progress {
    void begin(std::string_view, std::size_t) override {}
    void update(std::size_t, std::string_view) override {}
    void end() override {}
    bool cancelled() const override { return true; }
  } stop;
  const testing::TemporaryFolder folder;
  PreprocessingCache cache(folder.path());
  const auto bases = buildSpectralBases(testing::build(testing::bumpySphere(1, 0.2, 1)), cache, {}, stop);
  ASSERT_FALSE(bases.ok());
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace heatskin
