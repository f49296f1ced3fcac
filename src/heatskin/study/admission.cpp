#include "heatskin/study/admission.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/plural.h"

namespace heatskin::study {
namespace {

struct Ray {
  Vec3 origin, direction;
};

constexpr int kGrid = 5;

std::vector<Ray> raysThrough(const Vec3& low, const Vec3& high) {
  std::vector<Ray> rays;
  const Vec3 size = high - low, center = 0.5 * (low + high);
  // Beyond the box on both sides: a ray counts all faces it meets, not only those before it.
  for (const double x : {-1.0, 1.0}) {
    for (const double y : {-1.0, 1.0}) {
      const Vec3 half(0.5 * x * size.x(), 0.5 * y * size.y(), 0.5 * size.z());
      rays.push_back({center - 1.01 * half, half});
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    for (int i = 0; i < kGrid; ++i) {
      for (int j = 0; j < kGrid; ++j) {
        Vec3 origin = low;
        origin[axis] -= 0.01 * size.norm();
        origin[u] += (i + 0.5) / kGrid * size[u];
        origin[v] += (j + 0.5) / kGrid * size[v];
        Vec3 direction = Vec3::Zero();
        direction[axis] = 1;
        rays.push_back({origin, direction});
      }
    }
  }
  return rays;
}

/// Two coordinates across a ray. A face is met if the ray's own are inside of its projection. An edge through
/// the ray itself counts for the face on one side only: points on it are taken to lie on the side of larger v
/// (or, on a line of equal v, of larger u), the rule of rasterisers.
class Across {
 public:
  explicit Across(const Ray& ray) : origin_(ray.origin) {
    const Vec3 forward = ray.direction.normalized();
    const Vec3 other = std::abs(forward.x()) < 0.6 ? Vec3::UnitX() : Vec3::UnitY();
    u_ = forward.cross(other).normalized();
    v_ = forward.cross(u_);
  }
  Vec2 operator()(const Vec3& x) const { return {u_.dot(x - origin_), v_.dot(x - origin_)}; }

 private:
  Vec3 origin_, u_, v_;
};

/// Whether the ray towards +u from the zero of the plane crosses the segment an odd number of times is known
/// from the sign of v at its ends.
bool insideOf(const std::array<Vec2, 3>& corners) {
  bool inside = false;
  for (std::size_t e = 0; e < 3; ++e) {
    const Vec2 &a = corners[e], &b = corners[(e + 1) % 3];
    if ((a.y() > 0) == (b.y() > 0)) continue;
    // In the order of heights, so that both faces of an edge compute the same bits.
    const Vec2 &low = a.y() < b.y() ? a : b, &high = a.y() < b.y() ? b : a;
    if (low.x() - low.y() * (high.x() - low.x()) / (high.y() - low.y()) > 0) inside = !inside;
  }
  return inside;
}

}  // namespace

std::string Admission::text() const {
  return fmt::format("{}", fmt::join(reasons, "; "));
}

int mostRayHits(const Surface& surface) {
  Vec3 low = surface.positions()[0], high = low;
  for (const Vec3& p : surface.positions()) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  int most = 0;
  for (const Ray& ray : raysThrough(low, high)) {
    const Across across(ray);
    std::vector<Vec2> flat;
    flat.reserve(surface.positions().size());
    for (const Vec3& p : surface.positions())
      flat.push_back(across(p));
    int hits = 0;
    for (const auto& face : surface.faces())
      hits += insideOf({flat[face[0]], flat[face[1]], flat[face[2]]}) ? 1 : 0;
    most = std::max(most, hits);
  }
  return most;
}

Admission checkAdmission(const Asset& asset, const Surface& surface, const AdmissionOptions& options) {
  const SurfaceReport& report = surface.report();
  Admission found;
  found.vertices = report.vertices;
  found.components = report.components;
  found.nonmanifold_edges = report.nonmanifold_edges;
  found.nonmanifold_vertices = report.nonmanifold_vertices;
  found.textured = Appearance(asset, surface).hasColor();
  found.most_hits = mostRayHits(surface);
  if (!found.textured) found.reasons.emplace_back("not textured");
  if (found.vertices > options.max_vertices) {
    found.reasons.push_back(
        fmt::format("{} vertices, more than {}", grouped(found.vertices), grouped(options.max_vertices)));
  }
  if (found.components != 1) found.reasons.push_back(fmt::format("{} components", grouped(found.components)));
  if (found.nonmanifold_edges > 0) {
    found.reasons.push_back(
        plural(found.nonmanifold_edges, "edge with more than two faces", "edges with more than two faces"));
  }
  if (found.nonmanifold_vertices > 0) {
    found.reasons.push_back(
        plural(found.nonmanifold_vertices, "vertex with several fans", "vertices with several fans"));
  }
  if (found.most_hits > options.max_hits)
    found.reasons.push_back(
        fmt::format("a ray meets {} faces, more than {}", found.most_hits, options.max_hits));
  return found;
}

}  // namespace heatskin::study
