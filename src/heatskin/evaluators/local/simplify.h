#pragma once

// A mesh with fewer triangles at a subset of its vertices, by quadric error (meshoptimizer, after Garland and
// Heckbert 1997). Large meshes are simplified in parts first: on all cores, and with memory for a few parts
// instead of for the whole.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin::local {

/// How meshes are cut; tests cut smaller ones.
struct SimplifyOptions {
  std::size_t at_once = 400'000;  ///< triangles that are simplified in one piece
  std::size_t part = 200'000;     ///< triangles of a part of a larger mesh, about
};

/// About `target` triangles, as vertices of `triangles`; more where the error would exceed `most_error`, a
/// part of the mesh's extent. `normals` are those of the vertices, `area` is that of all triangles. The same
/// on any number of threads.
std::vector<std::array<std::uint32_t, 3>> simplify(std::span<const Vec3> positions,
                                                   std::span<const Vec3> normals,
                                                   std::span<const std::array<std::uint32_t, 3>> triangles,
                                                   double area, std::size_t target, float most_error,
                                                   const SimplifyOptions& options = {});

/// Bytes that takes at its peak, about; for the memory budget.
double simplifyBytes(double triangles, double vertices, int threads, const SimplifyOptions& options = {});

}  // namespace heatskin::local
