#pragma once

// The figure of `heatskin bench scale` and of study scaling: four small plots over the number of vertices,
// both axes logarithmic.

#include <array>
#include <string>
#include <vector>

#include "heatskin/figures/plot.h"

namespace heatskin::study {

/// What each of the four plots shows.
inline constexpr std::array kScalePanels = {"setup_s", "step_ms", "query_mpoints_s", "beyond_mb"};

struct ScalePoint {
  std::string panel;   ///< one of kScalePanels
  std::string method;  ///< one line each
  std::string title;   ///< of the line
  double vertices = 0;
  double value = 0;
  bool extrapolated = false;  ///< drawn hollow, with dashes before it
};

/// Points of a line come in the order of their vertices, lines one after the other. Panels are in the order
/// of kScalePanels; whoever has more to show adds to them.
Plot scalePlot(const std::vector<ScalePoint>& points);

}  // namespace heatskin::study
