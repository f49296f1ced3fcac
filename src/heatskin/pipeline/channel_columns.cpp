#include "heatskin/pipeline/channel_columns.h"

#include <algorithm>
#include <array>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/pipeline/channel_pictures.h"
#include "heatskin/surface/crease_normals.h"

namespace heatskin {
namespace {

constexpr const char* kColorSuffixes[] = {"_r", "_g", "_b"};
constexpr const char* kAxisSuffixes[] = {"_x", "_y", "_z"};

/// Columns of a group.
std::vector<std::string> columnsOf(const ChannelGroup& group) {
  if (group.name == "base_color") return {"r", "g", "b"};
  if (group.count == 1) return {group.name};
  std::vector<std::string> names;
  const bool normal = isNormalChannel(group.name), vector = group.isTangent() || normal;
  const std::string name(normal ? kMaterialSlots[slotOf(group.name)].channel : group.name);
  for (std::size_t c = 0; c < (vector ? 3 : group.count); ++c) {
    if (vector) {
      names.push_back(name + kAxisSuffixes[c]);
    } else if (isColorChannel(group.name)) {
      names.push_back(name + kColorSuffixes[c]);
    } else {
      names.push_back(name + "_" + std::to_string(c));
    }
  }
  return names;
}

}  // namespace

ChannelColumns channelColumns(const LoadedProduct& product, std::span<const SurfacePoint> points) {
  const KernelTexture& texture = product.texture;
  const ChannelLayout& layout = texture.layout();
  ChannelColumns table;
  for (const ChannelGroup& group : layout.groups()) {
    for (std::string& name : columnsOf(group))
      table.names.push_back(std::move(name));
  }
  std::vector<float> rows(points.size() * layout.size());
  table.weights.resize(points.size());
  texture.values(points, rows, table.weights);

  const NormalChannels normals(layout), coat(layout, kCoatNormalSlot);
  std::vector<std::array<Vec3f, 3>> corners;
  const bool shaded = normals.any() || coat.any() || layout.find("anisotropy") != nullptr;
  if (shaded) corners = cornerNormals(product.product.asset, texture.surface());
  table.values.reserve(points.size() * table.names.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const float* row = rows.data() + i * layout.size();
    const FaceFrame& frame = texture.surface().frames()[points[i].face];
    for (const ChannelGroup& group : layout.groups()) {
      if (!group.isTangent() && !isNormalChannel(group.name)) {
        table.values.insert(table.values.end(), row + group.first, row + group.first + group.count);
        continue;
      }
      Vec3 vector = Vec3::Zero(), n0 = frame.normal();
      if (shaded) n0 = interpolatedNormal(corners[points[i].face], points[i].barycentric, n0);
      if (group.name == "anisotropy") {
        vector = shadedFromFace(frame, n0, Vec2(row[group.first], row[group.first + 1]));
      } else if (isNormalChannel(group.name)) {
        vector = (slotOf(group.name) == kCoatNormalSlot ? coat : normals).normal(frame, n0, row);
      } else {
        vector = frame.directionFromFace(Vec2(row[group.first], row[group.first + 1]));
      }
      for (int c = 0; c < 3; ++c)
        table.values.push_back(static_cast<float>(vector[c]));
    }
  }
  return table;
}

}  // namespace heatskin
