#pragma once

// Repeatable noise for shapes and paint. All randomness is drawn from a RandomStream into small tables.

#include <array>
#include <cstdint>

#include "heatskin/base/vec.h"

namespace heatskin {

/// Gradient noise on the integer lattice (Perlin, "Improving noise", SIGGRAPH 2002). Values are about in
/// [-1, 1], zero at lattice points, smooth.
class LatticeNoise {
 public:
  LatticeNoise(std::uint64_t seed, std::uint64_t stream);

  double at(const Vec3& p) const;

  /// In the plane, repeating along x after `period_x` lattice cells.
  double at(double x, double y, int period_x) const;

  /// Sum of `octaves` of `at(p)`, each twice as fine and half as strong.
  double fractal(const Vec3& p, int octaves) const;

  /// Four random bytes that belong to a lattice cell.
  std::array<std::uint8_t, 4> cell(int x, int y, int z) const;

 private:
  std::uint8_t hash(int x, int y, int z) const {
    const auto wrap = [](int v) { return static_cast<std::uint8_t>(v); };
    return table_[static_cast<std::uint8_t>(table_[static_cast<std::uint8_t>(table_[wrap(x)] + wrap(y))] +
                                            wrap(z))];
  }

  std::array<std::uint8_t, 256> table_;  // a permutation
  std::uint32_t salt_;
};

/// A dot of a layer of dots: one per cell at most, entirely inside its cell, so that looking at one cell is
/// enough. Jitter inside the cells keeps them apart without a visible grid.
struct Dot {
  double distance = 2;  ///< from the centre in units of the dot's radius; above 1 is outside
  double random = 0;    ///< uniform in [0, 1), the dot's own
};

/// The dot near (x, y) in lattice cells, repeating along x after `period_x` cells. `density` is the share of
/// cells with a dot; radii are uniform in [min_radius, max_radius], at most 0.45.
Dot dotAt(const LatticeNoise& noise, double x, double y, int period_x, double density, double min_radius,
          double max_radius);

/// The same in space.
Dot dotAt(const LatticeNoise& noise, const Vec3& p, double density, double min_radius, double max_radius);

}  // namespace heatskin
