#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin {
namespace {

constexpr std::size_t kBlock = 1024;

}  // namespace

FunctionTarget::FunctionTarget(OfPoint function, ChannelLayout layout)
    : function_(std::move(function)), layout_(std::move(layout)) {}

FunctionTarget::FunctionTarget(const Surface& surface, OfPosition function, ChannelLayout layout)
    : FunctionTarget([&surface, place = surface.assetFromSurface(), function = std::move(function)](
                         const SurfacePoint& point,
                         std::span<float> values) { function(place(surface.position(point)), values); },
                     std::move(layout)) {}

void FunctionTarget::values(std::span<const SurfacePoint> points, std::span<float> out) const {
  const std::size_t channels = layout_.size();
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      function_(points[i], out.subspan(i * channels, channels));
  });
}

VertexTarget::VertexTarget(ChannelLayout layout) : layout_(std::move(layout)) {}

Result<VertexTarget> VertexTarget::make(const Surface& surface,
                                        std::span<const std::array<std::uint32_t, 3>> triangles,
                                        std::span<const float> values, ChannelLayout layout) {
  if (layout.hasTangents())
    return inputError("values at vertices cannot have tangent groups: a vertex has no face coordinates");
  VertexTarget target(std::move(layout));
  const std::size_t channels = target.layout_.size(), vertices = values.size() / channels;
  if (values.size() % channels != 0) {
    return inputError(fmt::format("{} values are not a multiple of {} channels, one set for each vertex",
                                  values.size(), channels));
  }
  target.corners_.reserve(3 * channels * surface.faceCount());
  for (const FaceSource& source : surface.sources()) {
    if (source.instance != 0 || source.primitive != 0 || source.triangle >= triangles.size())
      return inputError("the surface was not built from these triangles");
    for (const std::uint8_t corner : source.corners) {
      const std::uint32_t vertex = triangles[source.triangle][corner];
      if (vertex >= vertices) {
        return inputError(fmt::format("triangle {} uses vertex {}, there are values for {}", source.triangle,
                                      vertex, vertices));
      }
      const auto row = values.subspan(vertex * channels, channels);
      target.corners_.insert(target.corners_.end(), row.begin(), row.end());
    }
  }
  return target;
}

Result<VertexTarget> VertexTarget::ofCorners(const Surface& surface, std::span<const float> values,
                                             ChannelLayout layout) {
  if (layout.hasTangents())
    return inputError("values at corners cannot have tangent groups: a corner has no face coordinates");
  VertexTarget target(std::move(layout));
  const std::size_t channels = target.layout_.size(), triangles = values.size() / (3 * channels);
  if (values.size() % (3 * channels) != 0) {
    return inputError(fmt::format(
        "{} values are not a multiple of 3 x {} channels, one set for each corner of each triangle",
        values.size(), channels));
  }
  target.corners_.reserve(3 * channels * surface.faceCount());
  for (const FaceSource& source : surface.sources()) {
    if (source.instance != 0 || source.primitive != 0 || source.triangle >= triangles)
      return inputError("the surface was not built from these triangles");
    for (const std::uint8_t corner : source.corners) {
      const auto row = values.subspan((3 * std::size_t{source.triangle} + corner) * channels, channels);
      target.corners_.insert(target.corners_.end(), row.begin(), row.end());
    }
  }
  return target;
}

void VertexTarget::values(std::span<const SurfacePoint> points, std::span<float> out) const {
  const std::size_t channels = layout_.size();
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* corners = corners_.data() + 3 * channels * points[i].face;
      const Vec3f b = points[i].barycentric.cast<float>();
      for (std::size_t c = 0; c < channels; ++c) {
        out[i * channels + c] =
            b[0] * corners[c] + b[1] * corners[channels + c] + b[2] * corners[2 * channels + c];
      }
    }
  });
}

}  // namespace heatskin
