#include "heatskin/base/hilbert.h"

#include <algorithm>
#include <utility>

#include "heatskin/base/parallel.h"

namespace heatskin {

std::uint64_t hilbertIndex(std::array<std::uint32_t, 3> cell, int bits) {
  // From the largest octants down: each one holds a smaller copy of the curve, mirrored or with its axes
  // exchanged. Undoing that for the bits below leaves the Gray code of the octant's number in the bits here.
  for (int b = bits - 1; b > 0; --b) {
    const std::uint32_t bit = 1u << b, below = bit - 1;
    for (std::uint32_t& axis : cell) {
      if ((axis & bit) != 0) {
        cell[0] ^= below;
      } else {
        const std::uint32_t differing = (cell[0] ^ axis) & below;
        cell[0] ^= differing;
        axis ^= differing;
      }
    }
  }
  std::uint64_t index = 0;
  bool odd = false;  // of the ones so far: a Gray code's digits add up to the number's
  for (int b = bits - 1; b >= 0; --b) {
    for (const std::uint32_t axis : cell) {
      odd ^= (axis >> b & 1) != 0;
      index = index << 1 | (odd ? 1u : 0u);
    }
  }
  return index;
}

std::vector<std::uint32_t> hilbertOrder(std::span<const Vec3> points) {
  if (points.empty()) return {};
  Vec3 low = points[0], high = points[0];
  for (const Vec3& p : points) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  constexpr int kBits = 20;
  const double size = (high - low).maxCoeff();
  const double scale = size > 0 ? ((1 << kBits) - 1) / size : 0.0;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys(points.size());
  parallelFor(points.size(), 512, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Vec3 x = (points[i] - low) * scale;
      keys[i] = {hilbertIndex({static_cast<std::uint32_t>(x.x()), static_cast<std::uint32_t>(x.y()),
                               static_cast<std::uint32_t>(x.z())},
                              kBits),
                 static_cast<std::uint32_t>(i)};
    }
  });
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = keys[i].second;
  return order;
}

}  // namespace heatskin
