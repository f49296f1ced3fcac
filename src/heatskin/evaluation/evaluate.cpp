#include "heatskin/evaluation/evaluate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/metrics/flip.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/ssim.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

constexpr std::uint64_t kSurfaceStream = 40;  // not one of a fit: no sample was trained on on purpose
constexpr float kHalf = 0.5f;

std::span<const float> flat(const std::vector<Vec3f>& colors) {
  static_assert(sizeof(Vec3f) == 3 * sizeof(float));
  return {colors.empty() ? nullptr : colors[0].data(), 3 * colors.size()};
}

Result<void> measureSurface(const KernelTexture& texture, const Reference& reference,
                            const EvaluationOptions& options, Evaluation& result) {
  const auto points = sampleSurface(texture.surface(), options.surface_samples, options.seed, kSurfaceStream);
  std::vector<Vec3f> truth(points.size()), colors(points.size());
  std::vector<float> weights(points.size());
  reference.colors(points, truth, options.filter);
  texture.colors(points, colors, weights);
  const auto decibels = psnr(flat(truth), flat(colors));
  if (!decibels) return decibels.error();
  result.surface_psnr = *decibels;
  result.surface_samples = points.size();

  std::size_t below_half = 0, below_one = 0;
  double sum = 0;
  float largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    below_half += weights[i] < kHalf ? 1 : 0;
    below_one += weights[i] < 1 ? 1 : 0;
    sum += static_cast<double>(weights[i]);
    largest = std::max(largest, (truth[i] - colors[i]).cwiseAbs().maxCoeff());
  }
  const auto count = static_cast<double>(points.size());
  result.coverage_below_half = static_cast<double>(below_half) / count;
  result.coverage_below_one = static_cast<double>(below_one) / count;
  result.coverage_mean = sum / count;
  result.surface_max_error = static_cast<double>(largest);

  std::vector<double> rates;
  for (int run = 0; run < options.query_runs; ++run) {
    Stopwatch watch;
    texture.colors(points, colors);
    rates.push_back(count * 1e-6 / std::max(watch.lap(), 1e-9));
  }
  if (!rates.empty()) result.query_mpoints_s = median(rates);
  return {};
}

Result<PictureQuality> compare(const ImageF& truth, const ImageF& test, const EvaluationOptions& options) {
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

/// Arithmetic means, view by view.
PictureQuality meanOf(const std::vector<PictureQuality>& views) {
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

Result<void> measureViews(const KernelTexture& texture, const Reference& reference,
                          const EvaluationOptions& options, Progress& progress, Evaluation& result) {
  const ColorSource truth = reference.colorSource(options.filter), fitted = textureColors(texture);
  const std::vector<Camera> cameras = standardViews(texture.surface());
  progress.begin("comparing views", cameras.size());
  SquaredError pooled;
  for (const Camera& camera : cameras) {
    if (progress.cancelled()) return failure("cancelled");
    const int size = options.view_size;
    const ImageF expected = renderAlbedo(texture.surface(), camera, size, size, truth).image;
    const ImageF drawn = renderAlbedo(texture.surface(), camera, size, size, fitted).image;
    // An object seen edge-on may cover no pixel of a view; there is nothing to compare then.
    if (std::find_if(expected.mask.begin(), expected.mask.end(), [](std::uint8_t m) { return m != 0; }) ==
        expected.mask.end())
      continue;
    const auto quality = compare(expected, drawn, options);
    if (!quality) return quality.error();
    result.views.push_back(*quality);
    const auto squared = squaredError(expected, drawn);
    if (!squared) return squared.error();
    pooled += *squared;
    progress.update(result.views.size(), "");
  }
  progress.end();
  result.view_mean = meanOf(result.views);
  result.view_psnr_pooled = psnrFromMse(pooled.mean());
  return {};
}

Result<void> measureAtlas(const KernelTexture& texture, const Reference& reference,
                          const EvaluationOptions& options, Evaluation& result) {
  if (reference.appearance().texturedFaces() == 0) {
    result.atlas_missing = "the reference has no texture";
    return {};
  }
  const auto pair = atlasPair(texture, reference, options.atlas_size, options.filter);
  if (!pair) {
    result.atlas_missing = "the reference's texture coordinates cover no texel";
    return {};
  }
  const auto quality = compare(pair->reference, pair->fitted, options);
  if (!quality) return quality.error();
  result.atlas = *quality;
  return {};
}

}  // namespace

Result<Evaluation> evaluate(const KernelTexture& texture, const Reference& reference,
                            const EvaluationOptions& options, Progress& progress) {
  Evaluation result;
  result.filter = options.filter;
  progress.begin("measuring on the surface", 0);
  if (auto measured = measureSurface(texture, reference, options, result); !measured) return measured.error();
  if (options.seam_samples > 0) {
    const auto jumpOf = [&](const ColorSource& colors) -> std::optional<SeamJump> {
      const SeamJump jump = seamJump(texture.surface(), colors, options.seam_samples, options.seed);
      if (jump.points == 0) return std::nullopt;
      return jump;
    };
    result.seam = jumpOf(textureColors(texture));
    result.reference_seam = jumpOf(reference.colorSource(options.filter));
  }
  progress.end();
  if (progress.cancelled()) return failure("cancelled");
  if (options.atlas_size > 0) {
    progress.begin("comparing the atlas", 0);
    if (auto measured = measureAtlas(texture, reference, options, result); !measured) return measured.error();
    progress.end();
  }
  if (progress.cancelled()) return failure("cancelled");
  if (options.view_size > 0) {
    if (auto measured = measureViews(texture, reference, options, progress, result); !measured)
      return measured.error();
  }
  return result;
}

Result<Evaluation> evaluate(const KernelTexture& texture, const Appearance& reference,
                            const EvaluationOptions& options, Progress& progress) {
  return evaluate(texture, Reference(texture.surface(), reference), options, progress);
}

}  // namespace heatskin
