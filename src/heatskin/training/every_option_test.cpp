// Every option does something: another value gives another fit, or the program says that it has no effect.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "heatskin/appearance/appearance_target.h"
#include "heatskin/base/rng.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/product/fit_appearance.h"
#include "heatskin/training/coverage.h"
#include "heatskin/training/test_fits.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

/// The ring of test_fits.h with a coarse texture, whose texels tell filters apart.
Asset texturedRing() {
  Asset asset = testing::colourfulRing(30, 8);
  Primitive& primitive = asset.meshes[0].primitives[0];
  primitive.colors.clear();
  primitive.uv_sets.emplace_back();
  for (const Vec3& x : primitive.positions) {
    const double around = std::atan2(x.y(), x.x()) / (2 * std::numbers::pi) + 0.5;
    primitive.uv_sets[0].emplace_back(static_cast<float>(around), static_cast<float>(0.5 + x.z()));
  }
  auto image = std::make_shared<Image>();
  image->width = image->height = 16;
  image->format = "png";
  const RandomStream random(5, 0);
  for (std::size_t i = 0; i < 16 * 16 * 4; ++i)
    image->rgba.push_back(i % 4 == 3 ? std::uint8_t{255}
                                     : static_cast<std::uint8_t>(255 * random.uniform(i)));
  asset.images.push_back(image);
  asset.textures.push_back({});
  asset.textures[0].image = 0;
  asset.materials.push_back({});
  asset.materials[0].base_color.texture = 0;
  primitive.material = 0;
  return asset;
}

class EveryOption : public ::testing::TestWithParam<std::pair<std::string_view, std::string_view>> {
 protected:
  /// A short fit with kernels that crowd, move, split and go.
  FitConfig base() const {
    FitConfig config = *presetConfig(GetParam().second);
    const FitConfig tiny = testing::tinyConfig(60);
    config.train.steps = tiny.train.steps;
    config.train.batch = tiny.train.batch;
    config.train.sampling.pool = tiny.train.sampling.pool;
    config.train.start.kernels = 150;
    config.train.density.max_kernels = 200;
    config.train.density.min_kernels = 120;
    config.train.density.relocate_share = 0.2;
    config.train.density.relocate_below = 1;
    config.train.density.insert_share = 0.5;
    config.train.rates.mean_color = 1e-3;  // a factor of 0 would be 0
    config.evaluator.method = *methodNamed(GetParam().first);
    config.evaluator.local.candidates = config.evaluator.thermal.candidates =
        config.evaluator.spectral.candidates = 12;
    config.evaluator.thermal.rank = config.evaluator.spectral.modes = 32;
    config.evaluator.thermal.oversampling = 8;
    config.evaluator.thermal.routing_dimensions = 16;
    return config;
  }

  KernelSet fitted(FitConfig config) {
    SurfaceOptions options;
    options.principal_axes = traits(config.evaluator.method).principal_axes;
    Result<Surface> surface = buildSurface(asset_, options);
    const Appearance appearance(asset_, *surface);
    fitLengthsToBudget(config, *surface);
    auto result = fit(*surface, appearance, config);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(result->kernels) : KernelSet();
  }

  /// Values that matter only in certain circumstances: these, and the value.
  struct Circumstances {
    std::vector<std::string> assignments;
    std::string value;
  };
  static const Circumstances* specialCase(std::string_view key) {
    static const std::map<std::string, Circumstances, std::less<>> kSpecial = {
        {"local.proxy_faces", {{}, "100"}},  // the ring has 480
        {"start.kernels", {{}, "100"}},      // more would be more than allowed
        {"budget.automatic",
         {{"density.max_kernels=4300"}, "true"}},  // the first stage has fewer, and is all
        {"density.cover_spare", {{}, "20"}},       // more than the ring needs
        // Kernels so small that many have no sample: pruning stops before they all go.
        {"density.min_kernels",
         {{"local.max_radius=0.02", "batch=16", "start.kernels=200", "density.min_kernels=20"}, "190"}},
        // Many more kernels than it takes to cover the ring: those of no use can go.
        {"density.relocate_below",
         {{"density.max_kernels=600", "start.kernels=600", "density.relocate_share=1",
           "local.window_sigma=0.3", "local.max_radius=0.6"},
          "0.01"}},
        // A full budget of kernels that cover half of the ring.
        {"density.cover_share",
         {{"lengths=unit", "start.kernels=200", "density.cover_spare=0", "local.max_radius=0.03",
           "local.window_sigma=0.02"},
          "0.3"}},
    };
    const auto found = kSpecial.find(key);
    return found == kSpecial.end() ? nullptr : &found->second;
  }

  /// Other values to try, cheap ones.
  static std::vector<std::string> otherValues(const OptionInfo& option, const std::string& now) {
    if (const Circumstances* special = specialCase(option.key)) return {special->value};
    if (option.type == "true|false") return {now == "true" ? "false" : "true"};
    std::vector<std::string> values;
    if (option.type != "number" && option.type != "integer") {
      for (std::size_t begin = 0; begin <= option.type.size();) {
        const std::size_t end = std::min(option.type.find('|', begin), option.type.size());
        const std::string choice = option.type.substr(begin, end - begin);
        if (now != fmt::format("\"{}\"", choice)) values.push_back(choice);
        begin = end + 1;
      }
      return values;
    }
    const double value = std::stod(now);
    for (const double other : {1.5 * value, 0.5 * value, value + 1, option.low}) {
      const double inside = std::clamp(other, option.low, option.high);
      const std::string text =
          option.type == "integer" ? fmt::format("{:.0f}", std::round(inside)) : fmt::format("{}", inside);
      if (inside != value && std::find(values.begin(), values.end(), text) == values.end())
        values.push_back(text);
    }
    return values;
  }

  const Asset asset_ = texturedRing();
};

TEST_P(EveryOption, ChangesAFitOrIsKnownToHaveNoEffect) {
  if (testing::kSanitized)
    GTEST_SKIP()
        << "at least one fit per option takes minutes under sanitizers; other tests run the same code";
  const FitConfig config = base();
  const KernelSet kernels = fitted(config);
  const std::string own = fmt::format("{}.", GetParam().first);
  std::size_t changed = 0, refused = 0;
  for (const OptionInfo& option : fitOptions()) {
    // What does not depend on the method is tried with the first one.
    const bool methods = option.key.starts_with("local.") || option.key.starts_with("thermal.") ||
                         option.key.starts_with("spectral.") || option.key == "transport_angle" ||
                         option.key == "wrap_angle";
    if (GetParam().first != "local" && !methods) continue;
    if (option.key == "method") continue;  // another evaluator: conformance_test.cpp
    FitConfig first = config;
    const Circumstances* special = specialCase(option.key);
    if (special != nullptr) {
      for (const std::string& assignment : special->assignments)
        ASSERT_TRUE(setOption(first, assignment));
    }
    const bool known = !withoutEffect(config, option.key).empty();
    const bool as_usual = special == nullptr || special->assignments.empty();
    const KernelSet before = as_usual ? kernels : fitted(first);
    bool differs = false;
    for (const std::string& value : otherValues(option, optionText(config, option.key))) {
      FitConfig other = first;
      const auto set = setOption(other, fmt::format("{}={}", option.key, value));
      ASSERT_TRUE(set) << set.error().message;
      differs = !testing::sameKernels(before, fitted(other));
      if (differs || known) break;
    }
    EXPECT_EQ(differs, !known) << option.key << " = " << optionText(config, option.key);
    (known ? refused : changed) += 1;
  }
  EXPECT_GT(changed, 3u);
  EXPECT_GT(refused, 3u);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryOption,
                         ::testing::Values(std::pair{"local", "paper"}, std::pair{"local", "compact"},
                                           std::pair{"thermal", "paper"}, std::pair{"spectral", "paper"}),
                         [](const auto& of) {
                           return fmt::format("{}_{}", of.param.first, of.param.second);
                         });

}  // namespace
}  // namespace heatskin
