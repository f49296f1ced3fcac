#pragma once

// Parallel loops under a lock.

#include <functional>

namespace heatskin {

/// Runs `work`, whose parallel loops then do only their own blocks while they wait. Without it a thread that
/// waits for a loop's end may begin any block there is, among them one that wants a lock which the thread
/// holds. Take the lock within `work`.
void isolated(const std::function<void()>& work);

}  // namespace heatskin
