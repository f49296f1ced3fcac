#include "heatskin/evaluators/local/local_evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/hilbert.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/base/parallel.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin::local {
namespace {

constexpr std::size_t kBlock = 512;

// A face with more pairs than this gets leaves; below, looking at all of them is as fast.
constexpr std::size_t kLargeFace = 160;

// Support radii below this part of a kernel's length count as this: a kernel so small has no rank of its own.
constexpr float kLeastReach = 1e-3f;

// For steps of a fit, in units of a kernel's support radius: how far from its centre the unfolding may begin.
constexpr double kSnap = 0.02;

/// The next of sixteen sizes between a radius and its double.
double roundedUp(double radius) {
  constexpr double kSizes = 16;
  if (!(radius > 0)) return 0;
  return std::exp2(std::ceil(std::log2(radius) * kSizes) / kSizes);
}

/// The centre of the part of a triangle that a point lies in, when it is cut into similar ones with sides of
/// about `size`. It is inside, as a source of an unfolding should be.
Vec3 snapped(const Vec3& barycentric, const std::array<Vec2, 3>& corners, double size) {
  constexpr double kMostParts = 4096;
  double longest = 0;
  for (std::size_t c = 0; c < 3; ++c)
    longest = std::max(longest, (corners[(c + 1) % 3] - corners[c]).squaredNorm());
  const double parts = std::clamp(std::ceil(std::sqrt(longest) / size), 1.0, kMostParts);
  Vec3 cell = (barycentric * parts).array().floor().cwiseMax(0).cwiseMin(parts - 1);
  // The floors of three numbers that add up to n add up to n - 1 (a part that stands like the whole) or n - 2
  // (one that stands on its head), or to n at a corner of parts.
  while (cell.sum() > parts - 1) {
    Eigen::Index largest = 0;
    cell.maxCoeff(&largest);
    cell[largest] -= 1;
  }
  const double rest = (parts - cell.sum()) / 3;
  return (cell.array() + rest) / parts;
}

/// Most kernels stay within their face.
bool isIdentity(const Rigid2& motion) {
  return motion.sine == 0 && motion.cosine == 1 && motion.translation == Vec2::Zero();
}

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

double LocalEvaluator::radiusOf(const KernelSet& kernels, std::size_t i) const {
  return static_cast<double>(kernels.lengths[i]) *
         supportRadius(kernels.sharpnesses[i], kernels.thresholds[i], options_);
}

LocalEvaluator::LocalEvaluator(const Surface& surface, const LocalOptions& options,
                               std::shared_ptr<const StoredSupports> stored)
    : surface_(&surface),
      options_(options),
      stored_(std::move(stored)),
      // The Euclidean variant, for comparison only, takes frames in space: nothing a proxy could give it.
      proxy_(options.euclidean    ? nullptr
             : stored_ != nullptr ? stored_->proxy()
                                  : SupportProxy::build(surface, options.proxy_faces)),
      builder_(supportSurface(), options) {}

PairTables LocalEvaluator::tables() const {
  PairTables t;
  t.supports = &supports_;
  t.kernels = rows_.data();
  t.weights = options_.rule == CandidateRule::kByReach ? weights_.data() : nullptr;
  t.leaves = &leaves_;
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
    const SupportProxy::Place place = proxy_->place(p.face, s);
    return {place.face, place.x.x(), place.x.y(), s.x(), s.y(), s.z()};
  }
  const Vec2f x = surface_->faceCoordinates(p).cast<float>();
  return {p.face, x.x(), x.y(), s.x(), s.y(), s.z()};
}

/// A fine mesh does not fit into the cache: what rows are made from is asked for all at once, not one wait
/// after the other.
void LocalEvaluator::prefetch(std::span<const SurfacePoint> points) const {
  if (proxy_ == nullptr) return;
  for (const SurfacePoint& p : points) {
    __builtin_prefetch(&surface_->faces()[p.face]);
    proxy_->prefetch(p.face);
  }
  for (const SurfacePoint& p : points) {
    for (const std::uint32_t v : surface_->faces()[p.face])
      __builtin_prefetch(&surface_->positions()[v]);
  }
}

void LocalEvaluator::tablesOf(std::span<const SurfacePoint> points, std::span<std::uint32_t> out) const {
  if (proxy_ == nullptr) return Evaluator::tablesOf(points, out);
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      proxy_->prefetch(points[i].face);
    for (std::size_t i = begin; i < end; ++i)
      out[i] = proxy_->facesOf(points[i].face).front();
  });
}

/// From the face a kernel is in now: exact, along the way it walked since the rebuild.
LocalEvaluator::Appearing LocalEvaluator::appearing(const SurfacePoint& p, double angle,
                                                    const Rigid2& reference) const {
  const FaceFrame& frame = surface_->frames()[p.face];
  const Vec2 axis(std::cos(angle), std::sin(angle));
  const Vec2 center = surface_->faceCoordinates(p);
  const Vec3 space = frame.fromFace(center);
  if (isIdentity(reference)) return {center, axis, space, frame.x_axis, frame.y_axis};
  // A unit step along a reference axis is this step in the present face.
  return {reference(center), reference.rotate(axis), space,
          frame.directionFromFace(reference.rotateBack(Vec2::UnitX())),
          frame.directionFromFace(reference.rotateBack(Vec2::UnitY()))};
}

/// As a kernel's proxy face at the last rebuild sees it: axis and steps since then projected into that face's
/// plane. Until the next rebuild a kernel moves by little, over faces almost parallel to it.
LocalEvaluator::Appearing LocalEvaluator::projected(const SurfacePoint& p, double angle,
                                                    const FaceFrame& reference, const Vec2& shift,
                                                    Projection& out) const {
  const FaceFrame& face = surface_->frames()[p.face];
  Eigen::Matrix2d projection;
  projection << reference.directionToFace(face.x_axis), reference.directionToFace(face.y_axis);
  // A face at right angles to its proxy has no shadow there; the smallest rotation from one plane to the
  // other takes the place of the projection.
  constexpr double kLeast = 1e-3;
  if (!(std::abs(projection.determinant()) > kLeast)) {
    const Vec3 from = face.normal(), to = reference.normal(), c = from.cross(to);
    const auto turned = [&](const Vec3& v) -> Vec3 {
      return v + c.cross(v) + c.cross(c.cross(v)) / (1 + from.dot(to));
    };
    projection << reference.directionToFace(turned(face.x_axis)),
        reference.directionToFace(turned(face.y_axis));
  }
  const Vec2 axis = projection * Vec2(std::cos(angle), std::sin(angle));
  out = {projection.cast<float>(), static_cast<float>(projection.determinant() / axis.squaredNorm())};
  // finish() multiplies by the transpose of the projection: what it makes of these are the face's axes.
  const Eigen::Matrix2d back = projection.inverse();
  const Vec3 space = surface_->position(p);
  return {reference.toFace(space) + shift, axis.normalized(), space, face.directionFromFace(back.col(0)),
          face.directionFromFace(back.col(1))};
}

/// Of a kernel's vectors: from coordinates of its face to reference coordinates.
Turn<double> LocalEvaluator::turnOf(std::size_t kernel) const {
  if (proxy_ == nullptr) return {reference_from_face_[kernel].cosine, reference_from_face_[kernel].sine};
  const auto m = projections_[kernel].reference_from_face.cast<double>().eval();
  return nearestTurn(m(0, 0), m(0, 1), m(1, 0), m(1, 1));
}

/// From the face of the proxy that serves a query to the query's own face: what projecting between their
/// planes comes nearest to.
Turn<double> LocalEvaluator::turnFromProxy(const SurfacePoint& p, std::uint32_t proxy_face) const {
  const FaceFrame &face = surface_->frames()[p.face], &from = proxy_->surface().frames()[proxy_face];
  const Vec2 x = face.directionToFace(from.x_axis), y = face.directionToFace(from.y_axis);
  return nearestTurn(x.x(), y.x(), x.y(), y.y());
}

void LocalEvaluator::fillRows(const KernelSet& kernels) {
  rows_.resize(kernels.size());
  const bool tangents = kernels.layout.hasTangents();
  parallelFor(kernels.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    prefetch(std::span(kernels.positions).subspan(begin, end - begin));
    for (std::size_t i = begin; i < end; ++i) {
      const SurfacePoint& p = kernels.positions[i];
      const double angle = kernels.angles[i];
      const Appearing k = proxy_ != nullptr
                              ? projected(p, angle, supportSurface().frames()[supports_.sources()[i].face],
                                          shifts_[i].cast<double>(), projections_[i])
                              : appearing(p, angle, reference_from_face_[i]);
      KernelRow& row = rows_[i];
      row.center_x = static_cast<float>(k.center.x());
      row.center_y = static_cast<float>(k.center.y());
      const double length = kernels.lengths[i];
      row.axis_x = static_cast<float>(k.axis.x() / length);
      row.axis_y = static_cast<float>(k.axis.y() / length);
      row.anisotropy = options_.isotropic ? 0.0f : kernels.anisotropies[i];
      row.space_x = static_cast<float>(k.space.x());
      row.space_y = static_cast<float>(k.space.y());
      row.space_z = static_cast<float>(k.space.z());
      for (Eigen::Index c = 0; c < 3; ++c) {
        row.basis_x[c] = static_cast<float>(k.basis_x[c]);
        row.basis_y[c] = static_cast<float>(k.basis_y[c]);
      }
      const Turn<double> turn = tangents ? turnOf(i) : Turn<double>{};
      row.cosine = static_cast<float>(turn.cosine);
      row.sine = static_cast<float>(turn.sine);
    }
  });
}

double LocalEvaluator::estimatePairs(const KernelSet& kernels) const {
  if (stored_ != nullptr) return static_cast<double>(stored_->pairCount());
  // Below, every kernel on every face is no burden; asking would be.
  constexpr double kFew = 1 << 20;
  constexpr std::size_t kReachSamples = 64;
  const double most = static_cast<double>(kernels.size()) * supportSurface().faceCount();
  if (most <= kFew) return most;
  const std::size_t samples = std::min(kernels.size(), kReachSamples);
  std::vector<double> reached(samples);
  parallelFor(samples, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const std::size_t i = s * kernels.size() / samples;
      reached[s] = static_cast<double>(builder_.propagate(sourceOf(kernels, i, false)).size());
    }
  });
  return std::accumulate(reached.begin(), reached.end(), 0.0) / static_cast<double>(samples) *
         static_cast<double>(kernels.size());
}

/// Bytes rebuild() takes for so many pairs.
double LocalEvaluator::pairBytes(double pairs) const {
  // In the table, and what was found since the last round of supports; vectors that grow hold up to twice as
  // much.
  const bool charts = options_.join_corners && !options_.euclidean;
  const double pair = 4 + (charts ? sizeof(Chart) : sizeof(Development));
  return pairs * (1 + 2 * 0.125) * pair;
}

Result<void> LocalEvaluator::check(const KernelSet& kernels, double share) const {
  const double most = share * justifiedPairs(kernels.size(), supportSurface().faceCount());
  const double pairs = estimatePairs(kernels);
  if (pairs > most) {
    return usageError(fmt::format("{} kernels reach about {:.2g} faces in all, above the limit of {:.2g}",
                                  kernels.size(), pairs, most));
  }
  return askMemory(fmt::format("evaluating {} kernels that reach about {:.2g} faces", kernels.size(), pairs),
                   pairBytes(pairs));
}

SupportSource LocalEvaluator::sourceOf(const KernelSet& kernels, std::size_t i, bool roughly) const {
  SurfacePoint place = kernels.positions[i];
  if (proxy_ != nullptr) {
    const auto [face, x] = placeOf(kernels, i, knows(kernels, roughly));
    place = {face, proxy_->surface().barycentric(face, x.cast<double>())};
  }
  double radius = radiusOf(kernels, i);
  if (roughly) {
    radius = roundedUp(radius * (1 + kSnap));
    place.barycentric = snapped(place.barycentric, supportSurface().corners()[place.face], kSnap * radius);
  }
  return {place.face, supportSurface().faceCoordinates(place).cast<float>(), static_cast<float>(radius)};
}

/// Whether what is stored is about these kernels.
bool LocalEvaluator::knows(const KernelSet& kernels, bool roughly) const {
  return stored_ != nullptr && stored_->kernelCount() == kernels.size() && !roughly;
}

/// Where a kernel's centre is on the proxy. Steps that are stored begin at a certain face: beside its border
/// rounding must not choose another one.
SupportProxy::Place LocalEvaluator::placeOf(const KernelSet& kernels, std::size_t i, bool known) const {
  const SurfacePoint& p = kernels.positions[i];
  const Vec3f space = surface_->position(p).cast<float>();
  if (!known) return proxy_->place(p.face, space);
  const std::uint32_t face = stored_->proxyFaceOf(i);
  return {face, proxy_->placeOn(face, space)};
}

/// Neighbours one after the other, for the memory's sake and for the leaves of large faces. A trainer sorts
/// its kernels anyway.
std::vector<std::uint32_t> LocalEvaluator::orderOf(const KernelSet& kernels, bool roughly) const {
  if (roughly) {
    std::vector<std::uint32_t> order(kernels.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
  }
  std::vector<Vec3> centers(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    centers[i] = surface_->position(kernels.positions[i]);
  return hilbertOrder(centers);
}

void LocalEvaluator::rebuild(const KernelSet& kernels, bool roughly) {
  reference_from_face_.assign(proxy_ == nullptr ? kernels.size() : 0, Rigid2());
  projections_.resize(proxy_ != nullptr ? kernels.size() : 0);
  shifts_.resize(projections_.size());
  std::vector<SupportSource> sources(kernels.size());
  const bool known = knows(kernels, roughly);
  parallelFor(kernels.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      sources[i] = sourceOf(kernels, i, roughly);
      if (proxy_ == nullptr) continue;
      // From where the plane of its proxy face has a centre to where the proxy has it: nothing, unless its
      // nearest point lies on an edge.
      const SupportProxy::Place place = placeOf(kernels, i, known);
      const Vec3 space = surface_->position(kernels.positions[i]);
      shifts_[i] = place.x - supportSurface().frames()[place.face].toFace(space).cast<float>();
    }
  });
  if (options_.rule == CandidateRule::kByReach) {
    weights_.resize(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const float radius = std::max(sources[i].radius, kLeastReach * kernels.lengths[i]);
      weights_[i] = 1 / (radius * radius);
    }
  }
  const std::vector<std::uint32_t> order = orderOf(kernels, roughly);
  builder_.build(std::move(sources), order, supports_, known ? stored_.get() : nullptr);
  fillRows(kernels);
  if (options_.rule == CandidateRule::kPerFace) keepNearestToCentroid();
  // In the Euclidean variant distances say nothing about developed centres: no leaves then. With "PF" no face
  // has more pairs than candidates.
  const std::size_t threshold = options_.euclidean ? kNone : std::max(kLargeFace, 2 * options_.candidates);
  leaves_.layOut(supports_, threshold);
  refit();
}

void LocalEvaluator::refresh(const KernelSet& kernels, std::span<const Rigid2> motions) {
  if (proxy_ == nullptr) {
    parallelFor(motions.size(), kBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (!isIdentity(motions[i])) reference_from_face_[i] = reference_from_face_[i] * motions[i].inverse();
      }
    });
  }
  fillRows(kernels);
  refit();
}

/// "PF": faces with too many pairs keep those whose developed centre is nearest to the centroid, which is the
/// origin.
void LocalEvaluator::keepNearestToCentroid() {
  const PairTables t = tables();
  std::vector<std::pair<float, std::uint32_t>> order;
  std::vector<std::uint32_t> kept;
  for (std::uint32_t f = 0; f < supports_.faceCount(); ++f) {
    const std::uint32_t count = supports_.of(f).count;
    if (count <= options_.candidates) continue;
    order.clear();
    for (std::uint32_t pair = 0; pair < count; ++pair) {
      const Developed<float> k = develop(t, f, pair);
      order.emplace_back(k.center_x * k.center_x + k.center_y * k.center_y, pair);
    }
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(options_.candidates),
                     order.end());
    kept.clear();
    for (std::size_t i = 0; i < options_.candidates; ++i)
      kept.push_back(order[i].second);
    std::sort(kept.begin(), kept.end());
    supports_.keepOnly(f, kept);
  }
}

/// The leaves of large faces follow the kernels.
void LocalEvaluator::refit() {
  const PairTables t = tables();
  parallelFor(leaves_.faces.size(), 8,
              [&](std::size_t first, std::size_t last) { refitLeaves(t, leaves_, first, last); });
}

/// Nothing is worked out beforehand: a query's row is made when it is asked about.
class LocalEvaluator::Batch final : public EvaluatorBatch {
 public:
  Batch(const LocalEvaluator& evaluator, std::span<const SurfacePoint> points)
      : evaluator_(&evaluator), points_(points) {}

  void respond(std::size_t begin, std::size_t end, Workspace& workspace) const override {
    auto& scratch = workspace.scratchOf<QueryScratch>();
    scratch.rows.resize(end - begin);
    evaluator_->prefetch(points_.subspan(begin, end - begin));
    for (std::size_t i = begin; i < end; ++i)
      scratch.rows[i - begin] = evaluator_->queryRow(points_[i]);
    workspace.responses.resize(end - begin, evaluator_->options_.candidates);
    respondBlock(evaluator_->tables(), scratch.rows, scratch.selection, workspace.responses);
  }

  void turns(std::size_t begin, std::size_t end, Workspace& workspace) const override {
    ResponseBlock& responses = workspace.responses;
    responses.resizeTurns();
    const auto& rows = workspace.scratchOf<QueryScratch>().rows;
    turnBlock(evaluator_->tables(), rows, responses);
    if (evaluator_->proxy_ == nullptr) return;
    for (std::size_t i = begin; i < end; ++i) {
      const Turn<double> own = evaluator_->turnFromProxy(points_[i], rows[i - begin].face);
      const Turn<float> turn{static_cast<float>(own.cosine), static_cast<float>(own.sine)};
      const std::size_t base = (i - begin) * responses.stride;
      for (std::size_t at = base; at < base + responses.counts[i - begin]; ++at) {
        const Turn<float> turned = turn * Turn<float>{responses.cosines[at], responses.sines[at]};
        responses.cosines[at] = turned.cosine;
        responses.sines[at] = turned.sine;
      }
    }
  }

  void respondVjp(std::size_t, std::size_t, Workspace& workspace, std::span<const float> dx,
                  GradientSums& sums) const override {
    respondVjpBlock(evaluator_->tables(), workspace.scratchOf<QueryScratch>().rows, workspace.responses, dx,
                    sums);
  }

 private:
  /// What one range needs.
  struct QueryScratch final : EvaluatorScratch {
    std::vector<QueryRow> rows;
    Selection selection;
  };

  const LocalEvaluator* evaluator_;
  std::span<const SurfacePoint> points_;
};

std::unique_ptr<EvaluatorBatch> LocalEvaluator::begin(std::span<const SurfacePoint> points,
                                                      std::unique_ptr<EvaluatorBatch>) const {
  return std::make_unique<Batch>(*this, points);
}

void LocalEvaluator::finish(std::uint32_t kernel, GeometryGradient& gradient) const {
  const Vec2 g(gradient.position_x, gradient.position_y);
  Vec2 in_face;
  if (proxy_ != nullptr) {
    const Projection& projection = projections_[kernel];
    in_face = projection.reference_from_face.cast<double>().transpose() * g;
    gradient.angle *= projection.turn;
  } else {
    in_face = reference_from_face_[kernel].rotateBack(g);
  }
  gradient.position_x = static_cast<float>(in_face.x());
  gradient.position_y = static_cast<float>(in_face.y());
}

}  // namespace heatskin::local
