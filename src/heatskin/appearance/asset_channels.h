#pragma once

// Which channels a fit of an asset has, and what each of them is worth.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Names of the channels that vary over the surface, as far as it is seen: base_color, alpha, then slots of
/// materials in their order. Those that do not vary are factors of their materials and need no kernels.
/// base_color is always there.
std::vector<std::string> varyingChannels(const Appearance& appearance, const Surface& surface,
                                         Filter filter = Filter::kAuto);

/// Every name that channelsOf() may be given.
std::vector<std::string> channelNames();

/// What the looks of an asset have together: channels that vary in some of them, with ranges for all.
class ChannelSurvey {
 public:
  void add(const Appearance& appearance, const Surface& surface, Filter filter = Filter::kAuto);

  /// The layout of a fit: groups with their ranges in this asset and their weights; `names` in the order of
  /// channelNames(), whatever theirs is. Refuses names that do not exist (error_code::kBadRequest) or that do
  /// not vary in the asset, and a list without base_color, which every product has.
  Result<ChannelLayout> layout(std::span<const std::string> names) const;

  /// The same for whatever varies.
  Result<ChannelLayout> layout() const;

 private:
  std::vector<ChannelGroup> groups_;  // in the order of channelNames()
};

/// ChannelSurvey::layout() of one look.
Result<ChannelLayout> channelsOf(const Appearance& appearance, const Surface& surface,
                                 std::span<const std::string> names, Filter filter = Filter::kAuto);

/// The same for whatever varies.
ChannelLayout channelsOf(const Appearance& appearance, const Surface& surface, Filter filter = Filter::kAuto);

/// Weight of a group in a fit with others (ChannelGroup::weight), measured in docs/results/materials.md.
double channelWeight(std::string_view name);

}  // namespace heatskin
