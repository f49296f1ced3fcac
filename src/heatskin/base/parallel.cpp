#include "heatskin/base/parallel.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "heatskin/base/block_threads.h"
#include "heatskin/base/isolated.h"

namespace heatskin {

// Not in the anonymous namespace: ThreadLimit::State has both.
struct ThreadPool {
  int threads = 0;
  std::unique_ptr<BlockThreads> workers;

  explicit ThreadPool(int count) { resize(count); }

  void resize(int count) {
    threads = count > 0 ? count : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    workers.reset();  // before the next is made: one limit at a time
    workers = std::make_unique<BlockThreads>(threads);
  }
};

namespace {

/// Never destroyed: where we are a part of another program (Python), threads may still be in a loop when the
/// process ends.
ThreadPool& processPool() {
  static auto* instance = new ThreadPool(0);
  return *instance;
}

/// Of the ThreadLimit that the loop which this thread works on began in; null: none.
thread_local ThreadPool* limited_pool = nullptr;

ThreadPool& pool() {
  return limited_pool != nullptr ? *limited_pool : processPool();
}

}  // namespace

/// Takes a limit along to the threads of a loop, and back to what they had before.
class WithinLimit {
 public:
  explicit WithinLimit(ThreadPool* limit) : before_(limited_pool) { limited_pool = limit; }
  ~WithinLimit() { limited_pool = before_; }
  WithinLimit(const WithinLimit&) = delete;
  WithinLimit& operator=(const WithinLimit&) = delete;

 private:
  ThreadPool* before_;
};

struct ThreadLimit::State {
  ThreadPool pool;
  WithinLimit within;

  explicit State(int count) : pool(count), within(&pool) {}
};

ThreadLimit::ThreadLimit(int count) {
  if (count > 0) state_ = std::make_unique<State>(count);
}

ThreadLimit::~ThreadLimit() = default;

void setThreadCount(int count) {
  processPool().resize(count);
}

int threadCount() {
  return pool().threads;
}

void parallelBlocks(std::size_t count, std::size_t block_size,
                    const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  const std::size_t blocks = blockCount(count, block_size);
  const auto run = [&](std::size_t block) {
    const std::size_t begin = block * block_size;
    body(block, begin, std::min(begin + block_size, count));
  };
  if (blocks <= 1 || pool().threads == 1) {
    for (std::size_t block = 0; block < blocks; ++block)
      run(block);
    return;
  }
  ThreadPool* const limit = limited_pool;
  pool().workers->run(blocks, [&](std::size_t block) {
    const WithinLimit within(limit);
    run(block);
  });
}

void isolated(const std::function<void()>& work) {
  ThreadPool* const limit = limited_pool;
  if (pool().threads == 1) {
    work();
  } else {
    pool().workers->isolate([&] {
      const WithinLimit within(limit);
      work();
    });
  }
}

void parallelFor(std::size_t count, std::size_t block_size,
                 const std::function<void(std::size_t, std::size_t)>& body) {
  parallelBlocks(count, block_size,
                 [&](std::size_t, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace heatskin
