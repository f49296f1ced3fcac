#pragma once

// Where each kernel reaches, in the file: the unfolding of every kernel as a tree of steps from triangle to
// triangle (docs/format.md, "Charts"). A reader only follows them: it needs neither the rules of unfolding
// nor those of mesh repair.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/stored_supports.h"
#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/product/stored_proxy.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// The extension's property `charts`, or `proxyCharts` where supports live on a simplified copy.
struct ChartsHeader {
  std::size_t buffer_view = 0;  ///< index in the file
  std::size_t steps = 0;        ///< bytes of the trees, one for every step
  std::size_t orders = 0;       ///< numbers after them: orders in which corners are joined
  std::size_t neighbours = 0;   ///< pairs of numbers after these: half-edges and what lies across them
  std::optional<ProxyHeader> proxy = {};  ///< after these; the trees are on its faces
};

/// Most steps of all kernels: those that count, and as many that lead to them.
inline constexpr std::size_t kMostSteps = std::size_t{1} << 28;

/// A buffer and what it takes to read it.
struct PackedCharts {
  ChartsHeader header;
  std::vector<std::uint8_t> bytes;
};

/// The charts of the kernels that `evaluator` was rebuilt for, on the surface of `stored`, the asset of the
/// file. Nothing for methods without supports, and for proxies that cannot be stored (stored_proxy.h).
std::optional<PackedCharts> packCharts(const Evaluator& evaluator, const Asset& stored,
                                       const Surface& surface, const KernelSet& kernels);

/// The supports that a buffer describes, on the surface of its asset. Refused: anything but one zlib stream
/// of the right size, steps across edges without neighbours, triangles that a kernel counts twice, trees that
/// do not end with their kernels, orders that are no permutations, neighbours other than the surface's, and
/// what unpackProxy() refuses.
Result<std::shared_ptr<const local::StoredSupports>> unpackCharts(
    const ChartsHeader& header, std::span<const std::uint8_t> bytes, const Asset& asset,
    const std::shared_ptr<const Surface>& surface, const KernelSet& kernels);

}  // namespace heatskin
