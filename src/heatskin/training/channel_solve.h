#pragma once

// The best values of all kernels while everything else about them stays: a texture is linear in them. Steps
// of a gradient method find them slowly where many kernels overlap; a few iterations of conjugate gradients
// over points all over the surface do not.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/training/probes.h"

namespace heatskin {

struct ChannelSolveOptions {
  int iterations = 12;   ///< of conjugate gradients: the early ones gain most
  double damping = 0.1;  ///< what a change of a value costs, in units of the mean curvature of the loss
};

/// The least-squares problem: a row for each probe with the kernels' parts of the value there, f / max(sum of
/// f, 1); for the two channels of a tangent group, rotations times that. What probes have in common is stored
/// once for each block of them, and parts in 16 bits: four bytes for each influence, and none of the rest of
/// a probe.
class ChannelSystem {
 public:
  ChannelSystem(const KernelSet& kernels, std::size_t probe_blocks);

  /// Block `block` of the probes, at most kProbeBlock of them; blocks may be added concurrently, each once.
  void add(std::size_t block, const Probes& probes);

  /// Minimises, over changes of the kernels' values, the squared error at the probes (as far as they are
  /// seen) plus damping times the squared change. Errors are those of clamped values, as with
  /// straight-through gradients. Values go `share` of the way and stay in their range. Deterministic for any
  /// number of threads.
  void solve(const ChannelSolveOptions& options, KernelSet& kernels, float share = 1);

 private:
  /// A kernel's part of the value at a probe; kernels are numbered within the block.
  struct Part {
    std::uint16_t kernel, part;
  };
  /// A turn to 2e-5, as exact as parts are: there are as many of both, and they are most of what a solve
  /// takes.
  struct PackedTurn {
    static constexpr float kUnit = 1.0f / 32767;
    std::int16_t cosine, sine;

    static PackedTurn of(const ProbeTurn& turn) {
      const auto packed = [](float x) { return static_cast<std::int16_t>(std::lround(x / kUnit)); };
      return {packed(turn.cosine), packed(turn.sine)};
    }
    ProbeTurn unpacked() const {
      return {kUnit * static_cast<float>(cosine), kUnit * static_cast<float>(sine)};
    }
  };
  struct Block {
    std::vector<std::uint32_t> kernels;   // [L] which they are
    std::vector<std::uint16_t> counts;    // [probes] of parts
    std::vector<Part> parts;              // probe by probe
    std::vector<float> seen;              // [probes] or empty
    std::vector<std::uint32_t> left_out;  // [probes] or empty: Probes::left_out
    std::vector<PackedTurn> turns;        // [parts] or empty: of the vectors of tangent groups
    std::vector<float> sums;              // [L, stride] of a product, before blocks are added up

    /// How the vectors of a part's kernel are turned at its probe; nothing: there are none.
    std::optional<ProbeTurn> turnOf(const Part* part) const {
      if (turns.empty()) return std::nullopt;
      return turns[static_cast<std::size_t>(part - parts.data())].unpacked();
    }
  };
  /// A kernel in a block.
  struct Place {
    std::uint32_t block, kernel;
  };

  void link();
  void addUp(ChannelTable& out) const;
  void diagonal(ChannelTable& out);
  void product(const ChannelTable& x, ChannelTable& out);
  void multiply(Block& block, std::span<const float> near) const;
  void multiplyOne(Block& block, std::span<const float> near) const;

  ChannelLayout layout_;
  std::vector<std::size_t> tangents_;  // first channels of tangent groups
  std::size_t stride_;                 // channels, padded to whole vectors
  std::size_t kernel_count_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> begin_;               // [kernels + 1] of places
  std::vector<Place> places_;                      // kernel by kernel, blocks in order
  PerThread<std::vector<std::uint16_t>> numbers_;  // of add(): [kernels] number in the block
};

}  // namespace heatskin
