#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heatskin/demo/portable_math.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/demo/pumpkin_atlas.h"
#include "heatskin/demo/pumpkin_shape.h"

namespace heatskin {
namespace {

/// A pumpkin of 30 cm.
constexpr double kMetresPerRadius = 0.15;

// Edge lengths relative to the body's. Around the stem finer than along it: five ridges need their vertices.
constexpr double kStemAlong = 0.50, kStemAround = 0.30, kDiscEdge = 0.45;
/// The body becomes as fine as the stem towards it, over this many radii.
constexpr double kGradingLength = 0.45;
/// Distance of rings of equilateral triangles, in edges.
constexpr double kRingStep = 0.87;

struct Ring {
  PumpkinPart part = PumpkinPart::kBody;  ///< of the formula for its position
  double along = 0;
  int columns = 0;  ///< vertices per rib; 0: one single vertex, a pole
};

/// The rings from the middle of the bottom to the middle of the cut end, for the body's edge length `edge`
/// (in radii). first_stem and first_end are the rings at the two creases.
struct Rings {
  std::vector<Ring> rings;
  std::size_t first_stem = 0, first_end = 0;

  std::size_t vertexCount() const {
    std::size_t count = 0;
    for (const Ring& ring : rings) {
      count += ring.columns == 0 ? 1 : static_cast<std::size_t>(ring.columns) * PumpkinShape::kRibs;
    }
    return count;
  }
};

int columnsFor(double radius, double edge) {
  const double columns = kTau * radius / (PumpkinShape::kRibs * edge);
  return std::max(1, static_cast<int>(columns + 0.5));
}

/// Adds rings inside a part: equal steps of the integral of 1 / spacing, which makes the distances follow the
/// wanted spacing and still end exactly at the part's end.
template <class Spacing, class Around>
void addInnerRings(Rings& out, PumpkinPart part, const PumpkinShape& shape, double length, Spacing spacing,
                   Around around) {
  constexpr int kSteps = 4096;
  std::vector<double> sum(kSteps + 1, 0.0);
  for (int i = 0; i < kSteps; ++i) {
    const double middle = length * (i + 0.5) / kSteps;
    sum[static_cast<std::size_t>(i) + 1] =
        sum[static_cast<std::size_t>(i)] + length / kSteps / spacing(middle);
  }
  const int intervals = std::max(2, static_cast<int>(sum.back() + 0.5));
  std::size_t at = 0;
  for (int k = 1; k < intervals; ++k) {
    const double target = sum.back() * k / intervals;
    while (sum[at + 1] < target)
      ++at;
    const double t = (target - sum[at]) / (sum[at + 1] - sum[at]);
    const double along = length * (static_cast<double>(at) + t) / kSteps;
    out.rings.push_back({part, along, columnsFor(shape.radius(part, along), around(along))});
  }
}

Rings makeRings(const PumpkinShape& shape, double edge) {
  Rings out;
  const double body = shape.length(PumpkinPart::kBody), stem = shape.length(PumpkinPart::kStem);
  const double rim = shape.radius(PumpkinPart::kStem, stem);
  const auto grading = [&](double fine) {
    return [=](double along) { return edge * mix(fine, 1, clamp01((body - along) / kGradingLength)); };
  };
  const auto body_step = [&](double along) { return kRingStep * grading(kStemAlong)(along); };

  out.rings.push_back({PumpkinPart::kBody, 0, 0});
  addInnerRings(out, PumpkinPart::kBody, shape, body, body_step, grading(kStemAround));
  out.first_stem = out.rings.size();
  const auto stem_edge = [&](double) { return kStemAround * edge; };
  const auto stem_step = [&](double) { return kStemAlong * edge; };
  out.rings.push_back(
      {PumpkinPart::kStem, 0, columnsFor(shape.radius(PumpkinPart::kStem, 0), kStemAround * edge)});
  addInnerRings(out, PumpkinPart::kStem, shape, stem, stem_step, stem_edge);
  out.first_end = out.rings.size();
  out.rings.push_back({PumpkinPart::kStem, stem, columnsFor(rim, kStemAround * edge)});
  const auto end_edge = [&](double along) { return edge * mix(kStemAround, kDiscEdge, clamp01(2 * along)); };
  const auto end_step = [&](double along) { return kRingStep * end_edge(along) / rim; };
  addInnerRings(out, PumpkinPart::kStemEnd, shape, 1, end_step, end_edge);
  out.rings.push_back({PumpkinPart::kStemEnd, 1, 0});
  return out;
}

/// The rings whose vertex count is closest to `resolution`, by bisection of the edge length.
Rings ringsForResolution(const PumpkinShape& shape, std::size_t resolution) {
  const auto miss = [&](const Rings& rings) {
    const auto count = static_cast<double>(rings.vertexCount());
    return std::abs(count - static_cast<double>(resolution));
  };
  double low = 1e-4, high = 1;
  Rings best = makeRings(shape, high);
  for (int i = 0; i < 24; ++i) {
    const double edge = std::sqrt(low * high);
    Rings rings = makeRings(shape, edge);
    (rings.vertexCount() > resolution ? low : high) = edge;
    if (miss(rings) < miss(best)) best = std::move(rings);
  }
  return best;
}

/// Triangles between two neighbouring rows of one rib. `lower` and `upper` give the vertex of a column;
/// columns run from 0 to the row's own count. Rows with different counts are sewn like a zip: the row whose
/// next column comes first advances.
template <class Lower, class Upper, class Emit>
void sew(int lower_count, int upper_count, bool lean, Lower lower, Upper upper, Emit emit) {
  int i = 0, j = 0;
  while (i < lower_count || j < upper_count) {
    const std::int64_t next_lower = static_cast<std::int64_t>(i + 1) * std::max(upper_count, 1);
    const std::int64_t next_upper = static_cast<std::int64_t>(j + 1) * std::max(lower_count, 1);
    bool advance_lower =
        next_lower < next_upper || (next_lower == next_upper && ((i + j) / 2 % 2 == 0) == lean);
    if (i == lower_count) advance_lower = false;
    if (j == upper_count) advance_lower = true;
    if (advance_lower) {
      emit(lower(i), lower(i + 1), upper(j));
      ++i;
    } else {
      emit(lower(i), upper(j + 1), upper(j));
      ++j;
    }
  }
}

class MeshBuilder {
 public:
  MeshBuilder(const PumpkinShape& shape, const Rings& rings) : shape_(shape), atlas_(shape), rings_(rings) {}

  PumpkinMesh build() {
    placeVertices();
    for (std::size_t chart = 0; chart < PumpkinAtlas::kCharts; ++chart)
      addChart(chart);
    mesh_.welded_vertices = welded_.size();
    return std::move(mesh_);
  }

 private:
  std::size_t ringSize(std::size_t ring) const {
    return static_cast<std::size_t>(std::max(rings_.rings[ring].columns * PumpkinShape::kRibs, 1));
  }

  /// Every welded vertex once; charts copy from here, which makes seams match to the bit.
  void placeVertices() {
    for (std::size_t r = 0; r < rings_.rings.size(); ++r) {
      const Ring& ring = rings_.rings[r];
      first_welded_.push_back(welded_.size());
      for (std::size_t i = 0; i < ringSize(r); ++i) {
        const double around = ring.columns == 0 ? 0 : static_cast<double>(i) / ring.columns;
        const Vec3 p = kMetresPerRadius * shape_.position(ring.part, ring.along, around);
        welded_.push_back(p.cast<float>().cast<double>());
      }
    }
  }

  void addChart(std::size_t chart) {
    const PumpkinPart part = PumpkinAtlas::part(chart);
    const std::size_t begin = part == PumpkinPart::kBody   ? 0
                              : part == PumpkinPart::kStem ? rings_.first_stem
                                                           : rings_.first_end;
    const std::size_t end = part == PumpkinPart::kBody   ? rings_.first_stem
                            : part == PumpkinPart::kStem ? rings_.first_end
                                                         : rings_.rings.size() - 1;
    const auto ribs = PumpkinAtlas::ribs(chart);
    const int first_rib = std::get<0>(ribs), last_rib = std::get<1>(ribs);
    std::vector<std::uint32_t> first(end - begin + 1);
    for (std::size_t r = begin; r <= end; ++r) {
      first[r - begin] = static_cast<std::uint32_t>(mesh_.positions.size());
      addRow(chart, r, first_rib, last_rib);
    }
    for (std::size_t r = begin; r < end; ++r) {
      const int lower_columns = rings_.rings[r].columns, upper_columns = rings_.rings[r + 1].columns;
      for (int rib = 0; rib < last_rib - first_rib; ++rib) {
        const auto row = [&](std::size_t ring, int columns) {
          return [=, base = first[ring - begin]](int column) {
            const int total = columns * (last_rib - first_rib);
            int at = rib * columns + column;
            // The disc closes on itself: its last column is its first.
            if (chart == PumpkinAtlas::kStemDisc && total > 0) at %= total;
            return base + static_cast<std::uint32_t>(at);
          };
        };
        sew(lower_columns, upper_columns, (r + static_cast<std::size_t>(rib)) % 2 == 0, row(r, lower_columns),
            row(r + 1, upper_columns), [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
              mesh_.triangles.insert(mesh_.triangles.end(), {a, b, c});
              mesh_.parts.push_back(part);
            });
      }
    }
  }

  /// The vertices of a ring that a chart needs, from left to right.
  void addRow(std::size_t chart, std::size_t r, int first_rib, int last_rib) {
    const Ring& ring = rings_.rings[r];
    const PumpkinPart part = PumpkinAtlas::part(chart);
    // The rings at the creases belong to two parts; each sees them at its own end.
    double along = ring.along;
    if (ring.part != part || r == rings_.first_end) {
      along = r == rings_.first_stem  ? (part == PumpkinPart::kBody ? shape_.length(part) : 0)
              : r == rings_.first_end ? (part == PumpkinPart::kStem ? shape_.length(part) : 0)
                                      : ring.along;
    }
    int count = ring.columns * (last_rib - first_rib);
    if (chart != PumpkinAtlas::kStemDisc || count == 0) ++count;
    for (int i = 0; i < count; ++i) {
      const double around = ring.columns == 0 ? 0.5 * (first_rib + last_rib)
                                              : first_rib + static_cast<double>(i) / ring.columns;
      const std::size_t column =
          (static_cast<std::size_t>(i) + static_cast<std::size_t>(first_rib * ring.columns)) % ringSize(r);
      mesh_.positions.push_back(welded_[first_welded_[r] + column]);
      mesh_.uvs.push_back(atlas_.uv(chart, along, around).cast<float>());
      mesh_.charts.push_back(static_cast<std::uint8_t>(chart));
    }
  }

  const PumpkinShape& shape_;
  PumpkinAtlas atlas_;
  const Rings& rings_;
  std::vector<Vec3> welded_;
  std::vector<std::size_t> first_welded_;  // [rings]
  PumpkinMesh mesh_;
};

}  // namespace

PumpkinMesh makePumpkinMesh(const PumpkinOptions& options) {
  const PumpkinShape shape(options.seed);
  const Rings rings =
      ringsForResolution(shape, static_cast<std::size_t>(std::clamp(options.resolution, 500, 1'000'000)));
  return MeshBuilder(shape, rings).build();
}

}  // namespace heatskin
