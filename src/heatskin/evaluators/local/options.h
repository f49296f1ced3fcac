#pragma once

#include <cstddef>

namespace heatskin::local {

/// How a query on a face with more kernels than candidates chooses.
enum class CandidateRule {
  kPerQuery,  ///< PQ: its own nearest
  kPerFace,   ///< PF: those nearest to the face's centroid, the same for the whole face
  kByReach,   ///< its own nearest in units of their support radii: a wide kernel is not lost among small ones
};

/// What a development must see on its way to the next face.
enum class Sight {
  kLastEdge,  ///< the straight line to the next face passes the shared edge (METHOD section 8)
  kCarried,   ///< the part of that edge which all edges before leave visible decides how soon a face is taken
};

/// Options of LocalHK; the defaults are the paper's final method. Every row of its ablation table is a
/// combination.
struct LocalOptions {
  double diffusion_time = 0.0625;  ///< t
  double window_sigma = 0.1;       ///< sigma of the geodesic window; 0: no window (V0)
  double max_radius = 0.2;         ///< cap of the support radius
  double support_tail = 0.01;      ///< f at the rim of the support
  std::size_t candidates = 50;
  CandidateRule rule = CandidateRule::kPerQuery;
  bool isotropic = false;  ///< ignore anisotropy and angle
  bool euclidean = false;  ///< chord distance and a frame projected in space, on unfolded supports
  Sight sight = Sight::kLastEdge;
  double edge_tolerance = 0.1;  ///< of the edge window, in edge lengths (METHOD section 8)
  /// Faces around a vertex see it at one place of a kernel's plane, the mean of where each of them alone
  /// would see it: no jumps where developments from two sides of a curved place meet. Not in the Euclidean
  /// variant.
  bool join_corners = false;
  /// Surfaces with more than twice as many faces get a support proxy with about so many; 0: never one.
  std::size_t proxy_faces = 20000;
};

}  // namespace heatskin::local
