// Charts: what a file says about where kernels reach gives the colours that searching for it gives, on any
// mesh, and nothing else passes for charts.

#include "heatskin/product/charts.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/product/deflate.h"
#include "heatskin/product/neighbours.h"
#include "heatskin/product/product.h"
#include "heatskin/product/test_fitted.h"
#include "heatskin/training/config.h"

#include "support/products.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;
using namespace heatskin::testing::product;

/// The options of the default preset: accumulated visibility, joined corners, candidates by reach.
EvaluatorOptions joinedOptions() {
  const auto config = presetConfig("default");
  EXPECT_TRUE(config);
  return config->evaluator.options();
}

/// Largest difference of colours with and without charts, in 8-bit levels.
double levelsApart(const Product& product) {
  const std::vector<SurfacePoint> points = sampleSurface(*product.surface, 3000, 4);
  std::vector<Vec3f> searched(points.size()), stored(points.size());
  Preparation preparation;
  preparation.supports = product.supports;
  const auto a = KernelTexture::create(product.surface, product.kernels, product.options);
  const auto b = KernelTexture::create(product.surface, product.kernels, product.options, preparation);
  EXPECT_TRUE(a && b);
  if (!a || !b) return 1e9;
  a->colors(points, searched);
  b->colors(points, stored);
  double worst = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    worst = std::max(worst, 255 * static_cast<double>((searched[i] - stored[i]).cwiseAbs().maxCoeff()));
  return worst;
}

TEST(Charts, GiveTheColoursOfTheSearchOnAnyMesh) {
  const std::pair<const char*, Asset> assets[] = {
      {"sphere", assetOf(bumpySphere(3, 0.2, 5))}, {"cube", assetOf(cube(3))},
      {"cone", assetOf(cone(2.0, 12, 5))},         {"Möbius strip", assetOf(moebius(30))},
      {"slivers", assetOf(sliverStrip(40, 1e-5))}, {"damaged", assetOf(damagedSphere(3, 2))},
      {"dirty", assetOf(dirtySoup(7, 60, 150))},   {"instances", mirroredInstances()},
      {"flat", assetOf(flatGrid(12, 9))},
  };
  for (const auto& [name, asset] : assets) {
    for (const EvaluatorOptions& options : {EvaluatorOptions(), joinedOptions()}) {
      Fitted f = fitted(asset, 300);
      f.options = options;
      const auto product = decoded(encoded(f));
      ASSERT_TRUE(product) << name << ": " << product.error().message;
      ASSERT_NE(product->supports, nullptr) << name;
      EXPECT_GT(product->chart_bytes, 0u);
      EXPECT_EQ(product->supports->kernelCount(), 300u);
      // Developments are those of the search to the bit; means of corners are sums in another order.
      EXPECT_LT(levelsApart(*product), 0.05) << name;
    }
  }
}

/// A planted error: steps that do not belong to the kernels give other colours.
TEST(Charts, LevelsApartNoticesOtherSupports) {
  const Fitted f = fitted(assetOf(bumpySphere(3, 0.2, 5)), 300);
  auto product = decoded(encoded(f));
  ASSERT_TRUE(product);
  class Shortened final : public local::StoredSupports {
   public:
    explicit Shortened(std::shared_ptr<const local::StoredSupports> whole) : whole_(std::move(whole)) {}
    std::size_t kernelCount() const override { return whole_->kernelCount(); }
    std::size_t pairCount() const override { return whole_->pairCount(); }
    void stepsOf(std::size_t kernel, std::vector<local::UnfoldStep>& steps,
                 std::vector<std::uint32_t>& order) const override {
      whole_->stepsOf(kernel, steps, order);
      steps.resize(1);
      order.clear();
    }

   private:
    std::shared_ptr<const local::StoredSupports> whole_;
  };
  product->supports = std::make_shared<Shortened>(product->supports);
  EXPECT_GT(levelsApart(*product), 0.5);
}

TEST(Charts, AreLeftOutOnRequestAndWhereThereAreNone) {
  const Fitted f = fitted(assetOf(bumpySphere(3, 0.2, 5)), 50);
  ProductFile file;
  file.charts = false;
  const auto without = encodeProduct(f.asset, *f.surface, f.kernels, f.options, kInfo, {}, file);
  ASSERT_TRUE(without);
  const auto plain = decoded(*without);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->supports, nullptr);
  EXPECT_EQ(plain->chart_bytes, 0u);
  EXPECT_LT(without->size(), encoded(f).size());

  const auto thermal = decoded(encoded(fittedWith("thermal", assetOf(bumpySphere(2, 0.2, 5)), 50)));
  ASSERT_TRUE(thermal) << thermal.error().message;
  EXPECT_EQ(thermal->chart_bytes, 0u);
}

/// Neighbours are mutual, and a mesh without faults needs no changes of the rule.
TEST(Neighbours, OfACleanMeshFollowTheRule) {
  for (const Asset& asset : {assetOf(cube(3)), assetOf(icosphere(2)), mirroredInstances()}) {
    const auto surface = buildSurface(asset);
    ASSERT_TRUE(surface);
    const SourceTriangles triangles(asset, *surface);
    const Neighbours rule = neighboursByRule(asset);
    ASSERT_EQ(rule.size(), 3 * triangles.size());
    for (std::uint32_t h = 0; h < rule.size(); ++h) {
      ASSERT_NE(rule[h], kNone);
      EXPECT_EQ(rule[rule[h]], h);
    }
    EXPECT_TRUE(differences(rule, neighboursOnSurface(triangles, *surface)).empty());
  }
  // Three faces at an edge: the rule joins none of them.
  const Soup fin{
      "fin", {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}}, {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}}};
  const Asset asset = assetOf(fin);
  const auto surface = buildSurface(asset);
  ASSERT_TRUE(surface);
  const Neighbours rule = neighboursByRule(asset);
  EXPECT_EQ(std::count(rule.begin(), rule.end(), kNone), 9);
  EXPECT_EQ(differences(rule, neighboursOnSurface(SourceTriangles(asset, *surface), *surface)).size(), 2u);
}

/// Charts in parts, to be damaged.
class HostileCharts : public ::testing::Test {
 protected:
  void SetUp() override {
    fitted_ = fitted(assetOf(bumpySphere(2, 0.2, 5)), 40);
    fitted_.options = joinedOptions();
    const auto texture = KernelTexture::create(fitted_.surface, fitted_.kernels, fitted_.options);
    ASSERT_TRUE(texture);
    auto packed = packCharts(texture->evaluator(), fitted_.asset, *fitted_.surface, fitted_.kernels);
    ASSERT_TRUE(packed);
    header_ = packed->header;
    const auto all =
        inflateExactly(packed->bytes, header_.steps + 4 * (header_.orders + 2 * header_.neighbours));
    ASSERT_TRUE(all);
    parts_ = *all;
    ASSERT_EQ(refusal(header_, parts_), "");
  }

  std::string refusal(const ChartsHeader& header, const std::vector<std::uint8_t>& parts) const {
    return refusalOf(header, deflateParts(parts, std::max<std::size_t>(1, parts.size()), Z_DEFAULT_STRATEGY));
  }
  std::string refusalOf(const ChartsHeader& header, const std::vector<std::uint8_t>& bytes) const {
    const auto read = unpackCharts(header, bytes, fitted_.asset, fitted_.surface, fitted_.kernels);
    if (read) return "";
    EXPECT_EQ(read.error().kind, ErrorKind::kInput);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
    return read.error().message;
  }
  void append(std::initializer_list<std::uint32_t> words) {
    for (const std::uint32_t word : words) {
      for (int i = 0; i < 4; ++i)
        parts_.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
    }
  }

  Fitted fitted_;
  ChartsHeader header_;
  std::vector<std::uint8_t> parts_;
};

TEST_F(HostileCharts, SizesAreExact) {
  ChartsHeader more = header_;
  ++more.steps;
  EXPECT_NE(refusal(more, parts_).find("is not a zlib stream of"), std::string::npos);
  std::vector<std::uint8_t> longer = parts_;
  longer.push_back(0);
  EXPECT_NE(refusal(header_, longer).find("is not a zlib stream of"), std::string::npos);
  EXPECT_NE(refusal(more, longer).find("steps are left over"), std::string::npos);
  ChartsHeader huge = header_;
  huge.steps = kMostSteps;
  EXPECT_NE(refusal(huge, parts_).find("can need"), std::string::npos);
  huge.steps = 1000 * parts_.size();
  EXPECT_NE(refusal(huge, parts_).find("too few for"), std::string::npos);
  huge = header_;
  huge.neighbours = kMostSteps;
  EXPECT_NE(refusal(huge, parts_).find("more than there can be"), std::string::npos);
  huge = header_;
  huge.orders = 2 * kMostSteps;
  EXPECT_NE(refusal(huge, parts_).find("more than there can be"), std::string::npos);
  EXPECT_NE(refusalOf(header_, {}).find("too few for"), std::string::npos);
  EXPECT_NE(refusalOf(header_, std::vector<std::uint8_t>(5000, 7)).find("is not a zlib stream"),
            std::string::npos);
}

TEST_F(HostileCharts, TreesAreChecked) {
  std::vector<std::uint8_t> parts = parts_;
  parts[0] = 8;
  EXPECT_NE(refusal(header_, parts).find("8 is no step"), std::string::npos);
  // Every edge leads on: a walk that never ends within the steps.
  parts.assign(header_.steps, 7);
  EXPECT_NE(refusal(header_, parts), "");
  // A fan around a vertex comes back to where it was.
  ChartsHeader header = header_;
  parts.assign(1, 1);
  parts.insert(parts.end(), 40, 1);
  parts.insert(parts.end(), fitted_.kernels.size(), 0);
  header = {0, parts.size(), 0, 0};
  EXPECT_NE(refusal(header, parts).find("kernel 0 counts a triangle twice"), std::string::npos);
  // Back and forth, for ever.
  parts.assign(1, 1);
  parts.insert(parts.end(), 3 * fitted_.surface->faceCount(), 5);
  parts.insert(parts.end(), fitted_.kernels.size(), 0);
  header.steps = parts.size();
  EXPECT_NE(refusal(header, parts).find("kernel 0 has more steps"), std::string::npos);
  // What is passed leads on.
  parts = {1, 4};
  parts.insert(parts.end(), fitted_.kernels.size() - 1, 0);
  header.steps = parts.size();
  EXPECT_NE(refusal(header, parts).find("a step leads nowhere"), std::string::npos);
  parts.assign(fitted_.kernels.size(), 0);
  header.steps = parts.size();
  EXPECT_EQ(refusal(header, parts), "");
  parts.pop_back();
  header.steps = parts.size();
  EXPECT_NE(refusal(header, parts).find("do not end"), std::string::npos);
}

TEST_F(HostileCharts, StepsNeedNeighbours) {
  fitted_ = fitted(assetOf(flatGrid(1, 1)), 40);
  std::vector<std::uint8_t> parts(40, 7);
  const ChartsHeader header{0, 160, 0, 0};
  parts.clear();
  for (int i = 0; i < 40; ++i)
    parts.insert(parts.end(), {7, 0, 0, 0});
  EXPECT_NE(refusal(header, parts).find("crosses an edge without a neighbour"), std::string::npos);
}

TEST_F(HostileCharts, OrdersArePermutations) {
  const std::vector<std::uint8_t> trees(fitted_.kernels.size(), 0);
  const auto with = [&](std::initializer_list<std::uint32_t> words) {
    parts_ = trees;
    append(words);
    return refusal({0, trees.size(), words.size(), 0}, parts_);
  };
  EXPECT_EQ(with({3, 0}), "");
  EXPECT_EQ(with({3, 0, 7, 0}), "");
  EXPECT_NE(with({3, 1}).find("is no permutation"), std::string::npos);
  EXPECT_NE(with({3}).find("does not end"), std::string::npos);
  EXPECT_NE(with({7, 0, 3, 0}).find("increasing kernels"), std::string::npos);
  EXPECT_NE(with({40, 0}).find("increasing kernels"), std::string::npos);
}

TEST_F(HostileCharts, NeighboursAreThoseOfTheGeometry) {
  const std::vector<std::uint8_t> trees(fitted_.kernels.size(), 0);
  const auto with = [&](std::initializer_list<std::uint32_t> words) {
    parts_ = trees;
    append(words);
    return refusal({0, trees.size(), 0, words.size() / 2}, parts_);
  };
  EXPECT_EQ(with({}), "");
  EXPECT_NE(with({0, kNone}).find("not those of the geometry"), std::string::npos);
  EXPECT_NE(with({0, 0}).find("not those of the geometry"), std::string::npos);
  EXPECT_NE(with({kNone - 1, 0}).find("not edges of the file"), std::string::npos);
  EXPECT_NE(with({0, kNone - 1}).find("not edges of the file"), std::string::npos);
  EXPECT_NE(with({1, kNone, 0, kNone}).find("increasing order"), std::string::npos);
}

}  // namespace
}  // namespace heatskin
