#include "heatskin/pipeline/channel_pictures.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/appearance/asset_channels.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

using ValuesOf = std::function<void(std::span<const SurfacePoint>, std::span<float>)>;

/// Values of a group, which is `stride` channels apart and begins at `first`, as display colours.
ColorSource pictureOf(const ChannelGroup& group, std::size_t stride, std::size_t first, ValuesOf values) {
  const std::size_t slot = slotOf(group.name);
  const bool color = isColorChannel(group.name);
  const bool linear = color && slot < kSlotCount && kMaterialSlots[slot].values == ColorSpace::kLinear;
  return [=](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    std::vector<float> row(points.size() * stride);
    values(points, row);
    const auto [low, high] = group.range;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        // Of two channels blue is in the middle.
        float part = 0.5f;
        if (group.count != 2 || c < 2)
          part = (row[i * stride + first + (group.count >= 2 ? c : 0)] - low) / (high - low);
        part = std::clamp(part, 0.0f, 1.0f);
        out[i][static_cast<Eigen::Index>(c)] = linear ? srgbFromLinear(part) : part;
      }
    }
  };
}

}  // namespace

bool isColorChannel(std::string_view name) {
  const std::size_t slot = slotOf(name);
  return name == "base_color" || (slot < kSlotCount && kMaterialSlots[slot].count == 3 &&
                                  kMaterialSlots[slot].rule != SlotRule::kTangent);
}

Result<ColorSource> channelColors(const LoadedFile& file, std::string_view name, Filter filter) {
  if (file.fitted) {
    const KernelTexture& texture = file.fitted->texture;
    if (const ChannelGroup* group = texture.layout().find(name)) {
      return pictureOf(*group, texture.layout().size(), group->first,
                       [&texture](std::span<const SurfacePoint> points, std::span<float> out) {
                         texture.values(points, out);
                       });
    }
  }
  std::shared_ptr<const Appearance> appearance;
  if (file.plain) {
    appearance = std::shared_ptr<const Appearance>(std::shared_ptr<void>(), &file.plain->appearance);
  } else {
    appearance = std::make_shared<const Appearance>(file.asset(), file.surface());
  }
  const auto group = appearance->group(name);
  if (!group) {
    return usageError(fmt::format("there is no channel {} to draw; known are {}", quoteForMessage(name),
                                  fmt::join(channelNames(), ", ")));
  }
  auto layout = ChannelLayout::make({*group});
  if (!layout) return layout.error();
  return pictureOf(*group, group->count, 0,
                   [appearance, layout = std::move(*layout), filter](std::span<const SurfacePoint> points,
                                                                     std::span<float> out) {
                     appearance->values(points, layout, out, filter);
                   });
}

}  // namespace heatskin
