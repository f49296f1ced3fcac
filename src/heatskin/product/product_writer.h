#pragma once

// A product in the making, for whoever has the evaluator of a fit: its file is written, read back and asked
// without building a surface or an evaluator a second time. encodeProduct() is the short way.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/io/asset.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

class ProductWriter {
 public:
  /// Quantises `kernels`, which lie on `surface`, the surface of `asset`. `as_readers_build`: it was built
  /// with productSurfaceOptions(); then it is also the surface of the product, provided the asset is at the
  /// positions of the file (useStoredGeometry()). Otherwise the product gets a surface of its own.
  /// `charts`: the file says where each kernel reaches. `rounding`: that of their file (Product::rounding)
  /// for kernels that are to keep their codes.
  static Result<ProductWriter> create(const Asset& asset, std::shared_ptr<const Surface> surface,
                                      bool as_readers_build, const KernelSet& kernels,
                                      const EvaluatorOptions& options, const ProductInfo& info,
                                      const ProductFile& file = {}, const Rounding& rounding = {});
  ~ProductWriter();
  ProductWriter(ProductWriter&&) noexcept;
  ProductWriter& operator=(ProductWriter&&) noexcept;

  // What the texture of the product consists of.
  const std::shared_ptr<const Surface>& surface() const;
  const KernelSet& kernels() const;
  const ConstantFaces& constants() const;

  /// The same for material variants, as ProductFile::variants.
  struct Variant {
    KernelSet kernels;
    ConstantFaces constants;
    std::size_t bytes = 0;  ///< of its values in the file; 0: they are the default's
  };
  const std::vector<Variant>& variants() const;

  /// Words for what the file has besides meshes and kernels, and for what the input had and the file has not.
  const std::vector<std::string>& kept() const;
  const std::vector<std::string>& dropped() const;

  /// What could not come into the file.
  const std::vector<Notice>& notices() const;

  /// The images that Fallback::kTexture takes.
  const std::vector<FallbackRequest>& fallbackRequests() const;

  /// The GLB; `texture` is made of the three above and gives the fallback colours and the charts. `images`
  /// has one for each of fallbackRequests().
  Result<std::vector<std::uint8_t>> finish(const KernelTexture& texture,
                                           std::span<const FallbackImage> images = {}) const;

  /// The same without charts, for a fallback that takes neither vertex colours nor images.
  Result<std::vector<std::uint8_t>> finishPlain() const;

  /// decodeProduct() of what finish() made, on surface(). Fails if the file holds another geometry or other
  /// kernels than were written.
  Result<Product> readBack(Asset file) const;

 private:
  struct Impl;
  explicit ProductWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
