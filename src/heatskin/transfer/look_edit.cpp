#include "heatskin/transfer/look_edit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "heatskin/surface/closest_point.h"

namespace heatskin {
namespace {

/// The nearest place of a chain: which segment, and the distance.
std::pair<std::size_t, double> nearestOnPath(const std::vector<Vec3>& path, const Vec3& place) {
  std::pair<std::size_t, double> best{0, (path[0] - place).norm()};
  for (std::size_t i = 1; i < path.size(); ++i) {
    const Vec3 along = path[i] - path[i - 1];
    const double length = along.squaredNorm();
    const double t = length > 0 ? std::clamp((place - path[i - 1]).dot(along) / length, 0.0, 1.0) : 0;
    const double distance = (path[i - 1] + t * along - place).norm();
    if (distance < best.second) best = {t < 0.5 ? i - 1 : i, distance};
  }
  return best;
}

double falloff(double distance, double radius, double hardness) {
  if (distance >= radius) return 0;
  const double inner = hardness * radius;
  if (distance <= inner) return 1;
  const double t = (radius - distance) / (radius - inner);
  return t * t * (3 - 2 * t);
}

}  // namespace

double EditRegion::weight(const Vec3& place) const {
  return falloff(nearestOnPath(path, place).second, radius, hardness);
}

void limitTo(EditOperation& operation, const EditOperation& mask) {
  operation.within.insert(operation.within.end(), mask.within.begin(), mask.within.end());
  operation.without.insert(operation.without.end(), mask.without.begin(), mask.without.end());
}

Result<LookEdit> LookEdit::create(std::vector<EditOperation> operations, const Surface& surface,
                                  const ChannelLayout& layout) {
  LookEdit edit;
  edit.surface_ = &surface;
  edit.layout_ = layout;
  const ClosestPointQuery query(surface);
  for (std::size_t o = 0; o < operations.size(); ++o) {
    const EditOperation& operation = operations[o];
    for (const auto& [name, values] : operation.values) {
      const ChannelGroup* group = layout.find(name);
      if (group == nullptr) {
        std::string known;
        for (const ChannelGroup& g : layout.groups())
          known += (known.empty() ? "" : ", ") + g.name;
        return inputError(
            fmt::format("edit {}: the texture has no channel '{}'; it has {}", o + 1, name, known));
      }
      if (group->isTangent())
        return inputError(fmt::format("edit {}: '{}' holds vectors, which cannot be painted", o + 1, name));
      if (values.size() != group->count) {
        return inputError(
            fmt::format("edit {}: '{}' takes {} numbers, not {}", o + 1, name, group->count, values.size()));
      }
    }
    auto& normals = edit.normals_.emplace_back();
    for (const EditRegion& region : operation.regions) {
      auto& places = normals.emplace_back();
      for (const Vec3& place : region.path)
        places.push_back(surface.frames()[query(surface.surfaceFromAsset()(place)).point.face].normal());
    }
  }
  edit.operations_ = std::move(operations);
  return edit;
}

double LookEdit::weight(const EditOperation& operation, std::size_t number, const SurfacePoint& point) const {
  const Vec3 place = surface_->assetFromSurface()(surface_->position(point));
  const Vec3 normal = surface_->frames()[point.face].normal();
  double weight = operation.regions.empty() ? 1 : 0;
  for (std::size_t r = 0; r < operation.regions.size(); ++r) {
    const EditRegion& region = operation.regions[r];
    const auto [nearest, distance] = nearestOnPath(region.path, place);
    if (!(normals_[number][r][nearest].dot(normal) > 0)) continue;
    weight = std::max(weight, falloff(distance, region.radius, region.hardness));
  }
  for (const std::vector<EditRegion>& list : operation.within) {
    double inside = 0;
    for (const EditRegion& region : list)
      inside = std::max(inside, region.weight(place));
    weight *= inside;
  }
  for (const EditRegion& region : operation.without)
    weight *= 1 - region.weight(place);
  return weight * operation.opacity;
}

double LookEdit::weight(const SurfacePoint& point) const {
  double most = 0;
  for (std::size_t o = 0; o < operations_.size(); ++o)
    most = std::max(most, weight(operations_[o], o, point));
  return most;
}

Vec3f recolored(const Vec3f& color, double hue, double saturation) {
  const double most = static_cast<double>(color.maxCoeff()), least = static_cast<double>(color.minCoeff());
  const double chroma = most - least;
  double sector = 0;
  if (chroma > 0) {
    const double r = static_cast<double>(color[0]), g = static_cast<double>(color[1]),
                 b = static_cast<double>(color[2]);
    if (most == r) {
      sector = (g - b) / chroma;
    } else if (most == g) {
      sector = 2 + (b - r) / chroma;
    } else {
      sector = 4 + (r - g) / chroma;
    }
  }
  sector = std::fmod(sector + hue / 60 + 720, 6.0);
  const double pure = most > 0 ? std::clamp(chroma / most * saturation, 0.0, 1.0) : 0;
  const auto channel = [&](double n) {
    const double k = std::fmod(n + sector, 6.0);
    return static_cast<float>(most - most * pure * std::max(0.0, std::min({k, 4 - k, 1.0})));
  };
  return {channel(5), channel(3), channel(1)};
}

void LookEdit::apply(const SurfacePoint& point, std::span<float> values) const {
  for (std::size_t o = 0; o < operations_.size(); ++o) {
    const EditOperation& operation = operations_[o];
    const auto weight_here = static_cast<float>(weight(operation, o, point));
    if (!(weight_here > 0)) continue;
    for (const auto& [name, wanted] : operation.values) {
      const ChannelGroup& group = *layout_.find(name);
      for (std::size_t c = 0; c < group.count; ++c) {
        float& value = values[group.first + c];
        float fresh = wanted[c];
        if (operation.blend == EditBlend::kMultiply) fresh = value * wanted[c];
        if (operation.blend == EditBlend::kAdd) fresh = value + wanted[c];
        value = std::clamp(value + weight_here * (fresh - value), group.range[0], group.range[1]);
      }
    }
    if (operation.kind != EditOperation::Kind::kRecolor) continue;
    const ChannelGroup* group = layout_.find("base_color");
    Vec3f color = Eigen::Map<const Vec3f>(values.data() + group->first);
    const auto [low, high] = operation.levels;
    for (float& c : color) {
      const double unit = std::clamp((static_cast<double>(c) - low) / (high - low), 0.0, 1.0);
      c = static_cast<float>(std::pow(unit, 1 / operation.gamma));
    }
    color = recolored(color, operation.hue, operation.saturation);
    for (std::size_t c = 0; c < 3; ++c) {
      const std::vector<float>& table = operation.table[c];
      if (table.empty()) continue;
      float& value = color[static_cast<Eigen::Index>(c)];
      const float at = std::clamp(value, 0.0f, 1.0f) * static_cast<float>(table.size() - 1);
      const auto first = std::min(static_cast<std::size_t>(at), table.size() - 2);
      const float t = at - static_cast<float>(first);
      value = (1 - t) * table[first] + t * table[first + 1];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      float& value = values[group->first + c];
      value = std::clamp(value + weight_here * (color[static_cast<Eigen::Index>(c)] - value), 0.0f, 1.0f);
    }
  }
}

std::vector<std::uint8_t> LookEdit::faces() const {
  std::vector<std::uint8_t> inside(surface_->faceCount(), 0);
  const Similarity asset_from_surface = surface_->assetFromSurface();
  for (std::uint32_t f = 0; f < surface_->faceCount(); ++f) {
    std::array<Vec3, 3> corners;
    for (std::size_t c = 0; c < 3; ++c)
      corners[c] = asset_from_surface(surface_->positions()[surface_->faces()[f][c]]);
    const Vec3 center = (corners[0] + corners[1] + corners[2]) / 3;
    double size = 0;
    for (const Vec3& corner : corners)
      size = std::max(size, (corner - center).norm());
    for (std::size_t o = 0; o < operations_.size() && inside[f] == 0; ++o) {
      const EditOperation& operation = operations_[o];
      const auto near = [&](const EditRegion& region) {
        return nearestOnPath(region.path, center).second <= region.radius + size;
      };
      const bool masked = std::any_of(
          operation.within.begin(), operation.within.end(),
          [&](const std::vector<EditRegion>& list) { return std::none_of(list.begin(), list.end(), near); });
      if (masked) continue;
      inside[f] = operation.regions.empty() ? 1 : 0;
      for (std::size_t r = 0; r < operation.regions.size() && inside[f] == 0; ++r) {
        const EditRegion& region = operation.regions[r];
        const auto [nearest, distance] = nearestOnPath(region.path, center);
        if (distance > region.radius + size) continue;
        if (!(normals_[o][r][nearest].dot(surface_->frames()[f].normal()) > 0)) continue;
        inside[f] = 1;
      }
    }
  }
  return inside;
}

void EditedTarget::values(std::span<const SurfacePoint> points, std::span<float> out) const {
  look_->values(points, out);
  const std::size_t channels = layout().size();
  for (std::size_t i = 0; i < points.size(); ++i)
    edit_->apply(points[i], out.subspan(i * channels, channels));
}

}  // namespace heatskin
