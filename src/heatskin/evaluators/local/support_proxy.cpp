#include "heatskin/evaluators/local/support_proxy.h"

#include <limits>
#include <utility>

#include <meshoptimizer.h>

#include "heatskin/base/parallel.h"

namespace heatskin::local {
namespace {

/// A face that looks the other way must be this many times nearer to be taken.
constexpr double kBackHandicap = 4;

}  // namespace

std::unique_ptr<SupportProxy> SupportProxy::build(const Surface& surface, std::size_t faces) {
  if (surface.faceCount() <= 2 * faces || faces == 0) return nullptr;
  std::vector<float> positions;
  positions.reserve(3 * surface.positions().size());
  for (const Vec3& x : surface.positions()) {
    for (const double c : x)
      positions.push_back(static_cast<float>(c));
  }
  std::vector<unsigned int> indices;
  indices.reserve(3 * surface.faces().size());
  for (const auto& face : surface.faces())
    indices.insert(indices.end(), face.begin(), face.end());
  std::vector<unsigned int> simple(indices.size());
  simple.resize(meshopt_simplify(simple.data(), indices.data(), indices.size(), positions.data(),
                                 surface.vertexCount(), 3 * sizeof(float), 3 * faces, kMostError));
  if (simple.empty() || 2 * simple.size() > indices.size()) return nullptr;

  std::vector<std::array<std::uint32_t, 3>> triangles(simple.size() / 3);
  for (std::size_t i = 0; i < simple.size(); ++i)
    triangles[i / 3][i % 3] = simple[i];
  SurfaceOptions options;
  options.principal_axes = false;
  options.normalise = false;
  auto proxy = Surface::build(surface.positions(), triangles, options);
  if (!proxy) return nullptr;

  std::vector<std::uint32_t> component_of_vertex(surface.vertexCount());
  for (std::size_t f = 0; f < surface.faces().size(); ++f) {
    for (const std::uint32_t v : surface.faces()[f])
      component_of_vertex[v] = surface.components()[f];
  }
  std::vector<std::uint32_t> components;
  std::vector<bool> present(surface.componentCount());
  for (const FaceSource& source : proxy->sources()) {
    components.push_back(component_of_vertex[triangles[source.triangle][0]]);
    present[components.back()] = true;
  }
  for (const bool found : present) {
    if (!found) return nullptr;
  }
  return std::unique_ptr<SupportProxy>(new SupportProxy(surface, std::move(*proxy), std::move(components)));
}

SupportProxy::SupportProxy(const Surface& surface, Surface proxy, std::vector<std::uint32_t> components)
    : surface_(&surface), proxy_(std::move(proxy)), components_(std::move(components)), closest_(proxy_) {
  face_of_.resize(surface.faceCount());
  parallelFor(face_of_.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      const auto face = static_cast<std::uint32_t>(f);
      face_of_[f] = place(face, surface.frames()[f].origin).face;
    }
  });
}

SurfacePoint SupportProxy::place(std::uint32_t face, const Vec3& x) const {
  const std::uint32_t component = surface_->components()[face];
  const Vec3 normal = surface_->frames()[face].normal();
  return closest_
      .find(x,
            [&](std::uint32_t candidate) {
              if (components_[candidate] != component) return std::numeric_limits<double>::infinity();
              return proxy_.frames()[candidate].normal().dot(normal) < 0 ? kBackHandicap : 1.0;
            })
      .point;
}

}  // namespace heatskin::local
