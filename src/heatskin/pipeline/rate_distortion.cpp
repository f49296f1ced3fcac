#include "heatskin/pipeline/rate_distortion.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluation/color_comparison.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/pipeline/compressed_stream.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/vertex_colors.h"

namespace heatskin {
namespace {

constexpr std::size_t kBytesPerVertexColor = 3;

/// One asset's measurement, row by row.
class Measurement {
 public:
  Measurement(const LoadedAsset& asset, const RateDistortionJob& job, const ColorComparison& comparison)
      : asset_(asset),
        job_(job),
        comparison_(comparison),
        progress_(job.progress != nullptr ? *job.progress : silentProgress()) {}

  Result<void> measureKernels() {
    std::vector<std::size_t> budgets = job_.budgets;
    std::sort(budgets.begin(), budgets.end());
    budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
    double spent = 0, last = 0;
    std::size_t last_budget = 0;
    for (const std::size_t budget : budgets) {
      // A fit takes time in proportion to its kernels (docs/fitting.md).
      const double foretold =
          last_budget == 0 ? 0 : last * static_cast<double>(budget) / static_cast<double>(last_budget);
      if (job_.max_seconds > 0 && last_budget > 0 && spent + foretold > job_.max_seconds) {
        outcome_.left_out.push_back(budget);
        continue;
      }
      auto row = kernelRow(budget);
      if (!row) return row.error();
      last = row->seconds;
      last_budget = budget;
      spent += last;
      outcome_.rows.push_back(std::move(*row));
    }
    return {};
  }

  Result<void> measureImages() {
    const UvTextures textures(asset_);
    outcome_.coordinates = textures.coordinates();
    outcome_.images = textures.images();
    if (textures.empty()) {
      outcome_.images_missing = "no face of the asset has a base colour texture";
      return {};
    }
    std::vector<ImageCoding> codings = {{ImageFormat::kPng, 0}};
    for (const int quality : job_.jpeg_qualities)
      codings.push_back({ImageFormat::kJpeg, quality});
    for (const int quality : job_.webp_qualities)
      codings.push_back({ImageFormat::kWebp, quality});
    int sizes = 1;
    while (std::max(textures.width(sizes), textures.height(sizes)) >= job_.smallest_image)
      ++sizes;
    progress_.begin("encoding and measuring UV textures", static_cast<std::size_t>(sizes) * codings.size());
    std::size_t done = 0;
    std::vector<RateRow> rows;
    for (int halvings = 0; halvings < sizes; ++halvings) {
      Stopwatch watch;
      const std::vector<Image> images = textures.halved(halvings);
      const double resizing = watch.lap();
      std::optional<RateRow> lossless;  // whatever the format, the texels are the same
      for (const ImageCoding& coding : codings) {
        if (progress_.cancelled()) return failure("cancelled", error_code::kCancelled);
        watch.lap();
        const auto coded = textures.code(images, coding);
        if (!coded) return coded.error();
        RateRow row;
        if (coding.quality == 0 && lossless) row = *lossless;
        row.kind = coding.format == ImageFormat::kPng    ? RateKind::kPng
                   : coding.format == ImageFormat::kJpeg ? RateKind::kJpeg
                                                         : RateKind::kWebp;
        row.bytes = coded->bytes + textures.coordinates().bytes;
        row.raw_bytes = coded->bytes + textures.coordinates().raw_bytes;
        row.seconds = resizing + watch.lap();
        row.width = textures.width(halvings);
        row.height = textures.height(halvings);
        row.quality = coding.quality;
        if (!(coding.quality == 0 && lossless)) {
          if (auto measured = measure(appearanceColors(coded->appearance, job_.evaluation.filter), row);
              !measured)
            return measured;
          if (coding.quality == 0) lossless = row;
        }
        rows.push_back(std::move(row));
        progress_.update(++done, fmt::format("{} x {}", rows.back().width, rows.back().height));
      }
    }
    progress_.end();
    // One format after the other, large images first, as they were made.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const RateRow& a, const RateRow& b) { return a.kind < b.kind; });
    std::move(rows.begin(), rows.end(), std::back_inserter(outcome_.rows));
    return {};
  }

  Result<void> measureVertexColors() {
    const Surface& surface = *asset_.surface;
    const ColorSource truth = appearanceColors(asset_.appearance, job_.evaluation.filter);
    const AlphaSource alpha = appearanceAlpha(asset_.appearance, job_.evaluation.filter);
    for (int level = 0; level <= kMaxSubdivisions; ++level) {
      const std::size_t vertices = subdividedVertices(surface, level);
      if (kBytesPerVertexColor * vertices > job_.max_vertex_bytes) {
        if (level == 0) {
          outcome_.vertex_colors_missing =
              fmt::format("the mesh has {}, whose colours take more than any other row is worth",
                          plural(vertices, "vertex", "vertices"));
        }
        break;
      }
      progress_.begin("fitting vertex colours", 0);
      Stopwatch watch;
      const VertexColors colors = VertexColors::fit(surface, level, truth, alpha);
      RateRow row;
      row.kind = RateKind::kVertexColors;
      row.seconds = watch.lap();
      row.level = level;
      row.vertices = vertices;
      row.raw_bytes = kBytesPerVertexColor * vertices;
      std::vector<std::uint8_t> stream;  // vertices of a buffer have a multiple of four bytes
      for (const auto& color : colors.colors())
        stream.insert(stream.end(), {color[0], color[1], color[2], 0});
      row.bytes = std::min(row.raw_bytes, compressedStreamBytes(stream, 4));
      if (auto measured = measure(
              [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) { colors.at(points, out); },
              row);
          !measured)
        return measured;
      const bool perfect = row.surface_psnr >= kPerfectPsnr;
      outcome_.rows.push_back(std::move(row));
      progress_.end();
      if (progress_.cancelled()) return failure("cancelled", error_code::kCancelled);
      if (perfect) break;  // more vertices bring nothing
    }
    return {};
  }

  RateDistortion finish() {
    if (job_.picture_size > 0)
      outcome_.reference = pictures(appearanceColors(asset_.appearance, job_.evaluation.filter));
    outcome_.filter_used = asset_.appearance.filterUsed(job_.evaluation.filter);
    return std::move(outcome_);
  }

 private:
  Result<RateRow> kernelRow(std::size_t budget) {
    FitJob job;
    job.config = job_.config;
    job.config.train.budget.automatic = false;
    setKernelBudget(job.config, budget);
    job.keep_budget = true;
    job.evaluate = false;
    job.control.progress = job_.progress;
    job.control.cache = job_.cache;
    job.control.notify = job_.notify;
    Stopwatch watch;
    auto fitted = fitProduct(asset_, job);
    if (!fitted) return fitted.error();
    if (!fitted->fit.complete) return failure("cancelled", error_code::kCancelled);
    RateRow row;
    row.kind = RateKind::kKernels;
    row.seconds = watch.lap() + asset_.surface_seconds;
    row.bytes = row.raw_bytes = fitted->stored->product.model_bytes;
    row.kernels = fitted->stored->product.kernels.size();
    row.budget = budget;
    outcome_.notices.insert(outcome_.notices.end(), fitted->notices.begin(), fitted->notices.end());

    const KernelTexture& texture = fitted->stored->texture;
    const auto reference = Reference::match(texture.surface(), *asset_.surface, asset_.appearance,
                                            displayPath(asset_.asset.path));
    if (!reference) return reference.error();
    if (job_.picture_size > 0 && !detail_) {
      progress_.begin("looking for the worst place", 0);
      detail_ = worstPlace(pictureSources(texture, *reference)).camera;
      progress_.end();
    }
    // All rows are measured at points of the asset's surface.
    const ColorSource colors = [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
      std::vector<SurfacePoint> there(points.size());
      reference->toTexture(points, there);
      texture.colors(there, out);
    };
    progress_.begin(fmt::format("measuring {} kernels", grouped(row.kernels)), 0);
    if (auto measured = measure(colors, row); !measured) return measured.error();
    progress_.end();
    return row;
  }

  Result<void> measure(const ColorSource& colors, RateRow& row) {
    const auto quality = comparison_.measure(colors, progress_);
    if (!quality) return quality.error();
    row.surface_psnr = quality->surface_psnr;
    row.view_psnr = quality->views.psnr;
    row.view_ssim = quality->views.ssim;
    row.view_flip = quality->views.flip.value_or(0);
    if (job_.picture_size > 0) row.pictures = pictures(colors);
    return {};
  }

  std::vector<ImageF> pictures(const ColorSource& colors) const {
    RenderOptions options;
    options.supersampling = 2;
    options.transparency = &comparison_.transparency();
    options.transparent_background = true;
    std::vector<ImageF> result;
    for (const Camera& camera :
         {defaultView(*asset_.surface), detail_.value_or(defaultView(*asset_.surface))}) {
      result.push_back(
          renderAlbedo(*asset_.surface, camera, job_.picture_size, job_.picture_size, colors, options).image);
    }
    return result;
  }

  const LoadedAsset& asset_;
  const RateDistortionJob& job_;
  const ColorComparison& comparison_;
  Progress& progress_;
  RateDistortion outcome_;
  std::optional<Camera> detail_;
};

}  // namespace

RateCurve RateDistortion::curve(const std::function<bool(RateKind)>& wanted) const {
  std::vector<RatePoint> points;
  for (const RateRow& row : rows) {
    if (wanted(row.kind) && row.bytes > 0)
      points.push_back({static_cast<double>(row.bytes), row.surface_psnr});
  }
  return RateCurve(std::move(points));
}

RateCurve RateDistortion::kernelCurve() const {
  return curve([](RateKind kind) { return kind == RateKind::kKernels; });
}

RateCurve RateDistortion::imageCurve() const {
  return curve(isImage);
}

RateCurve RateDistortion::vertexColorCurve() const {
  return curve([](RateKind kind) { return kind == RateKind::kVertexColors; });
}

const RateRow* RateDistortion::bestWithin(double bytes, const std::function<bool(RateKind)>& wanted) const {
  const RateRow* best = nullptr;
  for (const RateRow& row : rows) {
    if (!wanted(row.kind) || static_cast<double>(row.bytes) > bytes) continue;
    if (best == nullptr || row.surface_psnr > best->surface_psnr ||
        (row.surface_psnr == best->surface_psnr && row.bytes < best->bytes))
      best = &row;
  }
  return best;
}

Result<RateDistortion> measureRateDistortion(const LoadedAsset& asset, const RateDistortionJob& job) {
  Progress& progress = job.progress != nullptr ? *job.progress : silentProgress();
  progress.begin("drawing the asset", 0);
  const auto comparison = ColorComparison::create(*asset.surface, asset.appearance, job.evaluation);
  progress.end();
  if (!comparison) {
    const std::string name = asset.asset.path.empty() ? std::string() : displayPath(asset.asset.path) + ": ";
    return comparison.error().prefixed(name);
  }
  Measurement measurement(asset, job, *comparison);
  if (auto done = measurement.measureKernels(); !done) return done.error();
  if (auto done = measurement.measureImages(); !done) return done.error();
  if (auto done = measurement.measureVertexColors(); !done) return done.error();
  return measurement.finish();
}

}  // namespace heatskin
