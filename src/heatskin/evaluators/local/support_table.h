#pragma once

// Kernel-face pairs: which kernels reach a face, and how their centres and frames look from there.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/evaluators/local/response.h"
#include "heatskin/surface/surface.h"

namespace heatskin::local {

/// Kernel-face pairs that can be held: numbers of pairs stay far within 32 bits.
inline constexpr std::size_t kMostPairs = std::size_t{1} << 27;

/// Pairs that so many kernels on so many faces can need. Of the kernels that reach a face a query uses some
/// dozens: textures have up to a few hundred per face. Many times that is a mistake, or a small file that
/// asks for a day's work.
inline double justifiedPairs(std::size_t kernels, std::size_t faces) {
  const double few = 1 << 22, per_face = 1024, per_kernel = 16;
  const double justified =
      std::max({few, per_face * static_cast<double>(faces), per_kernel * static_cast<double>(kernels)});
  return std::min(static_cast<double>(kMostPairs), justified);
}

/// Where a propagation starts and how far it goes.
struct SupportSource {
  std::uint32_t face = 0;
  Vec2f center = Vec2f::Zero();  ///< face coordinates
  float radius = 0;              ///< support radius

  bool operator==(const SupportSource&) const = default;
};

/// A motion of the plane: face coordinates = rotation (cosine, sine) * coordinates at the source + (x, y).
/// Four floats, one vector load.
struct Development {
  float cosine, sine, x, y;

  bool operator==(const Development&) const = default;
};

/// Joined corners instead of a motion: a place in the coordinates at the source = (xx, xy; yx, yy) * face
/// coordinates + (x, y). Two vector loads, of the first and of the last four floats.
struct Chart {
  float xx, xy, yx, yy;
  float x, y;

  bool operator==(const Chart&) const = default;
};
static_assert(sizeof(Chart) == 6 * sizeof(float));

/// The rotation from the coordinates at the source to face coordinates, as cosine and sine: that of a
/// Development, and of a chart the nearest one (polar decomposition). A chart that folds its face to a line
/// or mirrors it may have none; then the frames count as parallel.
inline Vec2f rotationOf(const Development& d) {
  return {d.cosine, d.sine};
}
inline Vec2f rotationOf(const Chart& c) {
  const Turn<float> source_from_face = nearestTurn(c.xx, c.xy, c.yx, c.yy);
  return {source_from_face.cosine, -source_from_face.sine};
}

/// The pairs of one face as parallel arrays; vector loads may read SupportTable::kPadding entries further.
struct FacePairs {
  std::uint32_t count = 0;
  const std::uint32_t* kernels = nullptr;
  const Development* developments = nullptr;  ///< null with joined corners
  const Chart* charts = nullptr;              ///< null without
};

/// Pairs grouped by face. Faces are in pages of some hundred, with memory of their own: an update renews one
/// page after the other and never holds everything twice.
class SupportTable {
 public:
  static constexpr std::size_t kPadding = 64;

  std::size_t faceCount() const { return ranges_.size(); }
  std::size_t pairCount() const;
  FacePairs of(std::uint32_t face) const {
    const Range& range = ranges_[face];
    const Page& page = pages_[face / kPageFaces];
    return {range.count, page.kernels.data() + range.begin,
            joined_ ? nullptr : page.developments.data() + range.begin,
            joined_ ? page.charts.data() + range.begin : nullptr};
  }

  /// With charts instead of developments.
  bool joined() const { return joined_; }

  /// Where the kernels' propagations started, in the order of kernels.
  std::span<const SupportSource> sources() const { return sources_; }

  /// Leaves a face only these of its pairs (increasing numbers). Nothing is reused by the next update then.
  void keepOnly(std::uint32_t face, std::span<const std::uint32_t> pairs);

  /// Bytes held.
  std::size_t bytes() const;

 private:
  friend class SupportBuilder;
  static constexpr std::uint32_t kPageFaces = 128;

  struct Range {
    std::uint32_t begin = 0, count = 0;  // within the page
  };
  struct Page {
    std::vector<std::uint32_t> kernels;     // [pairs + kPadding], or all of them empty
    std::vector<Development> developments;  // without joined corners
    std::vector<Chart> charts;              // with them
  };

  /// Pairs that some sources in their order reached, and their numbers sorted by face.
  struct Reached {
    std::vector<std::uint32_t> faces, kernels;
    std::vector<Development> developments;
    std::vector<Chart> charts;
    std::vector<std::uint32_t> begin;   // [F + 1]
    std::vector<std::uint32_t> sorted;  // [pairs]

    void clear();
    void sortByFace(std::size_t face_count);
  };

  /// What becomes of the pairs of one face.
  struct Change {
    std::span<const std::uint32_t> renamed;  ///< [last N] a kernel's number now, or kNone; empty: as it was
    std::span<const std::uint32_t> rank;     ///< [N] in which order the pairs of a face stand
    std::span<const Reached> added;          ///< in the order of ranks
  };

  void reset(std::size_t faces, bool joined, std::uint64_t maker);
  void update(const Change& change);
  bool inOrder(std::size_t first, std::size_t last, std::span<const std::uint32_t> rank) const;
  void updatePage(std::size_t page, const Change& change, std::vector<std::uint64_t>& keys);

  std::vector<Range> ranges_;  // [F]
  std::vector<Page> pages_;
  std::vector<SupportSource> sources_;  // [N]
  bool joined_ = false;
  bool reusable_ = false;    ///< it has exactly the pairs of its sources
  std::uint64_t maker_ = 0;  ///< the SupportBuilder that made it
};

}  // namespace heatskin::local
