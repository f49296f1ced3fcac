#pragma once

// Tangents for normal maps, by MikkTSpace (Mikkelsen, "Simulation of wrinkled surfaces revisited", 2008; the
// steps are those that http://www.mikktspace.com describes), which glTF 2.0 prescribes where a file has none.
//
// Corners with equal position, normal and texture coordinates are one vertex. Around a vertex, triangles that
// follow each other across edges and map the surface with the same handedness form a group; a group has one
// tangent: the mean of its triangles' directions of growing u, in the plane of the normal, weighted by the
// angle at the vertex. Triangles without area in the texture join whichever group comes first and add
// nothing. Differs in computing in double, and in not separating triangles of a group whose tangents point in
// exactly opposite directions.

#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// Tangents of the corners of triangles; all spans are [3 T]. Texture coordinates are as in glTF (v down),
/// normals unit vectors. A result is a unit vector and w = +1 or -1: cross(normal, tangent) w points to where
/// v decreases, up in the image, as glTF's normal maps want it. Where nothing determines a tangent, it is
/// some direction perpendicular to the normal. Works in time T log T; equal input gives equal bits.
std::vector<Vec4f> mikkTangents(std::span<const Vec3> positions, std::span<const Vec3f> normals,
                                std::span<const Vec2f> uvs);

}  // namespace heatskin
