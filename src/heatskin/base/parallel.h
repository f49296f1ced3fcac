#pragma once

// Threads. Work is cut into blocks whose borders depend on the problem only, never on the number of threads;
// a caller that reduces does so over blocks in index order. Results are then bit-identical for any thread
// count.

#include <cstddef>
#include <functional>

namespace heatskin {

/// How many threads parallel loops may use from now on; 0 means all cores. Process-wide.
void setThreadCount(int count);

/// The number of threads parallel loops use.
int threadCount();

/// Calls `body(block, begin, end)` for every block [begin, end) of [0, count) with at most `block_size`
/// items. Blocks run concurrently in any order; block b always covers [b * block_size, min((b+1) *
/// block_size, count)). If a body throws, one of the exceptions leaves the call after all running blocks
/// ended.
void parallelBlocks(std::size_t count, std::size_t block_size,
                    const std::function<void(std::size_t block, std::size_t begin, std::size_t end)>& body);

/// parallelBlocks without the block index.
void parallelFor(std::size_t count, std::size_t block_size,
                 const std::function<void(std::size_t begin, std::size_t end)>& body);

/// Number of blocks parallelBlocks makes.
constexpr std::size_t blockCount(std::size_t count, std::size_t block_size) {
  return (count + block_size - 1) / block_size;
}

}  // namespace heatskin
