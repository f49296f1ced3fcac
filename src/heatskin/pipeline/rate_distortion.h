#pragma once

// Quality against bytes and seconds: kernels of several budgets beside UV textures in several sizes and
// codings, and beside vertex colours on several tessellations. All are measured at the same points and in the
// same views, against what the asset's samplers give.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/image_f.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/pipeline/rate_curve.h"
#include "heatskin/pipeline/uv_textures.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// What colours are stored as.
enum class RateKind { kKernels, kPng, kJpeg, kWebp, kVertexColors };

/// In reports; in the order of the enum.
inline constexpr std::string_view kRateKindNames[] = {"kernels", "png", "jpeg", "webp", "vertex_colors"};

/// True for UV textures.
constexpr bool isImage(RateKind kind) {
  return kind == RateKind::kPng || kind == RateKind::kJpeg || kind == RateKind::kWebp;
}

/// One way to store the colours of the asset, measured.
struct RateRow {
  RateKind kind = RateKind::kKernels;
  std::size_t bytes = 0;      ///< that count: what is stored, compressed, texture coordinates included
  std::size_t raw_bytes = 0;  ///< with coordinates or vertex colours as they are before compression
  double seconds = 0;         ///< to make it: the whole fit; resizing and encoding; the solver

  double surface_psnr = 0;  ///< dB; infinite if identical
  double view_psnr = 0;     ///< this and the next two: means over the standard views
  double view_ssim = 0;
  double view_flip = 0;

  std::size_t kernels = 0;    ///< of kernels: as many as the product has
  std::size_t budget = 0;     ///< and as were allowed
  int width = 0, height = 0;  ///< of images: of the largest one
  int quality = 0;            ///< of images: 0 is lossless
  int level = 0;              ///< of vertex colours: midpoint subdivisions
  std::size_t vertices = 0;   ///< of vertex colours

  /// If pictures were asked for: the whole asset, and the place where the fewest kernels are worst. Without
  /// background (ImageF::mask is alpha).
  std::vector<ImageF> pictures;
};

struct RateDistortionJob {
  FitConfig config;                  ///< of every fit but for the kernel budget
  std::vector<std::size_t> budgets;  ///< of kernels

  /// Of all fits together, in seconds; 0: no bound. A budget that would probably exceed it is left out.
  double max_seconds = 0;

  std::vector<int> jpeg_qualities = {25, 60, 90, 98};
  std::vector<int> webp_qualities = {5, 30, 60, 85, 97, 0};  ///< 0: lossless
  int smallest_image = 32;  ///< side of the largest image, in texels, that is still tried

  /// Vertex colours that would take more are left out; before compression.
  std::size_t max_vertex_bytes = 1'000'000;

  /// surface_samples, view_size and seed count.
  EvaluationOptions evaluation;

  int picture_size = 0;  ///< side of the rows' pictures; 0: none

  Progress* progress = nullptr;               ///< may be null; its cancelled() stops the work
  PreprocessingCache* cache = nullptr;        ///< as in FitControl
  std::function<void(const Notice&)> notify;  ///< hears what fits have to say; may be empty
};

struct RateDistortion {
  std::vector<RateRow> rows;  ///< kernels, images, vertex colours; then by budget, size and quality, level
  UvCost coordinates;
  std::size_t images = 0;             ///< textures that UV rows are made of
  std::string images_missing;         ///< why there are no UV textures; empty if there are
  std::string vertex_colors_missing;  ///< why there are no vertex colours
  std::vector<std::size_t> left_out;  ///< budgets, because of max_seconds
  std::vector<ImageF> reference;      ///< pictures of the asset itself
  std::vector<Notice> notices;        ///< of the fits
  std::string filter_used;            ///< how the truth's textures were read

  /// Through the rows of some kinds; surface PSNR over bytes.
  RateCurve curve(const std::function<bool(RateKind)>& wanted) const;
  RateCurve kernelCurve() const;
  RateCurve imageCurve() const;  ///< the best of all formats
  RateCurve vertexColorCurve() const;

  /// The row of a kind with the highest surface PSNR that takes at most so many bytes; null: none.
  const RateRow* bestWithin(double bytes, const std::function<bool(RateKind)>& wanted) const;
};

/// Fails as fitProduct() does, when cancelled, or if nothing of the asset is visible. The same asset and job
/// give the same rows on any number of threads, but for seconds, and for max_seconds, which depends on them.
/// The asset is one that openAssetToFit() opened for the method of the configuration.
Result<RateDistortion> measureRateDistortion(const LoadedAsset& asset, const RateDistortionJob& job);

}  // namespace heatskin
