#pragma once

// A face whose texture coordinates repeat the texture, drawn into one unit square by scan lines. Private to
// rendering.
//
// A face may span millions of unit squares. Drawing it square by square would take as long and as much memory
// as there are squares; here every texel row (or column) is met by a few lines, and a line that is longer
// than the texture covers its row whole. Work is bounded by the texture's size, whatever the coordinates.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "heatskin/base/vec.h"

namespace heatskin::raster {

/// See the head of the file. Lengths are in texels; the texture repeats after `width` and `height` of them.
class RepeatedFace {
 public:
  /// `corners` in texels, on the snapping grid, with area.
  RepeatedFace(std::uint32_t face, const std::array<Vec2, 3>& corners, int width, int height);

  std::uint32_t face() const { return face_; }

  /// True if more lines than kMaxAtlasRepeats meet a row and these few may leave texels out.
  bool cut() const { return cut_; }

  /// Calls `hit(x, y)` for every texel of rows [y0, y1) that a line covers, as often as the face covers it,
  /// up to twice for one line. True when every texel of these rows was covered.
  template <class Hit>
  bool draw(int y0, int y1, const Hit& hit) const;

  /// A place of the face, in texels, that wraps to the centre of texel (x, y): near the middle of the line
  /// nearest to the centroid. Nothing if draw() does not hit the texel.
  std::optional<Vec2> place(int x, int y) const;

 private:
  struct Section {
    std::int64_t first, last;  ///< texels whose centres the line covers, not wrapped; empty if last < first
  };
  Section section(std::int64_t line) const;

  std::uint32_t face_;
  bool columns_;  ///< lines are columns instead of rows
  bool cut_ = false;
  std::array<Vec2, 3> corners_;          ///< x along lines, y across
  std::int64_t along_ = 1, across_ = 1;  ///< the texture's size
  std::int64_t first_line_ = 0, last_line_ = -1, middle_line_ = 0;
};

inline std::int64_t wrapped(std::int64_t at, std::int64_t size) {
  const std::int64_t rest = at % size;
  return rest < 0 ? rest + size : rest;
}

template <class Hit>
bool RepeatedFace::draw(int y0, int y1, const Hit& hit) const {
  if (!columns_) {
    bool all = true;
    for (std::int64_t y = y0; y < y1; ++y) {
      bool row = false;
      for (std::int64_t line = first_line_ + wrapped(y - first_line_, across_); line <= last_line_;
           line += across_) {
        Section s = section(line);
        row = row || s.last - s.first + 1 >= along_;
        s.last = std::min(s.last, s.first + 2 * along_ - 1);
        for (std::int64_t at = s.first; at <= s.last; ++at)
          hit(static_cast<int>(wrapped(at, along_)), static_cast<int>(y));
      }
      all = all && row;
    }
    return all;
  }
  std::int64_t full = 0, last_full = first_line_ - 1;  // columns in a row that are covered whole
  std::int64_t most_full = 0;
  for (std::int64_t line = first_line_; line <= last_line_; ++line) {
    Section s = section(line);
    if (s.last - s.first + 1 >= along_) {
      full = last_full == line - 1 ? full + 1 : 1;
      last_full = line;
      most_full = std::max(most_full, full);
    }
    s.last = std::min(s.last, s.first + 2 * along_ - 1);
    const int x = static_cast<int>(wrapped(line, across_));
    // Only the texels inside the rows asked for, at most three runs of them.
    for (std::int64_t start = s.first - wrapped(s.first, along_); start <= s.last; start += along_) {
      const std::int64_t from = std::max(s.first, start + y0), to = std::min(s.last, start + y1 - 1);
      for (std::int64_t at = from; at <= to; ++at)
        hit(x, static_cast<int>(at - start));
    }
  }
  return most_full >= across_;
}

}  // namespace heatskin::raster
