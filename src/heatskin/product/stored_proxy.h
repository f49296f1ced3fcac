#pragma once

// The simplified copy of a fine surface that supports live on, in the file (docs/format.md, "Charts on a
// proxy"): its triangles, which of them serve each triangle of the file, and where kernels are on it. A
// reader needs no simplifier then, and no search for nearest points beyond a few triangles.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/product/source_triangles.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Sizes of what `proxyCharts` has besides trees.
struct ProxyHeader {
  std::size_t vertices = 0;         ///< of the proxy
  std::size_t faces = 0;            ///< of the proxy
  std::size_t face_neighbours = 0;  ///< changes of its neighbours
  std::size_t listed = 0;           ///< entries of all lists of faces that serve a triangle
};

/// Most faces of a proxy that serve one triangle: those nearest to its corners, to three points of each side
/// and to its centroid.
inline constexpr std::size_t kMostServing = 13;

/// Bytes that the proxy takes, for so many triangles of the file and kernels.
std::size_t proxyBytes(const ProxyHeader& header, std::size_t triangles, std::size_t kernels);

struct PackedProxy {
  ProxyHeader header;
  std::vector<std::uint8_t> bytes;
};

/// The proxy of an evaluator that has one and was rebuilt for its kernels. Nothing where a reader could not
/// build it again from its triangles, or would need very much memory for it.
std::optional<PackedProxy> packProxy(const local::LocalEvaluator& evaluator, const SourceTriangles& triangles,
                                     const Surface& surface);

struct StoredProxy {
  std::shared_ptr<const local::SupportProxy> proxy;
  std::vector<std::uint32_t> kernel_faces;  // [N] of the proxy
};

/// Reads what packProxy() wrote; `bytes` are as many as proxyBytes() says. Refused: corners and faces that do
/// not exist, triangles that are no surface as they are, lists that are not increasing or are missing.
Result<StoredProxy> unpackProxy(const ProxyHeader& header, std::span<const std::uint8_t> bytes,
                                const SourceTriangles& triangles, const Surface& surface,
                                std::size_t kernels);

}  // namespace heatskin
