#include "heatskin/study/subdivide.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "heatskin/surface/surface.h"

namespace heatskin::study {
namespace {

/// Numbers of the middles, by the two ends. Open addressing, at most half full.
class Middles {
 public:
  explicit Middles(std::size_t edges) : slots_(std::bit_ceil(2 * edges + 1), Slot{0, 0, kNone}) {}

  std::uint32_t& operator()(std::uint32_t a, std::uint32_t b) {
    if (b < a) std::swap(a, b);
    std::uint64_t hash = (std::uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.middle == kNone) slot.a = a, slot.b = b;
      if (slot.a == a && slot.b == b) return slot.middle;
    }
  }

 private:
  struct Slot {
    std::uint32_t a, b, middle;
  };
  std::vector<Slot> slots_;
};

void cutOnce(Primitive& p) {
  const auto middleOf = [](auto& values, std::uint32_t a, std::uint32_t b) {
    if (values.empty()) return;
    const auto middle = ((values[a] + values[b]) / 2).eval();
    values.push_back(middle);
  };
  Middles middles(p.triangles.size());
  std::vector<std::uint32_t> cut;
  cut.reserve(4 * p.triangles.size());
  for (std::size_t t = 0; t + 2 < p.triangles.size(); t += 3) {
    const std::array<std::uint32_t, 3> v = {p.triangles[t], p.triangles[t + 1], p.triangles[t + 2]};
    std::array<std::uint32_t, 3> m;
    for (std::size_t e = 0; e < 3; ++e) {
      const std::uint32_t a = v[e], b = v[(e + 1) % 3];
      std::uint32_t& middle = middles(a, b);
      if (middle == kNone) {
        middle = static_cast<std::uint32_t>(p.positions.size());
        middleOf(p.positions, a, b);
        for (auto& uvs : p.uv_sets)
          middleOf(uvs, a, b);
        middleOf(p.colors, a, b);
      }
      m[e] = middle;
    }
    cut.insert(cut.end(), {v[0], m[0], m[2], m[0], v[1], m[1], m[2], m[1], v[2], m[0], m[1], m[2]});
  }
  p.triangles = std::move(cut);
}

}  // namespace

void subdivide(Asset& asset, int times) {
  for (Mesh& mesh : asset.meshes) {
    for (Primitive& primitive : mesh.primitives) {
      for (int i = 0; i < times; ++i)
        cutOnce(primitive);
    }
  }
}

}  // namespace heatskin::study
