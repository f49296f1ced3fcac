#pragma once

// Whether a file still has the triangles that kernels were stored for, in the same order.

#include <string>

#include "heatskin/io/asset.h"

namespace heatskin {

/// 32 hexadecimal digits from the positions (float32) of all corners of all triangles in the order of the
/// file, instances counted. Positions are in the coordinates of their mesh: programs that take a node's
/// matrix apart and put it together again change its last digits.
std::string geometryFingerprint(const Asset& asset);

}  // namespace heatskin
