#include "heatskin/surface/face_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

/// Parts of the tree with no more leaves than this are built by one thread.
constexpr std::uint32_t kLeavesAtOnce = 1024;

FaceTree::Box boxAround(const Vec3& low, const Vec3& high) {
  constexpr float kEndless = std::numeric_limits<float>::infinity();
  FaceTree::Box box{};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto e = static_cast<Eigen::Index>(c);
    box.low[c] = std::nextafter(static_cast<float>(low[e]), -kEndless);
    box.high[c] = std::nextafter(static_cast<float>(high[e]), kEndless);
  }
  return box;
}

FaceTree::Box boxAround(const FaceTree::Box& a, const FaceTree::Box& b) {
  FaceTree::Box box{};
  for (std::size_t c = 0; c < 3; ++c) {
    box.low[c] = std::min(a.low[c], b.low[c]);
    box.high[c] = std::max(a.high[c], b.high[c]);
  }
  return box;
}

}  // namespace

FaceTree::FaceTree(const Surface& surface) : surface_(&surface), faces_(surface.faceCount()) {
  std::iota(faces_.begin(), faces_.end(), 0u);
  boxes_.resize(root().leaves - 1);
  // First the top, down to parts of moderate size; then these, in parallel; then the boxes of the top.
  struct Part {
    Node node;
    std::size_t left = 0, right = 0;  // parts of the children; 0: built at once
    Box box = {};
  };
  std::vector<Part> parts = {{root()}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Node node = parts[i].node;
    if (node.leaves <= kLeavesAtOnce) continue;
    divide(node);
    parts[i].left = parts.size();
    parts.push_back({node.left()});
    parts[i].right = parts.size();
    parts.push_back({node.right()});
  }
  parallelFor(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (parts[i].left == 0) parts[i].box = build(parts[i].node);
    }
  });
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (parts[i].left != 0)
      parts[i].box = join(parts[i].node, parts[parts[i].left].box, parts[parts[i].right].box);
  }
  everything_ = parts[0].box;
}

/// The box of a node, after those below it.
FaceTree::Box FaceTree::build(const Node& node) {
  if (node.isLeaf()) {
    Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
    for (std::uint32_t i = begin(node); i < end(node); ++i) {
      for (const std::uint32_t v : surface_->faces()[faces_[i]]) {
        low = low.cwiseMin(surface_->positions()[v]);
        high = high.cwiseMax(surface_->positions()[v]);
      }
    }
    return boxAround(low, high);
  }
  divide(node);
  const Box left = build(node.left());
  return join(node, left, build(node.right()));
}

FaceTree::Box FaceTree::join(const Node& node, const Box& left, const Box& right) {
  boxes_[node.number] = {left, right};
  return boxAround(left, right);
}

/// Brings the faces of the left child before those of the right one.
void FaceTree::divide(const Node& node) {
  const auto center = [&](std::uint32_t face) -> const Vec3& { return surface_->frames()[face].origin; };
  const auto first = faces_.begin() + begin(node), last = faces_.begin() + end(node);
  Vec3 low = center(*first), high = low;
  for (auto it = first; it != last; ++it) {
    low = low.cwiseMin(center(*it));
    high = high.cwiseMax(center(*it));
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  std::nth_element(first, faces_.begin() + begin(node.right()), last, [&](std::uint32_t a, std::uint32_t b) {
    const double x = center(a)[axis], y = center(b)[axis];
    return x != y ? x < y : a < b;
  });
}

}  // namespace heatskin
