#pragma once

// Dense truths for tests of operators.

#include <cmath>
#include <cstdint>

#include <Eigen/Dense>

#include "heatskin/operators/operators.h"

namespace heatskin::testing {

/// A = M^-1/2 L M^-1/2 of one operator, with the diagonal of M^-1/2.
struct DenseOperator {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd scale;
};

inline DenseOperator denseOperator(const Operators& operators, std::size_t index) {
  const Eigen::Index n = operators.vertex_count;
  DenseOperator dense{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd(n)};
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    dense.scale[v] = 1 / std::sqrt(operators.mass[v]);
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k) {
      const std::uint32_t w = operators.columns[k];
      dense.matrix(v, w) = operators.stiffness[index][k] / std::sqrt(operators.mass[v] * operators.mass[w]);
    }
  }
  return dense;
}

}  // namespace heatskin::testing
