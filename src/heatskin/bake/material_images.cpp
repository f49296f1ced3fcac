#include "heatskin/bake/material_images.h"

#include <algorithm>
#include <cmath>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/image_f.h"
#include "heatskin/surface/crease_normals.h"

namespace heatskin {
namespace {

constexpr std::size_t kImagePoints = 2048;  // per block

/// The slot of a group of directions; kSlotCount for others.
std::size_t directionSlot(const ChannelGroup& group) {
  const std::size_t slot = slotOf(group.name);
  return slot < kSlotCount && kMaterialSlots[slot].rule == SlotRule::kTangent ? slot : kSlotCount;
}

/// Whether a part finds its components free in an image of the same part of the material.
bool fitsInto(const ImagePlan& plan, const ImagePart& part) {
  const MaterialSlot& slot = kMaterialSlots[part.slot];
  for (const ImagePart& other : plan.parts) {
    if (other.slot >= kSlotCount || kMaterialSlots[other.slot].extension != slot.extension) return false;
    for (std::size_t i = 0; i < part.count; ++i) {
      for (std::size_t j = 0; j < other.count; ++j) {
        if (part.components[i] == other.components[j]) return false;
      }
    }
    // Alpha is linear in any image.
    const bool alpha_alone =
        (part.count == 1 && part.components[0] == 3) || (other.count == 1 && other.components[0] == 3);
    if (!alpha_alone && part.texels != other.texels) return false;
  }
  return !plan.isDirections() && !plan.parts.empty();
}

}  // namespace

MaterialImages::MaterialImages(const ChannelLayout& layout, bool alpha) : layout_(layout) {
  std::size_t extra_first = 0;
  const auto groups = layout_.groups();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const ChannelGroup& group = groups[g];
    ImagePart part;
    part.group = g;
    part.slot = slotOf(group.name);
    part.first = numbers_;
    const std::size_t directions = directionSlot(group);
    part.count = directions < kSlotCount ? 3 : group.count;
    part.components = {0, 1, 2};
    numbers_ += part.count;
    if (directions < kSlotCount) {
      plans_.push_back(ImagePlan{std::string(kMaterialSlots[directions].channel), 3, directions, {part}});
      continue;
    }
    if (group.name == "base_color") {
      part.texels = ColorSpace::kSrgb;
      plans_.insert(plans_.begin(), ImagePlan{"base_color", 3, kSlotCount, {part}});
      continue;
    }
    if (group.name == "alpha") {
      part.components = {3, 3, 3};
      plans_.front().parts.push_back(part);
      plans_.front().channels = 4;
      continue;
    }
    const MaterialSlot& slot = kMaterialSlots[part.slot];
    part.components = slot.components;
    part.texels = slot.texels;
    // Bounded factors are 1; others reach the largest value there is.
    if (!slot.bounded && group.range[1] > 0) part.factor = group.range[1];
    if (slot.rule == SlotRule::kBetween) part.low = group.range[0];
    const auto place = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const ImagePlan& plan) { return fitsInto(plan, part); });
    if (place != plans_.end()) {
      place->parts.push_back(part);
    } else {
      plans_.push_back(ImagePlan{std::string(slot.channel), 3, kSlotCount, {part}});
    }
  }
  if (alpha && layout_.find("alpha") == nullptr) {
    ImagePart part;
    part.group = groups.size();
    part.slot = kSlotCount;
    part.first = extra_first = numbers_;
    part.count = 1;
    part.components = {3, 3, 3};
    numbers_ += 1;
    plans_.front().parts.push_back(part);
    plans_.front().channels = 4;
    extra_alpha_ = extra_first;
  } else {
    extra_alpha_ = numbers_;
  }
  for (ImagePlan& plan : plans_) {
    bool alpha_used = false, core = false;
    for (const ImagePart& part : plan.parts) {
      for (std::size_t c = 0; c < part.count; ++c)
        alpha_used = alpha_used || part.components[c] == 3;
      core = core || plan.name == "metallic" || plan.name == "roughness" || plan.name == "occlusion";
    }
    if (alpha_used) plan.channels = 4;
    if (core) plan.name = "orm";
  }
}

void MaterialImages::valuesAt(const KernelTexture& texture, std::span<const std::array<Vec3f, 3>> normals,
                              const Appearance* appearance, std::span<const SurfacePoint> points,
                              std::span<float> out) const {
  const std::size_t channels = layout_.size();
  std::vector<float> values(points.size() * channels);
  texture.values(points, values);
  const NormalChannels normal_channels(layout_), coat_channels(layout_, kCoatNormalSlot);
  parallelFor(points.size(), kImagePoints, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* row = values.data() + i * channels;
      float* to = out.data() + i * numbers_;
      for (const ChannelGroup& group : layout_.groups()) {
        if (const std::size_t directions = directionSlot(group); directions < kSlotCount) {
          const SurfacePoint& p = points[i];
          const Vec3 n0 =
              interpolatedNormal(normals[p.face], p.barycentric, normals[p.face][0].cast<double>());
          const FaceFrame& frame = texture.surface().frames()[p.face];
          Vec3 n;
          if (directions == kAnisotropySlot) {
            n = shadedFromFace(frame, n0, Vec2(row[group.first], row[group.first + 1]));
          } else {
            n = (directions == kCoatNormalSlot ? coat_channels : normal_channels).normal(frame, n0, row);
          }
          for (int c = 0; c < 3; ++c)
            *to++ = static_cast<float>(n[c]);
          continue;
        }
        const std::size_t slot = slotOf(group.name);
        const bool srgb = group.name == "base_color" ||
                          (slot < kSlotCount && kMaterialSlots[slot].values == ColorSpace::kSrgb);
        for (std::size_t c = group.first; c < group.first + group.count; ++c)
          *to++ = srgb ? linearFromSrgb(row[c]) : row[c];
      }
      if (extra_alpha_ < numbers_) *to = appearance->alpha(points[i]);
    }
  });
}

void MaterialImages::texel(const ImagePlan& plan, const float* numbers, const MapFrame& frame,
                           std::uint8_t* bytes) const {
  std::fill_n(bytes, plan.channels, std::uint8_t{255});  // what a factor alone decides about
  if (plan.isDirections()) {
    const Vec3f mean = Eigen::Map<const Vec3f>(numbers + plan.parts[0].first);
    const float length = mean.norm();
    if (plan.directions == kAnisotropySlot) {
      Vec2 local = frame.across(mean.cast<double>());
      const double along = local.norm();
      local = along > 0 ? Vec2(local / along) : Vec2(1, 0);  // nothing to tell which way
      for (int c = 0; c < 2; ++c)
        bytes[c] = toByte(static_cast<float>(0.5 + 0.5 * local[c]));
      bytes[2] = toByte(std::min(length, 1.0f));
      return;
    }
    const Vec3 local = length > 0 ? frame.direction((mean / length).cast<double>()) : Vec3(Vec3::UnitZ());
    for (int c = 0; c < 3; ++c)
      bytes[c] = toByte(static_cast<float>(0.5 + 0.5 * local[c]));
    return;
  }
  for (const ImagePart& part : plan.parts) {
    for (std::size_t c = 0; c < part.count; ++c) {
      const float span = part.factor - part.low;
      float value = span != 0 ? (numbers[part.first + c] - part.low) / span : 0;
      value = std::clamp(value, 0.0f, 1.0f);
      const std::uint8_t component = part.components[c];
      if (part.texels == ColorSpace::kSrgb && component != 3) value = srgbFromLinear(value);
      bytes[component] = toByte(value);
    }
  }
}

}  // namespace heatskin
