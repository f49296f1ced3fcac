#include "heatskin/product/reseat_kernels.h"

#include <cmath>
#include <numbers>
#include <optional>

#include "heatskin/surface/closest_point.h"

namespace heatskin {

SurfacePoint matchingPoint(const FaceMatching& matching, const SurfacePoint& point) {
  SurfacePoint out{matching.face[point.face], Vec3::Zero()};
  const auto& corners = matching.corners[point.face];
  for (std::size_t c = 0; c < 3; ++c)
    out.barycentric[corners[c]] = point.barycentric[static_cast<Eigen::Index>(c)];
  return out;
}

ReseatedKernels reseatKernels(const KernelSet& kernels, const Surface& from, const Surface& to,
                              const FaceMatching& matching) {
  ReseatedKernels out{kernels, 0};
  std::optional<ClosestPointQuery> closest;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const SurfacePoint& old = kernels.positions[i];
    if (matching.face[old.face] != kNone) {
      out.kernels.positions[i] = matchingPoint(matching, old);
    } else {
      if (!closest) closest.emplace(to);
      out.kernels.positions[i] = (*closest)(from.position(old)).point;
      ++out.moved;
    }
    const double angle = static_cast<double>(kernels.angles[i]);
    const Vec3 axis = from.frames()[old.face].directionFromFace(Vec2(std::cos(angle), std::sin(angle)));
    const Vec2 turned = to.frames()[out.kernels.positions[i].face].directionToFace(axis);
    const double there = std::atan2(turned.y(), turned.x());
    out.kernels.angles[i] = static_cast<float>(there < 0 ? there + std::numbers::pi : there);
    const FaceFrame &before = from.frames()[old.face], &after = to.frames()[out.kernels.positions[i].face];
    for (const ChannelGroup& group : kernels.layout.groups()) {
      if (!group.isTangent()) continue;
      float* values = out.kernels.channels.row(i) + group.first;
      const Vec2 turned_vector = after.directionToFace(before.directionFromFace(Vec2(values[0], values[1])));
      values[0] = static_cast<float>(turned_vector.x());
      values[1] = static_cast<float>(turned_vector.y());
    }
  }
  return out;
}

}  // namespace heatskin
