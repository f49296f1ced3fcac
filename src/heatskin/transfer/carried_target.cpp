#include "heatskin/transfer/carried_target.h"

#include <algorithm>
#include <array>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Points of a face that say how much of it has a counterpart: its centre and places between that and the
/// corners. A corner itself may touch what is missing.
constexpr std::array<std::array<double, 3>, 4> kFacePoints = {
    {{1.0 / 3, 1.0 / 3, 1.0 / 3}, {0.6, 0.2, 0.2}, {0.2, 0.6, 0.2}, {0.2, 0.2, 0.6}}};

/// Rounds of averaging over neighbours; a part of a few hundred vertices is then smooth to the eye.
constexpr int kFillRounds = 300;

}  // namespace

CarriedTarget::CarriedTarget(const FitTarget& look, const Correspondence& there)
    : look_(&look), there_(&there) {
  const Surface& surface = there.from();
  std::vector<SurfacePoint> points(kFacePoints.size() * surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t k = 0; k < kFacePoints.size(); ++k)
      points[kFacePoints.size() * f + k] = {f, {kFacePoints[k][0], kFacePoints[k][1], kFacePoints[k][2]}};
  }
  std::vector<Counterpart> found(points.size());
  there.find(points, found);
  unmatched_faces_.assign(surface.faceCount(), 0);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    std::size_t missing = 0;
    for (std::size_t k = 0; k < kFacePoints.size(); ++k)
      missing += found[kFacePoints.size() * f + k].matched ? 0 : 1;
    unmatched_faces_[f] = missing > 0 ? 1 : 0;
    unmatched_ += surface.areas()[f] * static_cast<double>(missing) / kFacePoints.size();
  }
  unmatched_ /= surface.totalArea();
  if (unmatched_ > 0) fillUnmatched();
}

void CarriedTarget::lookUp(std::span<const SurfacePoint> points, std::span<const Counterpart> found,
                           std::span<float> out) const {
  std::vector<SurfacePoint> places(found.size());
  std::transform(found.begin(), found.end(), places.begin(), [](const Counterpart& c) { return c.point; });
  look_->values(places, out);
  if (!layout().hasTangents()) return;
  const std::size_t channels = layout().size();
  for (const ChannelGroup& group : layout().groups()) {
    if (!group.isTangent()) continue;
    for (std::size_t i = 0; i < points.size(); ++i) {
      float* v = out.data() + i * channels + group.first;
      // The inverse of what carries directions to the other surface: a rotation (or a mirroring) of planes.
      const Vec2 x = there_->carry(points[i].face, places[i].face, {1, 0});
      const Vec2 y = there_->carry(points[i].face, places[i].face, {0, 1});
      const Vec2 there(v[0], v[1]);
      v[0] = static_cast<float>(x.dot(there));
      v[1] = static_cast<float>(y.dot(there));
    }
  }
}

void CarriedTarget::fillUnmatched() {
  const Surface& surface = there_->from();
  const std::size_t channels = layout().size(), count = surface.vertexCount();
  // A point of every vertex, a little inside a face: normals belong to faces.
  std::vector<SurfacePoint> points(count);
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      SurfacePoint p{f, Vec3::Constant(0.02)};
      p.barycentric[static_cast<Eigen::Index>(c)] = 0.96;
      points[surface.faces()[f][c]] = p;
    }
  }
  std::vector<Counterpart> found(count);
  there_->find(points, found);
  filled_.resize(count * channels);
  lookUp(points, found, filled_);
  for (const ChannelGroup& group : layout().groups()) {
    if (!group.isTangent()) continue;  // a vertex has no frame: their mean
    for (std::size_t v = 0; v < count; ++v)
      filled_[v * channels + group.first] = filled_[v * channels + group.first + 1] = 0;
  }
  std::vector<std::vector<std::uint32_t>> neighbours(count);
  for (const auto& face : surface.faces()) {
    for (std::size_t c = 0; c < 3; ++c) {
      if (!found[face[c]].matched) {
        neighbours[face[c]].push_back(face[(c + 1) % 3]);
        neighbours[face[c]].push_back(face[(c + 2) % 3]);
      }
    }
  }
  std::vector<std::uint32_t> unknown;
  std::vector<std::uint8_t> known(count, 0);
  for (std::uint32_t v = 0; v < count; ++v) {
    known[v] = found[v].matched ? 1 : 0;
    if (!found[v].matched) unknown.push_back(v);
  }
  // From the border inwards, then evened out. Parts without a border keep what is nearest in space.
  std::vector<float> next;
  const auto mean = [&](std::uint32_t v, float* out) {
    std::size_t used = 0;
    std::fill_n(out, channels, 0.0f);
    for (const std::uint32_t n : neighbours[v]) {
      if (known[n] == 0) continue;
      ++used;
      for (std::size_t c = 0; c < channels; ++c)
        out[c] += filled_[n * channels + c];
    }
    for (std::size_t c = 0; c < channels && used > 0; ++c)
      out[c] /= static_cast<float>(used);
    return used > 0;
  };
  std::vector<std::uint32_t> rest = unknown, reached;
  while (!rest.empty()) {
    std::vector<std::uint32_t> layer, left;
    next.clear();
    std::vector<float> row(channels);
    for (const std::uint32_t v : rest) {
      if (mean(v, row.data())) {
        layer.push_back(v);
        next.insert(next.end(), row.begin(), row.end());
      } else {
        left.push_back(v);
      }
    }
    if (layer.empty()) break;
    for (std::size_t i = 0; i < layer.size(); ++i) {
      known[layer[i]] = 1;
      std::copy_n(next.data() + i * channels, channels, filled_.data() + layer[i] * channels);
    }
    reached.insert(reached.end(), layer.begin(), layer.end());
    rest = std::move(left);
  }
  next.resize(reached.size() * channels);
  for (int round = 0; round < kFillRounds && !reached.empty(); ++round) {
    parallelFor(reached.size(), 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        mean(reached[i], next.data() + i * channels);
    });
    for (std::size_t i = 0; i < reached.size(); ++i)
      std::copy_n(next.data() + i * channels, channels, filled_.data() + reached[i] * channels);
  }
}

void CarriedTarget::values(std::span<const SurfacePoint> points, std::span<float> out) const {
  std::vector<Counterpart> found(points.size());
  there_->find(points, found);
  lookUp(points, found, out);
  if (filled_.empty()) return;
  const std::size_t channels = layout().size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (found[i].matched) continue;
    const auto& corners = there_->from().faces()[points[i].face];
    for (std::size_t c = 0; c < channels; ++c) {
      double value = 0;
      for (std::size_t k = 0; k < 3; ++k)
        value += points[i].barycentric[static_cast<Eigen::Index>(k)] *
                 static_cast<double>(filled_[corners[k] * channels + c]);
      out[i * channels + c] = static_cast<float>(value);
    }
  }
}

void CarriedTarget::visibilities(std::span<const SurfacePoint> points, std::span<float> out) const {
  if (!hasAlpha()) return FitTarget::visibilities(points, out);
  std::vector<Counterpart> found(points.size());
  there_->find(points, found);
  std::vector<SurfacePoint> places(found.size());
  std::transform(found.begin(), found.end(), places.begin(), [](const Counterpart& c) { return c.point; });
  look_->visibilities(places, out);
}

}  // namespace heatskin
