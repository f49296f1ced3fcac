#include "heatskin/evaluators/local/supports.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "heatskin/base/parallel.h"

namespace heatskin::local {
namespace {

/// Sources per block: enough blocks for balance, few enough that the per-block face histograms stay small.
constexpr std::size_t kBlocks = 32;

/// Twice the area between a centre and an edge, relative to the squared edge length, that is float rounding.
constexpr float kBehindSlack = 1e-5f;

/// Vector loads may read this far past the last pair.
constexpr std::size_t kPadding = 64;

}  // namespace

/// A thread's memory for one propagation after another.
struct SupportBuilder::Scratch {
  struct Entry {
    float distance;
    std::uint32_t face;
    float cosine, sine, x, y;
    float center_x, center_y;
  };
  std::vector<Entry> heap;
  std::vector<std::uint32_t> stamps;
  std::uint32_t epoch = 0;
};

SupportBuilder::SupportBuilder(const Surface& surface, double edge_tolerance)
    : hinges_(std::size_t{3} * surface.faceCount()),
      face_count_(surface.faceCount()),
      edge_tolerance_(static_cast<float>(edge_tolerance)) {
  parallelFor(surface.faceCount(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      for (std::size_t e = 0; e < 3; ++e) {
        Hinge& hinge = hinges_[3 * f + e];
        const std::uint32_t twin = surface.twins()[f][e];
        hinge.face = twin == kNone ? kNone : twin / 3;
        if (twin == kNone) continue;
        const Rigid2 motion = surface.neighbourFromFace(static_cast<std::uint32_t>(f), static_cast<int>(e));
        const auto& corners = surface.corners()[twin / 3];
        const Vec2 &a = corners[twin % 3], &b = corners[(twin % 3 + 1) % 3];
        hinge.cosine = static_cast<float>(motion.cosine);
        hinge.sine = static_cast<float>(motion.sine);
        hinge.x = static_cast<float>(motion.translation.x());
        hinge.y = static_cast<float>(motion.translation.y());
        hinge.ax = static_cast<float>(a.x());
        hinge.ay = static_cast<float>(a.y());
        hinge.bx = static_cast<float>(b.x());
        hinge.by = static_cast<float>(b.y());
        hinge.radius = static_cast<float>(std::sqrt(
            std::max({corners[0].squaredNorm(), corners[1].squaredNorm(), corners[2].squaredNorm()})));
      }
    }
  });
}

void SupportBuilder::propagateInto(const SupportSource& source, Scratch& scratch,
                                   std::vector<Reached>& out) const {
  using Entry = Scratch::Entry;
  if (scratch.stamps.size() != face_count_) {
    scratch.stamps.assign(face_count_, 0);
    scratch.epoch = 0;
  }
  ++scratch.epoch;
  auto& heap = scratch.heap;
  heap.clear();
  const auto later = [](const Entry& a, const Entry& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.face > b.face;
  };
  heap.push_back({0, source.face, 1, 0, 0, 0, source.center.x(), source.center.y()});
  while (!heap.empty()) {
    const Entry entry = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    if (scratch.stamps[entry.face] == scratch.epoch) continue;
    scratch.stamps[entry.face] = scratch.epoch;
    out.push_back({entry.face, entry.cosine, entry.sine, entry.x, entry.y});
    for (std::uint32_t e = 0; e < 3; ++e) {
      const Hinge& hinge = hinges_[3 * std::size_t{entry.face} + e];
      if (hinge.face == kNone || scratch.stamps[hinge.face] == scratch.epoch) continue;
      const float sx = hinge.cosine * entry.center_x - hinge.sine * entry.center_y + hinge.x;
      const float sy = hinge.sine * entry.center_x + hinge.cosine * entry.center_y + hinge.y;
      // The neighbour's centroid is the origin of its coordinates: |S| is the distance to it.
      const float distance = std::sqrt(sx * sx + sy * sy);
      if (distance - hinge.radius >= source.radius) continue;
      // The line from S to the origin meets the edge a + w (b - a) where cross(a + w (b - a), S) = 0.
      const float ex = hinge.bx - hinge.ax, ey = hinge.by - hinge.ay;
      const float slope = ex * sy - ey * sx, along = hinge.ay * sx - hinge.ax * sy;
      const float low = -edge_tolerance_, high = 1 + edge_tolerance_;
      const bool inside = slope > 0 ? along >= low * slope && along <= high * slope
                                    : along <= low * slope && along >= high * slope;
      if (!inside) continue;
      // and S lies behind the edge (left of a -> b is the neighbour's inside); a centre on the edge itself
      // counts as behind.
      if (slope - (ex * hinge.ay - ey * hinge.ax) > kBehindSlack * (ex * ex + ey * ey)) continue;
      heap.push_back({distance, hinge.face, entry.cosine * hinge.cosine - entry.sine * hinge.sine,
                      entry.sine * hinge.cosine + entry.cosine * hinge.sine,
                      hinge.cosine * entry.x - hinge.sine * entry.y + hinge.x,
                      hinge.sine * entry.x + hinge.cosine * entry.y + hinge.y, sx, sy});
      std::push_heap(heap.begin(), heap.end(), later);
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
  table.cosines.resize(padded);
  table.sines.resize(padded);
  table.offsets_x.resize(padded);
  table.offsets_y.resize(padded);
  std::fill(table.kernels.begin() + total, table.kernels.end(), 0u);  // padding lanes gather kernel 0
  parallelBlocks(sources.size(), block_size, [&](std::size_t block, std::size_t begin, std::size_t end) {
    std::uint32_t* positions = block_offsets_.data() + block * face_count_;
    const Reached* pair = block_pairs_[block].data();
    for (std::size_t i = begin; i < end; ++i) {
      for (std::uint32_t n = block_sizes_[block][i - begin]; n > 0; --n, ++pair) {
        const std::uint32_t at = positions[pair->face]++;
        table.kernels[at] = static_cast<std::uint32_t>(i);
        table.cosines[at] = pair->cosine;
        table.sines[at] = pair->sine;
        table.offsets_x[at] = pair->offset_x;
        table.offsets_y[at] = pair->offset_y;
      }
    }
  });
}

}  // namespace heatskin::local
