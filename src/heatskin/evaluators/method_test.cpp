#include "heatskin/evaluators/method.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "heatskin/evaluators/method_traits.h"

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

TEST(Methods, HaveOneRowEach) {
  const Surface surface = testing::build(testing::icosphere(1), true);
  std::set<std::string_view> titles;
  for (const Method method : kMethods) {
    const MethodTraits& row = traits(method);
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.name, methodName(method));
    EXPECT_EQ(methodNamed(row.name), method);
    EXPECT_TRUE(titles.insert(row.title).second);
    EvaluatorOptions options = defaultOptions(method);
    EXPECT_EQ(methodOf(options), method);
    if (auto* spectral = std::get_if<spectral::HktexOptions>(&options)) spectral->modes = 8;
    const auto made = makeEvaluator(surface, options);
    ASSERT_TRUE(made) << made.error().message;
    // A wider window or a longer time reaches further, and nothing reaches further for a larger response.
    EXPECT_GT(row.reach(options, 0.3), row.reach(options, 0.6));
    EXPECT_TRUE((*made)->check(KernelSet(), 1));
  }
}

TEST(Methods, UnknownOnesAreNone) {
  for (const std::string_view name : {"", "Local", "localhk", "magic", "thermal "})
    EXPECT_FALSE(methodNamed(name)) << name;
}

TEST(Methods, LinesOfTheTableReachTheirMembers) {
  for (const Method method : kMethods) {
    EvaluatorOptions options = defaultOptions(method);
    std::set<std::string> keys;
    for (const Option& option : traits(method).options) {
      SCOPED_TRACE(option.key);
      EXPECT_TRUE(keys.insert(camelCase(option.key)).second);
      const OptionValue before = option.get(optionsStruct(options));
      OptionValue other = before;
      if (auto* b = std::get_if<bool>(&other)) *b = !*b;
      if (auto* i = std::get_if<std::int64_t>(&other)) *i += 1;
      if (auto* d = std::get_if<double>(&other)) *d *= 0.5;
      if (auto* name = std::get_if<std::string_view>(&other))
        *name = *name == option.names[0] ? option.names[1] : option.names[0];
      option.set(optionsStruct(options), other);
      EXPECT_TRUE(option.get(optionsStruct(options)) == other);
      option.set(optionsStruct(options), before);
      if (const auto* d = std::get_if<double>(&before)) {
        EXPECT_GE(*d, option.low);
        EXPECT_LE(*d, option.high);
      }
    }
  }
}

TEST(OptionTable, NamesInFilesAreCamelCase) {
  EXPECT_EQ(camelCase("max_radius"), "maxRadius");
  EXPECT_EQ(camelCase("rank"), "rank");
  EXPECT_EQ(camelCase("per_query"), "perQuery");
  EXPECT_EQ(camelCase(""), "");
}

}  // namespace
}  // namespace heatskin
