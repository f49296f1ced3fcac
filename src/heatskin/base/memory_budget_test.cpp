#include "heatskin/base/memory_budget.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/sanitized.h"

namespace heatskin {
namespace {

TEST(MemoryBudget, ReadsNumbersWithUnits) {
  EXPECT_EQ(parseBytes("4G"), std::size_t{4} << 30);
  EXPECT_EQ(parseBytes("500M"), std::size_t{500} << 20);
  EXPECT_EQ(parseBytes("500MB"), std::size_t{500} << 20);
  EXPECT_EQ(parseBytes("1.5g"), std::size_t{3} << 29);
  EXPECT_EQ(parseBytes("64k"), std::size_t{64} << 10);
  EXPECT_EQ(parseBytes("2T"), std::size_t{2} << 40);
  EXPECT_EQ(parseBytes("1000000"), std::size_t{1000000});
  for (const char* bad :
       {"", "G", "0", "-1G", "4GG", "4 G", "nan", "inf", "1e400", "4X", "0x10", "1e30", "0.1"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
}

TEST(MemoryBudget, RefusesWhatDoesNotFitAndSaysBothNumbers) {
  setMemoryBudget(std::size_t{1} << 40);
  EXPECT_TRUE(askMemory("a test", 1e9));
  setMemoryBudget(std::size_t{1} << 30);
  const auto refused = askMemory("a test", 5e9);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInput);
  EXPECT_EQ(refused.error().message.find("a test needs about 5.0 GB"), 0u) << refused.error().message;
  EXPECT_NE(refused.error().message.find("the limit is 1.1 GB"), std::string::npos);
  setMemoryBudget(0);
  EXPECT_EQ(memoryBudget(), defaultMemoryBudget());
}

TEST(MemoryBudget, CountsWhatIsHeldAlready) {
  const std::size_t before = residentBytes();
  ASSERT_GT(before, 0u);
  std::vector<char> held(std::size_t{200} << 20);
  std::memset(held.data(), 1, held.size());
  EXPECT_GT(residentBytes(), before + (std::size_t{150} << 20));
  setMemoryBudget(before + (std::size_t{250} << 20));
  EXPECT_FALSE(askMemory("a test", static_cast<double>(std::size_t{100} << 20)));
  setMemoryBudget(0);
}

TEST(MemoryBudget, TheDefaultFollowsTheLimitOfTheAddressSpace) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers need more memory than a limit would leave them";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  const std::size_t unlimited = defaultMemoryBudget();
  rlimit low = before;
  low.rlim_cur = unlimited / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &low), 0);
  const std::size_t limited = defaultMemoryBudget();
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_NEAR(static_cast<double>(limited), 0.8 * static_cast<double>(unlimited / 2), 1e6);
}

}  // namespace
}  // namespace heatskin
