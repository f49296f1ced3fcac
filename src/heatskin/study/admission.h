#pragma once

// Which meshes the paper's comparison admits (METHOD section 16): textured, not too large, one clean manifold
// piece that does not fold through itself too often.

#include <cstddef>
#include <string>
#include <vector>

#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"

namespace heatskin::study {

struct AdmissionOptions {
  std::size_t max_vertices = 60'000;
  int max_hits = 20;  ///< of a ray
};

/// What was found, and why a mesh is not admitted.
struct Admission {
  std::size_t vertices = 0, components = 0, nonmanifold_edges = 0, nonmanifold_vertices = 0;
  int most_hits = 0;                 ///< of the 79 rays
  bool textured = false;             ///< by an image, or by vertex colours on every face
  std::vector<std::string> reasons;  ///< empty: admitted

  bool admitted() const { return reasons.empty(); }
  /// The reasons as one line.
  std::string text() const;
};

/// Looks at the asset as its file has it; `surface` is built from it. That the eigenpairs can be computed
/// shows only when they are.
Admission checkAdmission(const Asset& asset, const Surface& surface, const AdmissionOptions& options = {});

/// The largest number of faces that one of the 79 rays meets: the four diagonals of the bounding box, and 5 x
/// 5 rays along each axis through the centres of a grid over it.
int mostRayHits(const Surface& surface);

}  // namespace heatskin::study
