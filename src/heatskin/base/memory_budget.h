#pragma once

// How much memory this process may take, and the one question to ask before taking much of it: work that
// would not fit is refused before it begins, with an estimate, instead of ending in the middle.

#include <cstddef>
#include <optional>
#include <string_view>

#include "heatskin/base/result.h"

namespace heatskin {

/// Four fifths of what this process could have: the machine's memory, the limits of its control groups
/// (containers) and of its address space, whichever is least.
std::size_t defaultMemoryBudget();

/// Bytes this process may take; the default unless it was set.
std::size_t memoryBudget();

/// Changes it; 0 is the default again.
void setMemoryBudget(std::size_t bytes);

/// Bytes this process holds in memory now; 0 where the system does not tell.
std::size_t residentBytes();

/// "4G", "500M", "1.5g", "65536K", "1000000": a number of bytes, in powers of 1024. Nothing for anything
/// else.
std::optional<std::size_t> parseBytes(std::string_view text);

/// Refuses (input cannot be used) when `bytes` on top of what is held exceed the budget. `what` begins the
/// message: "building the surface of 5,000,000 triangles".
Result<void> askMemory(std::string_view what, double bytes);

}  // namespace heatskin
