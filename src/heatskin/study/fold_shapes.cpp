#include "heatskin/study/fold_shapes.h"

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/base/rng.h"

namespace heatskin::study {
namespace {

// Lengths; the objects are about 2 across, so these stay about what they are when normalised.
constexpr double kCell = 0.025;      // of the grid
constexpr double kTile = 0.15;       // of one colour
constexpr double kThickness = 0.04;  // of the sheet, and between plates
constexpr double kGap = 0.06;        // between neighbouring layers

constexpr std::array kShapes = {
    FoldShape{"plane", "flat, no folds: the control"},
    FoldShape{"sheet", "a closed slab, 0.04 thick, with other colours on its other side"},
    FoldShape{"accordion", "flanks 0.35 high, 0.06 from fold to fold"},
    FoldShape{"coil", "a spiral with 0.06 between its layers"},
    FoldShape{"plates", "two separate plates, 0.04 apart, with other colours each"},
};

/// The colour of a tile, in linear light; tiles of several sides have nothing in common.
Vec4f tileColor(int side, double u, double v) {
  const auto i = static_cast<std::int64_t>(std::floor(u / kTile)),
             j = static_cast<std::int64_t>(std::floor(v / kTile));
  const RandomStream random(static_cast<std::uint64_t>(side) + 1, 0);
  const auto index = static_cast<std::uint64_t>((i + 1000) * 4096 + (j + 1000));
  Vec4f color(0, 0, 0, 1);
  for (int c = 0; c < 3; ++c) {
    const double shown = 0.1 + 0.8 * random.uniform(3 * index + static_cast<std::uint64_t>(c));
    color[c] = static_cast<float>(std::pow(shown, 2.2));
  }
  return color;
}

class Builder {
 public:
  /// A grid over [0, width] x [0, height] of parameters.
  void patch(double width, double height, int side, bool flipped,
             const std::function<Vec3(double, double)>& place) {
    const int columns = std::max(1, static_cast<int>(std::lround(width / kCell))),
              rows = std::max(1, static_cast<int>(std::lround(height / kCell)));
    const auto first = static_cast<std::uint32_t>(primitive_.positions.size());
    for (int r = 0; r <= rows; ++r) {
      for (int c = 0; c <= columns; ++c) {
        const double u = width * c / columns, v = height * r / rows;
        primitive_.positions.push_back(place(u, v).cast<float>().cast<double>());
        primitive_.colors.push_back(tileColor(side, u, v));
      }
    }
    const auto at = [&](int r, int c) { return first + static_cast<std::uint32_t>(r * (columns + 1) + c); };
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        std::array<std::uint32_t, 6> two = {at(r, c),     at(r, c + 1),     at(r + 1, c),
                                            at(r, c + 1), at(r + 1, c + 1), at(r + 1, c)};
        if (flipped) {
          std::swap(two[1], two[2]);
          std::swap(two[4], two[5]);
        }
        primitive_.triangles.insert(primitive_.triangles.end(), two.begin(), two.end());
      }
    }
  }

  Asset finish(std::string_view name) {
    Asset asset;
    asset.format = "glb";
    asset.stored_vertices = primitive_.positions.size();
    Mesh mesh;
    mesh.name = name;
    mesh.primitives.push_back(std::move(primitive_));
    asset.meshes.push_back(std::move(mesh));
    Instance instance;
    instance.mesh = 0;
    asset.instances.push_back(std::move(instance));
    return asset;
  }

 private:
  Primitive primitive_;
};

void addSheet(Builder& builder) {
  static constexpr double kWide = 1.8, kHigh = 1.2;
  builder.patch(kWide, kHigh, 0, false, [](double u, double v) { return Vec3(u, v, kThickness); });
  builder.patch(kWide, kHigh, 1, true, [](double u, double v) { return Vec3(u, v, 0); });
  builder.patch(kWide, kThickness, 2, false, [](double u, double v) { return Vec3(u, 0, v); });
  builder.patch(kWide, kThickness, 3, true, [](double u, double v) { return Vec3(u, kHigh, v); });
  builder.patch(kHigh, kThickness, 4, true, [](double u, double v) { return Vec3(0, u, v); });
  builder.patch(kHigh, kThickness, 5, false, [](double u, double v) { return Vec3(kWide, u, v); });
}

void addAccordion(Builder& builder) {
  static constexpr double kFlank = 0.35, kLong = 1.2;
  static constexpr int kFolds = 16;
  builder.patch(kFolds * kFlank, kLong, 0, false, [](double u, double v) {
    const double fold = u / kFlank;
    const auto which = static_cast<int>(std::min(fold, kFolds - 1e-9));
    const double along = fold - which, depth = std::sqrt(kFlank * kFlank - kGap * kGap / 4);
    return Vec3((which + along) * kGap / 2, which % 2 == 0 ? along * depth : (1 - along) * depth, v);
  });
}

void addCoil(Builder& builder) {
  static constexpr double kLong = 1.2, kInner = 0.2, kTurns = 3;
  // Archimedes' spiral r = inner + gap * turns, by arc length.
  const double rate = kGap / (2 * std::numbers::pi);
  const auto lengthOf = [&](double angle) {
    const double r = kInner + rate * angle;
    return 0.5 * (r + kInner) * angle;  // to first order in rate / r
  };
  const double full = lengthOf(2 * std::numbers::pi * kTurns);
  builder.patch(full, kLong, 0, false, [&](double u, double v) {
    // inner a + rate a^2 / 2 = u
    const double angle = (-kInner + std::sqrt(kInner * kInner + 2 * rate * u)) / rate,
                 r = kInner + rate * angle;
    return Vec3(r * std::cos(angle), r * std::sin(angle), v);
  });
}

}  // namespace

std::span<const FoldShape> foldShapes() {
  return kShapes;
}

Result<Asset> makeFoldShape(std::string_view name) {
  Builder builder;
  if (name == "plane") {
    builder.patch(1.8, 1.2, 0, false, [](double u, double v) { return Vec3(u, v, 0); });
  } else if (name == "sheet") {
    addSheet(builder);
  } else if (name == "accordion") {
    addAccordion(builder);
  } else if (name == "coil") {
    addCoil(builder);
  } else if (name == "plates") {
    builder.patch(1.8, 1.2, 0, false, [](double u, double v) { return Vec3(u, v, kThickness); });
    builder.patch(1.8, 1.2, 1, true, [](double u, double v) { return Vec3(u, v, 0); });
  } else {
    return usageError(fmt::format("there is no shape '{}'", name));
  }
  return builder.finish(name);
}

}  // namespace heatskin::study
