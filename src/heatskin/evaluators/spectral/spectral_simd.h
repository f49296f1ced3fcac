#pragma once

// The inner loops of SpectralHeat.

#include <cstddef>
#include <cstdint>

namespace heatskin::spectral {

/// A kernel's side of all products; arrays of `count` floats, count a multiple of 16.
struct KernelModes {
  /// exp(-t lambda_e) times: phi_e(p); its derivatives along the face's axes; what angle and anisotropy
  /// change through eigenvalues and phi_e(p).
  const float *value, *d_x, *d_y, *d_angle, *d_anisotropy;
  float weights[4];  ///< of the four bases
};

/// For every vertex: out[0] = sum_j w_j s_j, s_j = value . phi^j(v); out[1..4] = d_* . sum_j w_j phi^j(v);
/// out[5..8] = s_0 .. s_3. `vertex_rows[4 i + j]` points to `count` halves of basis j at vertex i.
void modeProducts(const KernelModes& kernel, std::size_t count, const std::uint16_t* const* vertex_rows,
                  std::size_t vertices, float* const* out);

/// The same in plain code.
void modeProductsScalar(const KernelModes& kernel, std::size_t count, const std::uint16_t* const* vertex_rows,
                        std::size_t vertices, float* const* out);

/// Everything the kernel's side needs. `rows[3 j + c]` points to the halves of basis j at corner c,
/// `exponents[j]` to t lambda of basis j. Writes five arrays of `count` floats as in KernelModes, one after
/// the other, and the self heat with its derivatives (x, y, angle, anisotropy).
struct KernelPlace {
  const std::uint16_t* rows[12];
  const float* exponents[4];
  float weights[4], d_angle[4], d_anisotropy[4];
  float b[3], bx[3], by[3];
};
void kernelModes(const KernelPlace& place, std::size_t count, float* modes, float self[5]);

}  // namespace heatskin::spectral
