#pragma once

namespace heatskin {

/// Bytes that building a surface takes at its peak, about; for the memory budget.
double surfaceBytes(double triangles, double vertices);

}  // namespace heatskin
