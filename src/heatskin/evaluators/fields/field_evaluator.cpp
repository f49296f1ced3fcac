#include "heatskin/evaluators/fields/field_evaluator.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>

#include "heatskin/base/parallel.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin::fields {
namespace {

constexpr std::size_t kKernelBlock = 64;

/// Part of the distance to the last wanted kernel by which kernels may move before lists are renewed: wide
/// margins make long lists, narrow ones make many.
constexpr float kMarginShare = 0.05f;

/// Kernels move in proportion to the learning rates, so lists last longer as these come down; up to this many
/// times, as a fit can only be saved where lists are renewed.
constexpr double kSlowest = 4;

constexpr std::size_t kQueryFloats = sizeof(FieldQuery) / sizeof(float);
static_assert(sizeof(FieldQuery) % sizeof(float) == 0 && alignof(FieldQuery) == alignof(float));

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

FieldEvaluator::FieldEvaluator(const Surface& surface, std::string_view name,
                               std::span<const float> coordinates, std::size_t dimensions,
                               std::unique_ptr<HeatSource> source, const FieldOptions& options)
    : surface_(&surface),
      name_(name),
      options_(options),
      embedding_(surface, coordinates, dimensions),
      source_(std::move(source)),
      builder_(surface, embedding_) {}

void FieldEvaluator::refresh(const KernelSet& kernels, std::span<const Rigid2>) {
  update(kernels, false);
}

int FieldEvaluator::rebuildInterval(double pace) const {
  return static_cast<int>(options_.rebuild_interval * std::clamp(1 / pace, 1.0, kSlowest));
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
  prepared_ = {};
  parallelFor(count, kKernelBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t kernel = lists_.order[i];
      updateDistances(kernel);
      if (!batches_) updateHeat(kernel, false);
    }
  });
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
    thread_local std::vector<std::uint32_t> at;
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
  wanted_.assign(pairs, 0);
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

/// Heat of all pairs of the kernel, or of the wanted ones.
void FieldEvaluator::updateHeat(std::uint32_t kernel, bool only_wanted) {
  const Pose& pose = poses_[kernel];
  const std::uint32_t begin = lists_.kernel_begin[kernel], end = lists_.kernel_end[kernel];
  thread_local std::vector<std::uint32_t> all_pairs, all_vertices;
  if (all_pairs.size() < end - begin) {
    all_pairs.resize(2 * (end - begin));
    all_vertices.resize(all_pairs.size());
  }
  // Without a branch: which pairs are wanted cannot be predicted.
  std::size_t count = 0;
  for (std::uint32_t i = begin; i < end; ++i) {
    std::uint8_t& wanted = wanted_[lists_.places[i]];
    all_pairs[count] = i;
    all_vertices[count] = lists_.vertices[i];
    count += only_wanted ? wanted : 1;
    wanted = 0;
  }
  if (count == 0) return;
  const std::span<const std::uint32_t> pairs(all_pairs.data(), count), vertices(all_vertices.data(), count);
  for (const std::uint32_t pair : pairs)
    __builtin_prefetch(&heats_[lists_.places[pair]], 1);
  thread_local std::vector<float> rows;
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

void FieldEvaluator::prepare(std::span<const SurfacePoint> queries) {
  if (!batches_) return;
  prepared_ = queries;
  prepared_block_.resize(queries.size(), options_.candidates);
  prepared_block_.queries.resize(queries.size() * kQueryFloats);
  const FieldTables t = tables();
  parallelFor(queries.size(), kQueryBlock, [&](std::size_t begin, std::size_t end) {
    thread_local ResponseBlock block;
    const std::size_t count = end - begin;
    block.resize(count, options_.candidates);
    auto* rows = reinterpret_cast<FieldQuery*>(prepared_block_.queries.data()) + begin;
    for (std::size_t i = 0; i < count; ++i)
      rows[i] = query(queries[begin + i]);
    selectBlock(t, {rows, count}, block);
    const std::size_t stride = block.stride;
    std::copy_n(block.counts.data(), count, prepared_block_.counts.data() + begin);
    std::copy_n(block.kernels.data(), count * stride, prepared_block_.kernels.data() + begin * stride);
    std::copy_n(block.pairs.data(), count * stride, prepared_block_.pairs.data() + begin * stride);
    std::copy_n(block.x.data(), count * stride, prepared_block_.x.data() + begin * stride);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t n = i * stride; n < i * stride + block.counts[i]; ++n) {
        if (!(block.x[n] < cutoffs_[block.kernels[n]])) continue;
        for (const auto& corner : lists_.corners)  // several threads may want the same pair
          std::atomic_ref(wanted_[corner[block.pairs[n]]]).store(1, std::memory_order_relaxed);
      }
    }
  });
  parallelFor(poses_.size(), kKernelBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      updateHeat(lists_.order[i], true);
  });
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

void FieldEvaluator::respond(std::span<const SurfacePoint> queries, ResponseBlock& out) const {
  const std::size_t count = queries.size();
  out.resize(count, options_.candidates);
  out.queries.resize(count * kQueryFloats);
  auto* rows = reinterpret_cast<FieldQuery*>(out.queries.data());
  const std::less_equal<> before;  // pointers into different arrays may not be compared otherwise
  if (!prepared_.empty() && before(prepared_.data(), queries.data()) &&
      before(queries.data() + count, prepared_.data() + prepared_.size())) {
    const auto first = static_cast<std::size_t>(queries.data() - prepared_.data());
    const std::size_t stride = out.stride;
    std::copy_n(prepared_block_.queries.data() + first * kQueryFloats, count * kQueryFloats,
                out.queries.data());
    std::copy_n(prepared_block_.counts.data() + first, count, out.counts.data());
    std::copy_n(prepared_block_.kernels.data() + first * stride, count * stride, out.kernels.data());
    std::copy_n(prepared_block_.pairs.data() + first * stride, count * stride, out.pairs.data());
    std::copy_n(prepared_block_.x.data() + first * stride, count * stride, out.x.data());
    heatBlock(tables(), {rows, count}, out);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      rows[i] = query(queries[i]);
    respondBlock(tables(), {rows, count}, out);
  }
}

void FieldEvaluator::respondVjp(std::span<const SurfacePoint> queries, const ResponseBlock& responses,
                                std::span<const float> dx, GradientSums& sums) const {
  const auto* rows = reinterpret_cast<const FieldQuery*>(responses.queries.data());
  respondVjpBlock(tables(), {rows, queries.size()}, responses, dx, sums);
}

}  // namespace heatskin::fields
