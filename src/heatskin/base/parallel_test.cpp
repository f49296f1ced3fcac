#include "heatskin/base/parallel.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace heatskin {
namespace {

TEST(Parallel, EveryItemOnceWithTheSameBlocksForAnyThreadCount) {
  for (const int threads : {1, 2, 3, 8}) {
    setThreadCount(threads);
    EXPECT_EQ(threadCount(), threads);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{999}, std::size_t{1000}}) {
      std::vector<std::atomic<int>> seen(count);
      std::atomic<bool> borders_right = true;
      parallelBlocks(count, 100, [&](std::size_t block, std::size_t begin, std::size_t end) {
        if (begin != block * 100 || end != std::min(count, begin + 100)) borders_right = false;
        for (std::size_t i = begin; i < end; ++i)
          ++seen[i];
      });
      EXPECT_TRUE(borders_right);
      for (const auto& n : seen)
        EXPECT_EQ(n, 1);
    }
  }
  setThreadCount(0);
  EXPECT_GE(threadCount(), 1);
}

TEST(Parallel, NestedLoopsFinish) {
  setThreadCount(3);
  std::atomic<int> sum = 0;
  parallelFor(20, 1, [&](std::size_t, std::size_t) {
    parallelFor(10, 3, [&](std::size_t begin, std::size_t end) { sum += static_cast<int>(end - begin); });
  });
  EXPECT_EQ(sum, 200);
  setThreadCount(0);
}

TEST(Parallel, AnExceptionLeavesTheLoop) {
  for (const int threads : {1, 4}) {
    setThreadCount(threads);
    EXPECT_THROW(parallelFor(100, 1,
                             [](std::size_t begin, std::size_t) {
                               if (begin == 37) throw std::runtime_error("planted");
                             }),
                 std::runtime_error);
  }
  setThreadCount(0);
}

TEST(Parallel, ALimitHoldsForItsCallerAndInnerLoopsAlone) {
  setThreadCount(4);
#ifdef HEATSKIN_STD_THREADS
  const auto allowed = [](int limit) { return limit * limit; };  // every loop has threads of its own
#else
  const auto allowed = [](int limit) { return limit; };
#endif
  // The most threads that are in inner loops at once.
  const auto most = [] {
    std::atomic<int> now = 0, peak = 0;
    std::atomic<bool> inner_right = true;
    const int limit = threadCount();
    parallelFor(8, 1, [&](std::size_t, std::size_t) {
      if (threadCount() != limit) inner_right = false;
      parallelFor(8, 1, [&](std::size_t, std::size_t) {
        const int here = ++now;
        for (int seen = peak; here > seen && !peak.compare_exchange_weak(seen, here);) {
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --now;
      });
    });
    EXPECT_TRUE(inner_right);
    return peak.load();
  };
  std::vector<std::thread> callers;
  for (const int limit : {1, 2, 2}) {
    callers.emplace_back([&most, &allowed, limit] {
      const ThreadLimit limited(limit);
      EXPECT_EQ(threadCount(), limit);
      EXPECT_LE(most(), allowed(limit));
      {
        const ThreadLimit nested(1);
        EXPECT_EQ(threadCount(), 1);
        EXPECT_EQ(most(), 1);
      }
      EXPECT_EQ(threadCount(), limit);
    });
  }
  EXPECT_EQ(threadCount(), 4);
  for (std::thread& caller : callers)
    caller.join();
  {
    const ThreadLimit none(0);
    EXPECT_EQ(threadCount(), 4);
  }
  EXPECT_EQ(threadCount(), 4);
  setThreadCount(0);
}

}  // namespace
}  // namespace heatskin
