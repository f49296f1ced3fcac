#pragma once

// Which kernels are among the nearest of which faces, in an embedding of the surface in which distances are
// Euclidean (METHOD sections 7 and 9). Exact: a search over blocks of vertices with bounds from the triangle
// inequality, instead of comparing everything with everything.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "heatskin/base/per_thread.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"

namespace heatskin::fields {

/// A point of a Euclidean space for every vertex; linear in between. Each of the surface's components is
/// moved to the origin: kernels and queries of different components are never near.
class Embedding {
 public:
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  Embedding() = default;

  /// `coordinates` is [V, dimensions].
  Embedding(const Surface& surface, std::span<const float> coordinates, std::size_t dimensions);

  const Rows& rows() const { return rows_; }  // [V, dimensions], every component around its mean

  /// Squared distance of two vertices of a component, from differences: near ones keep their digits.
  float squaredDistance(std::uint32_t a, std::uint32_t b) const {
    return (rows_.row(a) - rows_.row(b)).squaredNorm();
  }

  /// Squared lengths of a face's edges; edge e joins corners e and e + 1.
  std::span<const float, 3> squaredEdges(std::uint32_t face) const {
    return std::span<const float, 3>(&squared_edges_[std::size_t{face} * 3], 3);
  }

  /// Longest edge of the faces around a vertex.
  float longestEdge(std::uint32_t vertex) const { return longest_edges_[vertex]; }

 private:
  friend class NearListBuilder;

  Rows rows_;
  std::vector<float> squared_edges_;  // [F, 3]
  std::vector<float> longest_edges_;  // [V]

  std::vector<std::uint32_t> corner_begin_, corners_;  // [V + 1], [3 F] corners (3 face + c) of every vertex

  // Blocks of vertices that lie close together.
  std::vector<std::uint32_t> order_;        // [V] vertices, block after block
  std::vector<std::uint32_t> block_begin_;  // [B + 1] into order_
  std::vector<std::uint32_t> block_of_;     // [V]
  Rows centers_;                            // [B, dimensions]
  std::vector<float> radii_;                // [B]
  // Distances between blocks of one component; between components none is asked for, and there may be a
  // hundred thousand of them.
  std::vector<std::uint32_t> first_block_, last_block_;  // [B] of the block's component
  std::vector<std::size_t> distance_begin_;              // [B]
  std::vector<float> center_distances_;                  // [B] rows of last_block - first_block
};

/// Pairs of a kernel and a vertex, by vertex and by kernel; pairs of a kernel and a face with the places of
/// their three vertex pairs.
struct NearLists {
  std::vector<std::uint32_t> vertex_begin;    // [V + 1]
  std::vector<std::uint32_t> vertex_kernels;  // [P] increasing within a vertex; a place is an index into this

  std::vector<std::uint32_t> order;                     // [N] kernels close together one after the other
  std::vector<std::uint32_t> kernel_begin, kernel_end;  // [N] of a kernel's pairs, which lie in this order
  std::vector<std::uint32_t> vertices;                  // [P] of a kernel's pairs
  std::vector<std::uint32_t> places;                    // [P] where that pair is among the vertices' pairs

  std::vector<std::uint32_t> face_begin;              // [F + 1]
  std::vector<std::uint32_t> face_kernels;            // [Q + padding] increasing within a face
  std::array<std::vector<std::uint32_t>, 3> corners;  // [Q + padding] places of the pairs at its corners

  std::size_t pairCount() const { return vertex_kernels.size(); }
};

/// Makes the lists; keeps its memory from call to call. Deterministic for any thread count.
class NearListBuilder {
 public:
  /// Surface and embedding must outlive the builder.
  NearListBuilder(const Surface& surface, const Embedding& embedding)
      : surface_(&surface), embedding_(&embedding) {}

  /// What counts as near.
  struct Nearness {
    std::size_t wanted = 50;  ///< kernels per point
    float farthest = 1;       ///< no kernel counts from farther away than this
    float margin = 0;         ///< how far kernels may move before the lists are made again
  };

  /// Every kernel that is among the wanted nearest of some point of a face is in the face's list, also after
  /// every kernel moved by up to the margin in the embedding. `places` are the kernels there ([N,
  /// dimensions]).
  void build(const KernelSet& kernels, const Embedding::Rows& places, const Nearness& nearness,
             NearLists& lists);

 private:
  struct Near {
    std::uint32_t kernel;
    float squared;
  };

  class BlockSearch;

  /// A thread's memory for BlockSearch and joinFaces().
  struct Scratch {
    std::vector<float> here;                                    // [dimensions, stride]
    std::vector<float> here_squared, until;                     // [stride]
    std::vector<std::pair<float, std::uint32_t>> groups;        // lower bound of the distance, group
    std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;  // kernel, row
    std::vector<float> squared;                                 // [seen, stride]
    std::vector<float> sorted, largest, smallest;
  };

  void collect(const KernelSet& kernels, const Embedding::Rows& places, const Nearness& nearness);
  void groupKernels(const KernelSet& kernels, const Embedding::Rows& places);
  std::uint32_t groupSize(std::size_t group) const { return group_begin_[group + 1] - group_begin_[group]; }
  void joinFaces(const Nearness& nearness, NearLists& lists);
  void keepUsed(std::size_t kernel_count, NearLists& lists);

  const Surface* surface_;
  const Embedding* embedding_;
  std::vector<std::uint32_t> group_begin_, group_kernels_;  // kernels by the block of a vertex near them
  std::vector<float> group_radii_;
  Embedding::Rows group_places_;         // [N, dimensions] in the order of group_kernels_
  std::vector<float> group_norms_;       // [N] squared
  std::vector<std::vector<Near>> near_;  // [V] increasing by kernel
  struct Joined {
    std::uint32_t kernel, at[3];
  };
  std::vector<std::vector<Joined>> joined_;        // [F]
  std::vector<std::vector<std::uint32_t>> place_;  // [V] place of every near kernel, or kNone
  PerThread<Scratch> scratch_;
};

}  // namespace heatskin::fields
