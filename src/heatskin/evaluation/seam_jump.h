#pragma once

// Seam jump (METHOD 11.6): a point on an edge belongs to two faces, and a texture without seams has the same
// colour from both.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/evaluation/evaluation.h"
#include "heatskin/rendering/render.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// A point of an edge as its two faces see it.
struct EdgePoint {
  SurfacePoint first, second;
};

/// `count` points on edges with two faces, uniform in length over all of them; empty if there is no such
/// edge. Point i is a pure function of (surface, seed, i).
std::vector<EdgePoint> sampleEdges(const Surface& surface, std::size_t count, std::uint64_t seed);

/// How much of the surface is seen at points; spans of one length.
using VisibilitySource = std::function<void(std::span<const SurfacePoint>, std::span<float>)>;

/// Edge points that nobody sees from either face do not count.
SeamJump seamJump(const Surface& surface, const ColorSource& colors, std::size_t count, std::uint64_t seed,
                  const VisibilitySource& visibility = {});

}  // namespace heatskin
