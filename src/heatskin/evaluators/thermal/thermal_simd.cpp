#include "heatskin/evaluators/thermal/thermal_simd.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "heatskin/operators/dense_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heatskin/evaluators/thermal/thermal_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "heatskin/evaluators/fields/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heatskin::thermal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using heatskin::HWY_NAMESPACE::widen;
using Tag = heatskin::HWY_NAMESPACE::HalvesTag;

void factorProductsT(const float* rows, std::size_t rank, const std::uint16_t* const* vertex_rows,
                     std::size_t count, float* const* out) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < 4; ++j) {
    const float* r0 = rows + (3 * j) * rank;
    const float* r1 = r0 + rank;
    const float* r2 = r1 + rank;
    // Two vertices at a time share the loads of the kernel's rows.
    std::size_t i = 0;
    for (; i + 2 <= count; i += 2) {
      const std::uint16_t* a = vertex_rows[4 * i + j];
      const std::uint16_t* b = vertex_rows[4 * (i + 1) + j];
      auto a0 = hn::Zero(d), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
      for (std::size_t k = 0; k < rank; k += lanes) {
        const auto va = widen(a + k), vb = widen(b + k);
        const auto k0 = hn::LoadU(d, r0 + k), k1 = hn::LoadU(d, r1 + k), k2 = hn::LoadU(d, r2 + k);
        a0 = hn::MulAdd(va, k0, a0);
        a1 = hn::MulAdd(va, k1, a1);
        a2 = hn::MulAdd(va, k2, a2);
        b0 = hn::MulAdd(vb, k0, b0);
        b1 = hn::MulAdd(vb, k1, b1);
        b2 = hn::MulAdd(vb, k2, b2);
      }
      out[3 * j][i] = hn::GetLane(hn::SumOfLanes(d, a0));
      out[3 * j + 1][i] = hn::GetLane(hn::SumOfLanes(d, a1));
      out[3 * j + 2][i] = hn::GetLane(hn::SumOfLanes(d, a2));
      out[3 * j][i + 1] = hn::GetLane(hn::SumOfLanes(d, b0));
      out[3 * j + 1][i + 1] = hn::GetLane(hn::SumOfLanes(d, b1));
      out[3 * j + 2][i + 1] = hn::GetLane(hn::SumOfLanes(d, b2));
    }
    for (; i < count; ++i) {
      const std::uint16_t* a = vertex_rows[4 * i + j];
      auto a0 = hn::Zero(d), a1 = a0, a2 = a0;
      for (std::size_t k = 0; k < rank; k += lanes) {
        const auto va = widen(a + k);
        a0 = hn::MulAdd(va, hn::LoadU(d, r0 + k), a0);
        a1 = hn::MulAdd(va, hn::LoadU(d, r1 + k), a1);
        a2 = hn::MulAdd(va, hn::LoadU(d, r2 + k), a2);
      }
      out[3 * j][i] = hn::GetLane(hn::SumOfLanes(d, a0));
      out[3 * j + 1][i] = hn::GetLane(hn::SumOfLanes(d, a1));
      out[3 * j + 2][i] = hn::GetLane(hn::SumOfLanes(d, a2));
    }
  }
}

void mixProductsT(const float* weights, const float* const* products, std::size_t count, float* const* out) {
  const Tag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0;
    for (std::size_t k = 0; k < 12; ++k) {
      const auto p = hn::LoadU(d, products[k] + i);
      s0 = hn::MulAdd(hn::Set(d, weights[k]), p, s0);
      s1 = hn::MulAdd(hn::Set(d, weights[12 + k]), p, s1);
      s2 = hn::MulAdd(hn::Set(d, weights[24 + k]), p, s2);
      s3 = hn::MulAdd(hn::Set(d, weights[36 + k]), p, s3);
      s4 = hn::MulAdd(hn::Set(d, weights[48 + k]), p, s4);
    }
    hn::StoreU(s0, d, out[0] + i);
    hn::StoreU(s1, d, out[1] + i);
    hn::StoreU(s2, d, out[2] + i);
    hn::StoreU(s3, d, out[3] + i);
    hn::StoreU(s4, d, out[4] + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace heatskin::thermal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heatskin::thermal {

HWY_EXPORT(factorProductsT);
HWY_EXPORT(mixProductsT);

void factorProducts(const float* rows, std::size_t rank, const std::uint16_t* const* vertex_rows,
                    std::size_t count, float* const* out) {
  HWY_DYNAMIC_DISPATCH(factorProductsT)(rows, rank, vertex_rows, count, out);
}

void mixProducts(const float* weights, const float* const* products, std::size_t count, float* const* out) {
  HWY_DYNAMIC_DISPATCH(mixProductsT)(weights, products, count, out);
}

void factorProductsScalar(const float* rows, std::size_t rank, const std::uint16_t* const* vertex_rows,
                          std::size_t count, float* const* out) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < 12; ++r) {
      float sum = 0;
      for (std::size_t k = 0; k < rank; ++k) {
        float factor = 0;
        floatFromHalf({&vertex_rows[4 * i + r / 3][k], 1}, {&factor, 1});
        sum += rows[r * rank + k] * factor;
      }
      out[r][i] = sum;
    }
  }
}

}  // namespace heatskin::thermal
#endif
