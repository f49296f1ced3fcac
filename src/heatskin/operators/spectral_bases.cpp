#include "heatskin/operators/spectral_bases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/base/result.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/operators/dense_kernels.h"

namespace heatskin {
namespace {

/// Changes whenever the numbers do: other operators, another alignment.
constexpr std::uint32_t kContentVersion = 2;

CacheKey keyOf(const Surface& surface, const EigenOptions& eigen) {
  ContentHash hash;
  hash.add(kContentVersion);
  // Results of different SIMD levels differ by rounding, and those of a run should not depend on the cache.
  hash.add(simdTarget());
  hash.add(std::uint64_t{eigen.count});
  hash.add(std::uint64_t{eigen.dense_vertices});
  hash.add(eigen.tolerance);
  hash.add(surface);
  return {"spectral", hash.digest()};
}

void write(const SpectralBases& bases, CacheWriter& writer) {
  writer.put<std::uint64_t>(bases.count);
  writer.put<std::uint64_t>(bases.embedding_dimensions);
  writer.putArray(bases.values);
  writer.putArray(bases.vectors);
  writer.putArray(bases.embedding);
}

/// False if the file is of another mesh or number of pairs than asked for.
bool read(CacheReader& reader, SpectralBases& bases) {
  const std::size_t count = bases.count, dimensions = bases.embedding_dimensions;
  if (reader.get<std::uint64_t>() != count || reader.get<std::uint64_t>() != dimensions) return false;
  bases.values = reader.getArray<double>(kAlignedBases * count);
  bases.vectors = reader.getArray<std::uint16_t>(kAlignedBases * count * bases.vertex_count);
  bases.embedding = reader.getArray<float>(dimensions * bases.vertex_count);
  return reader.finished();
}

}  // namespace

std::vector<float> biharmonicEmbedding(const Operators& operators, const Eigenpairs& isotropic,
                                       std::size_t dimensions) {
  const std::size_t k = isotropic.values.size(), vertices = operators.vertex_count;
  std::vector<float> embedding(vertices * dimensions, 0.0f);
  // Every component has one constant, and zeros come first.
  const std::size_t first = std::min<std::size_t>(k, operators.component_count);
  const std::size_t modes = std::min(dimensions, k - first);
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::size_t e = 0; e < modes; ++e) {
      const double value = isotropic.values[first + e];
      if (value <= 0) continue;
      embedding[v * dimensions + e] = static_cast<float>(isotropic.vectors[v * k + first + e] / value);
    }
  }
  return embedding;
}

Result<SpectralBases> buildSpectralBases(const Surface& surface, PreprocessingCache& cache,
                                         const SpectralOptions& options, Progress& progress,
                                         SpectralProfile* profile) {
  SpectralProfile unused;
  SpectralProfile& times = profile != nullptr ? *profile : unused;
  times = {};
  if (surface.vertexCount() > kMaxSpectralVertices) {
    return inputError(fmt::format("the mesh has {} vertices, above the limit of {} for method spectral; "
                                  "simplify it or use method local",
                                  surface.vertexCount(), kMaxSpectralVertices),
                      error_code::kOtherMethod);
  }
  SpectralBases bases;
  bases.vertex_count = surface.vertexCount();
  bases.count = std::min<std::size_t>(options.eigen.count, surface.vertexCount() - 1);
  // Half precision for all operators, and the blocks of the operators at work in double.
  const double modes = static_cast<double>(bases.count) * surface.vertexCount();
  if (auto fits = askMemory(fmt::format("spectral bases of {} vertices", surface.vertexCount()),
                            modes * (50 * sizeof(std::uint16_t) + 6 * sizeof(double)));
      !fits) {
    return fits.error();
  }
  bases.embedding_dimensions = std::min(kEmbeddingDimensions, bases.count - 1);
  const CacheKey key = keyOf(surface, options.eigen);
  Stopwatch watch;
  if (const auto payload = cache.load(key)) {
    CacheReader reader(*payload);
    if (read(reader, bases)) {
      times.cache_seconds = watch.lap();
      times.from_cache = true;
      return bases;
    }
  }
  watch.lap();
  const Operators operators = assembleOperators(surface);
  times.assembly_seconds = watch.lap();
  if (operators.component_count >= bases.count) {
    return inputError(
        fmt::format("the mesh has {} components, and each takes one of {} eigenvectors for its constant, so "
                    "that none is left "
                    "for detail; use method local or thermal",
                    operators.component_count, bases.count),
        error_code::kOtherMethod);
  }
  const EigenSolver solver(operators, options.eigen);
  auto pairs = solver.solveAll(progress);
  if (!pairs) return pairs.error();
  times.eigen_seconds = watch.lap();

  const std::size_t k = bases.count, size = std::size_t{bases.vertex_count} * k;
  bases.values.resize(kAlignedBases * k);
  bases.vectors.resize(kAlignedBases * size);
  alignAll(operators, *pairs, [&](std::uint32_t index, const Eigenpairs& basis) {
    std::copy(basis.values.begin(), basis.values.end(),
              bases.values.begin() + static_cast<std::ptrdiff_t>(index * k));
    halfFromFloat(basis.vectors, std::span(bases.vectors).subspan(index * size, size));
  });
  bases.embedding = biharmonicEmbedding(operators, (*pairs)[kIsotropic], bases.embedding_dimensions);
  times.align_seconds = watch.lap();

  if (cache.enabled()) {
    CacheWriter writer;
    write(bases, writer);
    cache.store(key, writer.bytes());
    times.cache_seconds = watch.lap();
  }
  return bases;
}

}  // namespace heatskin
