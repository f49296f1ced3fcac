// Charts on a proxy: a file that says how the simplified copy looks gives the colours and vectors of the
// evaluator that made it, and nothing else passes for one.

#include "heatskin/product/stored_proxy.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "heatskin/evaluators/local/support_proxy.h"
#include "heatskin/product/charts.h"
#include "heatskin/product/deflate.h"
#include "heatskin/product/product.h"
#include "heatskin/product/test_fitted.h"
#include "heatskin/training/config.h"

#include "support/products.h"

namespace heatskin {
namespace {

using namespace heatskin::testing;
using namespace heatskin::testing::product;

/// Options of the default preset with a copy of about so many faces.
EvaluatorOptions withProxy(std::size_t faces) {
  const auto config = presetConfig("default");
  EXPECT_TRUE(config);
  EvaluatorOptions options = config->evaluator.options();
  std::get<local::LocalOptions>(options).proxy_faces = faces;
  return options;
}

Fitted fineFitted(const Asset& asset, std::size_t proxy_faces, std::size_t kernels) {
  Fitted f = fitted(asset, kernels);
  f.kernels = randomKernels(*f.surface, kernels, 3, vectorLayout());
  f.options = withProxy(proxy_faces);
  return f;
}

/// Largest difference of any value, in parts of 1, between the file and what is searched for anew.
double apart(const Product& product) {
  const std::vector<SurfacePoint> points = sampleSurface(*product.surface, 4000, 4);
  const std::size_t channels = product.kernels.layout.size();
  std::vector<float> searched(points.size() * channels), stored(searched.size());
  Preparation preparation;
  preparation.supports = product.supports;
  const auto a = KernelTexture::create(product.surface, product.kernels, product.options);
  const auto b = KernelTexture::create(product.surface, product.kernels, product.options, preparation);
  EXPECT_TRUE(a && b);
  if (!a || !b) return 1e9;
  a->values(points, searched);
  b->values(points, stored);
  double worst = 0;
  for (std::size_t i = 0; i < searched.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(searched[i]) - static_cast<double>(stored[i])));
  return worst;
}

TEST(StoredProxy, GivesTheValuesOfTheSearch) {
  const std::pair<const char*, Asset> assets[] = {
      {"sphere", assetOf(bumpySphere(5, 0.1, 5))},  // 20,480 faces
      {"flat", assetOf(flatGrid(70, 60))},
      {"cube", assetOf(cube(40))},
  };
  for (const auto& [name, asset] : assets) {
    const Fitted f = fineFitted(asset, 1500, 200);
    const auto product = decoded(encoded(f));
    ASSERT_TRUE(product) << name << ": " << product.error().message;
    ASSERT_NE(product->supports, nullptr) << name;
    ASSERT_NE(product->supports->proxy(), nullptr) << name;
    EXPECT_LT(2 * product->supports->proxy()->surface().faceCount(), product->surface->faceCount()) << name;
    EXPECT_LT(apart(*product), 2e-4) << name;
    EXPECT_EQ(encoded({product->asset, product->surface, product->kernels, product->options}), encoded(f))
        << name;
  }
}

/// A planted error: apart() sees kernels that begin on another face.
TEST(StoredProxy, ApartNoticesAnotherProxy) {
  const Fitted f = fineFitted(assetOf(bumpySphere(5, 0.1, 5)), 1500, 200);
  auto product = decoded(encoded(f));
  ASSERT_TRUE(product);
  class Shifted final : public local::StoredSupports {
   public:
    explicit Shifted(std::shared_ptr<const local::StoredSupports> whole) : whole_(std::move(whole)) {}
    std::size_t kernelCount() const override { return whole_->kernelCount(); }
    std::size_t pairCount() const override { return whole_->pairCount(); }
    std::shared_ptr<const local::SupportProxy> proxy() const override { return whole_->proxy(); }
    std::uint32_t proxyFaceOf(std::size_t kernel) const override {
      return whole_->proxyFaceOf((kernel + 1) % kernelCount());
    }
    void stepsOf(std::size_t kernel, std::vector<local::UnfoldStep>& steps,
                 std::vector<std::uint32_t>& order) const override {
      whole_->stepsOf((kernel + 1) % kernelCount(), steps, order);
    }

   private:
    std::shared_ptr<const local::StoredSupports> whole_;
  };
  product->supports = std::make_shared<Shifted>(product->supports);
  EXPECT_GT(apart(*product), 0.01);
}

/// A proxy in parts, to be damaged.
class HostileProxy : public ::testing::Test {
 protected:
  void SetUp() override {
    fitted_ = fineFitted(assetOf(bumpySphere(4, 0.1, 5)), 1000, 40);
    const auto texture = KernelTexture::create(fitted_.surface, fitted_.kernels, fitted_.options);
    ASSERT_TRUE(texture);
    const auto* evaluator = dynamic_cast<const local::LocalEvaluator*>(&texture->evaluator());
    ASSERT_TRUE(evaluator != nullptr && evaluator->proxy() != nullptr);
    triangles_ = std::make_unique<SourceTriangles>(fitted_.asset, *fitted_.surface);
    auto packed = packProxy(*evaluator, *triangles_, *fitted_.surface);
    ASSERT_TRUE(packed);
    header_ = packed->header;
    bytes_ = packed->bytes;
    ASSERT_EQ(refusal(), "");
    // Where the parts begin.
    corners_ = 4 * header_.vertices;
    counts_ = corners_ + 12 * header_.faces + 8 * header_.face_neighbours;
    listed_ = counts_ + triangles_->size();
    kernel_faces_ = listed_ + 4 * header_.listed;
  }

  std::string refusal() const {
    if (bytes_.size() != proxyBytes(header_, triangles_->size(), fitted_.kernels.size())) return "size";
    const auto read = unpackProxy(header_, bytes_, *triangles_, *fitted_.surface, fitted_.kernels.size());
    if (read) return "";
    EXPECT_EQ(read.error().kind, ErrorKind::kInput);
    return read.error().message;
  }
  std::string refusalWith(const std::function<void()>& damage) {
    const std::vector<std::uint8_t> bytes = bytes_;
    const ProxyHeader header = header_;
    damage();
    const std::string message = refusal();
    bytes_ = bytes;
    header_ = header;
    return message;
  }

  Fitted fitted_;
  std::unique_ptr<SourceTriangles> triangles_;
  ProxyHeader header_;
  std::vector<std::uint8_t> bytes_;
  std::size_t corners_ = 0, counts_ = 0, listed_ = 0, kernel_faces_ = 0;
};

TEST_F(HostileProxy, EveryPartIsChecked) {
  const auto has = [&](const char* words, const std::function<void()>& damage) {
    const std::string message = refusalWith(damage);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  // The highest bytes of columns: far beyond everything.
  has("no corner of a triangle", [&] { bytes_[corners_ - 1] = 0x7f; });
  has("a corner that does not exist", [&] { bytes_[counts_ - 8 * header_.face_neighbours - 1] = 1; });
  has("a corner that does not exist", [&] { bytes_[corners_] = 9; });
  // All corners new: more than there are vertices.
  has("a corner that does not exist", [&] {
    std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(corners_),
              bytes_.begin() + static_cast<std::ptrdiff_t>(corners_ + 12 * header_.faces), std::uint8_t{0});
  });
  // The last face with one vertex twice.
  has("no surface as they are", [&] {
    for (std::size_t plane = 0; plane < 4; ++plane) {
      const std::size_t last = corners_ + (plane + 1) * 3 * header_.faces - 1;
      bytes_[last] = bytes_[last - 1];
    }
  });
  has("not served", [&] { bytes_[counts_] = 0; });
  has("not served", [&] { bytes_[counts_] = 2 * (kMostServing + 1); });
  has("oriented otherwise", [&] { bytes_[counts_] ^= 1; });
  has("lists of faces of the proxy", [&] {
    const auto several = std::find_if(bytes_.begin() + static_cast<std::ptrdiff_t>(counts_), bytes_.end(),
                                      [](std::uint8_t count) { return count > 3; });
    *several = static_cast<std::uint8_t>(*several - 2);
  });
  has("not increasing", [&] { bytes_[kernel_faces_ - 1] = 0x7f; });
  has("a kernel is on a face", [&] { bytes_.back() = 0x7f; });
  has("not those of its faces", [&] {
    ++header_.face_neighbours;
    const std::uint8_t change[] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    bytes_.insert(bytes_.begin() + static_cast<std::ptrdiff_t>(counts_), std::begin(change),
                  std::end(change));
  });
  has("not its edges", [&] {
    ++header_.face_neighbours;
    const std::uint8_t change[] = {0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    bytes_.insert(bytes_.begin() + static_cast<std::ptrdiff_t>(counts_), std::begin(change),
                  std::end(change));
  });
}

/// Whatever byte is changed: refused, or a proxy that can be computed with.
TEST_F(HostileProxy, AnyByteMayBeWrong) {
  std::size_t refused = 0, taken = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t at = i * 2654435761u % bytes_.size();
    const std::uint8_t old = bytes_[at];
    bytes_[at] = static_cast<std::uint8_t>(old ^ (1u << i % 8));
    (refusal().empty() ? taken : refused) += 1;
    bytes_[at] = old;
  }
  EXPECT_GT(refused, 200u);
  EXPECT_EQ(refused + taken, 400u);
}

/// Sizes in the header are checked before memory is taken.
TEST_F(HostileProxy, SizesAreJustified) {
  const auto refusalOf = [&](const std::function<void(ChartsHeader&)>& change) {
    ChartsHeader header{0, 1000, 0, 0, header_};
    change(header);
    const auto read = unpackCharts(header, std::vector<std::uint8_t>(100, 7), fitted_.asset, fitted_.surface,
                                   fitted_.kernels);
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(refusalOf([](ChartsHeader& h) { h.proxy->faces = kMostSteps; }).find("more than there can be"),
            std::string::npos);
  EXPECT_NE(refusalOf([](ChartsHeader& h) { h.proxy->vertices = kMostSteps; }).find("more than there can be"),
            std::string::npos);
  EXPECT_NE(refusalOf([](ChartsHeader& h) { h.proxy->listed = kMostSteps; }).find("more than there can be"),
            std::string::npos);
  EXPECT_NE(refusalOf([](ChartsHeader& h) { h.proxy->face_neighbours = kMostSteps; }).find("more than there"),
            std::string::npos);
  EXPECT_NE(refusalOf([](ChartsHeader& h) { h.steps = 1 << 22; }).find("too few for"), std::string::npos);
  EXPECT_NE(refusalOf([](ChartsHeader&) {}).find("is not a zlib stream"), std::string::npos);
}

}  // namespace
}  // namespace heatskin
