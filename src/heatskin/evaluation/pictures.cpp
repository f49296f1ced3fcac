#include "heatskin/evaluation/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/colormap.h"
#include "heatskin/rendering/contact_sheet.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

const Vec3f kBehind = {0.82f, 0.84f, 0.86f};  // white, black and map colours all stand out
const Vec3f kInk = {0.15f, 0.15f, 0.17f};
constexpr int kGap = 4;
constexpr int kNarrow = 160;  // pixels; a legend's numbers need as much

/// Albedo views for people, with smooth edges.
ImageF drawView(const Surface& surface, const Camera& camera, int width, int height,
                const ColorSource& colors, const Transparency& transparency, int samples) {
  RenderOptions options;
  options.transparency = &transparency;
  options.supersampling = samples;
  options.background = kBehind;
  return renderAlbedo(surface, camera, width, height, colors, options).image;
}

ImageF blank(int width, int height) {
  ImageF image{width, height, {}, {}};
  image.rgb.assign(3 * image.pixelCount(), 1.0f);
  return image;
}

void paste(const ImageF& from, int x, int y, ImageF& to) {
  for (int row = 0; row < from.height; ++row)
    std::copy_n(from.pixel(0, row), 3 * static_cast<std::size_t>(from.width), to.pixel(x, y + row));
}

struct Tick {
  float place;  ///< 0..1 along the bar
  std::string text;
};

/// A title, a bar and numbers under it.
ImageF legend(int width, const std::string& title, const std::function<Vec3f(float)>& color,
              std::span<const Tick> ticks) {
  width = std::max(width, kNarrow);
  const int scale = width >= 560 ? 2 : 1;
  const int text = textHeight(scale), bar = 8 * scale, margin = 6 * scale;
  ImageF image = blank(width, margin + text + 2 * scale + bar + 3 * scale + text + scale);
  drawText(image, margin, margin, title, kInk, scale);
  const int top = margin + text + 2 * scale, length = std::min(width - 2 * margin, 360 * scale);
  for (int x = 0; x < length; ++x) {
    const Vec3f value = color((static_cast<float>(x) + 0.5f) / static_cast<float>(length));
    for (int y = 0; y < bar; ++y)
      std::copy_n(value.data(), 3, image.pixel(margin + x, top + y));
  }
  for (const Tick& tick : ticks) {
    const int x = margin + static_cast<int>(tick.place * static_cast<float>(length - 1));
    for (int y = bar; y < bar + 2 * scale; ++y)
      std::copy_n(kInk.data(), 3, image.pixel(x, top + y));
    const int wide = textWidth(tick.text, scale);
    drawText(image, std::clamp(x - wide / 2, 0, std::max(0, image.width - wide)), top + bar + 3 * scale,
             tick.text, kInk, scale);
  }
  return image;
}

ImageF sheetOfViews(const PictureSources& sources, std::span<const ColorSource* const> rows,
                    std::span<const std::string> names, int size) {
  const std::vector<Camera> cameras = standardViews(*sources.surface);
  constexpr std::size_t kColumns = 4;
  std::vector<ImageF> pictures;
  std::vector<std::string> labels;
  for (std::size_t first = 0; first < cameras.size(); first += kColumns) {
    const std::size_t last = std::min(first + kColumns, cameras.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t view = first; view < last; ++view) {
        pictures.push_back(
            drawView(*sources.surface, cameras[view], size, size, *rows[row], sources.transparency, 2));
        labels.push_back(viewName(view) + (names[row].empty() ? "" : ", " + names[row]));
      }
    }
  }
  SheetOptions options;
  options.columns = kColumns;
  options.gap = kGap;
  return contactSheet(pictures, labels, options);
}

/// An albedo view without background.
ImageF cutOut(const PictureSources& sources, const Camera& camera, const ColorSource& colors, int size) {
  RenderOptions options;
  options.supersampling = 2;
  options.transparency = &sources.transparency;
  options.transparent_background = true;
  return renderAlbedo(*sources.surface, camera, size, size, colors, options).image;
}

/// Pictures side by side, each below its name.
ImageF rowOf(std::span<const ImageF> pictures, std::span<const std::string> names) {
  std::vector<ImageF> cells;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const int scale = pictures[i].width >= 300 ? 2 : 1;
    ImageF name = blank(pictures[i].width, textHeight(scale) + 4 * scale);
    drawText(name, 2 * scale, 2 * scale, names[i], kInk, scale);
    cells.push_back(stacked(name, pictures[i]));
  }
  SheetOptions options;
  options.columns = static_cast<int>(cells.size());
  options.gap = kGap;
  return contactSheet(cells, {}, options);
}

}  // namespace

std::string viewName(std::size_t view) {
  const ViewAngles from = standardViewAngles(view);
  return fmt::format("view {} ({:.0f}, {:+.0f})", view, from.azimuth / kDegree, from.elevation / kDegree);
}

ColorSource textureColors(const KernelTexture& texture) {
  return [&texture](std::span<const SurfacePoint> points, std::span<Vec3f> colors) {
    texture.colors(points, colors);
  };
}

ScalarSource textureCoverage(const KernelTexture& texture) {
  return [&texture](std::span<const SurfacePoint> points, std::span<float> values) {
    std::vector<Vec3f> colors(points.size());
    texture.colors(points, colors, values);
  };
}

ScalarSource colorError(ColorSource reference, ColorSource test) {
  return [reference = std::move(reference), test = std::move(test)](std::span<const SurfacePoint> points,
                                                                    std::span<float> values) {
    std::vector<Vec3f> expected(points.size()), got(points.size());
    reference(points, expected);
    test(points, got);
    for (std::size_t i = 0; i < points.size(); ++i)
      values[i] = 255 * (expected[i] - got[i]).cwiseAbs().maxCoeff();
  };
}

ColorSource errorMap(ColorSource reference, ColorSource test, float full) {
  return scalarColors(colorError(std::move(reference), std::move(test)),
                      [full](float error) { return errorColor(error, full); });
}

ColorSource coverageMap(const KernelTexture& texture) {
  return scalarColors(textureCoverage(texture),
                      [](float weight) { return coverageColor(weight, kCoverageFull); });
}

ImageF errorLegend(int width, float full) {
  std::array<Tick, 5> ticks;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const float place = static_cast<float>(i) / 4;
    ticks[i] = {place, fmt::format("{:g}{}", full * place, i == 4 ? "+" : "")};
  }
  return legend(
      width, width < 360 ? "error, 8-bit levels" : "colour error in 8-bit levels (largest channel)",
      [](float x) { return heatColor(x); }, ticks);
}

ImageF coverageLegend(int width) {
  const std::array<Tick, 5> ticks = {{{0, "0"}, {0.125f, ".5"}, {0.25f, "1"}, {0.5f, "2"}, {1, "4+"}}};
  return legend(
      width,
      width < 360 ? "weight sum (red: below 1)" : "weight sum (red, below 1: fades to the mean colour)",
      [](float x) { return coverageColor(x * kCoverageFull, kCoverageFull); }, ticks);
}

ImageF stacked(const ImageF& picture, const ImageF& strip) {
  ImageF page = blank(std::max(picture.width, strip.width), picture.height + strip.height);
  paste(picture, 0, 0, page);
  paste(strip, 0, picture.height, page);
  if (!picture.mask.empty()) {  // what was transparent stays so; the strip is not
    page.mask.assign(page.pixelCount(), 255);
    for (int y = 0; y < picture.height; ++y) {
      for (int x = 0; x < page.width; ++x)
        page.mask[page.index(x, y)] = x < picture.width ? picture.mask[picture.index(x, y)] : 0;
    }
  }
  return page;
}

PictureSources pictureSources(const KernelTexture& texture, const Reference& reference, float error_full) {
  PictureSources sources;
  sources.surface = &texture.surface();
  sources.reference = reference.colorSource(Filter::kAuto);
  sources.fitted = textureColors(texture);
  sources.error = errorMap(sources.reference, sources.fitted, error_full);
  sources.coverage = coverageMap(texture);
  sources.error_full = error_full;
  sources.transparency = reference.transparency(Filter::kAuto);
  return sources;
}

ImageF comparisonSheet(const PictureSources& sources, int size) {
  const std::array<const ColorSource*, 2> rows = {&sources.reference, &sources.fitted};
  const std::array<std::string, 2> names = {"reference", "fitted"};
  return sheetOfViews(sources, rows, names, size);
}

ImageF errorSheet(const PictureSources& sources, int size) {
  const std::array<const ColorSource*, 1> rows = {&sources.error};
  const std::array<std::string, 1> names;
  const ImageF sheet = sheetOfViews(sources, rows, names, size);
  return stacked(sheet, errorLegend(sheet.width, sources.error_full));
}

ImageF coverageSheet(const PictureSources& sources, int size) {
  const std::array<const ColorSource*, 1> rows = {&sources.coverage};
  const std::array<std::string, 1> names;
  const ImageF sheet = sheetOfViews(sources, rows, names, size);
  return stacked(sheet, coverageLegend(sheet.width));
}

ImageF closeUp(const PictureSources& sources, const Camera& camera, int size) {
  std::vector<ImageF> pictures;
  for (const ColorSource* colors : {&sources.reference, &sources.fitted, &sources.error, &sources.coverage})
    pictures.push_back(drawView(*sources.surface, camera, size, size, *colors, sources.transparency, 2));
  pictures[2] = stacked(pictures[2], errorLegend(size, sources.error_full));
  pictures[3] = stacked(pictures[3], coverageLegend(size));
  const std::array<std::string, 4> labels = {"reference", "fitted", "error", "coverage"};
  return rowOf(pictures, labels);
}

std::vector<ImageF> viewPictures(const PictureSources& sources, const ColorSource& colors, int size) {
  std::vector<ImageF> pictures;
  for (const Camera& camera : standardViews(*sources.surface))
    pictures.push_back(cutOut(sources, camera, colors, size));
  return pictures;
}

std::vector<ImageF> closeUpPictures(const PictureSources& sources, const Camera& camera, int size) {
  std::vector<ImageF> pictures;
  for (const ColorSource* colors : {&sources.reference, &sources.fitted, &sources.error, &sources.coverage})
    pictures.push_back(cutOut(sources, camera, *colors, size));
  return pictures;
}

std::optional<AtlasPair> atlasPair(const KernelTexture& texture, const Reference& reference, int size,
                                   Filter filter) {
  AtlasOptions options;
  options.width = options.height = size;
  const AtlasBuffer atlas = rasteriseAtlas(reference.surface(), reference.appearance(), options);
  if (atlas.covered_texels == 0) return std::nullopt;
  AtlasPair pair;
  pair.reference = blank(size, size);
  pair.reference.mask = atlas.mask();
  pair.fitted = pair.reference;
  const std::vector<std::size_t> covered = atlas.coveredTexels();
  std::vector<SurfacePoint> points, mapped;
  std::vector<Vec3f> colors;
  std::vector<float> visible;
  std::size_t compared = 0;
  for (std::size_t begin = 0; begin < covered.size(); begin += kColorBatch) {
    const std::size_t count = std::min(kColorBatch, covered.size() - begin);
    points.resize(count);
    mapped.resize(count);
    colors.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      points[i] = atlas.point(covered[begin + i]);
    const auto fill = [&](ImageF& image) {
      for (std::size_t i = 0; i < count; ++i)
        std::copy_n(colors[i].data(), 3, image.rgb.data() + 3 * covered[begin + i]);
    };
    visible.resize(count);
    reference.appearance().colors(points, colors, visible, filter);
    fill(pair.reference);
    for (std::size_t i = 0; i < count; ++i) {
      const bool seen = visible[i] > 0;
      compared += seen ? 1 : 0;
      if (!seen) pair.reference.mask[covered[begin + i]] = pair.fitted.mask[covered[begin + i]] = 0;
    }
    reference.toTexture(points, mapped);
    texture.colors(mapped, colors);
    fill(pair.fitted);
  }
  if (compared == 0) return std::nullopt;
  return pair;
}

std::optional<std::array<ImageF, 3>> atlasPictures(const KernelTexture& texture, const Reference& reference,
                                                   float error_full, int size) {
  auto pair = atlasPair(texture, reference, size, Filter::kAuto);
  if (!pair) return std::nullopt;
  ImageF error = blank(size, size);
  for (std::size_t i = 0; i < error.pixelCount(); ++i) {
    if (pair->reference.mask[i] == 0) continue;
    float largest = 0;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c)
      largest = std::max(largest, std::abs(pair->reference.rgb[c] - pair->fitted.rgb[c]));
    std::copy_n(errorColor(255 * largest, error_full).data(), 3, error.rgb.data() + 3 * i);
  }
  error.mask = pair->reference.mask;
  return std::array<ImageF, 3>{std::move(pair->reference), std::move(pair->fitted), std::move(error)};
}

ImageF atlasComparison(const std::array<ImageF, 3>& pictures, float error_full) {
  std::array<ImageF, 3> opaque = pictures;
  for (ImageF& picture : opaque)
    picture.mask.clear();
  opaque[2] = stacked(opaque[2], errorLegend(opaque[2].width, error_full));
  const std::array<std::string, 3> labels = {"reference", "fitted", "error"};
  return rowOf(opaque, labels);
}

WorstPlace worstPlace(const PictureSources& sources) {
  constexpr int kSize = 256, kSquare = kSize / 8;
  constexpr double kEnlarged = 3.5;                          // the square and what is around it
  constexpr std::size_t kFewPixels = kSquare * kSquare / 2;  // a sliver at the rim is no place to look at
  const std::vector<Camera> cameras = standardViews(*sources.surface);
  WorstPlace worst;
  double worst_mean = -1;
  const auto error = colorError(sources.reference, sources.fitted);
  for (std::size_t view = 0; view < cameras.size(); ++view) {
    const VisibilityBuffer seen = rasterise(*sources.surface, cameras[view], kSize, kSize);
    const std::vector<std::size_t> pixels = seen.foregroundPixels();
    std::vector<SurfacePoint> points;
    for (const std::size_t pixel : pixels)
      points.push_back(seen.point(pixel));
    std::vector<float> levels(points.size());
    error(points, levels);
    std::vector<double> squares(seen.face.size(), 0);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      squares[pixels[i]] = static_cast<double>(levels[i]) * static_cast<double>(levels[i]);
    for (int y = 0; y + kSquare <= kSize; y += kSquare / 2) {
      for (int x = 0; x + kSquare <= kSize; x += kSquare / 2) {
        double sum = 0;
        std::size_t count = 0;
        Vec3 middle = Vec3::Zero();
        for (int j = y; j < y + kSquare; ++j) {
          for (int i = x; i < x + kSquare; ++i) {
            if (!seen.foreground(i, j)) continue;
            sum += squares[seen.index(i, j)];
            middle += sources.surface->position(seen.point(seen.index(i, j)));
            ++count;
          }
        }
        if (count < kFewPixels || sum / static_cast<double>(count) <= worst_mean) continue;
        worst_mean = sum / static_cast<double>(count);
        worst.view = static_cast<int>(view);
        worst.camera = cameras[view];
        worst.camera.target = middle / static_cast<double>(count);
        worst.camera.vertical_fov = cameras[view].vertical_fov / kEnlarged;
        worst.error_levels = std::sqrt(worst_mean);
      }
    }
  }
  if (worst_mean < 0) worst.camera = defaultView(*sources.surface);
  return worst;
}

}  // namespace heatskin
