#pragma once

#include <cstddef>

namespace heatskin::bench {

/// Multiply-adds (two floating-point operations each) on float32 vectors that stay in registers; returns how
/// many.
double runRegisterMultiplyAdds(std::size_t rounds);

/// The same, each fed by a vector and a scalar from the first-level cache, as a sparse product is: its
/// roofline when nothing ever misses that cache.
double runLoadedMultiplyAdds(std::size_t rounds);

}  // namespace heatskin::bench
