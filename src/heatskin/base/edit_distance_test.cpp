#include "heatskin/base/edit_distance.h"

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(EditDistance, OfWordsWithKnownDistances) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("kernel", "kernel"), 0u);
  EXPECT_EQ(editDistance("", "fit"), 3u);
  EXPECT_EQ(editDistance("fit", ""), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("sitting", "kitten"), 3u);
  EXPECT_EQ(editDistance("flaw", "lawn"), 2u);
  EXPECT_EQ(editDistance("ab", "ba"), 2u) << "an exchange counts twice";
}

}  // namespace
}  // namespace heatskin
