#include "heatskin/evaluation/color_comparison.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/picture_quality.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Pixels around the foreground that metrics may see: more than the reach of SSIM's window (5) and of FLIP's
/// filters (10). Further out both pictures are background, which changes no figure and takes time.
constexpr int kWindowMargin = 16;

/// The foreground with a margin: x, y, width, height; nothing if there is no foreground.
std::optional<std::array<int, 4>> foregroundWindow(const ImageF& picture) {
  int left = picture.width, right = -1, top = picture.height, bottom = -1;
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      if (picture.mask[picture.index(x, y)] == 0) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  if (right < 0) return std::nullopt;
  left = std::max(0, left - kWindowMargin);
  top = std::max(0, top - kWindowMargin);
  right = std::min(picture.width - 1, right + kWindowMargin);
  bottom = std::min(picture.height - 1, bottom + kWindowMargin);
  return std::array<int, 4>{left, top, right - left + 1, bottom - top + 1};
}

ImageF cropped(const ImageF& picture, const std::array<int, 4>& window) {
  const auto [left, top, width, height] = window;
  ImageF result{width, height, {}, {}};
  result.rgb.resize(3 * result.pixelCount());
  result.mask.resize(result.pixelCount());
  for (int y = 0; y < height; ++y) {
    std::copy_n(picture.pixel(left, top + y), 3 * static_cast<std::size_t>(width), result.pixel(0, y));
    std::copy_n(picture.mask.data() + picture.index(left, top + y), width,
                result.mask.data() + result.index(0, y));
  }
  return result;
}

}  // namespace

ColorComparison::ColorComparison(const Surface& surface, const Appearance& truth,
                                 const EvaluationOptions& options)
    : surface_(&surface), options_(options) {
  transparency_.alpha = appearanceAlpha(truth, options.filter);
  if (transparency_.opaque()) return;
  transparency_.see_through.resize(truth.faceCount());
  for (std::uint32_t f = 0; f < transparency_.see_through.size(); ++f)
    transparency_.see_through[f] = truth.faceOpaque(f) ? 0 : 1;
}

Result<ColorComparison> ColorComparison::create(const Surface& surface, const Appearance& truth,
                                                EvaluationOptions options) {
  options.flip = true;
  options.lpips = nullptr;
  ColorComparison result(surface, truth, options);
  result.points_ = sampleSurface(surface, options.surface_samples, options.seed, kEvaluationStream);
  std::vector<Vec3f> colors(result.points_.size());
  std::vector<float> visible(result.points_.size());
  truth.colors(result.points_, colors, visible, options.filter);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    if (!(visible[i] > 0)) continue;
    result.points_[kept++] = result.points_[i];
    result.truth_.push_back(colors[i]);
    result.visible_.push_back(visible[i]);
  }
  result.points_.resize(kept);
  if (kept == 0) return inputError("nothing of the asset is visible: there is nothing to compare");
  if (options.view_size > 0) {
    const ColorSource own = appearanceColors(truth, options.filter);
    for (const Camera& camera : standardViews(surface)) {
      const ImageF picture = result.drawn(camera, own);
      // An object seen edge-on may cover no pixel of a view; there is nothing to compare then.
      if (const auto window = foregroundWindow(picture))
        result.views_.push_back({camera, *window, cropped(picture, *window)});
    }
  }
  return result;
}

ImageF ColorComparison::drawn(const Camera& camera, const ColorSource& colors) const {
  RenderOptions pictures;
  pictures.transparency = &transparency_;  // all show the same parts of the surface
  return renderAlbedo(*surface_, camera, options_.view_size, options_.view_size, colors, pictures).image;
}

Result<ColorQuality> ColorComparison::measure(const ColorSource& colors, Progress& progress) const {
  ColorQuality quality;
  std::vector<Vec3f> got(points_.size());
  for (std::size_t begin = 0; begin < points_.size(); begin += kColorBatch) {
    const std::size_t count = std::min(kColorBatch, points_.size() - begin);
    colors(std::span(points_).subspan(begin, count), std::span(got).subspan(begin, count));
  }
  double squared = 0, seen = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    squared += static_cast<double>(visible_[i]) * (truth_[i] - got[i]).cast<double>().squaredNorm();
    seen += static_cast<double>(visible_[i]);
  }
  quality.surface_psnr = psnrFromMse(squared / (3 * seen));

  std::vector<PictureQuality> views;
  for (const View& view : views_) {
    if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
    const auto one = pictureQuality(view.truth, cropped(drawn(view.camera, colors), view.window), options_);
    if (!one) return one.error();
    views.push_back(*one);
  }
  quality.views = meanQuality(views);
  return quality;
}

}  // namespace heatskin
