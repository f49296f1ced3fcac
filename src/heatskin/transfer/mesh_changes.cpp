#include "heatskin/transfer/mesh_changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

namespace heatskin {
namespace {

/// Of the longest side.
constexpr double kSamePlace = 1e-5;

/// Places in a grid, numbered; those within the tolerance of each other have one number.
class PlaceNumbers {
 public:
  explicit PlaceNumbers(double tolerance) : tolerance_(tolerance) {}

  std::uint32_t of(const Vec3& place) {
    const Cell cell = cellOf(place);
    for (std::int64_t x = -1; x <= 1; ++x) {
      for (std::int64_t y = -1; y <= 1; ++y) {
        for (std::int64_t z = -1; z <= 1; ++z) {
          const auto found = cells_.find({cell[0] + x, cell[1] + y, cell[2] + z});
          if (found == cells_.end()) continue;
          for (const std::uint32_t number : found->second) {
            if ((places_[number] - place).norm() <= tolerance_) return number;
          }
        }
      }
    }
    const auto number = static_cast<std::uint32_t>(places_.size());
    places_.push_back(place);
    cells_[cell].push_back(number);
    return number;
  }

 private:
  using Cell = std::array<std::int64_t, 3>;
  struct Hash {
    std::size_t operator()(const Cell& c) const {
      std::uint64_t h = 0x9E3779B97F4A7C15ull;
      for (const std::int64_t x : c)
        h = (h ^ static_cast<std::uint64_t>(x)) * 0xD6E8FEB86659FD93ull + (h >> 29);
      return static_cast<std::size_t>(h);
    }
  };
  /// Surface coordinates are at most a few units: far from the ends of whole numbers.
  Cell cellOf(const Vec3& p) const {
    Cell c;
    for (std::size_t i = 0; i < 3; ++i)
      c[i] = static_cast<std::int64_t>(std::floor(p[static_cast<Eigen::Index>(i)] / tolerance_));
    return c;
  }

  double tolerance_;
  std::vector<Vec3> places_;
  std::unordered_map<Cell, std::vector<std::uint32_t>, Hash> cells_;
};

using Corners = std::array<std::uint32_t, 3>;

/// The same face begins with its lowest number, whatever corner it began with.
Corners canonical(const Corners& c, std::size_t& first) {
  first = static_cast<std::size_t>(std::min_element(c.begin(), c.end()) - c.begin());
  return {c[first], c[(first + 1) % 3], c[(first + 2) % 3]};
}

}  // namespace

MeshChanges meshChanges(const Surface& before, const Surface& after) {
  MeshChanges changes;
  PlaceNumbers numbers(kSamePlace * 2);
  // In surface coordinates of `before`, whose longest side is 2.
  const Similarity to_asset = after.assetFromSurface();
  std::vector<std::uint32_t> old_numbers(before.vertexCount()), new_numbers(after.vertexCount());
  for (std::uint32_t v = 0; v < before.vertexCount(); ++v)
    old_numbers[v] = numbers.of(before.positions()[v]);
  for (std::uint32_t v = 0; v < after.vertexCount(); ++v)
    new_numbers[v] = numbers.of(before.surfaceFromAsset()(to_asset(after.positions()[v])));

  std::map<Corners, std::vector<std::uint32_t>> faces;  // of `after`
  std::vector<std::size_t> new_first(after.faceCount());
  const auto cornersOf = [](const Surface& surface, const std::vector<std::uint32_t>& of, std::uint32_t f) {
    const auto& face = surface.faces()[f];
    return Corners{of[face[0]], of[face[1]], of[face[2]]};
  };
  for (std::uint32_t f = 0; f < after.faceCount(); ++f)
    faces[canonical(cornersOf(after, new_numbers, f), new_first[f])].push_back(f);

  changes.same.face.assign(before.faceCount(), kNone);
  changes.same.corners.assign(before.faceCount(), {0, 1, 2});
  changes.changed.assign(after.faceCount(), 1);
  changes.old.assign(after.faceCount(), kNone);
  double removed = 0, added = 0;
  for (std::uint32_t f = 0; f < before.faceCount(); ++f) {
    std::size_t first = 0;
    const auto found = faces.find(canonical(cornersOf(before, old_numbers, f), first));
    if (found == faces.end() || found->second.empty()) {
      removed += before.areas()[f];
      ++changes.same.lost;
      continue;
    }
    const std::uint32_t other = found->second.front();
    found->second.erase(found->second.begin());
    changes.same.face[f] = other;
    for (std::size_t c = 0; c < 3; ++c)
      changes.same.corners[f][(first + c) % 3] = static_cast<std::uint8_t>((new_first[other] + c) % 3);
    changes.changed[other] = 0;
    changes.old[other] = f;
  }
  for (std::uint32_t f = 0; f < after.faceCount(); ++f) {
    if (changes.changed[f] != 0) added += after.areas()[f], ++changes.same.added;
  }
  changes.changed_area = added / after.totalArea();
  changes.removed_area = removed / before.totalArea();
  return changes;
}

}  // namespace heatskin
