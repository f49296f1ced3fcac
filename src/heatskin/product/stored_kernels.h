#pragma once

// Kernels on their way from a surface to the buffer of a file, and back.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/product/quantize.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// A buffer and what it takes to read it.
struct PackedKernels {
  KernelScales scales;
  std::vector<std::uint8_t> bytes;
};

/// Kernels on `surface`, the surface of `asset`, for a file that holds `stored`, whose surface is
/// `stored_surface`. The order becomes that of the file. All values are numbers; lengths of methods without
/// them become 1.
PackedKernels packKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface,
                          const Asset& stored, const Surface& stored_surface,
                          const EvaluatorOptions& options);

/// The kernels of a buffer, of any version, on the surface of its asset.
Result<KernelSet> unpackKernels(const ProductExtension& extension, std::span<const std::uint8_t> bytes,
                                const Asset& asset, const Surface& surface);

}  // namespace heatskin
