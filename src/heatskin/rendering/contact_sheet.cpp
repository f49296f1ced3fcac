#include "heatskin/rendering/contact_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "heatskin/rendering/visibility.h"

namespace heatskin {
namespace {

constexpr int kGlyphWidth = 5;
constexpr int kGlyphHeight = 7;
constexpr int kDescent = 2;  // rows below the base line
constexpr int kAdvance = kGlyphWidth + 1;

/// Nine rows of five dots: seven above the base line, two below for g, j, p, q, y and the comma.
struct Glyph {
  char character;
  const char* rows;  // 45 characters, '#' is ink
};

// Drawn for this program.
constexpr Glyph kGlyphs[] = {
    {'!', "..#....#....#....#....#.........#............"},
    {'"', ".#.#..#.#...................................."},
    {'#', ".#.#..#.#.#####.#.#.#####.#.#..#.#..........."},
    {'$', "..#...#####.#...###...#.#####...#............"},
    {'%', "##..###..#...#...#...#...#..###..##.........."},
    {'&', ".##..#..#.#.#...#...#.#.##..#..##.#.........."},
    {'\'', "..#....#....................................."},
    {'(', "...#...#...#....#....#.....#.....#..........."},
    {')', ".#.....#.....#....#....#...#...#............."},
    {'*', "......#.#...#..#####..#...#.#................"},
    {'+', ".......#....#..#####..#....#................."},
    {',', "...............................#....#...#...."},
    {'-', "...............#####........................."},
    {'.', "..........................##...##............"},
    {'/', "....#....#...#...#...#...#....#.............."},
    {'0', ".###.#...##..###.#.###..##...#.###..........."},
    {'1', "..#...##..#.#....#....#....#..#####.........."},
    {'2', ".###.#...#....#..##..#...#....#####.........."},
    {'3', ".###.#...#....#..##.....##...#.###..........."},
    {'4', "...#...##..#.#.#..#.#####...#....#..........."},
    {'5', "######....####.....#....##...#.###..........."},
    {'6', "..##..#...#....####.#...##...#.###..........."},
    {'7', "#####....#...#...#...#....#....#............."},
    {'8', ".###.#...##...#.###.#...##...#.###..........."},
    {'9', ".###.#...##...#.####....#...#..##............"},
    {':', "......##...##..............##...##..........."},
    {';', "......##...##..............#....#...#........"},
    {'<', "...#...#...#...#.....#.....#.....#..........."},
    {'=', "..........#####.....#####...................."},
    {'>', ".#.....#.....#.....#...#...#...#............."},
    {'?', ".###.#...#....#..##...#.........#............"},
    {'@', ".###.#...##.####.#.##.####.....####.........."},
    {'A', ".###.#...##...#######...##...##...#.........."},
    {'B', "####.#...##...#####.#...##...#####..........."},
    {'C', ".###.#...##....#....#....#...#.###..........."},
    {'D', "####.#...##...##...##...##...#####..........."},
    {'E', "######....#....####.#....#....#####.........."},
    {'F', "######....#....####.#....#....#.............."},
    {'G', ".###.#...##....#.####...##...#.###..........."},
    {'H', "#...##...##...#######...##...##...#.........."},
    {'I', ".###...#....#....#....#....#...###..........."},
    {'J', "..###...#....#....#....#.#..#..##............"},
    {'K', "#...##..#.#.#..##...#.#..#..#.#...#.........."},
    {'L', "#....#....#....#....#....#....#####.........."},
    {'M', "#...###.###.#.##.#.##...##...##...#.........."},
    {'N', "#...###..##.#.##..###...##...##...#.........."},
    {'O', ".###.#...##...##...##...##...#.###..........."},
    {'P', "####.#...##...#####.#....#....#.............."},
    {'Q', ".###.#...##...##...##.#.##..#..##.#.........."},
    {'R', "####.#...##...#####.#.#..#..#.#...#.........."},
    {'S', ".#####....#.....###.....#....#####..........."},
    {'T', "#####..#....#....#....#....#....#............"},
    {'U', "#...##...##...##...##...##...#.###..........."},
    {'V', "#...##...##...##...#.#.#..#.#...#............"},
    {'W', "#...##...##...##.#.##.#.###.###...#.........."},
    {'X', "#...##...#.#.#...#...#.#.#...##...#.........."},
    {'Y', "#...##...#.#.#...#....#....#....#............"},
    {'Z', "#####....#...#...#...#...#....#####.........."},
    {'[', ".###..#....#....#....#....#....###..........."},
    {'\\', "#....#.....#.....#.....#.....#....#.........."},
    {']', ".###....#....#....#....#....#..###..........."},
    {'^', "..#...#.#.#...#.............................."},
    {'_', "...................................#####....."},
    {'`', ".#.....#....................................."},
    {'a', "...........###.....#.#####...#.####.........."},
    {'b', "#....#....####.#...##...##...#####..........."},
    {'c', "...........#####....#....#.....####.........."},
    {'d', "....#....#.#####...##...##...#.####.........."},
    {'e', "...........###.#...#######.....###..........."},
    {'f', "..##..#...####..#....#....#....#............."},
    {'g', "...........#####...##...##...#.####....#.###."},
    {'h', "#....#....####.#...##...##...##...#.........."},
    {'i', "..#........##....#....#....#...###..........."},
    {'j', "...#........##....#....#....#....#.#..#..##.."},
    {'k', "#....#....#..#.#.#..##...#.#..#..#..........."},
    {'l', ".##....#....#....#....#....#...###..........."},
    {'m', "..........##.#.#.#.##.#.##.#.##...#.........."},
    {'n', "..........####.#...##...##...##...#.........."},
    {'o', "...........###.#...##...##...#.###..........."},
    {'p', "..........####.#...##...##...#####.#....#...."},
    {'q', "...........#####...##...##...#.####....#....#"},
    {'r', "..........#.##.##..##....#....#.............."},
    {'s', "...........#####.....###.....#####..........."},
    {'t', ".#....#...####..#....#....#.....##..........."},
    {'u', "..........#...##...##...##...#.####.........."},
    {'v', "..........#...##...##...#.#.#...#............"},
    {'w', "..........#...##...##.#.##.#.#.#.#..........."},
    {'x', "..........#...#.#.#...#...#.#.#...#.........."},
    {'y', "..........#...##...##...##...#.####....#.###."},
    {'z', "..........#####...#...#...#...#####.........."},
    {'{', "...##..#....#...#.....#....#.....##.........."},
    {'|', "..#....#....#....#....#....#....#............"},
    {'}', "##.....#....#.....#...#....#..##............."},
    {'~', "..........##..##..##........................."},
};

const char* glyphRows(char character) {
  static constexpr const char* kBox = "######...##...##...##...##...######..........";
  static const std::array<const char*, 128> kTable = [] {
    std::array<const char*, 128> table;
    table.fill(kBox);
    table[' '] = nullptr;
    for (const Glyph& glyph : kGlyphs)
      table[static_cast<unsigned char>(glyph.character)] = glyph.rows;
    return table;
  }();
  const auto code = static_cast<unsigned char>(character);
  return code < 128 ? kTable[code] : kBox;
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
  return text.empty()
             ? 0
             : scale * (kAdvance * static_cast<int>(std::min<std::size_t>(text.size(), 1 << 16)) - 1);
}

int textHeight(int scale) {
  return scale * (kGlyphHeight + kDescent);
}

void drawText(ImageF& image, int x, int y, std::string_view text, const Vec3f& color, int scale) {
  for (char character : text) {
    if (const char* rows = glyphRows(character); rows != nullptr) {
      for (int j = 0; j < kGlyphHeight + kDescent; ++j) {
        for (int i = 0; i < kGlyphWidth; ++i) {
          if (rows[kGlyphWidth * j + i] != '#') continue;
          fillRectangle(image, x + scale * i, y + scale * j, x + scale * (i + 1), y + scale * (j + 1), color);
        }
      }
    }
    x += scale * kAdvance;
    if (x >= image.width) return;
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
