#pragma once

// Everything HKTex precomputes for a surface (METHOD section 7): aligned eigenbases and the biharmonic
// embedding of its vertices.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/operators/align.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Dimensions of the biharmonic embedding when there are enough modes.
inline constexpr std::size_t kEmbeddingDimensions = 64;

/// Above so many vertices the work takes more than 9 GB; refused. (HKTex itself is for meshes below 60,000.)
inline constexpr std::uint32_t kMaxSpectralVertices = 120'000;

struct SpectralBases {
  std::size_t count = 0;           ///< k: pairs per basis
  std::uint32_t vertex_count = 0;  ///< V
  std::vector<double> values;      // [50, k] eigenvalues in the aligned order: basis b, column e

  /// Aligned eigenvectors as float16 (dense_kernels.h converts), [50, V, k]: a row of k per vertex. Rounding
  /// changes a normalised response by less than 1e-3 (docs/results/spectral.md). Entries of components with
  /// an area below 2e-10 are clamped to the largest half.
  std::vector<std::uint16_t> vectors;

  std::size_t embedding_dimensions = 0;  ///< d: min(64, k - 1)
  /// Isotropic phi_e / lambda_e of the first modes that are not constant on a component, [V, d]. Distances
  /// have a meaning within a component only.
  std::vector<float> embedding;

  std::span<const double> valuesOf(std::uint32_t basis) const {
    return {values.data() + basis * count, count};
  }
  std::span<const std::uint16_t> vectorsOf(std::uint32_t basis) const {
    const std::size_t size = std::size_t{vertex_count} * count;
    return {vectors.data() + basis * size, size};
  }
};

struct SpectralOptions {
  EigenOptions eigen;
};

/// Where the time went.
struct SpectralProfile {
  double assembly_seconds = 0;
  double eigen_seconds = 0;
  double align_seconds = 0;
  double cache_seconds = 0;  ///< reading, or writing
  bool from_cache = false;
};

/// From the cache if it is there, else computed and stored. Refuses meshes above kMaxSpectralVertices and
/// such with as many components as there are pairs; fails when eigenpairs do not converge or `progress` asks
/// to stop. `profile` may be null.
Result<SpectralBases> buildSpectralBases(const Surface& surface, PreprocessingCache& cache,
                                         const SpectralOptions& options = {},
                                         Progress& progress = silentProgress(),
                                         SpectralProfile* profile = nullptr);

/// The embedding by itself: `isotropic` are the pairs of that operator.
std::vector<float> biharmonicEmbedding(const Operators& operators, const Eigenpairs& isotropic,
                                       std::size_t dimensions);

}  // namespace heatskin
