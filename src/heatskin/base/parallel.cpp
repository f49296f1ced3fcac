#include "heatskin/base/parallel.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace heatskin {
namespace {

struct ThreadPool {
  int threads;
  std::unique_ptr<tbb::global_control> limit;
  std::unique_ptr<tbb::task_arena> arena;

  explicit ThreadPool(int count) { resize(count); }

  void resize(int count) {
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    threads = count > 0 ? count : cores;
    // The arena alone limits our loops. The global limit only ever rises above the cores (determinism tests
    // ask for 8 threads on 2 cores); lowering it would make TBB warn about other users of the process, such
    // as Embree.
    arena.reset();
    limit.reset();
    limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                  static_cast<std::size_t>(std::max(threads, cores)));
    arena = std::make_unique<tbb::task_arena>(threads);
  }
};

ThreadPool& pool() {
  static ThreadPool instance(0);
  return instance;
}

}  // namespace

void setThreadCount(int count) {
  pool().resize(count);
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
  pool().arena->execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, blocks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t block = range.begin(); block != range.end(); ++block)
            run(block);
        },
        tbb::simple_partitioner());
  });
}

void parallelFor(std::size_t count, std::size_t block_size,
                 const std::function<void(std::size_t, std::size_t)>& body) {
  parallelBlocks(count, block_size,
                 [&](std::size_t, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace heatskin
