#pragma once

// HKTex's heat (METHOD section 7): h = sum_e exp(-lambda_e t) phi_e(p) phi_e(q), with eigenvalues and aligned
// eigenvectors interpolated between four grid operators by the kernel's angle and anisotropy.

#include <cstdint>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/evaluators/fields/heat_source.h"
#include "heatskin/operators/spectral_bases.h"

namespace heatskin::spectral {

/// See the head of the file.
class SpectralHeat final : public fields::HeatSource {
 public:
  SpectralHeat(SpectralBases bases, double time);

  void reset(std::size_t, std::size_t, std::span<const std::uint32_t>) override {}
  void heat(std::uint32_t kernel, const fields::Pose& pose, std::span<const std::uint32_t> pairs,
            std::span<const std::uint32_t> vertices, const fields::HeatRows& out) override;

 private:
  const std::uint16_t* row(std::size_t basis, std::uint32_t vertex) const {
    return vectors_ + (basis * vertices_ + vertex) * stride_;
  }

  /// A thread's memory for heat().
  struct Scratch {
    std::vector<float> modes, own;
    std::vector<const std::uint16_t*> vertex_rows;
  };

  SpectralBases bases_;
  std::size_t vertices_, count_, stride_;  // stride_: count_ rounded up to whole vectors
  const std::uint16_t* vectors_;           // [50, V, stride]
  std::vector<std::uint16_t> padded_;      // a copy with zeros, where rows do not fill whole vectors
  std::vector<float> values_;              // [50, stride] t lambda
  PerThread<Scratch> scratch_;
};

}  // namespace heatskin::spectral
