#include "heatskin/kernels/channel_layout.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace heatskin {

Result<ChannelLayout> ChannelLayout::make(std::vector<ChannelGroup> groups) {
  std::size_t size = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ChannelGroup& group = groups[g];
    if (group.name.empty()) return failure(fmt::format("channel group {} has no name", g));
    if (group.count == 0 || group.count > kMaxChannels) {
      return failure(fmt::format("channel group {} has {} channels; 1 to {} are possible", group.name,
                                 group.count, kMaxChannels));
    }
    const auto same = [&](const ChannelGroup& other) { return other.name == group.name; };
    if (std::any_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(g), same)) {
      return failure(fmt::format("there are two channel groups named {}", group.name));
    }
    group.first = size;
    size += group.count;
  }
  if (size == 0 || size > kMaxChannels) {
    return failure(fmt::format("a layout has 1 to {} channels, not {}", kMaxChannels, size));
  }
  ChannelLayout layout;
  layout.groups_ = std::move(groups);
  layout.size_ = size;
  return layout;
}

const ChannelGroup* ChannelLayout::find(std::string_view name) const {
  for (const ChannelGroup& group : groups_) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

}  // namespace heatskin
