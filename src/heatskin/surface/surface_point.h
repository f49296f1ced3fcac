#pragma once

#include <cstdint>

#include "heatskin/base/vec.h"

namespace heatskin {

/// A place on a Surface: a face and barycentric coordinates (non-negative, sum 1) for its corners 0, 1, 2.
struct SurfacePoint {
  std::uint32_t face = 0;
  Vec3 barycentric = {1.0 / 3, 1.0 / 3, 1.0 / 3};
};

}  // namespace heatskin
