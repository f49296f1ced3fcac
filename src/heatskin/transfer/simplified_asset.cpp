#include "heatskin/transfer/simplified_asset.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heatskin/evaluators/local/simplify.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Of the extent: there is no level that must not be reached.
constexpr float kAnyError = 1.0f;

constexpr std::uint64_t kDistanceSeed = 3;

int materialOf(const Asset& asset, const FaceSource& source) {
  const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
  return asset.meshes[mesh].primitives[source.primitive].material;
}

std::vector<double> distancesTo(const Surface& from, const Surface& to, std::size_t samples) {
  const std::vector<SurfacePoint> points = sampleSurface(from, samples, kDistanceSeed);
  const Similarity asset = from.assetFromSurface();
  std::vector<Vec3> places(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    places[i] = to.surfaceFromAsset()(asset(from.position(points[i])));
  std::vector<ClosestPoint> nearest(points.size());
  ClosestPointQuery(to).find(places, nearest);
  std::vector<double> distances(points.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    distances[i] = nearest[i].distance / to.surfaceFromAsset().scale;
  return distances;
}

}  // namespace

Result<Asset> simplifiedAsset(const Asset& asset, const Surface& surface, std::size_t faces) {
  const std::vector<std::array<std::uint32_t, 3>> triangles = local::simplify(
      surface.positions(), surface.vertexNormals(), surface.faces(), surface.totalArea(), faces, kAnyError);
  const Similarity asset_from_surface = surface.assetFromSurface();
  const ClosestPointQuery query(surface);
  const bool one_material = asset.materials.size() <= 1;
  std::map<int, Primitive> primitives;
  std::map<int, std::unordered_map<std::uint32_t, std::uint32_t>> numbers;
  for (const auto& triangle : triangles) {
    std::array<Vec3, 3> corners;
    for (std::size_t c = 0; c < 3; ++c)
      corners[c] = surface.positions()[triangle[c]];
    const Vec3 normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    if (!(normal.norm() > 0)) continue;
    const SurfacePoint near =
        one_material ? SurfacePoint{} : query((corners[0] + corners[1] + corners[2]) / 3).point;
    const int material = materialOf(asset, surface.sources()[near.face]);
    Primitive& primitive = primitives[material];
    primitive.material = material;
    for (const std::uint32_t v : triangle) {
      const auto next = static_cast<std::uint32_t>(primitive.positions.size());
      const auto [found, is_new] = numbers[material].try_emplace(v, next);
      if (is_new) primitive.positions.push_back(asset_from_surface(surface.positions()[v]));
      primitive.triangles.push_back(found->second);
    }
  }
  if (primitives.empty()) return inputError("nothing with an area is left after simplification");
  Asset out;
  out.path = asset.path;
  out.format = asset.format;
  out.materials = asset.materials;
  for (Material& material : out.materials) {
    material.base_color = {};
    for (SlotUse& slot : material.slots)
      slot.texture = {};
  }
  out.meshes.emplace_back();
  for (auto& [material, primitive] : primitives)
    out.meshes[0].primitives.push_back(std::move(primitive));
  out.instances.push_back({asset.instances.front().name, 0, Affine3::Identity()});
  return out;
}

SurfaceDistance surfaceDistance(const Surface& a, const Surface& b, std::size_t samples) {
  SurfaceDistance out;
  for (std::vector<double> distances : {distancesTo(a, b, samples), distancesTo(b, a, samples)}) {
    double sum = 0;
    for (const double d : distances)
      sum += d;
    const auto at = distances.begin() + static_cast<std::ptrdiff_t>((distances.size() - 1) * 99 / 100);
    std::nth_element(distances.begin(), at, distances.end());
    out.mean = std::max(out.mean, sum / static_cast<double>(distances.size()));
    out.p99 = std::max(out.p99, *at);
    out.maximum = std::max(out.maximum, *std::max_element(at, distances.end()));
  }
  return out;
}

}  // namespace heatskin
