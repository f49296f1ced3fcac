#pragma once

// A typeface of strokes, drawn for this program: no font file is needed, and letters are smooth at any size.
// Private to rendering.

#include <span>
#include <vector>

#include "heatskin/base/vec.h"

namespace heatskin::font {

// Units of the design: the base line is y = 0, y points up.
inline constexpr float kCapHeight = 7;
inline constexpr float kDescent = 2.2f;  ///< below the base line
inline constexpr float kAscent = 7.8f;   ///< above the base line, with half a stroke and air
inline constexpr float kStroke = 0.95f;  ///< width of the pen

struct Segment {
  Vec2f a, b;
};

struct Glyph {
  float advance = 0;              ///< to the next letter
  std::vector<Segment> segments;  ///< centre line of the pen; x from 0
};

/// The glyph of an ASCII character; a box for what has none.
const Glyph& glyph(char character);

}  // namespace heatskin::font
