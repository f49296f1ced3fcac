#pragma once

// How well low-rank factors answer what a texture asks of them (METHOD section 9): the filtered response
// f(h(p, q) / h(p, p)) of random kernels at random queries, no window, against another set of factors taken
// as the truth.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/operators/eigenpairs.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct RankStudyOptions {
  std::size_t centers = 256;
  std::size_t queries = 4096;
  std::uint64_t seed = 0;
};

/// Rows of F with H = F F^T.
struct FactorView {
  std::span<const float> values;  // [V, stride]
  std::size_t stride = 0;
  std::size_t rank = 0;  ///< columns that count
};

struct RankScore {
  double psnr = 0;       ///< filtered-response PSNR in dB, peak 1; infinite for equal factors
  double raw_error = 0;  ///< relative Frobenius error of h on the same pairs
};

/// Centres and queries area-uniform on a surface; threshold and sharpness of every centre as a fit starts
/// with.
class RankStudy {
 public:
  RankStudy(const Surface& surface, const RankStudyOptions& options = {});

  RankScore score(const FactorView& truth, const FactorView& factor) const;

 private:
  /// h of all pairs [centers, queries], and h(p, p) [centers].
  void responses(const FactorView& factor, std::vector<float>& h, std::vector<float>& self) const;

  struct Point {
    std::array<std::uint32_t, 3> vertices;
    std::array<float, 3> weights;
  };
  std::vector<Point> centers_, queries_;
  std::vector<double> thresholds_, sharpnesses_;
};

/// The exact heat kernel of the smallest eigenpairs as a factor [V, k]: phi_e exp(-lambda_e t / 2).
std::vector<float> spectralFactor(const Eigenpairs& pairs, double time);

}  // namespace heatskin
