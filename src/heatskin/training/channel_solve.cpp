#include "heatskin/training/channel_solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "heatskin/base/parallel.h"
#include "heatskin/kernels/compositor.h"

namespace heatskin {
namespace {

constexpr std::size_t kBlock = 4096;

/// Parts of a value, from 0 to 1, in 16 bits: an error of 8e-6, less than a hundredth of an 8-bit level.
constexpr float kPartUnit = 1.0f / 65535;

/// In place of a kernel's number within a block.
constexpr std::uint16_t kNoNumber = 0xFFFF;
static_assert(kProbeBlock * kKeptKernels < kNoNumber);

using Sums = std::array<double, kMaxChannels>;

/// Sums of f(row, channel) over rows, channel by channel.
template <class Term>
Sums sumRows(std::size_t rows, std::size_t channels, const Term& f) {
  std::vector<Sums> blocks(blockCount(rows, kBlock), Sums{});
  parallelBlocks(rows, kBlock, [&](std::size_t b, std::size_t first, std::size_t last) {
    for (std::size_t r = first; r < last; ++r) {
      for (std::size_t c = 0; c < channels; ++c)
        blocks[b][c] += static_cast<double>(f(r, c));
    }
  });
  Sums sums{};
  for (const Sums& block : blocks) {
    for (std::size_t c = 0; c < channels; ++c)
      sums[c] += block[c];
  }
  return sums;
}

/// How much a channel of a probe counts (Probes::countOf()).
struct Counting {
  std::array<bool, kMaxChannels> seen_only{};

  explicit Counting(const ChannelLayout& layout) {
    for (const ChannelGroup& group : layout.groups()) {
      for (std::size_t c = group.first; c < group.first + group.count; ++c)
        seen_only[c] = !group.everywhere;
    }
  }
  float of(const std::vector<float>& seen, const std::vector<std::uint32_t>& left_out, std::size_t probe,
           std::size_t channel) const {
    if (!left_out.empty() && (left_out[probe] >> channel & 1) != 0) return 0;
    return seen.empty() || !seen_only[channel] ? 1.0f : seen[probe];
  }
};

/// A row padded to so many channels is one vector.
constexpr std::size_t kLanes = 4;

using Row = std::array<float, kMaxChannels>;

/// A row of channels with its vectors turned; the first channels of tangent groups are in `tangents`.
const float* turned(const float* row, std::size_t channels, std::span<const std::size_t> tangents,
                    const ProbeTurn& turn, Row& out) {
  std::copy_n(row, channels, out.data());
  for (const std::size_t first : tangents) {
    const Vec2f v = turn(row[first], row[first + 1]);
    out[first] = v.x();
    out[first + 1] = v.y();
  }
  return out.data();
}

ProbeTurn inverse(const ProbeTurn& turn) {
  return {turn.cosine, -turn.sine};
}

}  // namespace

ChannelSystem::ChannelSystem(const KernelSet& kernels, std::size_t probe_blocks)
    : layout_(kernels.layout),
      stride_(paddedChannels(layout_.size())),
      kernel_count_(kernels.size()),
      blocks_(probe_blocks) {
  for (const ChannelGroup& group : layout_.groups()) {
    if (group.isTangent()) tangents_.push_back(group.first);
  }
}

void ChannelSystem::add(std::size_t number, const Probes& probes) {
  static_assert(sizeof(Part) == 4);
  const std::size_t channels = layout_.size();
  Block& block = blocks_[number];
  block.seen = probes.visibilities;
  block.left_out = probes.left_out;
  block.counts.resize(probes.size());
  block.parts.reserve(probes.influences.size());
  block.turns.reserve(probes.turns.size());
  std::vector<std::uint16_t>& numbers = numbers_.mine();  // all kNoNumber before and after
  numbers.resize(kernel_count_, kNoNumber);
  for (std::size_t p = 0; p < probes.size(); ++p) {
    const float scale = 1 / std::max(probes.weights[p], 1.0f);
    for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n) {
      const Influence& influence = probes.influences[n];
      const auto part =
          static_cast<std::uint16_t>(std::clamp(influence.weight * scale, 0.0f, 1.0f) / kPartUnit + 0.5f);
      if (part == 0) continue;  // the tails of kernels
      std::uint16_t& within = numbers[influence.kernel];
      if (within == kNoNumber) {
        within = static_cast<std::uint16_t>(block.kernels.size());
        block.kernels.push_back(influence.kernel);
      }
      block.parts.push_back({within, part});
      if (!probes.turns.empty()) block.turns.push_back(PackedTurn::of(probes.turns[n]));
      ++block.counts[p];
    }
  }
  for (const std::uint32_t kernel : block.kernels)
    numbers[kernel] = kNoNumber;
  block.kernels.shrink_to_fit();
  block.parts.shrink_to_fit();
  block.turns.shrink_to_fit();
  // The right-hand side needs the errors, which are not kept.
  block.sums.assign(block.kernels.size() * stride_, 0.0f);
  const Part* part = block.parts.data();
  Row turned_errors;
  for (std::size_t p = 0; p < probes.size(); ++p) {
    for (const Part* end = part + block.counts[p]; part < end; ++part) {
      const float* errors = probes.errors.row(p);
      if (const auto turn = block.turnOf(part))
        errors = turned(errors, channels, tangents_, inverse(*turn), turned_errors);
      const float weight = kPartUnit * static_cast<float>(part->part);
      for (std::size_t c = 0; c < channels; ++c)
        block.sums[part->kernel * stride_ + c] -= weight * errors[c];
    }
  }
}

/// Finds a kernel's places in the blocks.
void ChannelSystem::link() {
  begin_.assign(kernel_count_ + 1, 0);
  for (const Block& block : blocks_) {
    for (const std::uint32_t kernel : block.kernels)
      ++begin_[kernel + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  places_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    for (std::uint32_t k = 0; k < blocks_[b].kernels.size(); ++k)
      places_[next[blocks_[b].kernels[k]]++] = {b, k};
  }
}

/// The sums of all blocks, in their order.
void ChannelSystem::addUp(ChannelTable& out) const {
  const std::size_t channels = out.channels;
  parallelFor(kernel_count_, kBlock, [&](std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      float* sum = out.row(k);
      std::fill_n(sum, channels, 0.0f);
      for (std::uint32_t n = begin_[k]; n < begin_[k + 1]; ++n) {
        const float* from = blocks_[places_[n].block].sums.data() + places_[n].kernel * stride_;
        for (std::size_t c = 0; c < channels; ++c)
          sum[c] += from[c];
      }
    }
  });
}

/// out = the diagonal of A^T W A; W is how much of a probe counts. Both channels of a tangent group have the
/// same weights, so that rotations cancel, and no entry is left beside the diagonal within a kernel.
void ChannelSystem::diagonal(ChannelTable& out) {
  const std::size_t channels = out.channels;
  const Counting counting(layout_);
  parallelFor(blocks_.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t b = first; b < last; ++b) {
      Block& block = blocks_[b];
      std::fill(block.sums.begin(), block.sums.end(), 0.0f);
      const Part* part = block.parts.data();
      for (std::size_t p = 0; p < block.counts.size(); ++p) {
        for (const Part* end = part + block.counts[p]; part < end; ++part) {
          const float weight = kPartUnit * static_cast<float>(part->part);
          for (std::size_t c = 0; c < channels; ++c)
            block.sums[part->kernel * stride_ + c] +=
                weight * weight * counting.of(block.seen, block.left_out, p, c);
        }
      }
    }
  });
  addUp(out);
}

/// out = A^T W A x. A probe's value is needed in its own block only.
void ChannelSystem::product(const ChannelTable& x, ChannelTable& out) {
  const bool one = stride_ == kLanes && tangents_.empty();
  parallelFor(blocks_.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<float> near;
    for (std::size_t b = first; b < last; ++b) {
      Block& block = blocks_[b];
      near.assign(block.sums.size(), 0.0f);
      for (std::size_t k = 0; k < block.kernels.size(); ++k) {
        for (std::size_t c = 0; c < x.channels; ++c)
          near[k * stride_ + c] = kPartUnit * x.row(block.kernels[k])[c];
      }
      std::fill(block.sums.begin(), block.sums.end(), 0.0f);
      if (one) {
        multiplyOne(block, near);
      } else {
        multiply(block, near);
      }
    }
  });
  addUp(out);
}

/// The block's part of the product; `near` is [L, stride], the block's rows of x in units of parts.
void ChannelSystem::multiply(Block& block, std::span<const float> near) const {
  const std::size_t channels = layout_.size();
  const Counting counting(layout_);
  Row turned_row;
  const Part* part = block.parts.data();
  for (std::size_t p = 0; p < block.counts.size(); ++p) {
    const Part *begin = part, *end = part + block.counts[p];
    float value[kMaxChannels] = {};
    for (; part < end; ++part) {
      const auto weight = static_cast<float>(part->part);
      const float* row = near.data() + part->kernel * stride_;
      if (const auto turn = block.turnOf(part)) row = turned(row, channels, tangents_, *turn, turned_row);
      for (std::size_t c = 0; c < channels; ++c)
        value[c] += weight * row[c];
    }
    for (std::size_t c = 0; c < channels; ++c)
      value[c] *= kPartUnit * counting.of(block.seen, block.left_out, p, c);
    for (part = begin; part < end; ++part) {
      const auto weight = static_cast<float>(part->part);
      const float* row = value;
      if (const auto turn = block.turnOf(part))
        row = turned(value, channels, tangents_, inverse(*turn), turned_row);
      for (std::size_t c = 0; c < channels; ++c)
        block.sums[part->kernel * stride_ + c] += weight * row[c];
    }
  }
}

/// The same for up to four channels without vectors, the usual case: a row is one vector of the processor.
void ChannelSystem::multiplyOne(Block& block, std::span<const float> near) const {
  using Four = Eigen::Array4f;
  const Counting counting(layout_);
  const bool plain = block.seen.empty() && block.left_out.empty();
  const Part* part = block.parts.data();
  for (std::size_t p = 0; p < block.counts.size(); ++p) {
    const Part *begin = part, *end = part + block.counts[p];
    Four value = Four::Zero();
    for (; part < end; ++part)
      value += static_cast<float>(part->part) * Eigen::Map<const Four>(near.data() + part->kernel * kLanes);
    Four counts = Four::Constant(kPartUnit);
    for (std::size_t c = 0; c < layout_.size() && !plain; ++c)
      counts[static_cast<Eigen::Index>(c)] *= counting.of(block.seen, block.left_out, p, c);
    value *= counts;
    for (part = begin; part < end; ++part)
      Eigen::Map<Four>(block.sums.data() + part->kernel * kLanes) += static_cast<float>(part->part) * value;
  }
}

void ChannelSystem::solve(const ChannelSolveOptions& options, KernelSet& kernels, float share) {
  const std::size_t channels = layout_.size(), count = kernel_count_;
  if (count == 0 || blocks_.empty()) return;
  link();
  // The two channels of a tangent group are one unknown of the conjugate gradients: their sums are common.
  const auto coupled = [&](Sums sums) {
    for (const std::size_t first : tangents_)
      sums[first] = sums[first + 1] += sums[first];
    return sums;
  };
  const auto table = [&] {
    ChannelTable t{channels, {}};
    t.resize(count);
    return t;
  };
  ChannelTable residual = table(), change = table(), direction = table(), product_of = table(),
               diagonal_of = table();
  addUp(residual);
  diagonal(diagonal_of);
  Sums damping =
      sumRows(count, channels, [&](std::size_t k, std::size_t c) { return diagonal_of.row(k)[c]; });
  for (double& d : damping)
    d *= options.damping / static_cast<double>(count);

  // Cheaper to divide anew than to store: memory is largest here.
  const auto preconditioned = [&](std::size_t k, std::size_t c) {
    const float curvature = diagonal_of.row(k)[c] + static_cast<float>(damping[c]);
    return curvature > 0 ? residual.row(k)[c] / curvature : 0.0f;
  };
  const auto energyOf = [&] {
    return coupled(sumRows(count, channels, [&](std::size_t k, std::size_t c) {
      return residual.row(k)[c] * preconditioned(k, c);
    }));
  };
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t c = 0; c < channels; ++c)
      direction.row(k)[c] = preconditioned(k, c);
  }
  Sums energy = energyOf();
  for (int i = 0; i < options.iterations; ++i) {
    product(direction, product_of);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < channels; ++c)
        product_of.row(k)[c] += static_cast<float>(damping[c]) * direction.row(k)[c];
    }
    const Sums curvature = coupled(sumRows(count, channels, [&](std::size_t k, std::size_t c) {
      return direction.row(k)[c] * product_of.row(k)[c];
    }));
    for (std::size_t c = 0; c < channels; ++c) {
      if (!(curvature[c] > 0)) continue;  // done: there is nothing left to gain in this channel
      const auto length = static_cast<float>(energy[c] / curvature[c]);
      for (std::size_t k = 0; k < count; ++k) {
        change.row(k)[c] += length * direction.row(k)[c];
        residual.row(k)[c] -= length * product_of.row(k)[c];
      }
    }
    const Sums next = energyOf();
    for (std::size_t c = 0; c < channels; ++c) {
      const float keep = energy[c] > 0 ? static_cast<float>(next[c] / energy[c]) : 0.0f;
      for (std::size_t k = 0; k < count; ++k)
        direction.row(k)[c] = preconditioned(k, c) + keep * direction.row(k)[c];
    }
    energy = next;
  }
  for (std::size_t i = 0; i < kernels.channels.values.size(); ++i)
    kernels.channels.values[i] += share * change.values[i];
  for (std::size_t k = 0; k < count; ++k)
    kernels.clampChannels(k);
}

}  // namespace heatskin
