#pragma once

// LDR-FLIP: how visible the difference is to someone who flips between two pictures at a given distance.
// Andersson, Nilsson, Akenine-Moller, Oskarsson, Astrom, Fairchild, "FLIP: a difference evaluator for
// alternating images", HPG 2020. Complete: contrast sensitivity filters in YCxCz, Hunt-adjusted L*a*b* with
// HyAB distance, redistribution, and edge and point features.
//
// Windows that leave the picture see its border repeated, as in the authors' program. Symmetric in its
// arguments to the bit. With a mask, the mean runs over the pixels that count (MaskOptions).

#include <array>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"
#include "heatskin/metrics/image_pair.h"

namespace heatskin {

/// Pixels per degree of visual angle for a monitor of this width and resolution.
double pixelsPerDegree(double distance_m, double monitor_width_m, double monitor_width_px);

struct FlipOptions {
  /// 0.7 m from a monitor 0.7 m wide with 3840 pixels: the authors' default. 1..1000.
  double pixels_per_degree = 67.0206432765823;
  MaskOptions mask;
};

/// The mean and the map it was taken from.
struct FlipResult {
  double mean = 0.0;
  std::vector<float> map;  // [height, width], 0 (no visible difference) .. 1
};

/// Mean FLIP in 0..1; 0 for identical pictures. Values outside 0..1 are clamped first.
Result<double> flip(const ImageF& reference, const ImageF& test, const FlipOptions& options = {});

/// Mean FLIP with its map.
Result<FlipResult> flipMap(const ImageF& reference, const ImageF& test, const FlipOptions& options = {});

/// The steps of the definition that work on one colour; public so that they can be tested and plotted.
namespace flip_steps {

using Color = std::array<double, 3>;

Color ycxczFromSrgb(const Color& srgb);
Color linearFromYcxcz(const Color& ycxcz);
Color huntLabFromLinear(const Color& linear);

/// |dL| + |d(a, b)|.
double hyab(const Color& a, const Color& b);

/// HyAB distance to 0..1; the largest distance (green to blue) maps to 1.
double redistribute(double hyab_distance);

}  // namespace flip_steps

}  // namespace heatskin
