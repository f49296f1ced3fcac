#include "heatskin/base/channel_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace heatskin {
namespace {

bool isName(std::string_view text) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= kMaxChannelName && std::all_of(text.begin(), text.end(), allowed);
}

/// What is wrong with a group on its own; empty if nothing is.
std::string problemOf(const ChannelGroup& group) {
  if (group.count == 0 || group.count > kMaxChannels)
    return fmt::format("has {} channels; 1 to {} are allowed", group.count, kMaxChannels);
  const auto [low, high] = group.range;
  // A hundred thousand floats in the range at least.
  constexpr float kSteps = 1e5f * 1.2e-7f;
  if (!(std::abs(low) <= kMaxChannelValue && std::abs(high) <= kMaxChannelValue) ||
      !(high - low > kSteps * std::max(std::abs(low), std::abs(high)))) {
    return fmt::format("has the range [{}, {}]; two numbers up to {:g} are needed, the second one larger",
                       low, high, kMaxChannelValue);
  }
  if (group.isTangent() && (group.count != 2 || low != -high)) {
    return fmt::format("has {} channels in [{}, {}]; tangent vectors have 2, in a range from -R to R",
                       group.count, low, high);
  }
  if (!(group.rate > 0 && group.rate <= 1e6 && group.weight > 0 && group.weight <= 1e6))
    return fmt::format("has rate {} and weight {}; both must be above 0", group.rate, group.weight);
  const auto known = knownChannels();
  const auto same = std::find_if(known.begin(), known.end(),
                                 [&](const ChannelGroup& other) { return other.name == group.name; });
  if (same == known.end()) return {};
  if (same->count != group.count) return fmt::format("has {} channels, not {}", same->count, group.count);
  if (same->kind != group.kind)
    return fmt::format("has channels of the kind {}",
                       kChannelKindNames[static_cast<std::size_t>(same->kind)]);
  if (same->range != group.range)
    return fmt::format("has the range [{}, {}]", same->range[0], same->range[1]);
  return {};
}

}  // namespace

std::span<const ChannelGroup> knownChannels() {
  static const std::array<ChannelGroup, 2> known = {
      ChannelGroup{"base_color", 3, 0, {0.0f, 1.0f}, 1, 1, false},
      ChannelGroup{"alpha", 1, 0, {0.0f, 1.0f}, 1, 1, true},
  };
  return known;
}

ChannelLayout::ChannelLayout() : groups_{{"base_color", 3}}, size_(3) {}

Result<ChannelLayout> ChannelLayout::make(std::vector<ChannelGroup> groups) {
  std::size_t size = 0;
  bool unit = true;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ChannelGroup& group = groups[g];
    if (!isName(group.name)) {
      return failure(
          fmt::format("channel group {} needs a name of up to {} lower-case letters, digits and underscores",
                      g, kMaxChannelName));
    }
    if (const std::string problem = problemOf(group); !problem.empty())
      return failure(fmt::format("channel group {} {}", group.name, problem));
    const auto same = [&](const ChannelGroup& other) { return other.name == group.name; };
    if (std::any_of(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(g), same)) {
      return failure(fmt::format("there are two channel groups named {}", group.name));
    }
    const auto known = knownChannels();
    const auto found = std::find_if(known.begin(), known.end(), same);
    group.everywhere = found != known.end() && found->everywhere;
    group.first = size;
    size += group.count;
    unit = unit && group.range == std::array{0.0f, 1.0f};
  }
  if (size == 0 || size > kMaxChannels) {
    return failure(fmt::format("a layout has 1 to {} channels, not {}", kMaxChannels, size));
  }
  ChannelLayout layout;
  layout.groups_ = std::move(groups);
  layout.size_ = size;
  layout.unit_ = unit;
  return layout;
}

Result<ChannelLayout> ChannelLayout::ofNames(std::span<const std::string_view> names) {
  std::vector<ChannelGroup> groups;
  for (const std::string_view name : names) {
    const auto known = knownChannels();
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const ChannelGroup& group) { return group.name == name; });
    if (found == known.end()) {
      std::string all;
      for (const ChannelGroup& group : known)
        all += (all.empty() ? "" : ", ") + group.name;
      return failure(fmt::format("there are no channels named '{}'; known are {}", name, all));
    }
    groups.push_back(*found);
  }
  return make(std::move(groups));
}

const ChannelGroup* ChannelLayout::find(std::string_view name) const {
  for (const ChannelGroup& group : groups_) {
    if (group.name == name) return &group;
  }
  return nullptr;
}

const ChannelGroup& ChannelLayout::groupOf(std::size_t channel) const {
  std::size_t g = 0;
  while (channel >= groups_[g].first + groups_[g].count)
    ++g;
  return groups_[g];
}

bool ChannelLayout::everywhere() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const ChannelGroup& g) { return g.everywhere; });
}

bool ChannelLayout::hasTangents() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const ChannelGroup& g) { return g.isTangent(); });
}

std::size_t ChannelLayout::spaceSize() const {
  return size_ + static_cast<std::size_t>(std::count_if(groups_.begin(), groups_.end(),
                                                        [](const ChannelGroup& g) { return g.isTangent(); }));
}

double ChannelLayout::totalWeight() const {
  double sum = 0;
  for (const ChannelGroup& group : groups_)
    sum += group.weight * static_cast<double>(group.count);
  return sum;
}

void ChannelLayout::toUnit(std::span<float> values) const {
  if (unit_) return;
  for (std::size_t row = 0; row < values.size(); row += size_) {
    for (const ChannelGroup& group : groups_) {
      const auto [low, high] = group.range;
      for (std::size_t c = group.first; c < group.first + group.count; ++c)
        values[row + c] = (values[row + c] - low) / (high - low);
    }
  }
}

void ChannelLayout::fromUnit(std::span<float> values) const {
  if (unit_) return;
  for (std::size_t row = 0; row < values.size(); row += size_) {
    for (const ChannelGroup& group : groups_) {
      const auto [low, high] = group.range;
      // Both ends are met exactly.
      for (std::size_t c = group.first; c < group.first + group.count; ++c)
        values[row + c] = low * (1 - values[row + c]) + high * values[row + c];
    }
  }
}

bool ChannelLayout::sameChannels(const ChannelLayout& other) const {
  return std::equal(groups_.begin(), groups_.end(), other.groups_.begin(), other.groups_.end(),
                    [](const ChannelGroup& a, const ChannelGroup& b) {
                      return a.name == b.name && a.kind == b.kind && a.count == b.count && a.range == b.range;
                    });
}

}  // namespace heatskin
