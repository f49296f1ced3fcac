#include "heatskin/bake/atlas_check.h"

#include <algorithm>
#include <cmath>

#include "heatskin/surface/surface.h"

namespace heatskin {
namespace {

/// Rounding of float coordinates, in texels of the largest image: what touches by less does not touch.
constexpr double kTouch = 1.0 / 256;

/// Whether a triangle and the open square of half side `half` around `centre` meet (separating axes).
bool meetsSquare(const std::array<Vec2, 3>& p, const Vec2& centre, double half) {
  for (int c = 0; c < 2; ++c) {
    const auto [low, high] = std::minmax({p[0][c], p[1][c], p[2][c]});
    if (low >= centre[c] + half || high <= centre[c] - half) return false;
  }
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec2 normal = perp(Vec2(p[(e + 1) % 3] - p[e]));
    const double reach = half * (std::abs(normal.x()) + std::abs(normal.y()));
    double low = normal.dot(p[0] - centre), high = low;
    for (const Vec2& corner : p) {
      low = std::min(low, normal.dot(corner - centre));
      high = std::max(high, normal.dot(corner - centre));
    }
    if (reach > 0 && (low >= reach || high <= -reach)) return false;
  }
  return true;
}

}  // namespace

AtlasCheck checkAtlas(std::span<const std::array<Vec2f, 3>> uvs, std::span<const std::uint32_t> chart_of,
                      int width, int height, int level) {
  AtlasCheck check;
  const int w = width >> level, h = height >> level;
  std::vector<std::uint32_t> owner(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), kNone);
  std::vector<std::uint8_t> shared(owner.size(), 0);
  for (std::size_t t = 0; t < uvs.size(); ++t) {
    std::array<Vec2, 3> p;
    bool outside = false;
    for (std::size_t c = 0; c < 3; ++c) {
      outside = outside || !(uvs[t][c].minCoeff() >= 0 && uvs[t][c].maxCoeff() <= 1);
      p[c] = uvs[t][c].cast<double>().cwiseProduct(Vec2(w, h));
    }
    check.outside_faces += outside ? 1 : 0;
    if (outside) continue;
    // v is down: counter-clockwise on the surface is clockwise in these coordinates.
    check.flipped_faces += cross2(p[1] - p[0], p[2] - p[0]) > 0 ? 1 : 0;
    const Vec2 low = p[0].cwiseMin(p[1]).cwiseMin(p[2]), high = p[0].cwiseMax(p[1]).cwiseMax(p[2]);
    for (int y = std::max(0, static_cast<int>(low.y() - 1.5)); y < std::min<double>(h, high.y() + 1); ++y) {
      for (int x = std::max(0, static_cast<int>(low.x() - 1.5)); x < std::min<double>(w, high.x() + 1); ++x) {
        // A texel counts at a point that is less than one texel from its centre along both axes.
        if (!meetsSquare(p, Vec2(x + 0.5, y + 0.5), 1 - kTouch)) continue;
        const std::size_t texel =
            static_cast<std::size_t>(y) * static_cast<std::size_t>(w) + static_cast<std::size_t>(x);
        if (owner[texel] != kNone && owner[texel] != chart_of[t]) shared[texel] = 1;
        owner[texel] = chart_of[t];
      }
    }
  }
  for (std::size_t i = 0; i < owner.size(); ++i) {
    check.owned_texels += owner[i] != kNone ? 1 : 0;
    check.shared_texels += shared[i];
  }
  return check;
}

}  // namespace heatskin
