#include "heatskin/batch/shard.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace heatskin::batch {
namespace {

Result<Shard> of(std::map<std::string, std::string> environment, std::size_t count = 0) {
  return shardOfEngine(
      [&](const char* name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      },
      count);
}

TEST(Shard, IsWhatTheCallerOrTheEngineSays) {
  const auto third = parseShard("3/20");
  ASSERT_TRUE(third);
  EXPECT_EQ(third->index, 2u);
  EXPECT_EQ(third->count, 20u);
  for (const char* text : {"", "3", "0/20", "21/20", "3/", "/3", "a/b", "-1/3", "1/99999999999999999999"})
    EXPECT_FALSE(parseShard(text)) << text;

  const auto slurm =
      of({{"SLURM_ARRAY_TASK_ID", "12"}, {"SLURM_ARRAY_TASK_MIN", "10"}, {"SLURM_ARRAY_TASK_COUNT", "5"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->index, 2u);
  EXPECT_EQ(slurm->count, 5u);
  EXPECT_EQ(slurm->source, "SLURM_ARRAY_TASK_ID");
  const auto aws = of({{"AWS_BATCH_JOB_ARRAY_INDEX", "7"}, {"AWS_BATCH_JOB_ARRAY_SIZE", "8"}});
  ASSERT_TRUE(aws);
  EXPECT_EQ(aws->index, 7u);
  const auto kubernetes = of({{"JOB_COMPLETION_INDEX", "3"}}, 4);
  ASSERT_TRUE(kubernetes);
  EXPECT_EQ(kubernetes->index, 3u);
  EXPECT_EQ(kubernetes->count, 4u);
  EXPECT_FALSE(of({{"JOB_COMPLETION_INDEX", "3"}})) << "nothing says of how many";
  EXPECT_FALSE(of({{"JOB_COMPLETION_INDEX", "x"}}, 4));
  const auto sge = of({{"SGE_TASK_ID", "4"}, {"SGE_TASK_FIRST", "1"}, {"SGE_TASK_LAST", "9"}});
  ASSERT_TRUE(sge);
  EXPECT_EQ(sge->index, 3u);
  EXPECT_EQ(sge->count, 9u);
  const auto alone = of({{"SGE_TASK_ID", "undefined"}});
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->count, 1u);
}

// --array=3,7: two tasks whose numbers are not consecutive. With the number of the whole array they keep
// their shards; without it nobody can tell.
TEST(Shard, OfAPartOfAnArray) {
  const std::map<std::string, std::string> seventh = {
      {"SLURM_ARRAY_TASK_ID", "7"}, {"SLURM_ARRAY_TASK_MIN", "3"}, {"SLURM_ARRAY_TASK_COUNT", "2"}};
  EXPECT_FALSE(of(seventh));
  std::vector<bool> seen(10, false);
  for (int id = 1; id <= 10; ++id) {
    const auto shard = of({{"SLURM_ARRAY_TASK_ID", std::to_string(id)}}, 10);
    ASSERT_TRUE(shard);
    EXPECT_FALSE(seen[shard->index]);
    seen[shard->index] = true;
  }
}

TEST(Shard, BalancesByCost) {
  std::mt19937 random(7);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<double> costs;
  for (int i = 0; i < 2000; ++i)
    costs.push_back(std::exp(2 * uniform() + 3 * uniform()));
  const double total = std::accumulate(costs.begin(), costs.end(), 0.0);
  const double longest = *std::max_element(costs.begin(), costs.end());
  for (const std::size_t shards : {1u, 3u, 40u}) {
    const auto shard = balance(costs, shards);
    std::vector<double> load(shards, 0);
    for (std::size_t i = 0; i < costs.size(); ++i)
      load[shard[i]] += costs[i];
    // Graham's bound; with so many items it is much better.
    const double best = std::max(longest, total / static_cast<double>(shards));
    EXPECT_LE(*std::max_element(load.begin(), load.end()), 4.0 / 3.0 * best);
    EXPECT_EQ(balance(costs, shards), shard);
  }
  EXPECT_EQ(balance({}, 5).size(), 0u);
  const std::vector<double> few = {1, 1};
  EXPECT_EQ(balance(few, 5), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(longestFirst(std::vector<double>{1, 3, 2, 3}), (std::vector<std::size_t>{1, 3, 2, 0}));
  EXPECT_EQ(makespan(std::vector<double>{3, 3, 2, 2, 2}, 2), 7);  // the best would be 6
  EXPECT_EQ(makespan(std::vector<double>{}, 2), 0);
}

}  // namespace
}  // namespace heatskin::batch
