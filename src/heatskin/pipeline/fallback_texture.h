#pragma once

// Small images that stand in for kernels in programs that do not know them.

#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/product.h"
#include "heatskin/product/product_writer.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// How near an image comes to the kernels before a larger one is not worth its bytes: nobody sees 38 dB.
/// Images stop growing earlier where another doubling brings less than half a decibel, at the size of the
/// image they stand for, and at kLargestFallback.
inline constexpr double kFallbackPsnr = 38;
inline constexpr int kSmallestFallback = 64, kLargestFallback = 1024;

/// An image for each request, along the asset's own texture coordinates; JPEG or PNG, whichever is smaller,
/// and not larger than the one whose place it takes, unless that is very small. Without bytes where colours
/// at the vertices are nearer to the kernels, or as near and smaller: coordinates that repeat an image many
/// times show everywhere what kernels have in one place. The texture's surface has the faces of `asset`.
/// `gained`: by how many dB the image that gains the least is nearer to the kernels than colours at vertices.
Result<std::vector<FallbackImage>> bakeFallback(const KernelTexture& texture, const Asset& asset,
                                                std::span<const FallbackRequest> requests,
                                                double* gained = nullptr);

/// The images that `writer` asks for, each with the colours of its look: `texture` is that of the writer, and
/// `variants` are those it was made with.
Result<std::vector<FallbackImage>> bakeFallbacks(const KernelTexture& texture, const Asset& asset,
                                                 const ProductWriter& writer,
                                                 std::span<const VariantKernels> variants);

}  // namespace heatskin
