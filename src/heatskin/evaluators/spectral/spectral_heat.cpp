#include "heatskin/evaluators/spectral/spectral_heat.h"

#include <algorithm>
#include <utility>

#include "heatskin/evaluators/spectral/spectral_simd.h"

namespace heatskin::spectral {
namespace {

constexpr std::size_t kWholeVector = 16;

/// Modes that have decayed to this part of the strongest are left out; together they are less than the
/// rounding of the rest.
constexpr float kDecayed = 17;  // exp(-17) = 4e-8

}  // namespace

SpectralHeat::SpectralHeat(SpectralBases bases, double time)
    : bases_(std::move(bases)),
      vertices_(bases_.vertex_count),
      count_(bases_.count),
      stride_((bases_.count + kWholeVector - 1) / kWholeVector * kWholeVector),
      vectors_(bases_.vectors.data()) {
  if (stride_ != count_) {
    padded_.assign(kAlignedBases * vertices_ * stride_, 0);
    for (std::size_t r = 0; r < kAlignedBases * vertices_; ++r)
      std::copy_n(bases_.vectors.data() + r * count_, count_, padded_.data() + r * stride_);
    bases_.vectors = {};
    vectors_ = padded_.data();
  }
  values_.assign(kAlignedBases * stride_, 0);
  for (std::size_t b = 0; b < kAlignedBases; ++b) {
    for (std::size_t e = 0; e < count_; ++e)
      values_[b * stride_ + e] = static_cast<float>(time * bases_.values[b * count_ + e]);
  }
}

void SpectralHeat::heat(std::uint32_t, const fields::Pose& pose, std::span<const std::uint32_t>,
                        std::span<const std::uint32_t> vertices, const fields::HeatRows& out) {
  const GridWeights grid = gridWeights(pose.angle, pose.anisotropy);
  const std::array<std::uint32_t, 4> bases = alignedBasesOf(grid);
  KernelPlace place;
  for (std::size_t j = 0; j < 4; ++j) {
    for (std::size_t c = 0; c < 3; ++c)
      place.rows[3 * j + c] = row(bases[j], pose.corners[c]);
    place.exponents[j] = values_.data() + bases[j] * stride_;
    place.weights[j] = grid.weights[j];
    place.d_angle[j] = grid.d_angle[j];
    place.d_anisotropy[j] = grid.d_anisotropy[j];
  }
  for (std::size_t c = 0; c < 3; ++c) {
    place.b[c] = pose.barycentric[c];
    place.bx[c] = pose.barycentric_x[c];
    place.by[c] = pose.barycentric_y[c];
  }
  // Aligned eigenvalues only roughly ascend: whole vectors are dropped from the end while all of theirs have
  // decayed.
  std::size_t count = stride_;
  const auto decayed = [&](std::size_t e) {
    float exponent = 0;
    for (std::size_t j = 0; j < 4; ++j)
      exponent += place.weights[j] * place.exponents[j][e];
    return exponent > kDecayed;
  };
  while (count > kWholeVector) {
    bool all = true;
    for (std::size_t e = count - kWholeVector; e < std::min(count, count_) && all; ++e)
      all = decayed(e);
    if (!all) break;
    count -= kWholeVector;
  }

  auto& [modes, own, vertex_rows] = scratch_.mine();
  modes.resize(5 * count);
  float self[5];
  kernelModes(place, count, modes.data(), self);
  KernelModes kernel;
  kernel.value = modes.data();
  kernel.d_x = modes.data() + count;
  kernel.d_y = modes.data() + 2 * count;
  kernel.d_angle = modes.data() + 3 * count;
  kernel.d_anisotropy = modes.data() + 4 * count;
  std::copy_n(place.weights, 4, kernel.weights);
  vertex_rows.resize(4 * vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    for (std::size_t j = 0; j < 4; ++j)
      vertex_rows[4 * i + j] = row(bases[j], vertices[i]);
  }
  own.resize(4 * vertices.size());
  float* const rows[9] = {out.value,
                          out.d_x,
                          out.d_y,
                          out.d_angle,
                          out.d_anisotropy,
                          own.data(),
                          own.data() + vertices.size(),
                          own.data() + 2 * vertices.size(),
                          own.data() + 3 * vertices.size()};
  modeProducts(kernel, count, vertex_rows.data(), vertices.size(), rows);

  const float inverse = 1 / (self[0] + fields::kSelfEpsilon);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    float angle = out.d_angle[i], anisotropy = out.d_anisotropy[i];
    for (std::size_t j = 0; j < 4; ++j) {
      angle += grid.d_angle[j] * rows[5 + j][i];
      anisotropy += grid.d_anisotropy[j] * rows[5 + j][i];
    }
    const float value = out.value[i] * inverse;
    out.value[i] = value;
    out.d_x[i] = (out.d_x[i] - value * self[1]) * inverse;
    out.d_y[i] = (out.d_y[i] - value * self[2]) * inverse;
    out.d_angle[i] = (angle - value * self[3]) * inverse;
    out.d_anisotropy[i] = (anisotropy - value * self[4]) * inverse;
  }
}

}  // namespace heatskin::spectral
