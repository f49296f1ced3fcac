#pragma once

// The figures of a texture: what can be asked for, and what comes of it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/surface/fit_target.h"

namespace heatskin {

class LpipsModel;

/// Order statistics of the jump over edge points: 255 times the largest difference of a colour channel, from
/// colours before rounding to 8 bits. Zeros without points.
struct SeamJump {
  double median = 0;
  double p99 = 0;
  double maximum = 0;
  double above_one = 0;  ///< share of points whose jump is more than one 8-bit level
  std::size_t points = 0;
};

/// Samples per pixel of the five frames; two seeds then differed by 0.011 dB on spot (docs/results/local.md).
inline constexpr int kFiveFrameSamples = 128;

struct EvaluationOptions {
  std::size_t surface_samples = 200'000;
  std::size_t seam_samples = 100'000;  ///< points on edges; 0: no seam jump
  int atlas_size = 1024;               ///< side in texels; 0: no atlas
  int view_size = 512;                 ///< side in pixels; 0: no views
  Filter filter = Filter::kAuto;       ///< of the ground truth, everywhere; the paper's tables use kPaper
  bool flip = false;                   ///< also FLIP, on views and atlas
  const LpipsModel* lpips = nullptr;   ///< also LPIPS
  int five_frame_samples = 0;          ///< per pixel; 0: no five frames, else at best kFiveFrameSamples
  int query_runs = 5;                  ///< timed runs over the surface samples; 0: no query rate
  std::uint64_t seed = 1;              ///< of the sample points; the same as the command line's default
};

/// Quality of one picture against the ground truth drawn the same way, over its foreground.
struct PictureQuality {
  double psnr = 0;  ///< dB; infinite if identical
  double ssim = 0;
  std::optional<double> flip, lpips;
  std::size_t pixels = 0;  ///< that count
};

/// What one material of the reference contributes to the figures on the surface.
struct MaterialQuality {
  int material = -1;     ///< index into Asset::materials of the reference; -1: the default material
  double share = 0;      ///< of the visible area
  double psnr = 0;       ///< dB; infinite if identical
  double uncovered = 0;  ///< part of its visible area with a weight sum below 0.5
};

/// Angles between directions and those of the reference, in degrees.
struct AngleError {
  double mean_deg = 0;
  double p95_deg = 0;
};

/// What one group of channels contributes, on the surface samples. Values count as parts of the group's
/// range.
struct ChannelQuality {
  std::string name;
  double psnr = 0;       ///< dB against the range; infinite if identical
  double max_error = 0;  ///< largest difference

  /// Of alpha, if some materials are cut out (MASK): the area that both show over the area that one of them
  /// shows, of these materials.
  std::optional<double> iou = {};

  /// Of normals ("normal", also for "object_normal" of a texture, and "clearcoat_normal"): angles to those of
  /// the reference, in degrees, where it has a normal map; such groups have no `psnr`. Of "anisotropy":
  /// angles between lines, whichever way directions point, where it has a map, each point as much as it is
  /// anisotropic there; `psnr` is that of the vectors.
  std::optional<AngleError> angles = {};

  /// What the group's figure is: angles, or decibels.
  bool isNormal() const { return angles && name != "anisotropy"; }
};

/// Five lit pictures with floor and background, equivalent to the measure of the HKTex authors
/// (evaluation/five_frame.h).
struct FiveFrameQuality {
  double psnr = 0;  ///< dB, of one squared error over all frames and pixels; infinite if identical
  double ssim = 0, ms_ssim = 0;  ///< means over the frames
  std::optional<double> lpips;
  int samples = 0;  ///< per pixel
};

struct Evaluation {
  // On the surface samples, weighted by the reference's visibility: what nobody sees does not count.
  double surface_psnr = 0;  ///< of base_color: dB over all samples and channels; infinite if identical
  double surface_psnr_nearest = 0;   ///< the same against the nearest texel (kPaper's, if that is the filter)
  double surface_psnr_filtered = 0;  ///< and against what the asset's samplers give: what renderers show
  double surface_max_error = 0;      ///< of base_color: largest channel difference, 0..1
  double coverage_below_half = 0;    ///< share of samples with a weight sum below 0.5
  double coverage_defect = 0;        ///< share of samples with a weight sum below 0.5 that are also wrong by
                                     ///< more than 2/255 in some channel; elsewhere the mean colour is right
  double coverage_below_one = 0;     ///< share with a weight sum below 1: these lean towards the mean colour
  double coverage_mean = 0;          ///< mean weight sum
  std::size_t surface_samples = 0;
  double visible_share = 1;                ///< of the area: mean visibility of the samples
  std::vector<MaterialQuality> materials;  ///< those with visible samples, by number
  std::vector<ChannelQuality> channels;  ///< groups the texture and the reference both have. What nobody sees
                                         ///< counts for those that matter everywhere (ChannelGroup)
  Filter filter = Filter::kAuto;
  std::string filter_used;     ///< Appearance::filterUsed()
  double query_mpoints_s = 0;  ///< median over the runs, millions of points per second, all threads

  // The 8 standard views without light. The values for all views are arithmetic means of the views' values
  // (decibels for PSNR), as the paper averages over meshes; the pooled PSNR is that of all foreground pixels
  // together.
  std::vector<PictureQuality> views;
  PictureQuality view_mean;
  double view_psnr_pooled = 0;

  // In texture space, if the reference has texture coordinates.
  std::optional<PictureQuality> atlas;
  std::string atlas_missing;  ///< why there is no atlas; empty if there is one or none was asked for

  // At the same points of edges, if there are edges with two faces. What the reference has itself (colours
  // that change at an edge, UV seams that do not match) is no fault of the texture.
  std::optional<SeamJump> seam, reference_seam;

  std::optional<FiveFrameQuality> five_frame;  ///< if asked for
};

}  // namespace heatskin
