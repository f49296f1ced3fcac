#pragma once

// A bounding volume hierarchy over the faces of a surface, for whoever looks for faces near a point or along
// a ray.
//
// Balanced: each node's faces are divided at the median of their centres along the axis in which these spread
// most. Answers found with it must not depend on its shape.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// See the head of the file. The surface must outlive it.
class FaceTree {
 public:
  /// The box around a part of the surface, rounded outwards.
  struct Box {
    std::array<float, 3> low, high;
  };

  /// A node: a run of leaves. Inner nodes are numbered depth first, so that a run of n leaves has n - 1 of
  /// them and needs no pointers: those of the first half of its leaves follow at once, the others after them.
  struct Node {
    std::uint32_t number = 0, first_leaf = 0, leaves = 0;

    bool isLeaf() const { return leaves == 1; }
    Node left() const { return {number + 1, first_leaf, leaves / 2}; }
    Node right() const { return {number + leaves / 2, first_leaf + leaves / 2, leaves - leaves / 2}; }
  };

  /// No path from the root is longer: a balanced tree of fewer than 2^32 faces.
  static constexpr std::size_t kMaxDepth = 64;

  explicit FaceTree(const Surface& surface);

  const Surface& surface() const { return *surface_; }
  Node root() const {
    return {0, 0, static_cast<std::uint32_t>((faces_.size() + kLeafFaces - 1) / kLeafFaces)};
  }
  const Box& everything() const { return everything_; }

  /// Boxes of an inner node's children, left and right.
  const std::array<Box, 2>& childBoxes(const Node& node) const { return boxes_[node.number]; }

  /// Where the faces of a node are in faces().
  std::uint32_t begin(const Node& node) const { return kLeafFaces * node.first_leaf; }
  std::uint32_t end(const Node& node) const {
    const std::uint32_t last = kLeafFaces * (node.first_leaf + node.leaves);
    return last < faces_.size() ? last : static_cast<std::uint32_t>(faces_.size());
  }
  std::span<const std::uint32_t> faces() const { return faces_; }  // [F] in the order of the leaves

 private:
  /// Faces of a leaf at most.
  static constexpr std::uint32_t kLeafFaces = 2;

  Box build(const Node& node);
  Box join(const Node& node, const Box& left, const Box& right);
  void divide(const Node& node);

  const Surface* surface_;
  std::vector<std::uint32_t> faces_;
  Box everything_{};
  std::vector<std::array<Box, 2>> boxes_;  // [inner nodes] of the two children, side by side for the cache
};

}  // namespace heatskin
