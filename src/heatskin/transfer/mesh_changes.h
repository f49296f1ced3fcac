#pragma once

// What an edit changed of a mesh: which triangles are still there, and which are new.

#include <cstdint>
#include <vector>

#include "heatskin/surface/face_matching.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct MeshChanges {
  FaceMatching same;                  ///< faces of `before` that `after` has, corner by corner
  std::vector<std::uint8_t> changed;  // [F of after] nonzero: `before` has no such face
  std::vector<std::uint32_t> old;     // [F of after] the face of `before`, or kNone
  double changed_area = 0;            ///< a part of the area of `after`
  double removed_area = 0;            ///< a part of the area of `before`: moved, remeshed or deleted
};

/// Compares in the coordinates of the assets. Corners are the same if they are within a hundred-thousandth of
/// the longest side: what float32 and text formats make of one position. Faces may come in any order and be
/// rotated; a face that was turned round is another one.
MeshChanges meshChanges(const Surface& before, const Surface& after);

}  // namespace heatskin
