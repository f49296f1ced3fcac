#include "heatskin/pipeline/bake_sheets.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "heatskin/bake/gutters.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/encode_jpeg.h"
#include "heatskin/io/encode_webp.h"
#include "heatskin/io/image.h"
#include "heatskin/pipeline/node_tools.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// What drawing takes besides the images: bands, and what the evaluator needs for a batch.
constexpr double kBandBytes = 120e6;

constexpr std::size_t kSheetSamples = 32768;

/// RGBA of RGB.
std::vector<std::uint8_t> withAlpha(std::vector<std::uint8_t> pixels, int channels) {
  if (channels == 4) return pixels;
  std::vector<std::uint8_t> rgba(pixels.size() / 3 * 4, 255);
  for (std::size_t i = 0; i < pixels.size() / 3; ++i)
    std::copy_n(pixels.data() + 3 * i, 3, rgba.data() + 4 * i);
  return rgba;
}

}  // namespace

Result<SheetImages> drawSheet(const SheetContext& context, const SheetFaces& faces, int width, int height,
                              int gutter, std::span<const std::uint8_t> wanted) {
  const auto& plans = context.images->plans();
  const std::size_t texels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  double channels = 0;
  for (std::size_t i = 0; i < plans.size(); ++i)
    channels += wanted[i] != 0 ? plans[i].channels : 0;
  if (auto allowed = askMemory(fmt::format("baking images of {} x {} texels", width, height),
                               2 * channels * static_cast<double>(texels) + kBandBytes);
      !allowed)
    return allowed.error();
  SheetImages out;
  out.width = width;
  out.height = height;
  out.pixels.resize(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (wanted[i] != 0) out.pixels[i].resize(texels * static_cast<std::size_t>(plans[i].channels));
  }
  std::vector<std::uint8_t> filled(texels);
  SheetOptions options;
  options.width = width;
  options.height = height;
  options.supersampling = context.job->supersampling;
  const KernelTexture& texture = context.product->texture;
  const std::size_t numbers = context.images->numbers();
  const auto values = [&](std::span<const SurfacePoint> points, std::span<float> found) {
    context.images->valuesAt(texture, context.corner_normals, context.appearance, points, found);
  };
  const auto take = [&](SheetBand& band) {
    const std::size_t first = static_cast<std::size_t>(band.first_row) * static_cast<std::size_t>(width);
    std::copy(band.filled.begin(), band.filled.end(), filled.begin() + static_cast<std::ptrdiff_t>(first));
    parallelFor(band.filled.size(), 2048, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (band.filled[i] == 0) continue;
        const SurfacePoint& center = band.centers[i];
        MapFrame frame;
        if (context.tangents != nullptr) {
          frame =
              mapFrame(center, context.corner_normals[center.face], context.tangents->tangents[center.face],
                       context.tangents->turned[center.face] != 0);
        }
        for (std::size_t p = 0; p < plans.size(); ++p) {
          if (wanted[p] == 0) continue;
          context.images->texel(
              plans[p], band.values.data() + i * numbers, frame,
              out.pixels[p].data() + (first + i) * static_cast<std::size_t>(plans[p].channels));
        }
      }
    });
  };
  const auto counts =
      sampleSheet(texture.surface(), faces, numbers, values, options, take, *context.progress);
  if (!counts) return counts.error();
  out.counts = *counts;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (wanted[p] != 0) fillGutters(out.pixels[p], filled, width, height, plans[p].channels, gutter);
  }
  return out;
}

double sheetPsnr(const SheetContext& context, const SheetFaces& faces, const SheetImages& images) {
  const KernelTexture& texture = context.product->texture;
  std::vector<double> areas(texture.surface().faceCount(), 0.0);
  std::vector<std::uint32_t> place(areas.size(), kNone);
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    areas[faces.faces[i]] = texture.surface().areas()[faces.faces[i]];
    place[faces.faces[i]] = static_cast<std::uint32_t>(i);
  }
  std::vector<SurfacePoint> points(kSheetSamples);
  SurfaceSampler(areas).sample(context.job->seed, 0, 0, points);
  std::vector<Vec3f> truth(points.size());
  texture.colors(points, truth);
  const auto channels = static_cast<std::size_t>(context.images->plans().front().channels);
  const std::vector<std::uint8_t>& pixels = images.pixels.front();
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    Vec2 uv = Vec2::Zero();
    for (std::size_t c = 0; c < 3; ++c)
      uv += points[i].barycentric[static_cast<Eigen::Index>(c)] *
            faces.uvs[place[points[i].face]][c].cast<double>();
    const double x = (uv.x() - std::floor(uv.x())) * images.width - 0.5,
                 y = (uv.y() - std::floor(uv.y())) * images.height - 0.5;
    const double fx = x - std::floor(x), fy = y - std::floor(y);
    Vec3f linear = Vec3f::Zero();
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 2; ++k) {
        const int column = (static_cast<int>(std::floor(x)) + k + images.width) % images.width,
                  row = (static_cast<int>(std::floor(y)) + j + images.height) % images.height;
        const std::uint8_t* texel = pixels.data() + channels * (static_cast<std::size_t>(row) *
                                                                    static_cast<std::size_t>(images.width) +
                                                                static_cast<std::size_t>(column));
        const auto weight = static_cast<float>((k == 0 ? 1 - fx : fx) * (j == 0 ? 1 - fy : fy));
        for (int c = 0; c < 3; ++c)
          linear[c] += weight * linearFromSrgb8[texel[c]];
      }
    }
    for (int c = 0; c < 3; ++c) {
      const double difference = static_cast<double>(srgbFromLinear(linear[c]) - truth[i][c]);
      sum += difference * difference;
    }
  }
  return -10 * std::log10(sum / static_cast<double>(3 * points.size()) + 1e-12);
}

Result<EncodedImage> encodeSheetImage(const SheetContext& context, std::size_t plan, SheetImages& images) {
  const ImagePlan& what = context.images->plans()[plan];
  std::vector<std::uint8_t> pixels = std::move(images.pixels[plan]);
  const int width = images.width, height = images.height;
  const auto quality = context.job->quality;
  Result<std::vector<std::uint8_t>> bytes = failure("");
  EncodedImage out;
  // JPEG has no alpha.
  BakeFormat format = context.job->format;
  if (format == BakeFormat::kJpeg && what.channels == 4) format = BakeFormat::kPng;
  switch (format) {
    case BakeFormat::kPng:
      out.mime_type = "image/png";
      bytes = encodePng(pixels, width, height, what.channels);
      break;
    case BakeFormat::kJpeg:
      out.mime_type = "image/jpeg";
      bytes = encodeJpeg(pixels, width, height, quality);
      break;
    case BakeFormat::kWebp:
      out.mime_type = "image/webp";
      bytes =
          encodeWebp(withAlpha(std::move(pixels), what.channels), width, height, static_cast<float>(quality));
      break;
    case BakeFormat::kKtx2: {
      out.mime_type = "image/ktx2";
      const bool srgb = std::any_of(what.parts.begin(), what.parts.end(),
                                    [](const ImagePart& part) { return part.texels == ColorSpace::kSrgb; });
      bytes =
          encodeKtx2(withAlpha(std::move(pixels), what.channels), width, height, srgb, what.isDirections());
      break;
    }
  }
  if (!bytes) return bytes.error();
  out.bytes = std::move(*bytes);
  return out;
}

}  // namespace heatskin
