#pragma once

// Everything that changes during a fit and decides how it goes on: what a checkpoint stores. Pool points,
// colours and the evaluator's tables follow from the input, the options and these fields.

#include <array>
#include <cstddef>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/kernels/kernel_set.h"

namespace heatskin {

/// Parameters Adam moves: angle, anisotropy, threshold, sharpness, colour x 3; the last entry of adam_v is
/// the running size of position gradients.
inline constexpr std::size_t kAdamParameters = 8;

struct TrainerState {
  int step = 0;  ///< steps done
  KernelSet kernels;
  std::vector<std::array<float, kAdamParameters>> adam_m, adam_v;  // [N]
  std::vector<Vec2> velocities;                                    // [N] of the positions, face coordinates
  std::array<double, 3> mean_m{}, mean_v{};                        ///< Adam's, of the mean colour
  std::vector<double> hits, contributions, errors, costs;          // [N] density accumulators
  std::vector<float> pool_errors;                                  // [pool]
};

/// Calls visit(name, field) for every field, always in the same order; fields are int, Vec3f, fixed arrays or
/// vectors of plain data (SurfacePoint, float, double, Vec2, Vec3f, std::array). A new field needs one line
/// here.
template <class State, class Visitor>
void visitFields(State& state, Visitor&& visit) {
  visit("step", state.step);
  visit("mean_color", state.kernels.mean_color);
  visit("positions", state.kernels.positions);
  visit("angles", state.kernels.angles);
  visit("anisotropies", state.kernels.anisotropies);
  visit("thresholds", state.kernels.thresholds);
  visit("sharpnesses", state.kernels.sharpnesses);
  visit("colors", state.kernels.colors);
  visit("adam_m", state.adam_m);
  visit("adam_v", state.adam_v);
  visit("velocities", state.velocities);
  visit("mean_m", state.mean_m);
  visit("mean_v", state.mean_v);
  visit("hits", state.hits);
  visit("contributions", state.contributions);
  visit("errors", state.errors);
  visit("costs", state.costs);
  visit("pool_errors", state.pool_errors);
}

}  // namespace heatskin
