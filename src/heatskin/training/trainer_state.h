#pragma once

// Everything that changes during a fit and decides how it goes on: what a checkpoint stores. Pool points,
// colours and the evaluator's tables follow from the input, the options and these fields.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/density_statistics.h"

namespace heatskin {

/// Parameters of a kernel that Adam moves: angle, anisotropy, threshold, sharpness and the channels, with
/// unused ones up to whole groups of four.
constexpr std::size_t adamParameters(std::size_t channels) {
  return 4 + paddedChannels(channels);
}

/// What the optimisers remember of each kernel, and of the mean.
struct OptimiserState {
  std::size_t parameters = adamParameters(3);  ///< P
  std::vector<float> adam_m, adam_v;           // [N, P]
  std::vector<Vec2> velocities;                // [N] of the positions, face coordinates
  std::vector<double> position_v;              // [N] mean squared gradient of the positions
  std::vector<double> mean_m, mean_v;          // [C] Adam's, of the mean

  /// Nothing about `count` kernels.
  void reset(std::size_t count, std::size_t channels);
  /// Keeps the kernels named in `kept` (increasing indices), in order.
  void select(const std::vector<std::uint32_t>& kept);
  /// Kernel k becomes what kernel order[k] was.
  void permute(std::span<const std::uint32_t> order);
  void append();               ///< a new kernel
  void forget(std::size_t i);  ///< kernel `i` became another one
};

struct TrainerState {
  int step = 0;  ///< steps done
  KernelSet kernels;
  OptimiserState optimiser;
  DensityStatistics statistics;
  std::vector<float> pool_errors;  // [pool]
};

/// Puts kernels in an order in which neighbours are near each other in memory, too (a Hilbert curve): what a
/// step reads then lies together, however many kernels there are.
void sortAlongSurface(TrainerState& state, const Surface& surface);

/// Whether all arrays have one entry per kernel and the kernels are valid ones on this surface.
bool isConsistent(const TrainerState& state, const Surface& surface);
bool isConsistent(const KernelSet& kernels, const Surface& surface);

/// Calls visit(name, field) for every field of kernels, as visitFields().
template <class Kernels, class Visitor>
void visitKernels(Kernels& kernels, Visitor&& visit) {
  visit("mean", kernels.mean);
  visit("positions", kernels.positions);
  visit("angles", kernels.angles);
  visit("anisotropies", kernels.anisotropies);
  visit("thresholds", kernels.thresholds);
  visit("sharpnesses", kernels.sharpnesses);
  visit("lengths", kernels.lengths);
  visit("channels", kernels.channels.values);
}

/// Calls visit(name, field) for every field, always in the same order; fields are int, ChannelValues or
/// vectors of plain data (SurfacePoint, float, double, Vec2). A new field needs one line here. What the
/// channels are is no field: it follows from the input.
template <class State, class Visitor>
void visitFields(State& state, Visitor&& visit) {
  visit("step", state.step);
  visitKernels(state.kernels, visit);
  visit("adam_m", state.optimiser.adam_m);
  visit("adam_v", state.optimiser.adam_v);
  visit("velocities", state.optimiser.velocities);
  visit("position_v", state.optimiser.position_v);
  visit("mean_m", state.optimiser.mean_m);
  visit("mean_v", state.optimiser.mean_v);
  visit("hits", state.statistics.hits);
  visit("contributions", state.statistics.contributions);
  visit("errors", state.statistics.errors);
  visit("costs", state.statistics.costs);
  visit("pool_errors", state.pool_errors);
}

}  // namespace heatskin
