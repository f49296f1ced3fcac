#include "heatskin/appearance/asset_channels.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/io/reference.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Points that are looked at. A detail of a thousandth of the area is missed once in e^16 cases.
constexpr std::size_t kLookedAt = std::size_t{1} << 14;

/// Parts of the range by which a channel varies at least: less is the rounding of an 8-bit texture.
constexpr float kVaries = 1.5f / 255;

bool varies(const Appearance& appearance, const ChannelGroup& group, std::span<const SurfacePoint> points,
            std::span<const float> visible, Filter filter) {
  ChannelGroup alone = group;
  alone.weight = 1;
  const auto layout = ChannelLayout::make({alone});
  if (!layout) return false;
  std::vector<float> values(points.size() * group.count);
  appearance.values(points, *layout, values, filter);
  const float step = kVaries * (group.range[1] - group.range[0]);
  // Within a material: what differs between materials only is in their factors.
  std::map<int, std::array<float, 2>> ends;
  for (std::size_t c = 0; c < group.count; ++c) {
    ends.clear();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (appearance.faceConstant(points[i].face, group.name)) continue;
      if (!layout->groups()[0].everywhere && !(visible[i] > 0)) continue;
      const float value = values[i * group.count + c];
      auto& [least, most] =
          ends.try_emplace(appearance.faceMaterial(points[i].face), std::array{value, value}).first->second;
      least = std::min(least, value);
      most = std::max(most, value);
      if (most - least > step) return true;
    }
  }
  return false;
}

}  // namespace

double channelWeight(std::string_view name) {
  // Masks with sharp edges are harder than anything else, and occlusion has detail where nothing else has;
  // more than this brings nothing.
  return name == "metallic" || name == "occlusion" || name == "clearcoat" ? 4 : 1;
}

std::vector<std::string> channelNames() {
  std::vector<std::string> names;
  for (const ChannelGroup& group : knownChannels())
    names.push_back(group.name);
  for (const MaterialSlot& slot : kMaterialSlots)
    names.emplace_back(slot.channel);
  return names;
}

std::vector<std::string> varyingChannels(const Appearance& appearance, const Surface& surface,
                                         Filter filter) {
  const std::vector<SurfacePoint> points = sampleSurface(surface, kLookedAt, 0);
  std::vector<float> visible(points.size());
  appearance.visibilities(points, visible, filter);
  std::vector<std::string> found;
  for (std::string& name : channelNames()) {
    const auto group = appearance.group(name);
    if (!group) continue;
    if (name == "base_color" || varies(appearance, *group, points, visible, filter))
      found.push_back(std::move(name));
  }
  return found;
}

void ChannelSurvey::add(const Appearance& appearance, const Surface& surface, Filter filter) {
  for (const std::string& name : varyingChannels(appearance, surface, filter)) {
    const auto group = appearance.group(name);
    const auto known = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const ChannelGroup& other) { return other.name == name; });
    if (known == groups_.end()) {
      groups_.push_back(*group);
      groups_.back().weight = channelWeight(name);
    } else {
      known->range = {std::min(known->range[0], group->range[0]), std::max(known->range[1], group->range[1])};
    }
  }
}

Result<ChannelLayout> ChannelSurvey::layout(std::span<const std::string> names) const {
  const std::vector<std::string> known = channelNames();
  const auto contains = [](std::span<const std::string> list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  std::vector<std::string> there;
  std::vector<ChannelGroup> groups;
  for (const std::string& name : known) {
    const auto found = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const ChannelGroup& group) { return group.name == name; });
    if (found == groups_.end()) continue;
    there.push_back(name);
    if (contains(names, name)) groups.push_back(*found);
  }
  for (const std::string& name : names) {
    if (!contains(known, name))
      return usageError(
          fmt::format("there is no channel {}; known are {}", quoteForMessage(name), fmt::join(known, ", ")));
    if (!contains(there, name)) {
      return inputError(fmt::format("channel {} does not vary over the surface; what does is {}", name,
                                    fmt::join(there, ", ")));
    }
  }
  if (!contains(names, "base_color")) return usageError("channels must include base_color");
  return ChannelLayout::make(std::move(groups));
}

Result<ChannelLayout> ChannelSurvey::layout() const {
  // A material with a texture in every slot there is has more channels than kernels do: the last ones stay
  // textures.
  std::vector<std::string> names;
  std::size_t channels = 0;
  for (const std::string& name : channelNames()) {
    const auto group = std::find_if(groups_.begin(), groups_.end(),
                                    [&](const ChannelGroup& other) { return other.name == name; });
    if (group == groups_.end() || channels + group->count > kMaxChannels) continue;
    names.push_back(name);
    channels += group->count;
  }
  return layout(names);
}

Result<ChannelLayout> channelsOf(const Appearance& appearance, const Surface& surface,
                                 std::span<const std::string> names, Filter filter) {
  ChannelSurvey survey;
  survey.add(appearance, surface, filter);
  return survey.layout(names);
}

ChannelLayout channelsOf(const Appearance& appearance, const Surface& surface, Filter filter) {
  ChannelSurvey survey;
  survey.add(appearance, surface, filter);
  const auto layout = survey.layout();
  return layout ? *layout : ChannelLayout();
}

}  // namespace heatskin
