#pragma once

// ThermalRF's heat (paper section 5, METHOD section 9): h = sum_j w_j F_j(p) . F_j(q) over the four grid
// operators around a kernel's angle and anisotropy, divided by h(p, p).

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/evaluators/fields/heat_source.h"
#include "heatskin/operators/thermal_factors.h"

namespace heatskin::thermal {

/// Inner products of factors between a kernel's three corners and its vertices stay valid while the kernel
/// stays in its face and between its four operators; everything else is a linear map of these twelve numbers
/// per vertex.
class ThermalHeat final : public fields::HeatSource {
 public:
  explicit ThermalHeat(ThermalFactors factors) : factors_(std::move(factors)) {}

  void reset(std::size_t pairs, std::size_t kernels, std::span<const std::uint32_t> from) override;
  void heat(std::uint32_t kernel, const fields::Pose& pose, std::span<const std::uint32_t> pairs,
            std::span<const std::uint32_t> vertices, const fields::HeatRows& out) override;

 private:
  /// What the remembered products of a kernel belong to, and products among its own corners.
  struct Remembered {
    std::array<std::uint32_t, 3> corners;
    std::array<std::uint32_t, 4> operators;
    std::array<std::array<float, 6>, 4> self;  ///< per operator: 00, 11, 22, 01, 12, 20
    std::uint32_t state = 0;                   ///< counts changes of corners or operators; 0: none yet
  };

  /// A thread's memory for heat().
  struct Scratch {
    std::vector<std::uint32_t> missing;
    std::vector<float> rows, computed, gathered;
    std::vector<const std::uint16_t*> vertex_rows;
  };

  ThermalFactors factors_;
  std::vector<Remembered> remembered_;           // [N]
  std::vector<std::array<float, 12>> products_;  // [P] operator j, corner c: 3 j + c
  std::vector<std::uint32_t> known_;             // [P] the kernel's state the products belong to; 0: none
  PerThread<Scratch> scratch_;
};

}  // namespace heatskin::thermal
