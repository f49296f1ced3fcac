#pragma once

// Memory for the threads of parallel loops, owned by whoever runs the loops: it goes when its owner goes.

#include <tbb/enumerable_thread_specific.h>

namespace heatskin {

/// One T for each thread that asks. What is in it may depend on which thread did what: scratch only, never a
/// result.
template <class T>
class PerThread {
 public:
  PerThread() = default;
  /// Scratch is not worth copying: a copy of its owner begins with none.
  PerThread(const PerThread&) {}
  PerThread& operator=(const PerThread&) { return *this; }

  /// The calling thread's.
  T& mine() const { return memory_.local(); }

 private:
  mutable tbb::enumerable_thread_specific<T> memory_;
};

}  // namespace heatskin
