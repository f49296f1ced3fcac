// What a user of the installed library writes: the area of a tetrahedron.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <heatskin/surface/surface.h>
#include <heatskin/version.h>

int main() {
  const std::vector<heatskin::Vec3> corners = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
  const std::vector<std::array<std::uint32_t, 3>> faces = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};
  const auto surface = heatskin::Surface::build(corners, faces);
  if (!surface) return std::fprintf(stderr, "%s\n", surface.error().message.c_str()), 1;
  std::printf("heatskin %s, area %.6f\n", heatskin::kVersion, surface->totalArea());
}
