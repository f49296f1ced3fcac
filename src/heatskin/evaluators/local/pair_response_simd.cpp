// Vectorised respondBlock() and respondVjpBlock(): one source, compiled once for every SIMD level, chosen at
// run time.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>

#include "heatskin/evaluators/local/pair_response.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/local/pair_response_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/kernels/fast_exp-inl.h"
#include "heatskin/kernels/rows-inl.h"
#include "heatskin/kernels/select-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::local {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::addColumns;
using heatskin::HWY_NAMESPACE::Columns;
using heatskin::HWY_NAMESPACE::fastExp;
using heatskin::HWY_NAMESPACE::keepWanted;
using heatskin::HWY_NAMESPACE::loadColumns;
using heatskin::HWY_NAMESPACE::Wanted;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using UnsignedTag = hn::RebindToUnsigned<Tag>;

/// Geometry of a vector of pairs against one query.
struct Geometry {
  Vector dx, dy;  // q - S
  Vector axis_x, axis_y;
  Vector plane, chord;  // squared lengths
  Vector cx, cy, cz;    // q - p in space
  Vector anisotropy;
  Vector cosine, sine;
};

/// `kernel_of` and `pair_of` give the numbers of a lane's kernel and pair.
template <bool kEuclidean, class KernelOf, class PairOf>
HWY_INLINE Geometry geometryOf(const PairTables& t, const QueryRow& q, const KernelOf& kernel_of,
                               const PairOf& pair_of) {
  const Tag d;
  static_assert(offsetof(KernelRow, anisotropy) == 16 && offsetof(KernelRow, basis_x) == 32 &&
                offsetof(KernelRow, basis_y) == 48);
  const auto columns = [&](std::size_t first) HWY_ATTR {
    return loadColumns(d, [&](std::size_t lane) HWY_ATTR {
      return reinterpret_cast<const float*>(t.kernels + kernel_of(lane)) + first;
    });
  };
  Geometry g;
  const auto center_axis = columns(0), anisotropy_space = columns(4);
  g.anisotropy = anisotropy_space.c0;
  g.cx = hn::Sub(hn::Set(d, q.space_x), anisotropy_space.c1);
  g.cy = hn::Sub(hn::Set(d, q.space_y), anisotropy_space.c2);
  g.cz = hn::Sub(hn::Set(d, q.space_z), anisotropy_space.c3);
  g.chord = hn::MulAdd(g.cx, g.cx, hn::MulAdd(g.cy, g.cy, hn::Mul(g.cz, g.cz)));
  const auto axis_x = center_axis.c2, axis_y = center_axis.c3;
  if constexpr (kEuclidean) {
    g.cosine = hn::Set(d, 1.0f);
    g.sine = hn::Zero(d);
    g.axis_x = axis_x;
    g.axis_y = axis_y;
    const auto bx = columns(8), by = columns(12);
    g.dx = hn::MulAdd(bx.c0, g.cx, hn::MulAdd(bx.c1, g.cy, hn::Mul(bx.c2, g.cz)));
    g.dy = hn::MulAdd(by.c0, g.cx, hn::MulAdd(by.c1, g.cy, hn::Mul(by.c2, g.cz)));
  } else {
    const auto x = center_axis.c0, y = center_axis.c1;
    const auto motion = loadColumns(
        d, [&](std::size_t lane) HWY_ATTR { return &t.supports->developments[pair_of(lane)].cosine; });
    g.cosine = motion.c0;
    g.sine = motion.c1;
    const auto sx = hn::MulAdd(g.cosine, x, hn::NegMulAdd(g.sine, y, motion.c2));
    const auto sy = hn::MulAdd(g.sine, x, hn::MulAdd(g.cosine, y, motion.c3));
    g.dx = hn::Sub(hn::Set(d, q.x), sx);
    g.dy = hn::Sub(hn::Set(d, q.y), sy);
    g.axis_x = hn::NegMulAdd(g.sine, axis_y, hn::Mul(g.cosine, axis_x));
    g.axis_y = hn::MulAdd(g.sine, axis_x, hn::Mul(g.cosine, axis_y));
  }
  g.plane = hn::MulAdd(g.dx, g.dx, hn::Mul(g.dy, g.dy));
  return g;
}

HWY_INLINE hn::Mask<Tag> chordCounts(const Geometry& g) {
  return hn::Gt(g.chord, hn::Mul(hn::Set(Tag(), kChordSlack<float>), g.plane));
}

/// Distances and responses of the pairs [begin, end), appended to the arrays (which have room for a vector
/// more).
template <bool kEuclidean>
HWY_INLINE std::size_t respondRange(const PairTables& t, const QueryRow& q, std::uint32_t begin,
                                    std::uint32_t end, std::size_t at, float* HWY_RESTRICT squared,
                                    float* HWY_RESTRICT x, std::uint32_t* HWY_RESTRICT pairs,
                                    std::uint32_t* HWY_RESTRICT kernels) {
  const Tag d;
  const UnsignedTag du;
  const std::size_t lanes = hn::Lanes(d);
  const SupportTable& s = *t.supports;
  const auto heat = hn::Set(d, t.shape.heat), window = hn::Set(d, t.shape.window);
  const auto tiny = hn::Set(d, kCoincident<float>);
  for (std::uint32_t pair = begin; pair < end; pair += static_cast<std::uint32_t>(lanes)) {
    const std::size_t valid = end - pair;
    const auto kernel =
        hn::LoadU(du, s.kernels.data() + pair);  // padded: lanes past the end are other pairs, still valid
    const Geometry g = geometryOf<kEuclidean>(
        t, q, [&](std::size_t lane) HWY_ATTR { return s.kernels[pair + lane]; },
        [&](std::size_t lane) HWY_ATTR { return pair + lane; });
    const auto d2 = hn::IfThenElse(chordCounts(g), g.chord, g.plane);
    const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
    const auto share = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(hn::Mul(v, v), g.plane));
    const auto rate = hn::MulAdd(heat, hn::MulAdd(g.anisotropy, share, hn::Set(d, 1.0f)), window);
    hn::StoreU(fastExp(d, hn::Neg(hn::Mul(d2, rate))), d, x + at);
    if (squared != nullptr) hn::StoreU(d2, d, squared + at);
    hn::StoreU(kernel, du, kernels + at);
    hn::StoreU(hn::Add(hn::Set(du, pair), hn::Iota(du, 0)), du, pairs + at);
    at += std::min(valid, lanes);
  }
  return at;
}

/// A thread's memory for queries with more pairs than candidates.
struct Selection {
  std::vector<float> squared, x;
  std::vector<std::uint32_t> pairs, kernels;

  void reserve(std::size_t count) {
    if (squared.size() >= count + ResponseBlock::kPadding) return;
    const std::size_t size = 2 * count + ResponseBlock::kPadding;
    squared.resize(size);
    x.resize(size);
    pairs.resize(size);
    kernels.resize(size);
  }
};

/// The pairs of a large face near the query: a square of cells around it, large enough that no unseen pair
/// can be among the nearest. Cells of a row lie side by side, so a row of the square is one range of pairs.
template <bool kEuclidean>
HWY_INLINE std::size_t respondGrid(const PairTables& t, const QueryRow& q, const FaceGrid& grid,
                                   Selection& s) {
  const std::uint32_t* cells = t.grids->cells.data() + grid.first_cell;
  const float gx = (q.x - grid.origin_x) * grid.inverse_cell, gy = (q.y - grid.origin_y) * grid.inverse_cell;
  const int column = std::clamp(static_cast<int>(std::floor(gx)), 0, grid.columns - 1);
  const int row = std::clamp(static_cast<int>(std::floor(gy)), 0, grid.rows - 1);
  const float cell = 1 / grid.inverse_cell;
  // A circle is three quarters of its square: smaller ones need not be tried.
  const std::size_t enough = t.candidates + t.candidates / 4;
  std::size_t count = 0;
  for (int ring = 1;; ++ring) {
    const int left = std::max(column - ring, 0), right = std::min(column + ring, grid.columns - 1);
    const int bottom = std::max(row - ring, 0), top = std::min(row + ring, grid.rows - 1);
    const bool everything = left == 0 && right == grid.columns - 1 && bottom == 0 && top == grid.rows - 1;
    std::size_t inside_square = 0;
    for (int r = bottom; r <= top; ++r)
      inside_square += cells[r * grid.columns + right + 1] - cells[r * grid.columns + left];
    if (inside_square < enough && !everything) continue;
    s.reserve(inside_square);
    count = 0;
    for (int r = bottom; r <= top; ++r) {
      count =
          respondRange<kEuclidean>(t, q, cells[r * grid.columns + left], cells[r * grid.columns + right + 1],
                                   count, s.squared.data(), s.x.data(), s.pairs.data(), s.kernels.data());
    }
    if (everything) break;
    // Nothing outside the square is nearer than its border; centres may have drifted by grids->drift since.
    const float border =
        std::min({column - ring > 0 ? gx - static_cast<float>(column - ring) : 1e30f,
                  column + ring < grid.columns - 1 ? static_cast<float>(column + ring + 1) - gx : 1e30f,
                  row - ring > 0 ? gy - static_cast<float>(row - ring) : 1e30f,
                  row + ring < grid.rows - 1 ? static_cast<float>(row + ring + 1) - gy : 1e30f}) *
            cell -
        t.grids->drift;
    if (border <= 0) continue;
    const float limit = border * border;
    std::size_t inside = 0;
    for (std::size_t i = 0; i < count; ++i)
      inside += s.squared[i] <= limit ? 1 : 0;
    if (inside >= t.candidates) break;
  }
  return count;
}

template <bool kEuclidean>
void respondMode(const PairTables& t, std::span<const QueryRow> queries, ResponseBlock& out) {
  thread_local Selection selection;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const QueryRow& q = queries[i];
    const std::uint32_t begin = t.supports->begin[q.face], end = t.supports->begin[q.face + 1];
    const std::size_t count = end - begin, base = i * out.stride;
    float* x = out.x.data() + base;
    std::uint32_t* pairs = out.pairs.data() + base;
    std::uint32_t* kernels = out.kernels.data() + base;
    if (count <= t.candidates) {
      respondRange<kEuclidean>(t, q, begin, end, 0, nullptr, x, pairs, kernels);
      out.counts[i] = static_cast<std::uint32_t>(count);
      continue;
    }
    const std::uint32_t grid = t.grids->grid_of_face.empty() ? std::numeric_limits<std::uint32_t>::max()
                                                             : t.grids->grid_of_face[q.face];
    std::size_t seen = 0;
    // A chord is not shorter than the development here, but in Euclidean mode it may be: no grid then.
    if (!kEuclidean && grid != std::numeric_limits<std::uint32_t>::max()) {
      seen = respondGrid<kEuclidean>(t, q, t.grids->grids[grid], selection);
    } else {
      selection.reserve(count);
      seen = respondRange<kEuclidean>(t, q, begin, end, 0, selection.squared.data(), selection.x.data(),
                                      selection.pairs.data(), selection.kernels.data());
    }
    const std::size_t kept =
        keepWanted<Wanted::kSmallest>(selection.squared.data(), selection.pairs.data(),
                                      selection.kernels.data(), selection.x.data(), seen, t.candidates);
    // Whole vectors: what follows the kept ones are kernels of this query too.
    const std::size_t lanes = hn::Lanes(Tag()),
                      whole = std::min(out.stride, (kept + lanes - 1) / lanes * lanes);
    std::copy_n(selection.x.data(), whole, x);
    std::copy_n(selection.pairs.data(), whole, pairs);
    std::copy_n(selection.kernels.data(), whole, kernels);
    out.counts[i] = static_cast<std::uint32_t>(kept);
  }
}

void respondBlockT(const PairTables& t, std::span<const QueryRow> queries, ResponseBlock& out) {
  if (t.euclidean) {
    respondMode<true>(t, queries, out);
  } else {
    respondMode<false>(t, queries, out);
  }
}

template <bool kEuclidean>
void respondVjpMode(const PairTables& t, std::span<const QueryRow> queries, const ResponseBlock& responses,
                    std::span<const float> gradient, GradientSums& sums) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto heat = hn::Set(d, t.shape.heat), window = hn::Set(d, t.shape.window);
  const auto tiny = hn::Set(d, kCoincident<float>), one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  const auto two = hn::Set(d, 2.0f);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const QueryRow& q = queries[i];
    const std::size_t base = i * responses.stride, count = responses.counts[i];
    const std::uint32_t* kernels = responses.kernels.data() + base;
    const std::uint32_t* pairs = responses.pairs.data() + base;
    for (std::size_t n = 0; n < count; ++n)
      sums.row(kernels[n]);
    for (std::size_t n = 0; n < count; n += lanes) {
      const std::size_t valid = std::min(lanes, count - n);
      const auto dx_loss = hn::IfThenElseZero(hn::FirstN(d, valid), hn::LoadU(d, gradient.data() + base + n));
      if (hn::AllTrue(d, hn::Eq(dx_loss, zero))) continue;
      // Lanes past the last candidate repeat it; their gradient is zero.
      const auto at = [&](std::size_t lane) HWY_ATTR { return n + std::min(lane, valid - 1); };
      const Geometry g = geometryOf<kEuclidean>(
          t, q, [&](std::size_t lane) HWY_ATTR { return kernels[at(lane)]; },
          [&](std::size_t lane) HWY_ATTR { return pairs[at(lane)]; });
      // The scalar version of these lines, with their reasons, is responseVjp().
      const auto chord_counts = chordCounts(g);
      const auto d2 = hn::IfThenElse(chord_counts, g.chord, g.plane);
      const auto u = hn::MulAdd(g.axis_x, g.dx, hn::Mul(g.axis_y, g.dy));
      const auto v = hn::NegMulAdd(g.axis_y, g.dx, hn::Mul(g.axis_x, g.dy));
      const auto inverse = hn::IfThenElseZero(hn::Gt(g.plane, tiny), hn::Div(one, g.plane));
      const auto share = hn::Mul(hn::Mul(v, v), inverse);
      const auto rate = hn::MulAdd(heat, hn::MulAdd(g.anisotropy, share, one), window);
      const auto outer = hn::Neg(hn::Mul(dx_loss, hn::LoadU(d, responses.x.data() + base + n)));
      const auto scaled = hn::Mul(outer, hn::Mul(d2, heat));
      const auto d_share = hn::Mul(scaled, g.anisotropy);
      const auto twist = hn::Mul(hn::Mul(two, hn::Mul(u, v)), hn::Mul(inverse, d_share));
      const auto turn = hn::Mul(twist, inverse);
      const auto d_distance = hn::Mul(hn::Mul(outer, rate), two);
      const auto in_plane = hn::IfThenElse(chord_counts, zero, d_distance);
      const auto gx = hn::NegMulAdd(in_plane, g.dx, hn::Mul(turn, g.dy));
      const auto gy = hn::Neg(hn::MulAdd(turn, g.dx, hn::Mul(in_plane, g.dy)));
      auto position_x = hn::MulAdd(g.cosine, gx, hn::Mul(g.sine, gy));
      auto position_y = hn::NegMulAdd(g.sine, gx, hn::Mul(g.cosine, gy));
      if (!hn::AllFalse(d, chord_counts)) {
        const auto basis = [&](std::size_t first) HWY_ATTR {
          return loadColumns(d, [&](std::size_t lane) HWY_ATTR {
            return reinterpret_cast<const float*>(t.kernels + kernels[at(lane)]) + first;
          });
        };
        const auto bx = basis(8), by = basis(12);
        const auto pull = hn::IfThenElseZero(chord_counts, hn::Neg(d_distance));
        position_x = hn::MulAdd(pull, hn::MulAdd(bx.c0, g.cx, hn::MulAdd(bx.c1, g.cy, hn::Mul(bx.c2, g.cz))),
                                position_x);
        position_y = hn::MulAdd(pull, hn::MulAdd(by.c0, g.cx, hn::MulAdd(by.c1, g.cy, hn::Mul(by.c2, g.cz))),
                                position_y);
      }
      static_assert(GradientRow::kPositionX == 0 && GradientRow::kPositionY == 1 &&
                    GradientRow::kAngle == 2 && GradientRow::kAnisotropy == 3);
      addColumns(
          d, Columns<Vector>{position_x, position_y, hn::Neg(twist), hn::Mul(scaled, share)},
          [&](std::size_t lane) HWY_ATTR { return sums.present(kernels[n + lane]); }, valid);
    }
  }
}

void respondVjpBlockT(const PairTables& t, std::span<const QueryRow> queries, const ResponseBlock& responses,
                      std::span<const float> dx, GradientSums& sums) {
  if (t.euclidean) {
    respondVjpMode<true>(t, queries, responses, dx, sums);
  } else {
    respondVjpMode<false>(t, queries, responses, dx, sums);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::local
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::local {

HWY_EXPORT(respondBlockT);
HWY_EXPORT(respondVjpBlockT);

void respondBlock(const PairTables& tables, std::span<const QueryRow> queries, ResponseBlock& out) {
  HWY_DYNAMIC_DISPATCH(respondBlockT)(tables, queries, out);
}

void respondVjpBlock(const PairTables& tables, std::span<const QueryRow> queries,
                     const ResponseBlock& responses, std::span<const float> dx, GradientSums& sums) {
  HWY_DYNAMIC_DISPATCH(respondVjpBlockT)(tables, queries, responses, dx, sums);
}

}  // namespace heatskin::local
#endif
