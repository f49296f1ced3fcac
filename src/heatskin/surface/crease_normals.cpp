#include "heatskin/surface/crease_normals.h"

#include <cmath>
#include <cstddef>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/normals.h"

namespace heatskin {
namespace {

constexpr std::size_t kCreaseFaces = 2048;  // per block

}  // namespace

std::vector<std::array<Vec3f, 3>> creaseNormals(const Surface& surface, double crease_angle) {
  const auto faces = surface.faces();
  const auto positions = surface.positions();
  const CornersOfVertices around(surface.vertexCount(), {faces[0].data(), 3 * faces.size()});
  const auto normalOf = [&](std::size_t f) { return surface.frames()[f].normal(); };
  std::vector<double> angle(3 * faces.size());
  std::vector<std::array<Vec3f, 3>> normals(faces.size());
  parallelFor(faces.size(), kCreaseFaces, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      for (std::size_t c = 0; c < 3; ++c) {
        angle[3 * f + c] = cornerAngle(positions[faces[f][c]], positions[faces[f][(c + 1) % 3]],
                                       positions[faces[f][(c + 2) % 3]]);
      }
    }
  });
  const double limit = std::cos(crease_angle);
  parallelFor(faces.size(), kCreaseFaces, [&](std::size_t first, std::size_t last) {
    for (std::size_t f = first; f < last; ++f) {
      const Vec3 own = normalOf(f);
      for (std::size_t c = 0; c < 3; ++c) {
        NormalSum sum;
        for (const std::size_t corner : around[faces[f][c]]) {
          const Vec3 other = normalOf(corner / 3);
          if (other.dot(own) >= limit) sum.add(other, angle[corner]);
        }
        normals[f][c] = sum.unit(own).cast<float>();
      }
    }
  });
  return normals;
}

Vec3 interpolatedNormal(const std::array<Vec3f, 3>& corners, const Vec3& barycentric, const Vec3& otherwise) {
  const Vec3 sum = barycentric[0] * corners[0].cast<double>() + barycentric[1] * corners[1].cast<double>() +
                   barycentric[2] * corners[2].cast<double>();
  const double length = sum.norm();
  constexpr double kCancelled = 1e-6;  // corners are unit vectors in float
  return length > kCancelled ? Vec3(sum / length) : otherwise;
}

}  // namespace heatskin
