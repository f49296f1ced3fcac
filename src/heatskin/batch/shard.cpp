#include "heatskin/batch/shard.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <queue>
#include <utility>

#include <fmt/format.h>

namespace heatskin::batch {
namespace {

std::optional<std::size_t> wholeNumber(std::string_view text) {
  std::size_t number = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || stop != text.data() + text.size() || text.empty()) return {};
  return number;
}

/// A job array: the variable of the index, those of the first index, of the number and of the last index;
/// null where it has none.
struct Engine {
  const char *index, *first, *count, *last;
};

constexpr Engine kEngines[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT", nullptr},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},
    {"AWS_BATCH_JOB_ARRAY_INDEX", nullptr, "AWS_BATCH_JOB_ARRAY_SIZE", nullptr},
    {"SGE_TASK_ID", "SGE_TASK_FIRST", nullptr, "SGE_TASK_LAST"},
    {"PBS_ARRAY_INDEX", nullptr, nullptr, nullptr},
};

}  // namespace

Result<Shard> parseShard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = wholeNumber(text.substr(0, slash));
  const auto count = slash == std::string_view::npos ? std::nullopt : wholeNumber(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > 10'000'000)
    return usageError(fmt::format("shard '{}': give I/N with I from 1 to N, such as 3/20", text));
  return Shard{*index - 1, *count, {}};
}

Result<Shard> shardOfEngine(const std::function<std::optional<std::string>(const char*)>& variable,
                            std::size_t count) {
  const auto number = [&](const char* name) -> std::optional<std::size_t> {
    const auto text = name == nullptr ? std::nullopt : variable(name);
    return text ? wholeNumber(*text) : std::nullopt;
  };
  for (const Engine& engine : kEngines) {
    const auto text = variable(engine.index);
    if (!text || text->empty() || *text == "undefined") continue;  // SGE's word for no array
    const auto index = wholeNumber(*text);
    if (!index) return usageError(fmt::format("{}={} is not a whole number", engine.index, *text));
    Shard shard;
    shard.source = engine.index;
    if (count > 0) {
      // Any N consecutive numbers have N different remainders, wherever they begin.
      shard.count = count;
      shard.index = *index % count;
      return shard;
    }
    const std::size_t first = number(engine.first).value_or(0);
    auto found = number(engine.count);
    if (const auto last = number(engine.last); !found && last && *last >= first) found = *last - first + 1;
    if (!found || *found == 0) {
      return usageError(fmt::format("{} is set, but nothing says how many shards there are", engine.index));
    }
    if (*index < first || *index - first >= *found) {
      return usageError(fmt::format(
          "{}={} is not one of {} consecutive numbers from {}: say how many shards the whole array has",
          engine.index, *index, *found, first));
    }
    shard.index = *index - first;
    shard.count = *found;
    return shard;
  }
  return Shard{};
}

std::vector<std::size_t> longestFirst(std::span<const double> costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  return order;
}

std::vector<std::size_t> balance(std::span<const double> costs, std::size_t shards) {
  using Load = std::pair<double, std::size_t>;  // seconds, shard
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::size_t s = 0; s < std::min(shards, costs.size()); ++s)
    least.emplace(0.0, s);
  std::vector<std::size_t> shard(costs.size());
  for (const std::size_t i : longestFirst(costs)) {
    const auto [load, s] = least.top();
    least.pop();
    shard[i] = s;
    least.emplace(load + costs[i], s);
  }
  return shard;
}

double makespan(std::span<const double> costs, std::size_t workers) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (std::size_t w = 0; w < std::max<std::size_t>(1, std::min(workers, costs.size())); ++w)
    free.push(0.0);
  double end = 0;
  for (const std::size_t i : longestFirst(costs)) {
    const double done = free.top() + costs[i];
    free.pop();
    free.push(done);
    end = std::max(end, done);
  }
  return end;
}

}  // namespace heatskin::batch
