#pragma once

// The inner loops of ThermalHeat.

#include <cstddef>
#include <cstdint>

namespace heatskin::thermal {

/// out[3 j + c][i] = rows[3 j + c] . factors of operator j at vertex i, for 4 operators and 3 corners.
/// `rows` are 12 x rank floats; `vertex_rows[4 i + j]` points to rank halves. rank is a multiple of 16.
void factorProducts(const float* rows, std::size_t rank, const std::uint16_t* const* vertex_rows,
                    std::size_t count, float* const* out);

/// The same in plain code.
void factorProductsScalar(const float* rows, std::size_t rank, const std::uint16_t* const* vertex_rows,
                          std::size_t count, float* const* out);

/// out[r][i] = sum_k weights[12 r + k] * products[k][i], r < 5. Rows have room for a whole vector.
void mixProducts(const float* weights, const float* const* products, std::size_t count, float* const* out);

}  // namespace heatskin::thermal
