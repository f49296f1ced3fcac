#pragma once

// Threads. Work is cut into blocks whose borders depend on the problem only, never on the number of threads;
// a caller that reduces does so over blocks in index order. Results are then bit-identical for any thread
// count.

#include <cstddef>
#include <functional>
#include <memory>

namespace heatskin {

/// How many threads parallel loops may use from now on; 0 means all cores. Process-wide.
void setThreadCount(int count);

/// The number of threads parallel loops use; inside of a ThreadLimit, its own.
int threadCount();

/// While it lives, the loops that the calling thread begins, and all loops inside of these, use at most
/// `count` threads; 0 changes nothing. Loops of other threads are not affected: callers that share a process
/// each have a limit of their own. Limits may be nested; they end in reverse order, on their thread.
class ThreadLimit {
 public:
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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
