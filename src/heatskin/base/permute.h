#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heatskin {

/// Entry k becomes what entry order[k] was; `order` names every entry once.
template <class T>
void permuteEntries(std::vector<T>& entries, std::span<const std::uint32_t> order) {
  std::vector<T> moved(entries.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    moved[k] = entries[order[k]];
  entries.swap(moved);
}

}  // namespace heatskin
