#ifdef HEATSKIN_STD_THREADS

// New threads for every loop, which end with it: slow, but ThreadSanitizer sees exactly the order the loop
// promises (what was before it, its blocks beside each other, what is after it) and nothing more. A pool with
// a queue would also order blocks among themselves, and so hide races. Which thread runs a block depends only
// on its number: a race is found on every run, not on unlucky ones.

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "heatskin/base/block_threads.h"

namespace heatskin {

struct BlockThreads::State {
  std::size_t count;
};

BlockThreads::BlockThreads(int count)
    : state_(std::make_unique<State>(State{static_cast<std::size_t>(count)})) {}

BlockThreads::~BlockThreads() = default;

void BlockThreads::run(std::size_t blocks, const std::function<void(std::size_t)>& run) const {
  const std::size_t workers = std::min(state_->count, blocks);
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto work = [&](std::size_t worker) {
    try {
      for (std::size_t block = worker; block < blocks; block += workers)
        run(block);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t worker = 1; worker < workers; ++worker)
    others.emplace_back(work, worker);
  work(0);
  for (std::thread& other : others)
    other.join();
  if (thrown) std::rethrow_exception(thrown);
}

void BlockThreads::isolate(const std::function<void()>& work) const {
  work();  // threads never take up blocks of another loop
}

}  // namespace heatskin

#endif
