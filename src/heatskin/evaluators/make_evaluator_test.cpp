#include "heatskin/evaluators/make_evaluator.h"

#include <gtest/gtest.h>

#include "support/tiny_surfaces.h"

namespace heatskin {
namespace {

TEST(MakeEvaluator, KnowsItsMethodsAndNoOthers) {
  const Surface surface = testing::build(testing::icosphere(1), true);
  for (const std::string_view method : kMethods) {
    EvaluatorOptions options;
    options.method = method;
    options.spectral.modes = 8;
    const auto made = makeEvaluator(surface, options);
    EXPECT_TRUE(made) << method << ": " << made.error().message;
  }
  for (const std::string_view method : {"", "Local", "localhk", "magic", "thermal "}) {
    EvaluatorOptions options;
    options.method = method;
    const auto made = makeEvaluator(surface, options);
    ASSERT_FALSE(made) << method;
    EXPECT_EQ(made.error().kind, ErrorKind::kUsage);
    EXPECT_NE(made.error().message.find("there are local, thermal, spectral"), std::string::npos);
  }
}

}  // namespace
}  // namespace heatskin
