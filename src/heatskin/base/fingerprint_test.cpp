#include "heatskin/base/fingerprint.h"

#include <vector>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

using Lists = std::vector<std::vector<int>>;

Fingerprint::Value of(const Lists& lists) {
  Fingerprint fingerprint;
  for (const std::vector<int>& list : lists)
    fingerprint.add(std::span<const int>(list));
  return fingerprint.value();
}

TEST(Fingerprint, FollowsValuesOrderAndBorders) {
  const Fingerprint::Value one = of({{1, 2}, {3}});
  EXPECT_EQ(of({{1, 2}, {3}}), one);
  EXPECT_NE(of({{1, 2}, {4}}), one);
  EXPECT_NE(of({{3}, {1, 2}}), one);
  EXPECT_NE(of({{1}, {2, 3}}), one) << "the same numbers, but not the same lists";
  EXPECT_NE(of({}), of({{}})) << "an empty list is something";
}

TEST(Fingerprint, CanGoOnAfterItWasRead) {
  Fingerprint fingerprint;
  const std::vector<int> a = {1, 2}, b = {3};
  fingerprint.add(std::span<const int>(a));
  EXPECT_EQ(fingerprint.value(), of({a}));
  fingerprint.add(std::span<const int>(b));
  EXPECT_EQ(fingerprint.value(), of({a, b}));
}

}  // namespace
}  // namespace heatskin
