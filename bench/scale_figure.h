#pragma once

// The figure of `heatskin bench scale`: four small plots over the number of vertices, both axes logarithmic.

#include <string>
#include <vector>

namespace heatskin::bench {

struct FigurePoint {
  std::string panel;   ///< "setup_s", "step_ms", "query_mpoints_s" or "beyond_mb"
  std::string method;  ///< one line each
  double vertices = 0;
  double value = 0;
  bool extrapolated = false;  ///< drawn hollow, with dashes before it
};

/// An SVG document. Points of a line come in the order of their vertices.
std::string scaleFigure(const std::vector<FigurePoint>& points);

}  // namespace heatskin::bench
