#include "heatskin/evaluators/local/supports.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "heatskin/base/parallel.h"

namespace heatskin::local {
namespace {

/// Sources per block: enough blocks for balance, few enough that the per-block face histograms stay small.
constexpr std::size_t kBlocks = 16;

/// Twice the area between a centre and an edge, relative to the squared edge length, that is float rounding.
constexpr double kBehindSlack = 1e-5;

/// A coordinate no support reaches; puts missing neighbours out of every radius, and its square is finite.
constexpr float kNowhere = 1e15f;

/// Four floats side by side (a language extension of GCC and Clang on every processor).
using Lanes = float __attribute__((vector_size(16)));

Lanes lanes(const float (&values)[4]) {
  Lanes v;
  std::memcpy(&v, values, sizeof(v));
  return v;
}

/// Vector loads may read this far past the last pair.
constexpr std::size_t kPadding = 64;

}  // namespace

/// A thread's memory for one propagation after another.
struct SupportBuilder::Scratch {
  struct Arrival {
    std::uint32_t face;
    Development development;
    float center_x, center_y;
  };
  std::vector<Arrival> arrivals;  // in the order they were found
  /// Squared distance and arrival in one number, so that the heap moves eight bytes: bits of a non-negative
  /// float sort like the float, and equal distances go by arrival.
  std::vector<std::uint64_t> heap;
  std::vector<std::uint32_t> stamps;
  std::uint32_t epoch = 0;
};

SupportBuilder::SupportBuilder(const Surface& surface, double edge_tolerance)
    : hinges_(surface.faceCount()),
      face_count_(surface.faceCount()),
      edge_tolerance_(static_cast<float>(edge_tolerance)) {
  parallelFor(surface.faceCount(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      Hinges& hinges = hinges_[f];
      hinges = {};
      for (std::size_t e = 0; e < 4; ++e) {
        const std::uint32_t twin = e < 3 ? surface.twins()[f][e] : kNone;
        hinges.face[e] = twin == kNone ? kNone : twin / 3;
        if (twin == kNone) {
          hinges.x[e] = kNowhere;
          continue;
        }
        const Rigid2 motion = surface.neighbourFromFace(static_cast<std::uint32_t>(f), static_cast<int>(e));
        const auto& corners = surface.corners()[twin / 3];
        const Vec2 &a = corners[twin % 3], &b = corners[(twin % 3 + 1) % 3];
        const Vec2 edge = b - a;
        hinges.cosine[e] = static_cast<float>(motion.cosine);
        hinges.sine[e] = static_cast<float>(motion.sine);
        hinges.x[e] = static_cast<float>(motion.translation.x());
        hinges.y[e] = static_cast<float>(motion.translation.y());
        hinges.ax[e] = static_cast<float>(a.x());
        hinges.ay[e] = static_cast<float>(a.y());
        hinges.ex[e] = static_cast<float>(edge.x());
        hinges.ey[e] = static_cast<float>(edge.y());
        // Left of a -> b is the neighbour's inside; a centre on the edge itself counts as behind.
        hinges.behind[e] =
            static_cast<float>(edge.x() * a.y() - edge.y() * a.x() + kBehindSlack * edge.squaredNorm());
        hinges.radius[e] = static_cast<float>(std::sqrt(
            std::max({corners[0].squaredNorm(), corners[1].squaredNorm(), corners[2].squaredNorm()})));
      }
    }
  });
}

void SupportBuilder::propagateInto(const SupportSource& source, Scratch& scratch,
                                   std::vector<Reached>& out) const {
  if (scratch.stamps.size() != face_count_) {
    scratch.stamps.assign(face_count_, 0);
    scratch.epoch = 0;
  }
  ++scratch.epoch;
  auto& heap = scratch.heap;
  auto& arrivals = scratch.arrivals;
  heap.clear();
  arrivals.clear();
  arrivals.push_back({source.face, {1, 0, 0, 0}, source.center.x(), source.center.y()});
  heap.push_back(0);
  while (!heap.empty()) {
    const Scratch::Arrival entry = arrivals[heap.front() & 0xFFFFFFFFu];
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (scratch.stamps[entry.face] == scratch.epoch) continue;
    scratch.stamps[entry.face] = scratch.epoch;
    out.push_back({entry.face, entry.development});
    const Hinges& hinges = hinges_[entry.face];
    const Lanes cosine = lanes(hinges.cosine), sine = lanes(hinges.sine);
    const Lanes sx = cosine * entry.center_x - sine * entry.center_y + lanes(hinges.x);
    const Lanes sy = sine * entry.center_x + cosine * entry.center_y + lanes(hinges.y);
    // The neighbour's centroid is the origin of its coordinates: |S| is the distance to it.
    const Lanes squared = sx * sx + sy * sy, reach = lanes(hinges.radius) + source.radius;
    // The line from S to the origin meets the edge a + w (b - a) where cross(a + w (b - a), S) = 0.
    const Lanes slope = lanes(hinges.ex) * sy - lanes(hinges.ey) * sx;
    const Lanes along = lanes(hinges.ay) * sx - lanes(hinges.ax) * sy;
    const Lanes one_end = -edge_tolerance_ * slope, other_end = (1 + edge_tolerance_) * slope;
    const Lanes low = one_end < other_end ? one_end : other_end;
    const Lanes high = one_end < other_end ? other_end : one_end;
    const auto passes =
        (squared < reach * reach) & (along >= low) & (along <= high) & (slope <= lanes(hinges.behind));
    for (int e = 0; e < 3; ++e) {
      if (!passes[e]) continue;
      const std::uint32_t face = hinges.face[e];
      if (scratch.stamps[face] == scratch.epoch) continue;
      const Development& from = entry.development;
      const std::uint64_t arrival = arrivals.size();
      const float c = hinges.cosine[e], n = hinges.sine[e];
      arrivals.push_back({face,
                          {from.cosine * c - from.sine * n, from.sine * c + from.cosine * n,
                           c * from.x - n * from.y + hinges.x[e], n * from.x + c * from.y + hinges.y[e]},
                          sx[e],
                          sy[e]});
      heap.push_back(std::uint64_t{std::bit_cast<std::uint32_t>(squared[e])} << 32 | arrival);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  }
}

std::vector<SupportBuilder::Reached> SupportBuilder::propagate(const SupportSource& source) const {
  Scratch scratch;
  std::vector<Reached> out;
  propagateInto(source, scratch, out);
  return out;
}

void SupportBuilder::build(std::span<const SupportSource> sources, SupportTable& table) {
  const std::size_t block_size = std::max<std::size_t>(1, (sources.size() + kBlocks - 1) / kBlocks);
  const std::size_t blocks = blockCount(sources.size(), block_size);
  block_pairs_.resize(std::max(block_pairs_.size(), blocks));
  block_sizes_.resize(std::max(block_sizes_.size(), blocks));
  block_offsets_.assign(blocks * face_count_, 0);
  parallelBlocks(sources.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    thread_local Scratch scratch;
    auto& pairs = block_pairs_[block];
    auto& sizes = block_sizes_[block];
    pairs.clear();
    sizes.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t before = pairs.size();
      propagateInto(sources[i], scratch, pairs);
      sizes.push_back(static_cast<std::uint32_t>(pairs.size() - before));
    }
    std::uint32_t* counts = block_offsets_.data() + block * face_count_;
    for (const Reached& pair : pairs)
      ++counts[pair.face];
  });

  // Counts become positions: faces in order, within a face blocks in order, within a block kernels in order.
  table.begin.resize(std::size_t{face_count_} + 1);
  std::uint32_t total = 0;
  for (std::size_t f = 0; f < face_count_; ++f) {
    table.begin[f] = total;
    for (std::size_t block = 0; block < blocks; ++block) {
      std::uint32_t& count = block_offsets_[block * face_count_ + f];
      const std::uint32_t here = total;
      total += count;
      count = here;
    }
  }
  table.begin[face_count_] = total;
  const std::size_t padded = total + kPadding;
  table.kernels.resize(padded);
  table.developments.resize(padded);
  std::fill(table.kernels.begin() + total, table.kernels.end(), 0u);  // padding lanes read kernel 0
  parallelBlocks(sources.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::uint32_t* positions = block_offsets_.data() + block * face_count_;
    const Reached* pair = block_pairs_[block].data();
    for (std::size_t i = begin; i < end; ++i) {
      for (std::uint32_t n = block_sizes_[block][i - begin]; n > 0; --n, ++pair) {
        const std::uint32_t at = positions[pair->face]++;
        table.kernels[at] = static_cast<std::uint32_t>(i);
        table.developments[at] = pair->development;
      }
    }
  });
}

}  // namespace heatskin::local
