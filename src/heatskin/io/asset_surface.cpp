#include "heatskin/io/asset_surface.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/surface/surface_memory.h"

namespace heatskin {
namespace {

std::atomic<std::size_t> surfaces_built = 0;

TriangleSoup gatherTriangles(const Asset& asset) {
  TriangleSoup soup;
  if (!asset.path.empty()) soup.name = asset.path.string();
  for (std::size_t i = 0; i < asset.instances.size(); ++i) {
    const Instance& instance = asset.instances[i];
    if (instance.mesh < 0) continue;
    const bool mirrored = instance.asset_from_mesh.linear().determinant() < 0;
    const auto& primitives = asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives;
    for (std::size_t p = 0; p < primitives.size(); ++p) {
      const Primitive& primitive = primitives[p];
      const auto offset = static_cast<std::uint32_t>(soup.positions.size());
      for (const Vec3& x : primitive.positions)
        soup.positions.push_back(instance.asset_from_mesh * x);
      for (std::size_t t = 0; t < primitive.triangleCount(); ++t) {
        FaceSource source{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(p),
                          static_cast<std::uint32_t>(t)};
        if (mirrored) std::swap(source.corners[1], source.corners[2]);
        std::array<std::uint32_t, 3> triangle;
        for (std::size_t c = 0; c < 3; ++c)
          triangle[c] = offset + primitive.triangles[3 * t + source.corners[c]];
        soup.triangles.push_back(triangle);
        soup.sources.push_back(source);
      }
    }
  }
  return soup;
}

}  // namespace

Result<Surface> buildSurface(const Asset& asset, const SurfaceOptions& options) {
  double triangles = 0, vertices = 0;
  for (const Instance& instance : asset.instances) {
    if (instance.mesh < 0) continue;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      triangles += static_cast<double>(primitive.triangleCount());
      vertices += static_cast<double>(primitive.positions.size());
    }
  }
  const std::string name = asset.path.empty() ? std::string() : asset.path.string() + ": ";
  if (auto fits = askMemory(fmt::format("{}the surface of {:.0f} triangles", name, triangles),
                            surfaceBytes(triangles, vertices));
      !fits) {
    return fits.error();
  }
  TriangleSoup soup = gatherTriangles(asset);
  for (const Vec3& x : soup.positions) {
    if (!x.allFinite()) return inputError(name + "a position is not finite after its node's transform");
  }
  surfaces_built.fetch_add(1, std::memory_order_relaxed);
  return Surface::build(std::move(soup), options);
}

std::size_t surfacesBuilt() {
  return surfaces_built.load(std::memory_order_relaxed);
}

}  // namespace heatskin
