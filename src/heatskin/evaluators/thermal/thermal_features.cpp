#include "heatskin/evaluators/thermal/thermal_features.h"

#include <utility>

#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/operators.h"

namespace heatskin::thermal {
namespace {

/// Raised whenever the same options give other numbers.
constexpr std::uint32_t kContentVersion = 2;

CacheKey keyOf(const Surface& surface, const ThermalOptions& options) {
  ContentHash hash;
  hash.add(kContentVersion);
  hash.add(simdTarget());  // levels differ by rounding, and a run should not depend on the cache
  hash.add(options.diffusion_time);
  hash.add(std::uint64_t{options.rank});
  hash.add(std::uint64_t{options.oversampling});
  hash.add(options.routing_time);
  hash.add(std::uint64_t{options.routing_dimensions});
  hash.add(options.seed);
  hash.add(surface);
  return {"thermal", hash.digest()};
}

void write(const ThermalFeatures& features, CacheWriter& writer) {
  writer.put<std::uint64_t>(features.factors.rank);
  writer.putArray(features.factors.values);
  writer.put<std::uint64_t>(features.routing.dimension);
  writer.putArray(features.routing.values);
}

bool read(CacheReader& reader, std::size_t vertices, const ThermalOptions& options,
          ThermalFeatures& features) {
  features.factors.vertex_count = static_cast<std::uint32_t>(vertices);
  features.factors.rank = reader.get<std::uint64_t>();
  // Rows are the rank rounded up to whole vectors.
  if (features.factors.rank > options.rank + 16) return false;
  features.factors.values = reader.getArray<std::uint16_t>(kFactorCount * vertices * features.factors.rank);
  features.routing.dimension = reader.get<std::uint64_t>();
  if (features.routing.dimension != options.routing_dimensions) return false;
  features.routing.values = reader.getArray<float>(vertices * features.routing.dimension);
  return reader.finished();
}

}  // namespace

Result<ThermalFeatures> buildThermalFeatures(const Surface& surface, const ThermalOptions& options,
                                             PreprocessingCache& cache, Progress& progress) {
  const CacheKey key = keyOf(surface, options);
  ThermalFeatures features;
  if (const auto payload = cache.load(key)) {
    CacheReader reader(*payload);
    if (read(reader, surface.vertexCount(), options, features)) return features;
  }
  const Operators operators = assembleOperators(surface);
  FactorOptions factor;
  factor.time = options.diffusion_time;
  factor.rank = options.rank;
  factor.oversampling = options.oversampling;
  factor.seed = options.seed;
  auto factors = thermalFactors(operators, factor, progress);
  if (!factors) return factors.error();
  RoutingOptions routing;
  routing.dimension = options.routing_dimensions;
  routing.time = options.routing_time;
  routing.seed = options.seed;
  auto embedding = routingEmbedding(operators, routing);
  if (!embedding) return embedding.error();
  features.factors = std::move(*factors);
  features.routing = std::move(*embedding);
  if (cache.enabled()) {
    CacheWriter writer;
    write(features, writer);
    cache.store(key, writer.bytes());
  }
  return features;
}

}  // namespace heatskin::thermal
