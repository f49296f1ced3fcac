#ifndef HEATSKIN_STD_THREADS

#include <algorithm>
#include <optional>
#include <thread>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "heatskin/base/block_threads.h"

namespace heatskin {

struct BlockThreads::State {
  // The arena alone limits our loops. The global limit only ever rises above the cores (determinism tests ask
  // for 8 threads on 2 cores); lowering it would make TBB warn about other users of the process. The least of
  // several counts: who needs no more than the cores has none.
  std::optional<tbb::global_control> limit;
  tbb::task_arena arena;

  explicit State(int count) : arena(count) {
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted > std::max(1u, std::thread::hardware_concurrency()))
      limit.emplace(tbb::global_control::max_allowed_parallelism, wanted);
  }
};

BlockThreads::BlockThreads(int count) : state_(std::make_unique<State>(count)) {}

BlockThreads::~BlockThreads() = default;

void BlockThreads::run(std::size_t blocks, const std::function<void(std::size_t)>& run) const {
  state_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, blocks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t block = range.begin(); block != range.end(); ++block)
            run(block);
        },
        tbb::simple_partitioner());
  });
}

void BlockThreads::isolate(const std::function<void()>& work) const {
  // Inside the arena: outside of it, isolation would not reach the loops that run there.
  state_->arena.execute([&] { tbb::this_task_arena::isolate(work); });
}

}  // namespace heatskin

#endif
