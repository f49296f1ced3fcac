#include "heatskin/evaluators/spectral/spectral_simd.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "heatskin/operators/dense_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/spectral/spectral_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/evaluators/fields/halves-inl.h"
#include "heatskin/kernels/fast_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::spectral {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::fastExp;
using heatskin::HWY_NAMESPACE::widen;
using Tag = heatskin::HWY_NAMESPACE::HalvesTag;

void modeProductsT(const KernelModes& kernel, std::size_t count, const std::uint16_t* const* vertex_rows,
                   std::size_t vertices, float* const* out) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto w0 = hn::Set(d, kernel.weights[0]), w1 = hn::Set(d, kernel.weights[1]),
             w2 = hn::Set(d, kernel.weights[2]), w3 = hn::Set(d, kernel.weights[3]);
  for (std::size_t i = 0; i < vertices; ++i) {
    const std::uint16_t* const* rows = vertex_rows + 4 * i;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, x = s0, y = s0, angle = s0, anisotropy = s0;
    for (std::size_t e = 0; e < count; e += lanes) {
      const auto p0 = widen(rows[0] + e), p1 = widen(rows[1] + e), p2 = widen(rows[2] + e),
                 p3 = widen(rows[3] + e);
      const auto value = hn::LoadU(d, kernel.value + e);
      s0 = hn::MulAdd(value, p0, s0);
      s1 = hn::MulAdd(value, p1, s1);
      s2 = hn::MulAdd(value, p2, s2);
      s3 = hn::MulAdd(value, p3, s3);
      const auto mixed = hn::MulAdd(w3, p3, hn::MulAdd(w2, p2, hn::MulAdd(w1, p1, hn::Mul(w0, p0))));
      x = hn::MulAdd(hn::LoadU(d, kernel.d_x + e), mixed, x);
      y = hn::MulAdd(hn::LoadU(d, kernel.d_y + e), mixed, y);
      angle = hn::MulAdd(hn::LoadU(d, kernel.d_angle + e), mixed, angle);
      anisotropy = hn::MulAdd(hn::LoadU(d, kernel.d_anisotropy + e), mixed, anisotropy);
    }
    const float t0 = hn::GetLane(hn::SumOfLanes(d, s0)), t1 = hn::GetLane(hn::SumOfLanes(d, s1)),
                t2 = hn::GetLane(hn::SumOfLanes(d, s2)), t3 = hn::GetLane(hn::SumOfLanes(d, s3));
    out[0][i] =
        kernel.weights[0] * t0 + kernel.weights[1] * t1 + kernel.weights[2] * t2 + kernel.weights[3] * t3;
    out[1][i] = hn::GetLane(hn::SumOfLanes(d, x));
    out[2][i] = hn::GetLane(hn::SumOfLanes(d, y));
    out[3][i] = hn::GetLane(hn::SumOfLanes(d, angle));
    out[4][i] = hn::GetLane(hn::SumOfLanes(d, anisotropy));
    out[5][i] = t0;
    out[6][i] = t1;
    out[7][i] = t2;
    out[8][i] = t3;
  }
}

void kernelModesT(const KernelPlace& k, std::size_t count, float* modes, float self[5]) {
  const Tag d;
  auto self_value = hn::Zero(d), self_x = self_value, self_y = self_value, self_angle = self_value,
       self_anisotropy = self_value;
  const auto two = hn::Set(d, 2.0f);
  for (std::size_t e = 0; e < count; e += hn::Lanes(d)) {
    auto exponent = hn::Zero(d), exponent_angle = exponent, exponent_anisotropy = exponent;
    auto p = exponent, px = exponent, py = exponent, p_angle = exponent, p_anisotropy = exponent;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto lambda = hn::LoadU(d, k.exponents[j] + e);
      const auto w = hn::Set(d, k.weights[j]), w_angle = hn::Set(d, k.d_angle[j]),
                 w_anisotropy = hn::Set(d, k.d_anisotropy[j]);
      exponent = hn::MulAdd(w, lambda, exponent);
      exponent_angle = hn::MulAdd(w_angle, lambda, exponent_angle);
      exponent_anisotropy = hn::MulAdd(w_anisotropy, lambda, exponent_anisotropy);
      const auto c0 = widen(k.rows[3 * j] + e), c1 = widen(k.rows[3 * j + 1] + e),
                 c2 = widen(k.rows[3 * j + 2] + e);
      const auto at = [&](const float(&b)[3]) HWY_ATTR {
        return hn::MulAdd(hn::Set(d, b[2]), c2,
                          hn::MulAdd(hn::Set(d, b[1]), c1, hn::Mul(hn::Set(d, b[0]), c0)));
      };
      const auto here = at(k.b);
      p = hn::MulAdd(w, here, p);
      px = hn::MulAdd(w, at(k.bx), px);
      py = hn::MulAdd(w, at(k.by), py);
      p_angle = hn::MulAdd(w_angle, here, p_angle);
      p_anisotropy = hn::MulAdd(w_anisotropy, here, p_anisotropy);
    }
    const auto decay = fastExp(d, hn::Neg(exponent));
    const auto value = hn::Mul(decay, p), x = hn::Mul(decay, px), y = hn::Mul(decay, py);
    // d(decay phi(p)) without what the query's side contributes.
    const auto angle = hn::Mul(decay, hn::NegMulAdd(exponent_angle, p, p_angle));
    const auto anisotropy = hn::Mul(decay, hn::NegMulAdd(exponent_anisotropy, p, p_anisotropy));
    hn::StoreU(value, d, modes + e);
    hn::StoreU(x, d, modes + count + e);
    hn::StoreU(y, d, modes + 2 * count + e);
    hn::StoreU(angle, d, modes + 3 * count + e);
    hn::StoreU(anisotropy, d, modes + 4 * count + e);
    self_value = hn::MulAdd(value, p, self_value);
    self_x = hn::MulAdd(hn::Mul(two, x), p, self_x);
    self_y = hn::MulAdd(hn::Mul(two, y), p, self_y);
    self_angle = hn::MulAdd(angle, p, hn::MulAdd(value, p_angle, self_angle));
    self_anisotropy = hn::MulAdd(anisotropy, p, hn::MulAdd(value, p_anisotropy, self_anisotropy));
  }
  self[0] = hn::GetLane(hn::SumOfLanes(d, self_value));
  self[1] = hn::GetLane(hn::SumOfLanes(d, self_x));
  self[2] = hn::GetLane(hn::SumOfLanes(d, self_y));
  self[3] = hn::GetLane(hn::SumOfLanes(d, self_angle));
  self[4] = hn::GetLane(hn::SumOfLanes(d, self_anisotropy));
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::spectral
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::spectral {

HWY_EXPORT(modeProductsT);
HWY_EXPORT(kernelModesT);

void modeProducts(const KernelModes& kernel, std::size_t count, const std::uint16_t* const* vertex_rows,
                  std::size_t vertices, float* const* out) {
  HWY_DYNAMIC_DISPATCH(modeProductsT)(kernel, count, vertex_rows, vertices, out);
}

void kernelModes(const KernelPlace& place, std::size_t count, float* modes, float self[5]) {
  HWY_DYNAMIC_DISPATCH(kernelModesT)(place, count, modes, self);
}

void modeProductsScalar(const KernelModes& kernel, std::size_t count, const std::uint16_t* const* vertex_rows,
                        std::size_t vertices, float* const* out) {
  for (std::size_t i = 0; i < vertices; ++i) {
    float sums[9] = {};
    for (std::size_t e = 0; e < count; ++e) {
      float mixed = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        float phi = 0;
        floatFromHalf({&vertex_rows[4 * i + j][e], 1}, {&phi, 1});
        sums[5 + j] += kernel.value[e] * phi;
        mixed += kernel.weights[j] * phi;
      }
      sums[0] += kernel.value[e] * mixed;
      sums[1] += kernel.d_x[e] * mixed;
      sums[2] += kernel.d_y[e] * mixed;
      sums[3] += kernel.d_angle[e] * mixed;
      sums[4] += kernel.d_anisotropy[e] * mixed;
    }
    for (std::size_t r = 0; r < 9; ++r)
      out[r][i] = sums[r];
  }
}

}  // namespace heatskin::spectral
#endif
