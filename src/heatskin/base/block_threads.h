#pragma once

// What parallel.cpp runs its blocks on: oneTBB (block_threads_tbb.cpp) or, in a build for ThreadSanitizer
// (HEATSKIN_STD_THREADS), plain threads (block_threads_std.cpp). Not installed.

#include <cstddef>
#include <functional>
#include <memory>

namespace heatskin {

class BlockThreads {
 public:
  explicit BlockThreads(int count);  ///< count > 0
  ~BlockThreads();
  BlockThreads(const BlockThreads&) = delete;
  BlockThreads& operator=(const BlockThreads&) = delete;

  /// Calls run(0) to run(blocks - 1), concurrently and in any order, and returns when all have ended. May be
  /// called from within a block. If blocks throw, one of the exceptions leaves the call.
  void run(std::size_t blocks, const std::function<void(std::size_t)>& run) const;

  /// See heatskin::isolated().
  void isolate(const std::function<void()>& work) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heatskin
