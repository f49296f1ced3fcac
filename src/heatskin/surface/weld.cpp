#include "heatskin/surface/weld.h"

#include <array>
#include <bit>

#include "heatskin/surface/surface.h"

namespace heatskin {
namespace {

// A mesh whose centre is this many times its size away from the origin has lost more than half of float32's
// 24 bits to the offset; welding then works on centred coordinates.
constexpr double kFarForWelding = 4096;

// Sizes outside this range come close to float32's limits (1e-38, 3e38), where equal no longer means equal
// position.
constexpr double kSmallestPlainSize = 1e-30;
constexpr double kLargestPlainSize = 1e30;

using Key = std::array<float, 3>;

std::uint64_t hashKey(const Key& key) {
  std::uint64_t h = 0x9E3779B97F4A7C15ull;
  for (const float x : key) {
    h ^= std::bit_cast<std::uint32_t>(x);
    h *= 0xBF58476D1CE4E5B9ull;
    h ^= h >> 29;
  }
  return h ^ (h >> 32);
}

}  // namespace

Welding weldPositions(std::span<const Vec3> positions) {
  Welding welding;
  welding.vertex_of_input.resize(positions.size());
  if (positions.empty()) return welding;

  Vec3 low = positions[0], high = positions[0];
  for (const Vec3& p : positions) {
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const Vec3 center = 0.5 * low + 0.5 * high;
  const double size = (0.5 * high - 0.5 * low).maxCoeff() * 2;
  Vec3 offset = Vec3::Zero();
  double scale = 1;
  if (center.cwiseAbs().maxCoeff() > kFarForWelding * size) offset = center;
  if (size > 0 && (size < kSmallestPlainSize || size > kLargestPlainSize)) {
    offset = center;
    scale = 1 / size;
  }

  // Open addressing, at most half full, so that probes stay short.
  const std::size_t capacity = std::bit_ceil(positions.size() * 2);
  std::vector<std::uint32_t> table(capacity, kNone);
  std::vector<Key> keys;
  keys.reserve(positions.size() / 2);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    Key key;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<Eigen::Index>(axis);
      key[axis] = static_cast<float>((positions[i][a] - offset[a]) * scale) + 0.0f;  // + 0 turns -0 into +0
    }
    std::size_t slot = hashKey(key) & (capacity - 1);
    while (table[slot] != kNone && keys[table[slot]] != key) {
      slot = (slot + 1) & (capacity - 1);
    }
    if (table[slot] == kNone) {
      table[slot] = static_cast<std::uint32_t>(keys.size());
      keys.push_back(key);
      welding.positions.push_back(positions[i]);
    }
    welding.vertex_of_input[i] = table[slot];
  }
  return welding;
}

}  // namespace heatskin
