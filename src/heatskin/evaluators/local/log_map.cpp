#include "heatskin/evaluators/local/log_map.h"

namespace heatskin::local {
namespace {

LocalOptions accurate() {
  LocalOptions options;
  options.sight = Sight::kCarried;
  options.join_corners = true;
  return options;
}

}  // namespace

LogMap::LogMap(const Surface& surface) : surface_(&surface), builder_(surface, accurate()) {}

std::vector<UnfoldedFace> LogMap::unfold(const SurfacePoint& point, double radius) const {
  const SupportSource source{point.face, surface_->faceCoordinates(point).cast<float>(),
                             static_cast<float>(radius)};
  const auto reached = builder_.propagate(source);
  const auto charts = builder_.joinCorners(source, reached);
  const Vec2 center = source.center.cast<double>();
  std::vector<UnfoldedFace> faces(reached.size());
  for (std::size_t i = 0; i < faces.size(); ++i) {
    faces[i].face = reached[i].face;
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec2& p = surface_->corners()[reached[i].face][c];
      const Chart& chart = charts[i];
      const double x = static_cast<double>(chart.xx) * p.x() + static_cast<double>(chart.xy) * p.y();
      const double y = static_cast<double>(chart.yx) * p.x() + static_cast<double>(chart.yy) * p.y();
      faces[i].corners[c] = Vec2(x + static_cast<double>(chart.x), y + static_cast<double>(chart.y)) - center;
    }
  }
  return faces;
}

}  // namespace heatskin::local
