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

/// Values of a material variant: the groups that differ from the default's, and their buffer; empty if none
/// do.
struct PackedValues {
  StoredValues header;  ///< without names and buffer view
  std::vector<std::uint8_t> bytes;
};

/// A buffer and what it takes to read it.
struct PackedKernels {
  KernelScales scales;
  std::vector<std::uint8_t> bytes;
  std::vector<PackedValues> variants;
};

/// Kernels on `surface`, the surface of `asset`, for a file that holds `stored`, whose surface is
/// `stored_surface`. The order becomes that of the file. All values are numbers; lengths of methods without
/// them become 1. `variants` are the same kernels with other values.
PackedKernels packKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface,
                          const Asset& stored, const Surface& stored_surface, const EvaluatorOptions& options,
                          std::span<const VariantKernels> variants = {}, const Rounding& rounding = {});

/// Kernels on `surface`, the surface of `asset`, as they come back from a file, in the file's order.
Result<KernelSet> roundedKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface,
                                 const EvaluatorOptions& options, const Rounding& rounding);

/// The rounding with which kernels of a file keep their codes.
Rounding roundingOf(const KernelBits& bits, Method method);

/// The kernels of a buffer, of any version, on the surface of its asset. With `variant`, one of the
/// extension's, their values are those of its buffer.
Result<KernelSet> unpackKernels(const ProductExtension& extension, std::span<const std::uint8_t> bytes,
                                const Asset& asset, const Surface& surface,
                                const StoredValues* variant = nullptr,
                                std::span<const std::uint8_t> variant_bytes = {});

}  // namespace heatskin
