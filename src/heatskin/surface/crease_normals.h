#pragma once

// Normals at the corners of faces: what a surface is shaded with whose file says nothing about them, and
// interpolation.

#include <array>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Edges sharper than this stay sharp in pictures, unless somebody says otherwise: 35 degrees.
inline constexpr double kCreaseAngle = 0.61086523819801535;

/// Unit normals per corner of every face: averaged by angle over the faces around the vertex whose normals
/// differ by less than `crease_angle` (radians) from the face's own.
std::vector<std::array<Vec3f, 3>> creaseNormals(const Surface& surface, double crease_angle);  // [F]

/// The mean direction of three corners' vectors at a point; `otherwise` where they cancel.
Vec3 interpolatedNormal(const std::array<Vec3f, 3>& corners, const Vec3& barycentric, const Vec3& otherwise);

}  // namespace heatskin
