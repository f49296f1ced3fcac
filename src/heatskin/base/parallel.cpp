#include "heatskin/base/parallel.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "heatskin/base/block_threads.h"
#include "heatskin/base/isolated.h"

namespace heatskin {
namespace {

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
  pool().workers->run(blocks, run);
}

void isolated(const std::function<void()>& work) {
  if (pool().threads == 1) {
    work();
  } else {
    pool().workers->isolate(work);
  }
}

void parallelFor(std::size_t count, std::size_t block_size,
                 const std::function<void(std::size_t, std::size_t)>& body) {
  parallelBlocks(count, block_size,
                 [&](std::size_t, std::size_t begin, std::size_t end) { body(begin, end); });
}

}  // namespace heatskin
