#include "heatskin/evaluators/fields/field_evaluator.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "heatskin/base/isolated.h"
#include "heatskin/base/parallel.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin::fields {
namespace {

constexpr std::size_t kKernelBlock = 64;

/// Part of the distance to the last wanted kernel by which kernels may move before lists are renewed: wide
/// margins make long lists, narrow ones make many.
constexpr float kMarginShare = 0.05f;

/// Room for whole vectors at the end of rows.
constexpr std::size_t kRowPadding = 64;

/// The distance at which a kernel's weight has fallen to kFieldTail.
double reachOf(double sharpness, double threshold, double sigma) {
  const double x = SoftThreshold<double>(sharpness, threshold).invert(kFieldTail);
  return sigma * std::sqrt(2 * std::log(std::max(1.0, kMostHeat / x)));
}

/// The median distance, over a few vertices, to the last wanted kernel, at most `farthest`. From the kernels
/// alone: a margin that remembered earlier lists would make a resumed fit differ from one that went on.
float typicalReach(const Embedding& embedding, const Embedding::Rows& kernels, std::size_t wanted,
                   float farthest) {
  constexpr std::size_t kSamples = 17;
  const auto count = static_cast<std::size_t>(kernels.rows());
  const auto vertices = static_cast<std::size_t>(embedding.rows().rows());
  if (count < wanted) return farthest;
  std::vector<float> reaches(kSamples);
  parallelFor(kSamples, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<float> squared(count);
    for (std::size_t i = begin; i < end; ++i) {
      const auto vertex = static_cast<Eigen::Index>(vertices * i / kSamples);
      for (std::size_t k = 0; k < count; ++k)
        squared[k] = (kernels.row(static_cast<Eigen::Index>(k)) - embedding.rows().row(vertex)).squaredNorm();
      const auto last = squared.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
      std::nth_element(squared.begin(), last, squared.end());
      reaches[i] = std::min(farthest, std::sqrt(*last));
    }
  });
  std::nth_element(reaches.begin(), reaches.begin() + kSamples / 2, reaches.end());
  return reaches[kSamples / 2];
}

}  // namespace

FieldEvaluator::FieldEvaluator(const Surface& surface, std::span<const float> coordinates,
                               std::size_t dimensions, std::unique_ptr<HeatSource> source,
                               const FieldOptions& options)
    : surface_(&surface),
      options_(options),
      embedding_(surface, coordinates, dimensions),
      source_(std::move(source)),
      builder_(surface, embedding_) {}

void FieldEvaluator::refresh(const KernelSet& kernels, std::span<const Rigid2>) {
  update(kernels, false);
}

void FieldEvaluator::update(const KernelSet& kernels, bool fresh) {
  const std::size_t count = kernels.size();
  poses_.resize(count);
  faces_.resize(count);
  cutoffs_.resize(count);
  centers_.resize(static_cast<Eigen::Index>(count), embedding_.rows().cols());
  parallelFor(count, kKernelBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const SurfacePoint& p = kernels.positions[i];
      const auto& corners = surface_->corners()[p.face];
      Pose& pose = poses_[i];
      faces_[i] = p.face;
      pose.corners = surface_->faces()[p.face];
      const double twice_area = cross2(corners[1] - corners[0], corners[2] - corners[0]);
      for (std::size_t c = 0; c < 3; ++c) {
        // The gradient of a barycentric coordinate is the opposite edge, turned inwards.
        const Vec2 opposite = corners[(c + 2) % 3] - corners[(c + 1) % 3];
        pose.barycentric[c] = static_cast<float>(p.barycentric[static_cast<Eigen::Index>(c)]);
        pose.barycentric_x[c] = static_cast<float>(-opposite.y() / twice_area);
        pose.barycentric_y[c] = static_cast<float>(opposite.x() / twice_area);
      }
      pose.angle = kernels.angles[i];
      pose.anisotropy = kernels.anisotropies[i];
      const auto row = static_cast<Eigen::Index>(i);
      centers_.row(row) = pose.barycentric[0] * embedding_.rows().row(pose.corners[0]) +
                          pose.barycentric[1] * embedding_.rows().row(pose.corners[1]) +
                          pose.barycentric[2] * embedding_.rows().row(pose.corners[2]);
      const auto reach =
          static_cast<float>(reachOf(kernels.sharpnesses[i], kernels.thresholds[i], options_.window_sigma));
      cutoffs_[i] = reach * reach;
    }
  });
  if (fresh || count != listed_count_) makeLists(kernels);
  complete_ = false;
  std::fill(heat_state_.begin(), heat_state_.end(), kUnknown);
  parallelFor(count, kKernelBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      updateDistances(lists_.order[i]);
  });
}

void FieldEvaluator::complete() {
  if (complete_) return;
  parallelFor(poses_.size(), kKernelBlock, [&](std::size_t begin, std::size_t end) {
    HeatScratch& scratch = heat_scratch_.mine();
    for (std::size_t i = begin; i < end; ++i)
      updateHeat(lists_.order[i], false, scratch);
  });
  complete_ = true;
}

void FieldEvaluator::makeLists(const KernelSet& kernels) {
  NearListBuilder::Nearness nearness;
  nearness.wanted = options_.candidates;
  nearness.farthest = static_cast<float>(
      reachOf(KernelRanges::kMinSharpness, KernelRanges::kMinThreshold, options_.window_sigma));
  nearness.margin = kMarginShare * typicalReach(embedding_, centers_, nearness.wanted, nearness.farthest);
  std::swap(lists_, old_lists_);
  std::swap(squares_, old_squares_);
  builder_.build(kernels, centers_, nearness, lists_);
  const std::size_t pairs = lists_.pairCount(), count = kernels.size();
  squares_of_.resize(count, kNone);
  from_.assign(pairs, kNone);
  for (auto& squares : squares_)
    squares.resize(pairs + kRowPadding);
  parallelFor(count, kKernelBlock, [&](std::size_t begin, std::size_t end) {
    // Where the kernel at hand had a vertex in its old list.
    std::vector<std::uint32_t>& at = places_scratch_.mine();
    at.assign(surface_->vertexCount(), kNone);
    for (std::size_t at_order = begin; at_order < end; ++at_order) {
      const std::uint32_t i = lists_.order[at_order];
      // What was known of a pair depends on face and vertex only, whatever became of the kernel.
      if (i >= listed_count_ || squares_of_[i] != faces_[i]) {
        squares_of_[i] = kNone;
        continue;
      }
      const std::uint32_t old_begin = old_lists_.kernel_begin[i], old_end = old_lists_.kernel_end[i];
      for (std::uint32_t n = old_begin; n < old_end; ++n)
        at[old_lists_.vertices[n]] = n;
      const std::uint32_t first = lists_.kernel_begin[i], last = lists_.kernel_end[i];
      for (std::uint32_t n = first; n < last; ++n) {
        const std::uint32_t old = at[lists_.vertices[n]];
        for (std::size_t c = 0; c < 3; ++c) {
          squares_[c][n] = old != kNone
                               ? old_squares_[c][old]
                               : embedding_.squaredDistance(lists_.vertices[n], poses_[i].corners[c]);
        }
        from_[n] = old;
      }
      for (std::uint32_t n = old_begin; n < old_end; ++n)
        at[old_lists_.vertices[n]] = kNone;
    }
  });
  distances_.resize(pairs + kRowPadding);
  heats_.assign(pairs + 1, {});
  heat_state_.assign(pairs, kUnknown);
  source_->reset(pairs, count, from_);
  listed_count_ = count;
}

void FieldEvaluator::updateDistances(std::uint32_t kernel) {
  const Pose& pose = poses_[kernel];
  const std::size_t begin = lists_.kernel_begin[kernel], end = lists_.kernel_end[kernel];
  if (squares_of_[kernel] != faces_[kernel]) {
    squares_of_[kernel] = faces_[kernel];
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t c = 0; c < 3; ++c)
        squares_[c][i] = embedding_.squaredDistance(lists_.vertices[i], pose.corners[c]);
    }
  }
  const auto edges = embedding_.squaredEdges(faces_[kernel]);
  const auto& b = pose.barycentric;
  const float bend = b[0] * b[1] * edges[0] + b[1] * b[2] * edges[1] + b[2] * b[0] * edges[2];
  for (std::size_t i = begin; i < end; ++i) {
    const float sum = b[0] * squares_[0][i] + b[1] * squares_[1][i] + b[2] * squares_[2][i];
    distances_[lists_.places[i]] = std::max(0.0f, sum - bend);
  }
}

/// Heat of the kernel's pairs that are wanted, or of all that are not known.
void FieldEvaluator::updateHeat(std::uint32_t kernel, bool only_wanted, HeatScratch& scratch) const {
  const Pose& pose = poses_[kernel];
  const std::uint32_t begin = lists_.kernel_begin[kernel], end = lists_.kernel_end[kernel];
  auto& [all_pairs, all_vertices, rows] = scratch;
  if (all_pairs.size() < end - begin) {
    all_pairs.resize(2 * (end - begin));
    all_vertices.resize(all_pairs.size());
  }
  // Without a branch: which pairs are wanted cannot be predicted.
  std::size_t count = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    std::uint8_t& state = heat_state_[lists_.places[i]];
    all_pairs[count] = i;
    all_vertices[count] = lists_.vertices[i];
    const bool now = only_wanted ? state == kWanted : state != kKnown;
    count += now ? 1 : 0;
    state = now ? static_cast<std::uint8_t>(kKnown) : state;
  }
  if (count == 0) return;
  const std::span<const std::uint32_t> pairs(all_pairs.data(), count), vertices(all_vertices.data(), count);
  for (const std::uint32_t pair : pairs)
    __builtin_prefetch(&heats_[lists_.places[pair]], 1);
  const std::size_t stride = (pairs.size() + kRowPadding - 1) / kRowPadding * kRowPadding;
  if (rows.size() < 5 * stride) rows.resize(5 * stride);
  const HeatRows out{rows.data(), rows.data() + stride, rows.data() + 2 * stride, rows.data() + 3 * stride,
                     rows.data() + 4 * stride};
  source_->heat(kernel, pose, pairs, vertices, out);

  const auto edges = embedding_.squaredEdges(faces_[kernel]);
  const auto& b = pose.barycentric;
  float bend_x = 0, bend_y = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t d = (c + 1) % 3;
    bend_x += (pose.barycentric_x[c] * b[d] + b[c] * pose.barycentric_x[d]) * edges[c];
    bend_y += (pose.barycentric_y[c] * b[d] + b[c] * pose.barycentric_y[d]) * edges[c];
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto mix = [&](const std::array<float, 3>& w) {
      return w[0] * squares_[0][pairs[i]] + w[1] * squares_[1][pairs[i]] + w[2] * squares_[2][pairs[i]];
    };
    heats_[lists_.places[pairs[i]]] = {out.d_x[i],
                                       out.d_y[i],
                                       out.d_angle[i],
                                       out.d_anisotropy[i],
                                       mix(pose.barycentric_x) - bend_x,
                                       mix(pose.barycentric_y) - bend_y,
                                       out.value[i],
                                       0};
  }
}

FieldTables FieldEvaluator::tables() const {
  FieldTables t;
  t.lists = &lists_;
  t.distances = distances_.data();
  t.heats = heats_.data();
  t.cutoffs = cutoffs_.data();
  t.window = static_cast<float>(1 / (2 * options_.window_sigma * options_.window_sigma));
  t.candidates = options_.candidates;
  return t;
}

FieldQuery FieldEvaluator::query(const SurfacePoint& p) const {
  const auto edges = embedding_.squaredEdges(p.face);
  FieldQuery q{p.face, {}, 0};
  for (std::size_t c = 0; c < 3; ++c)
    q.b[c] = static_cast<float>(p.barycentric[static_cast<Eigen::Index>(c)]);
  q.bend = q.b[0] * q.b[1] * edges[0] + q.b[1] * q.b[2] * edges[1] + q.b[2] * q.b[0] * edges[2];
  return q;
}

/// What one range needs.
struct FieldEvaluator::QueryScratch final : EvaluatorScratch {
  std::vector<FieldQuery> rows;
  Selection selection;
};

/// Of a complete evaluator: candidates and responses when asked. Otherwise the candidates are chosen at once,
/// since they say where heat is needed.
class FieldEvaluator::Batch final : public EvaluatorBatch {
 public:
  /// Chooses candidates and asks for heat where they need it, unless that is everywhere.
  void start(const FieldEvaluator& evaluator, std::span<const SurfacePoint> points) {
    evaluator_ = &evaluator;
    points_ = points;
    chosen_ = !evaluator.complete_;
    if (!chosen_) return;
    const std::size_t candidates = evaluator.options_.candidates;
    const FieldTables t = evaluator.tables();
    rows_.resize(points.size());
    candidates_.resize(points.size(), candidates);
    parallelFor(points.size(), kQueryBlock, [&](std::size_t begin, std::size_t end) {
      Memory& memory = memory_.mine();
      ResponseBlock& block = memory.block;
      const std::size_t count = end - begin;
      block.resize(count, candidates);
      for (std::size_t i = begin; i < end; ++i)
        rows_[i] = evaluator.query(points[i]);
      selectBlock(t, {rows_.data() + begin, count}, memory.selection, block);
      copyRange(block, 0, count, candidates_, begin);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = i * block.stride;
        for (std::size_t n = first; n < first + block.counts[i]; ++n) {
          if (!(block.x[n] < t.cutoffs[block.kernels[n]])) continue;
          for (const auto& corner : t.lists->corners) {  // several threads may want the same pair
            const std::atomic_ref state(evaluator.heat_state_[corner[block.pairs[n]]]);
            if (state.load(std::memory_order_relaxed) == kUnknown)
              state.store(kWanted, std::memory_order_relaxed);
          }
        }
      }
    });
  }

  void respond(std::size_t begin, std::size_t end, Workspace& workspace) const override {
    const std::size_t count = end - begin;
    const FieldTables t = evaluator_->tables();
    workspace.responses.resize(count, evaluator_->options_.candidates);
    if (chosen_) {
      copyRange(candidates_, begin, count, workspace.responses, 0);
      heatBlock(t, {rows_.data() + begin, count}, workspace.responses);
      return;
    }
    auto& scratch = workspace.scratchOf<QueryScratch>();
    scratch.rows.resize(count);
    for (std::size_t i = begin; i < end; ++i)
      scratch.rows[i - begin] = evaluator_->query(points_[i]);
    respondBlock(t, scratch.rows, scratch.selection, workspace.responses);
  }

  void respondVjp(std::size_t begin, std::size_t end, Workspace& workspace, std::span<const float> dx,
                  GradientSums& sums) const override {
    const FieldQuery* rows = chosen_ ? rows_.data() + begin : workspace.scratchOf<QueryScratch>().rows.data();
    respondVjpBlock(evaluator_->tables(), {rows, end - begin}, workspace.responses, dx, sums);
  }

 private:
  /// A thread's, while candidates are chosen.
  struct Memory {
    ResponseBlock block;
    Selection selection;
  };

  static void copyRange(const ResponseBlock& from, std::size_t first, std::size_t count, ResponseBlock& to,
                        std::size_t at) {
    const std::size_t stride = from.stride;
    std::copy_n(from.counts.data() + first, count, to.counts.data() + at);
    std::copy_n(from.kernels.data() + first * stride, count * stride, to.kernels.data() + at * stride);
    std::copy_n(from.pairs.data() + first * stride, count * stride, to.pairs.data() + at * stride);
    std::copy_n(from.x.data() + first * stride, count * stride, to.x.data() + at * stride);
  }

  const FieldEvaluator* evaluator_ = nullptr;
  std::span<const SurfacePoint> points_;
  bool chosen_ = false;
  std::vector<FieldQuery> rows_;  // [points] if chosen
  ResponseBlock candidates_;      // of all points, with squared distances, if chosen
  PerThread<Memory> memory_;
};

std::unique_ptr<EvaluatorBatch> FieldEvaluator::begin(std::span<const SurfacePoint> points,
                                                      std::unique_ptr<EvaluatorBatch> previous) const {
  if (dynamic_cast<Batch*>(previous.get()) == nullptr) previous = std::make_unique<Batch>();
  auto& batch = static_cast<Batch&>(*previous);
  if (complete_) {
    batch.start(*this, points);
    return previous;
  }
  isolated([&] {
    const std::lock_guard lock(heating_);
    batch.start(*this, points);
    parallelFor(poses_.size(), kKernelBlock, [&](std::size_t begin, std::size_t end) {
      HeatScratch& scratch = heat_scratch_.mine();
      for (std::size_t i = begin; i < end; ++i)
        updateHeat(lists_.order[i], true, scratch);
    });
  });
  return previous;
}

}  // namespace heatskin::fields
