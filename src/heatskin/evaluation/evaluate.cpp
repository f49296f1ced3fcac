#include "heatskin/evaluation/evaluate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/evaluation/five_frame.h"
#include "heatskin/evaluation/normal_error.h"
#include "heatskin/evaluation/picture_quality.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/seam_jump.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

constexpr float kHalf = 0.5f;
constexpr float kWrong = 2.0f / 255;  // of a channel: more than the rounding of two 8-bit values

std::span<const float> flat(const std::vector<Vec3f>& colors) {
  static_assert(sizeof(Vec3f) == 3 * sizeof(float));
  return {colors.empty() ? nullptr : colors[0].data(), 3 * colors.size()};
}

/// Sums over surface samples, weighted by visibility.
struct SurfaceSums {
  double seen = 0, squared = 0, below_half = 0, below_one = 0, coverage = 0, wrong = 0;
  float largest = 0;

  void add(const Vec3f& truth, const Vec3f& color, float weight, float visible) {
    const auto v = static_cast<double>(visible);
    seen += v;
    squared += v * (truth - color).cast<double>().squaredNorm();
    below_half += weight < kHalf ? v : 0;
    below_one += weight < 1 ? v : 0;
    coverage += v * static_cast<double>(weight);
    const float error = (truth - color).cwiseAbs().maxCoeff();
    wrong += weight < kHalf && error > kWrong ? v : 0;
    largest = std::max(largest, error);
  }
  double psnr() const { return psnrFromMse(squared / (3 * seen)); }
};

/// Of what materials that are cut out show: `values` are alphas, `stride` apart.
std::optional<double> maskOverlap(const Appearance& appearance, std::span<const int> materials,
                                  std::span<const float> visible, const float* values, std::size_t stride) {
  std::map<int, std::optional<float>> cutoffs;
  double both = 0, either = 0;
  bool masked = false;
  for (std::size_t i = 0; i < materials.size(); ++i) {
    const auto [entry, is_new] = cutoffs.try_emplace(materials[i]);
    if (is_new) entry->second = appearance.maskCutoff(materials[i]);
    if (!entry->second) continue;
    masked = true;
    const bool shown = values[i * stride] >= *entry->second, wanted = visible[i] > 0;
    both += shown && wanted ? 1 : 0;
    either += shown || wanted ? 1 : 0;
  }
  if (!masked) return std::nullopt;
  return either > 0 ? both / either : 1.0;
}

/// One group after the other: its channels of the texture against the same of the reference.
std::vector<ChannelQuality> measureChannels(const KernelTexture& texture, const Reference& reference,
                                            std::span<const SurfacePoint> points,
                                            std::span<const float> visible, std::span<const int> materials,
                                            Filter filter) {
  const ChannelLayout& layout = texture.layout();
  std::vector<float> values(points.size() * layout.size()), truth;
  texture.values(points, values);
  std::vector<ChannelQuality> result;
  for (const ChannelGroup& group : layout.groups()) {
    const std::size_t slot = slotOf(group.name);
    if (isNormalChannel(group.name)) {
      ChannelQuality quality{std::string(kMaterialSlots[slot].channel), 0, 0, {}, {}};
      quality.angles = angleError(texture, reference, slot, points, values, visible, filter);
      if (quality.angles) result.push_back(std::move(quality));
      continue;
    }
    // Numbers in the frames of two meshes cannot be compared.
    if (group.isTangent() && reference.mapped()) continue;
    const auto alone = ChannelLayout::make({group});
    if (!alone || !Appearance::knows(*alone)) continue;
    truth.resize(points.size() * group.count);
    reference.values(points, *alone, truth, filter);
    const double range = static_cast<double>(group.range[1]) - static_cast<double>(group.range[0]);
    double squared = 0, counted = 0;
    ChannelQuality quality{group.name, 0, 0, {}, {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double counts = group.everywhere ? 1.0 : static_cast<double>(visible[i]);
      if (!(counts > 0)) continue;
      for (std::size_t c = 0; c < group.count; ++c) {
        const double error =
            static_cast<double>(values[i * layout.size() + group.first + c] - truth[i * group.count + c]) /
            range;
        squared += counts * error * error;
        quality.max_error = std::max(quality.max_error, std::abs(error));
      }
      counted += counts * static_cast<double>(group.count);
    }
    quality.psnr = psnrFromMse(squared / counted);
    if (slot == kAnisotropySlot)
      quality.angles = angleError(texture, reference, slot, points, values, visible, filter);
    if (group.name == "alpha") {
      quality.iou =
          maskOverlap(reference.appearance(), materials, visible, values.data() + group.first, layout.size());
    }
    result.push_back(std::move(quality));
  }
  return result;
}

Result<void> measureSurface(const KernelTexture& texture, const Reference& reference,
                            const EvaluationOptions& options, Evaluation& result) {
  const auto points =
      sampleSurface(texture.surface(), options.surface_samples, options.seed, kEvaluationStream);
  std::vector<Vec3f> truth(points.size()), colors(points.size());
  std::vector<float> weights(points.size()), visible(points.size());
  std::vector<int> materials(points.size());
  reference.look(points, truth, visible, materials, options.filter);
  texture.colors(points, colors, weights);
  const auto decibels = psnr(flat(truth), flat(colors));
  if (!decibels) return decibels.error();
  result.surface_samples = points.size();

  std::map<int, SurfaceSums> by_material;
  SurfaceSums all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(visible[i] > 0)) continue;
    all.add(truth[i], colors[i], weights[i], visible[i]);
    by_material[materials[i]].add(truth[i], colors[i], weights[i], visible[i]);
  }
  if (!(all.seen > 0)) return inputError("nothing of the reference is visible: there is nothing to compare");
  // Without alpha the same number as ever, to the bit.
  result.surface_psnr = reference.appearance().hasAlpha() ? all.psnr() : *decibels;
  const auto against = [&](Filter filter) {
    if (filter == options.filter) return result.surface_psnr;
    std::vector<Vec3f> other(points.size());
    std::vector<float> seen(points.size());
    std::vector<int> ignored(points.size());
    reference.look(points, other, seen, ignored, filter);
    SurfaceSums sums;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (seen[i] > 0) sums.add(other[i], colors[i], weights[i], seen[i]);
    }
    return sums.psnr();
  };
  result.surface_psnr_nearest = against(options.filter == Filter::kPaper ? Filter::kPaper : Filter::kNearest);
  result.surface_psnr_filtered = against(Filter::kAuto);
  result.coverage_below_half = all.below_half / all.seen;
  result.coverage_defect = all.wrong / all.seen;
  result.coverage_below_one = all.below_one / all.seen;
  result.coverage_mean = all.coverage / all.seen;
  result.surface_max_error = static_cast<double>(all.largest);
  result.visible_share = all.seen / static_cast<double>(points.size());
  for (const auto& [material, sums] : by_material) {
    result.materials.push_back({material, sums.seen / all.seen, sums.psnr(), sums.below_half / sums.seen});
  }

  // One group alone is base_color, and its figures are known.
  if (texture.layout().groups().size() == 1) {
    result.channels = {{"base_color", result.surface_psnr, result.surface_max_error, {}, {}}};
  } else {
    result.channels = measureChannels(texture, reference, points, visible, materials, options.filter);
  }

  const auto count = static_cast<double>(points.size());

  std::vector<double> rates;
  for (int run = 0; run < options.query_runs; ++run) {
    Stopwatch watch;
    texture.colors(points, colors);
    rates.push_back(count * 1e-6 / std::max(watch.lap(), 1e-9));
  }
  if (!rates.empty()) result.query_mpoints_s = median(rates);
  return {};
}

Result<void> measureViews(const KernelTexture& texture, const Reference& reference,
                          const EvaluationOptions& options, Progress& progress, Evaluation& result) {
  const ColorSource truth = reference.colorSource(options.filter), fitted = textureColors(texture);
  const Transparency transparency = reference.transparency(options.filter);
  RenderOptions pictures;
  pictures.transparency = &transparency;  // both show the same parts of the surface
  const std::vector<Camera> cameras = standardViews(texture.surface());
  progress.begin("comparing views", cameras.size());
  SquaredError pooled;
  for (const Camera& camera : cameras) {
    if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
    const int size = options.view_size;
    const ImageF expected = renderAlbedo(texture.surface(), camera, size, size, truth, pictures).image;
    const ImageF drawn = renderAlbedo(texture.surface(), camera, size, size, fitted, pictures).image;
    // An object seen edge-on may cover no pixel of a view; there is nothing to compare then.
    if (std::find_if(expected.mask.begin(), expected.mask.end(), [](std::uint8_t m) { return m != 0; }) ==
        expected.mask.end())
      continue;
    const auto quality = pictureQuality(expected, drawn, options);
    if (!quality) return quality.error();
    result.views.push_back(*quality);
    const auto squared = squaredError(expected, drawn);
    if (!squared) return squared.error();
    pooled += *squared;
    progress.update(result.views.size(), "");
  }
  progress.end();
  result.view_mean = meanQuality(result.views);
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
  const auto quality = pictureQuality(pair->reference, pair->fitted, options);
  if (!quality) return quality.error();
  result.atlas = *quality;
  return {};
}

}  // namespace

Result<Evaluation> evaluate(const KernelTexture& texture, const Reference& reference,
                            const EvaluationOptions& options, Progress& progress) {
  Evaluation result;
  if (texture.layout().find("base_color") == nullptr)
    return inputError("the texture has no base_color: there is nothing to compare with an asset");
  result.filter = options.filter;
  result.filter_used = reference.appearance().filterUsed(options.filter);
  progress.begin("measuring on the surface", 0);
  if (auto measured = measureSurface(texture, reference, options, result); !measured) return measured.error();
  if (options.seam_samples > 0) {
    VisibilitySource visible;
    if (reference.appearance().hasAlpha()) {
      visible = [&](std::span<const SurfacePoint> points, std::span<float> out) {
        reference.visibilities(points, out, options.filter);
      };
    }
    const auto jumpOf = [&](const ColorSource& colors) -> std::optional<SeamJump> {
      const SeamJump jump = seamJump(texture.surface(), colors, options.seam_samples, options.seed, visible);
      if (jump.points == 0) return std::nullopt;
      return jump;
    };
    result.seam = jumpOf(textureColors(texture));
    result.reference_seam = jumpOf(reference.colorSource(options.filter));
  }
  progress.end();
  if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
  if (options.atlas_size > 0) {
    progress.begin("comparing the atlas", 0);
    if (auto measured = measureAtlas(texture, reference, options, result); !measured) return measured.error();
    progress.end();
  }
  if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
  if (options.view_size > 0) {
    if (auto measured = measureViews(texture, reference, options, progress, result); !measured)
      return measured.error();
  }
  if (options.five_frame_samples > 0) {
    // The authors read textures bilinearly, whatever the fit did.
    auto measured = measureFiveFrames(texture.surface(), reference.colorSource(Filter::kBilinear),
                                      textureColors(texture), reference.transparency(Filter::kBilinear),
                                      options.five_frame_samples, options.seed, options.lpips, progress);
    if (!measured) return measured.error();
    result.five_frame = *measured;
  }
  return result;
}

Result<Evaluation> evaluate(const KernelTexture& texture, const Appearance& reference,
                            const EvaluationOptions& options, Progress& progress) {
  return evaluate(texture, Reference(texture.surface(), reference), options, progress);
}

}  // namespace heatskin
