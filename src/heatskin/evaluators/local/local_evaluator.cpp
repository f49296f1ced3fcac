#include "heatskin/evaluators/local/local_evaluator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heatskin/base/parallel.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin::local {
namespace {

constexpr std::size_t kBlock = 512;

// A face with more pairs than this gets a grid; below, looking at all of them is as fast.
constexpr std::size_t kGridThreshold = 160;

static_assert(sizeof(QueryRow) % sizeof(float) == 0 && alignof(QueryRow) == alignof(float));
constexpr std::size_t kQueryFloats = sizeof(QueryRow) / sizeof(float);

// Pairs in a cell on average: a square of seven by seven cells then has some 100 pairs and nearly always the
// 50 nearest, and each of its rows fills a vector.
constexpr double kPairsPerCell = 2;

}  // namespace

double supportRadius(double sharpness, double threshold, const LocalOptions& options) {
  const SoftThreshold<double> filter(sharpness, threshold);
  const double x = filter.invert(options.support_tail);
  // exp(-d^2 rate) = x on the long axis. A flat threshold may reach its tail only where x <= 0: everywhere,
  // up to the cap.
  const double rate =
      1 / (4 * options.diffusion_time) +
      (options.window_sigma > 0 ? 1 / (2 * options.window_sigma * options.window_sigma) : 0.0);
  if (!(x > 0)) return options.max_radius;
  if (x >= 1) return 0;
  return std::min(options.max_radius, std::sqrt(-std::log(x) / rate));
}

LocalEvaluator::LocalEvaluator(const Surface& surface, const LocalOptions& options)
    : surface_(&surface),
      options_(options),
      // The Euclidean variant, for comparison only, takes frames in space: nothing a proxy could give it.
      proxy_(options.euclidean ? nullptr : SupportProxy::build(surface, options.proxy_faces)),
      builder_(supportSurface(), options) {}

PairTables LocalEvaluator::tables() const {
  PairTables t;
  t.supports = &supports_;
  t.kernels = rows_.data();
  t.grids = &grids_;
  t.shape.heat = static_cast<float>(1 / (4 * options_.diffusion_time));
  t.shape.window = options_.window_sigma > 0
                       ? static_cast<float>(1 / (2 * options_.window_sigma * options_.window_sigma))
                       : 0.0f;
  t.candidates = options_.candidates;
  t.euclidean = options_.euclidean;
  return t;
}

QueryRow LocalEvaluator::queryRow(const SurfacePoint& p) const {
  const Vec3 space = surface_->position(p);
  const Vec3f s = space.cast<float>();
  if (proxy_ != nullptr) {
    const std::uint32_t face = proxy_->faceOf(p.face);
    const Vec2f x = proxy_->surface().frames()[face].toFace(space).cast<float>();
    return {face, x.x(), x.y(), s.x(), s.y(), s.z()};
  }
  const Vec2f x = surface_->faceCoordinates(p).cast<float>();
  return {p.face, x.x(), x.y(), s.x(), s.y(), s.z()};
}

/// From the face a kernel is in now: exact, along the way it walked since the rebuild.
LocalEvaluator::Appearing LocalEvaluator::appearing(const SurfacePoint& p, double angle,
                                                    const Rigid2& reference) const {
  const FaceFrame& frame = surface_->frames()[p.face];
  // A unit step along a reference axis is this step in the present face.
  return {reference(surface_->faceCoordinates(p)), reference.rotate(Vec2(std::cos(angle), std::sin(angle))),
          frame.directionFromFace(reference.rotateBack(Vec2::UnitX())),
          frame.directionFromFace(reference.rotateBack(Vec2::UnitY()))};
}

/// As a kernel's proxy face at the last rebuild sees it: centre and axis projected into that face's plane.
/// Until the next rebuild a kernel moves by little, over faces almost parallel to it.
LocalEvaluator::Appearing LocalEvaluator::projected(const SurfacePoint& p, double angle,
                                                    const FaceFrame& reference, Projection& out) const {
  const FaceFrame& face = surface_->frames()[p.face];
  Eigen::Matrix2d projection;
  projection << reference.directionToFace(face.x_axis), reference.directionToFace(face.y_axis);
  // A face at right angles to its proxy has no shadow there; it counts as parallel.
  constexpr double kLeast = 1e-3;
  if (!(std::abs(projection.determinant()) > kLeast)) projection.setIdentity();
  const Vec2 axis = projection * Vec2(std::cos(angle), std::sin(angle));
  out = {projection.cast<float>(), static_cast<float>(projection.determinant() / axis.squaredNorm())};
  // finish() multiplies by the transpose of the projection: what it makes of these are the face's axes.
  const Eigen::Matrix2d back = projection.inverse();
  return {reference.toFace(surface_->position(p)), axis.normalized(), face.directionFromFace(back.col(0)),
          face.directionFromFace(back.col(1))};
}

void LocalEvaluator::fillRows(const KernelSet& kernels) {
  rows_.resize(kernels.size());
  parallelFor(kernels.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const SurfacePoint& p = kernels.positions[i];
      const double angle = kernels.angles[i];
      const Appearing k = proxy_ != nullptr ? projected(p, angle, supportSurface().frames()[sources_[i].face],
                                                        projections_[i])
                                            : appearing(p, angle, reference_from_face_[i]);
      const Vec3 space = surface_->position(p);
      KernelRow& row = rows_[i];
      row.center_x = static_cast<float>(k.center.x());
      row.center_y = static_cast<float>(k.center.y());
      row.axis_x = static_cast<float>(k.axis.x());
      row.axis_y = static_cast<float>(k.axis.y());
      row.anisotropy = options_.isotropic ? 0.0f : kernels.anisotropies[i];
      row.space_x = static_cast<float>(space.x());
      row.space_y = static_cast<float>(space.y());
      row.space_z = static_cast<float>(space.z());
      for (Eigen::Index c = 0; c < 3; ++c) {
        row.basis_x[c] = static_cast<float>(k.basis_x[c]);
        row.basis_y[c] = static_cast<float>(k.basis_y[c]);
      }
      row.basis_x[3] = row.basis_y[3] = 0;
    }
  });
}

void LocalEvaluator::rebuild(const KernelSet& kernels) {
  reference_from_face_.assign(proxy_ == nullptr ? kernels.size() : 0, Rigid2());
  projections_.resize(proxy_ != nullptr ? kernels.size() : 0);
  sources_.resize(kernels.size());
  rebuilt_centers_.resize(kernels.size());
  parallelFor(kernels.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      SurfacePoint place = kernels.positions[i];
      if (proxy_ != nullptr) place = proxy_->place(place.face, surface_->position(place));
      const Vec2 center = supportSurface().faceCoordinates(place);
      sources_[i] = {
          place.face, center.cast<float>(),
          static_cast<float>(supportRadius(kernels.sharpnesses[i], kernels.thresholds[i], options_))};
    }
  });
  builder_.build(sources_, supports_);
  fillRows(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    rebuilt_centers_[i] = {rows_[i].center_x, rows_[i].center_y};
  if (options_.rule == CandidateRule::kPerFace) keepNearestToCentroid();
  buildGrids();
}

void LocalEvaluator::refresh(const KernelSet& kernels, std::span<const Rigid2> motions) {
  if (proxy_ == nullptr) {
    for (std::size_t i = 0; i < motions.size(); ++i)
      reference_from_face_[i] = reference_from_face_[i] * motions[i].inverse();
  }
  fillRows(kernels);
  if (grids_.grids.empty()) return;
  double drift = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Vec2 center(rows_[i].center_x, rows_[i].center_y);
    drift = std::max(drift, (center - rebuilt_centers_[i]).squaredNorm());
  }
  // Float rounding of coordinates up to 2.
  constexpr double kRounding = 1e-6;
  grids_.drift = static_cast<float>(std::sqrt(drift) + kRounding);
}

/// "PF": faces with too many pairs keep those whose developed centre is nearest to the centroid, which is the
/// origin.
void LocalEvaluator::keepNearestToCentroid() {
  const PairTables t = tables();
  SupportTable& s = supports_;
  std::vector<std::pair<float, std::uint32_t>> order;
  std::uint32_t to = 0;
  for (std::size_t f = 0; f + 1 < s.begin.size(); ++f) {
    const std::uint32_t begin = s.begin[f], end = s.begin[f + 1];
    order.clear();
    for (std::uint32_t pair = begin; pair < end; ++pair) {
      const Developed<float> k = develop(t, pair);
      order.emplace_back(k.center_x * k.center_x + k.center_y * k.center_y, pair);
    }
    if (order.size() > options_.candidates) {
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(options_.candidates),
                       order.end());
      order.resize(options_.candidates);
      std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    }
    s.begin[f] = to;
    for (const auto& [distance, pair] : order) {
      s.kernels[to] = s.kernels[pair];
      s.developments[to] = s.developments[pair];
      ++to;
    }
  }
  s.begin.back() = to;
}

/// Orders the pairs of large faces by grid cell.
void LocalEvaluator::buildGrids() {
  grids_.grids.clear();
  grids_.cells.clear();
  grids_.grid_of_face.clear();
  grids_.drift = 0;
  if (options_.rule == CandidateRule::kPerFace || options_.euclidean) return;
  const std::size_t threshold = std::max(kGridThreshold, 2 * options_.candidates);
  std::vector<std::uint32_t> large;
  for (std::uint32_t f = 0; f + 1 < supports_.begin.size(); ++f) {
    if (supports_.begin[f + 1] - supports_.begin[f] > threshold) large.push_back(f);
  }
  if (large.empty()) return;
  grids_.grid_of_face.assign(supportSurface().faceCount(), kNone);
  grids_.grids.resize(large.size());
  constexpr double kRounding = 1e-6;
  grids_.drift = static_cast<float>(kRounding);

  const PairTables t = tables();
  SupportTable& s = supports_;
  // Shapes first (they decide where each grid's cells begin), then the ordering, both in parallel over faces.
  parallelFor(large.size(), 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t g = first; g < last; ++g) {
      const std::uint32_t begin = s.begin[large[g]], end = s.begin[large[g] + 1];
      // Only the part over the face matters for queries; centres far outside fall into border cells.
      const auto& corners = supportSurface().corners()[large[g]];
      Vec2 low = corners[0], high = corners[0];
      for (const Vec2& c : corners) {
        low = low.cwiseMin(c);
        high = high.cwiseMax(c);
      }
      const Vec2 size = high - low;
      double inside = 0;
      for (std::uint32_t pair = begin; pair < end; ++pair) {
        const Developed<float> k = develop(t, pair);
        inside += k.center_x >= low.x() && k.center_x <= high.x() && k.center_y >= low.y() &&
                  k.center_y <= high.y();
      }
      const double cells = std::clamp(std::max(inside, 0.25 * (end - begin)) / kPairsPerCell, 1.0, 4096.0);
      const double cell = std::max(std::sqrt(size.x() * size.y() / cells), 1e-4 * size.maxCoeff());
      FaceGrid& grid = grids_.grids[g];
      grid.inverse_cell = static_cast<float>(1 / cell);
      // One more cell on each side holds the neighbourhood outside the face's box.
      grid.origin_x = static_cast<float>(low.x() - cell);
      grid.origin_y = static_cast<float>(low.y() - cell);
      grid.columns = std::min(256, static_cast<int>(size.x() / cell) + 3);
      grid.rows = std::min(256, static_cast<int>(size.y() / cell) + 3);
    }
  });
  std::uint32_t first_cell = 0;
  for (std::size_t g = 0; g < large.size(); ++g) {
    grids_.grid_of_face[large[g]] = static_cast<std::uint32_t>(g);
    grids_.grids[g].first_cell = first_cell;
    first_cell += static_cast<std::uint32_t>(grids_.grids[g].columns * grids_.grids[g].rows + 1);
  }
  grids_.cells.assign(first_cell, 0);
  parallelFor(large.size(), 16, [&](std::size_t first, std::size_t last) {
    struct Item {
      std::uint32_t cell, kernel;
      Development development;
    };
    std::vector<Item> items;
    for (std::size_t g = first; g < last; ++g) {
      const FaceGrid& grid = grids_.grids[g];
      const std::uint32_t begin = s.begin[large[g]], end = s.begin[large[g] + 1];
      const int cells = grid.columns * grid.rows;
      items.clear();
      std::uint32_t* starts = grids_.cells.data() + grid.first_cell;
      for (std::uint32_t pair = begin; pair < end; ++pair) {
        const Developed<float> k = develop(t, pair);
        const auto index = [&](float x, float origin, int count) {
          const float cell = std::floor((x - origin) * grid.inverse_cell);
          return static_cast<int>(std::clamp(cell, 0.0f, static_cast<float>(count - 1)));
        };
        const int cell = index(k.center_y, grid.origin_y, grid.rows) * grid.columns +
                         index(k.center_x, grid.origin_x, grid.columns);
        items.push_back({static_cast<std::uint32_t>(cell), s.kernels[pair], s.developments[pair]});
        ++starts[cell + 1];
      }
      std::stable_sort(items.begin(), items.end(),
                       [](const Item& a, const Item& b) { return a.cell < b.cell; });
      for (std::uint32_t n = 0; n < items.size(); ++n) {
        s.kernels[begin + n] = items[n].kernel;
        s.developments[begin + n] = items[n].development;
      }
      starts[0] = begin;
      for (int c = 0; c < cells; ++c)
        starts[c + 1] += starts[c];
    }
  });
}

void LocalEvaluator::respond(std::span<const SurfacePoint> queries, ResponseBlock& out) const {
  out.resize(queries.size(), options_.candidates);
  out.queries.resize(queries.size() * kQueryFloats);
  auto* rows = reinterpret_cast<QueryRow*>(out.queries.data());
  for (std::size_t i = 0; i < queries.size(); ++i)
    rows[i] = queryRow(queries[i]);
  respondBlock(tables(), {rows, queries.size()}, out);
}

void LocalEvaluator::respondVjp(std::span<const SurfacePoint> queries, const ResponseBlock& responses,
                                std::span<const float> dx, GradientSums& sums) const {
  const auto* rows = reinterpret_cast<const QueryRow*>(responses.queries.data());
  respondVjpBlock(tables(), {rows, queries.size()}, responses, dx, sums);
}

void LocalEvaluator::finish(std::uint32_t kernel, float* row) const {
  const Vec2 g(row[GradientRow::kPositionX], row[GradientRow::kPositionY]);
  Vec2 in_face;
  if (proxy_ != nullptr) {
    const Projection& projection = projections_[kernel];
    in_face = projection.reference_from_face.cast<double>().transpose() * g;
    row[GradientRow::kAngle] *= projection.turn;
  } else {
    in_face = reference_from_face_[kernel].rotateBack(g);
  }
  row[GradientRow::kPositionX] = static_cast<float>(in_face.x());
  row[GradientRow::kPositionY] = static_cast<float>(in_face.y());
}

}  // namespace heatskin::local
