#pragma once

// Many pictures on one page.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/io/image_f.h"

namespace heatskin {

struct SheetOptions {
  int columns = 0;               ///< 0: at least as many columns as rows, full rows if possible (8: 4 x 2)
  int gap = 4;                   ///< pixels between pictures and around them
  int text_scale = 1;            ///< size of the labels, 1 .. 8: capitals are 9 pixels high times this
  Vec3f background = {1, 1, 1};  ///< sRGB
  Vec3f text = {0.15f, 0.15f, 0.17f};  ///< sRGB
};

/// Lays pictures out in rows, each in a cell as large as the largest picture, at the cell's upper left
/// corner. `labels` is empty or has a text per picture, drawn under it; text that does not fit is cut with
/// "..". No pictures, or a page beyond kMaxImageSide: an empty image. The sheet has no mask.
ImageF contactSheet(std::span<const ImageF> pictures, std::span<const std::string> labels = {},
                    const SheetOptions& options = {});

/// Writes text with its upper left corner at (x, y) in the built-in typeface, smooth; bytes outside of
/// ASCII are drawn as a box. Parts outside of the image are cut off.
void drawText(ImageF& image, int x, int y, std::string_view text, const Vec3f& color, int scale = 1);

/// Width and height in pixels of a text in the built-in font.
int textWidth(std::string_view text, int scale = 1);
int textHeight(int scale = 1);

}  // namespace heatskin
