#pragma once

// Which triangles of a file lie side by side, by a rule that any reader can follow (docs/format.md,
// "Neighbours"), and where a surface differs from it because its mesh had to be repaired.
//
// A half-edge is the number 3 * triangle + e: the edge from corner e to corner (e + 1) % 3 of a triangle of
// the file.

#include <cstdint>
#include <utility>
#include <vector>

#include "heatskin/io/asset.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// The half-edge on the other side, or kNone; [3 * triangles].
using Neighbours = std::vector<std::uint32_t>;

/// By the rule: corners with equal positions (in the scene, as float32) are one vertex; triangles without
/// area and repetitions of earlier ones have no neighbours; two others are neighbours where they alone share
/// an edge.
Neighbours neighboursByRule(const Asset& asset);

/// As the surface of the asset has them.
Neighbours neighboursOnSurface(const SourceTriangles& triangles, const Surface& surface);

/// Half-edges whose neighbours differ, increasing, with those of `wanted`.
using NeighbourChanges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
NeighbourChanges differences(const Neighbours& rule, const Neighbours& wanted);

/// The edge of the triangle of the file that is edge `e` of a face, and back: both ways the same map.
std::uint8_t edgeInTriangle(const FaceSource& source, std::size_t e);
std::uint8_t edgeInFace(const FaceSource& source, std::size_t e);

}  // namespace heatskin
