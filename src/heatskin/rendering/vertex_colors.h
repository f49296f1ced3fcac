#pragma once

// Colours at the vertices of a surface or of its midpoint subdivisions, interpolated in between: the simplest
// texture without UVs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Vertices of `surface` after `level` midpoint subdivisions, each of which cuts a face into four.
std::size_t subdividedVertices(const Surface& surface, int level);

/// The most subdivisions that are made: 4^10 faces in one are enough for anyone.
inline constexpr int kMaxSubdivisions = 10;

/// 8-bit sRGB colours, decoded before they are interpolated in linear light, as glTF interpolates vertex
/// colours. Immutable; calls may run concurrently. The surface must outlive it.
class VertexColors {
 public:
  /// The colours nearest to `truth`: least squares over regular samples inside the faces, as in Kavan,
  /// Bargteil and Sloan, "Least Squares Vertex Baking", EGSR 2011, without their smoothness term (samples are
  /// dense). Errors count in sRGB (rounds of reweighting, of which the best is kept) and by visibility
  /// (`alpha` may be empty: opaque). `samples` are wanted in all, at least four for each subdivided face are
  /// taken.
  static VertexColors fit(const Surface& surface, int level, const ColorSource& truth,
                          const AlphaSource& alpha, std::size_t samples = 1'000'000);

  int level() const { return level_; }

  /// The vertices of the surface, then those on its edges, then those inside faces.  // [V] sRGB
  std::span<const std::array<std::uint8_t, 3>> colors() const { return colors_; }

  /// sRGB colours of points; spans of one length.
  void at(std::span<const SurfacePoint> points, std::span<Vec3f> out) const;

 private:
  VertexColors(const Surface& surface, int level);
  std::uint32_t vertex(std::uint32_t face, const std::array<int, 3>& lattice) const;

  const Surface* surface_;
  int level_, parts_;                // parts of an edge: 2^level
  std::vector<std::uint32_t> edge_;  // [3 F] number of a half-edge's edge
  std::uint32_t edges_ = 0;
  std::vector<std::array<std::uint8_t, 3>> colors_;
};

}  // namespace heatskin
