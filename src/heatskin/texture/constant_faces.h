#pragma once

// Faces whose values need no kernels. A texture returns them as they are.

#include <cstdint>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ConstantFaces {
  std::vector<std::uint32_t> row_of_face;  // [F] row of values, kNone: has kernels; empty: no such face
  ChannelTable values;                     // [rows, C] within the ranges of the layout

  bool empty() const { return row_of_face.empty(); }

  /// The C values of a face; null if kernels decide.
  const float* find(std::uint32_t face) const {
    return empty() || row_of_face[face] == kNone ? nullptr : values.row(row_of_face[face]);
  }
};

}  // namespace heatskin
