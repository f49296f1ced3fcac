#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin {

/// How far points on a surface lie apart around each of them: the side of the square that every point would
/// have for itself at the density of the disc that reaches to its `neighbours`-th nearest other point. Where
/// there are fewer points, the farthest other one counts; 0 for a single point. Distances are those in space.
std::vector<double> pointSpacing(std::span<const Vec3> points, std::size_t neighbours);

}  // namespace heatskin
