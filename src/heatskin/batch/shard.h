#pragma once

// Which part of a batch a machine does: every machine computes the same partition by itself.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin::batch {

struct Shard {
  std::size_t index = 0;  ///< from 0
  std::size_t count = 1;
  std::string source;  ///< who said so: the name of a variable; empty: nobody or the caller
};

/// "3/20": the third of twenty.
Result<Shard> parseShard(std::string_view text);

/// The place of this process in a job array of Slurm, Kubernetes (Indexed Job), AWS Batch, SGE or PBS, as
/// `variable` (which returns nothing for what is not set) says. `count`: how many there are where the engine
/// does not tell or only a part of them was started; 0: not known. Without an engine it is the whole batch.
Result<Shard> shardOfEngine(const std::function<std::optional<std::string>(const char*)>& variable,
                            std::size_t count = 0);

/// The shard of each item: the most expensive first, each to the shard that has least (longest processing
/// time first; at most 4/3 of the best possible). Ties go to the lower index, so the same costs give the same
/// partition everywhere.
std::vector<std::size_t> balance(std::span<const double> costs, std::size_t shards);

/// Items in the order they are best begun: the most expensive first.
std::vector<std::size_t> longestFirst(std::span<const double> costs);

/// Seconds until all of `costs` are done by so many workers, each taking the next item when it is free.
double makespan(std::span<const double> costs, std::size_t workers);

}  // namespace heatskin::batch
