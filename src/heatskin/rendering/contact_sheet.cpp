#include "heatskin/rendering/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "heatskin/rendering/stroke_font.h"
#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

/// Pixels per unit of the typeface at scale 1.
constexpr float kUnit = 1.25f;

/// Spread of the pen's edge in pixels on either side.
constexpr float kSoft = 0.5f;

float distanceTo(const font::Segment& segment, const Vec2f& p) {
  const Vec2f way = segment.b - segment.a;
  const float length2 = way.squaredNorm();
  const float t = length2 > 0 ? std::clamp((p - segment.a).dot(way) / length2, 0.0f, 1.0f) : 0.0f;
  return (segment.a + t * way - p).norm();
}

/// One letter whose origin on the base line is at (x, y).
void drawGlyph(ImageF& image, float x, float y, const font::Glyph& glyph, const Vec3f& color, float unit) {
  const float half = 0.5f * font::kStroke * unit;
  const auto pixels = [&](float from, float to, int size) {
    return std::pair(std::clamp(static_cast<int>(std::floor(from)), 0, size),
                     std::clamp(static_cast<int>(std::ceil(to)), 0, size));
  };
  const auto [x0, x1] = pixels(x - half - 1, x + glyph.advance * unit + half + 1, image.width);
  const auto [y0, y1] =
      pixels(y - font::kAscent * unit - half - 1, y + font::kDescent * unit + half + 1, image.height);
  for (int j = y0; j < y1; ++j) {
    for (int i = x0; i < x1; ++i) {
      const Vec2f place((static_cast<float>(i) + 0.5f - x) / unit, (y - static_cast<float>(j) - 0.5f) / unit);
      float nearest = std::numeric_limits<float>::infinity();
      for (const font::Segment& segment : glyph.segments)
        nearest = std::min(nearest, distanceTo(segment, place));
      const float ink = std::clamp((half - nearest * unit) / (2 * kSoft) + 0.5f, 0.0f, 1.0f);
      if (ink <= 0) continue;
      float* rgb = image.pixel(i, j);
      for (int c = 0; c < 3; ++c)
        rgb[c] += ink * (color[c] - rgb[c]);
    }
  }
}

void fillRectangle(ImageF& image, int x0, int y0, int x1, int y1, const Vec3f& color) {
  x0 = std::max(x0, 0);
  y0 = std::max(y0, 0);
  x1 = std::min(x1, image.width);
  y1 = std::min(y1, image.height);
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x)
      std::copy_n(color.data(), 3, image.pixel(x, y));
  }
}

/// Columns of a sheet: at least as many as rows. Among those up to twice as many as a square has, the fewest
/// that fill the last row; the square's if none do.
int sheetColumns(int count) {
  const int square = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count)) - 1e-9));
  for (int columns = square; columns < 2 * square; ++columns) {
    if (count % columns == 0) return columns;
  }
  return square;
}

/// The text, shortened to `width` pixels.
std::string fitted(const std::string& text, int width, int scale) {
  if (textWidth(text, scale) <= width) return text;
  std::string shorter = text;
  while (!shorter.empty() && textWidth(shorter + "..", scale) > width)
    shorter.pop_back();
  return shorter.empty() ? shorter : shorter + "..";
}

}  // namespace

int textWidth(std::string_view text, int scale) {
  if (text.empty()) return 0;
  float width = 0;
  for (const char character : text.substr(0, 1 << 16))
    width += font::glyph(character).advance;
  return static_cast<int>(std::ceil(kUnit * static_cast<float>(scale) * width));
}

int textHeight(int scale) {
  return static_cast<int>(std::ceil(kUnit * static_cast<float>(scale) * (font::kAscent + font::kDescent)));
}

void drawText(ImageF& image, int x, int y, std::string_view text, const Vec3f& color, int scale) {
  const float unit = kUnit * static_cast<float>(scale);
  // Half a pen to the right, and the base line on a border of pixels: horizontal strokes stay crisp.
  float left = static_cast<float>(x) + 0.5f * font::kStroke * unit;
  const float base = std::round(static_cast<float>(y) + font::kAscent * unit) - 0.5f * font::kStroke * unit;
  for (const char character : text) {
    const font::Glyph& letter = font::glyph(character);
    drawGlyph(image, left, base, letter, color, unit);
    left += letter.advance * unit;
    if (left >= static_cast<float>(image.width)) return;
  }
}

ImageF contactSheet(std::span<const ImageF> pictures, std::span<const std::string> labels,
                    const SheetOptions& options) {
  ImageF sheet;
  if (pictures.empty()) return sheet;
  const int count = static_cast<int>(std::min<std::size_t>(pictures.size(), 1 << 20));
  const int columns = options.columns > 0 ? std::min(options.columns, count) : sheetColumns(count);
  const int rows = (count + columns - 1) / columns;
  const int gap = std::clamp(options.gap, 0, 1024);
  const int scale = std::clamp(options.text_scale, 1, 8);
  int cell_width = 1, cell_height = 1;
  for (const ImageF& picture : pictures) {
    cell_width = std::max(cell_width, picture.width);
    cell_height = std::max(cell_height, picture.height);
  }
  const int label_height = labels.empty() ? 0 : textHeight(scale) + 3 * scale;
  const std::int64_t width = gap + std::int64_t{columns} * (cell_width + gap);
  const std::int64_t height = gap + std::int64_t{rows} * (cell_height + label_height + gap);
  if (width > kMaxImageSide || height > kMaxImageSide) return sheet;

  sheet.width = static_cast<int>(width);
  sheet.height = static_cast<int>(height);
  sheet.rgb.resize(3 * sheet.pixelCount());
  fillRectangle(sheet, 0, 0, sheet.width, sheet.height, options.background);
  for (int k = 0; k < count; ++k) {
    const ImageF& picture = pictures[static_cast<std::size_t>(k)];
    const int x = gap + (k % columns) * (cell_width + gap);
    const int y = gap + (k / columns) * (cell_height + label_height + gap);
    for (int j = 0; j < picture.height; ++j)
      std::copy_n(picture.pixel(0, j), 3 * static_cast<std::size_t>(picture.width), sheet.pixel(x, y + j));
    if (static_cast<std::size_t>(k) < labels.size()) {
      drawText(sheet, x, y + cell_height + 2 * scale,
               fitted(labels[static_cast<std::size_t>(k)], cell_width, scale), options.text, scale);
    }
  }
  return sheet;
}

}  // namespace heatskin
