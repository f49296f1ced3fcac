#pragma once

// The file of a product before the kernels are in it: the input's glTF document with as little changed as
// possible. Materials of what is fitted lose the textures that kernels take the place of; everything else
// stays as it came. An input of another format becomes a glTF document first.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class ProductDocument {
 public:
  /// Primitives of one value in a group of channels (constantGroups()) keep it in their material and are left
  /// to it there, unless all are so in all groups or the layout has channels that materials do not define.
  /// `surface` is that of the asset.
  static Result<ProductDocument> create(const Asset& asset, const Surface& surface,
                                        const ChannelLayout& layout, const ProductFile& file);

  ~ProductDocument();
  ProductDocument(ProductDocument&&) noexcept;
  ProductDocument& operator=(ProductDocument&&) noexcept;

  /// What readers of the file get. Primitives that want vertex colours have them, white.
  const Asset& stored() const;

  /// Materials of the file that say the values of their triangles.
  const ConstantMaterials& constantMaterials() const;

  /// The images that Fallback::kTexture takes: those that only gave colour to opaque primitives without
  /// vertex colours. Other primitives get vertex colours, and so do those whose image has no bytes.
  const std::vector<FallbackRequest>& fallbackRequests() const;

  /// Words for what the file still has and what it has lost.
  const std::vector<std::string>& kept() const;
  const std::vector<std::string>& dropped() const;

  /// Images that could not come into the file.
  const std::vector<Notice>& notices() const;

  /// The GLB with the vertex colours of `colored`, which is stored() with other colours, and the extension:
  /// its buffers become buffer views one after the other; `json` is asked with the number of the first.
  /// `mean` (sRGB) is what everything that is fitted gets with Fallback::kPlain, `images` are those of
  /// fallbackRequests().
  Result<std::vector<std::uint8_t>> finish(const Asset& colored,
                                           std::span<const std::vector<std::uint8_t>> buffers,
                                           const std::function<std::string(std::size_t view)>& json,
                                           const Vec3f& mean, const std::string& generator,
                                           std::span<const FallbackImage> images = {}) const;

 private:
  struct Impl;
  explicit ProductDocument(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
