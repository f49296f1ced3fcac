#include "heatskin/evaluation/picture_quality.h"

#include <algorithm>

#include "heatskin/metrics/flip.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/ssim.h"

namespace heatskin {

Result<PictureQuality> pictureQuality(const ImageF& truth, const ImageF& test,
                                      const EvaluationOptions& options) {
  PictureQuality quality;
  const auto decibels = psnr(truth, test);
  if (!decibels) return decibels.error();
  quality.psnr = *decibels;
  const auto similarity = ssim(truth, test);
  if (!similarity) return similarity.error();
  quality.ssim = *similarity;
  if (options.flip) {
    const auto visible = flip(truth, test);
    if (!visible) return visible.error();
    quality.flip = *visible;
  }
  if (options.lpips != nullptr) {
    const auto distance = lpips(truth, test, *options.lpips);
    if (!distance) return distance.error();
    quality.lpips = *distance;
  }
  quality.pixels = static_cast<std::size_t>(
      std::count_if(truth.mask.begin(), truth.mask.end(), [](std::uint8_t m) { return m != 0; }));
  return quality;
}

PictureQuality meanQuality(std::span<const PictureQuality> views) {
  PictureQuality sum;
  if (views.empty()) return sum;
  if (views[0].flip) sum.flip = 0;
  if (views[0].lpips) sum.lpips = 0;
  for (const PictureQuality& view : views) {
    sum.psnr += view.psnr;
    sum.ssim += view.ssim;
    if (sum.flip) *sum.flip += *view.flip;
    if (sum.lpips) *sum.lpips += *view.lpips;
    sum.pixels += view.pixels;
  }
  const auto count = static_cast<double>(views.size());
  sum.psnr /= count;
  sum.ssim /= count;
  if (sum.flip) *sum.flip /= count;
  if (sum.lpips) *sum.lpips /= count;
  return sum;
}

}  // namespace heatskin
