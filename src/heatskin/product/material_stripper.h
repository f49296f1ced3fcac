#pragma once

// Materials of a product's file without the textures that kernels take the place of. Internal: includes the
// JSON library.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/color_slots.h"
#include "heatskin/product/fallback_images.h"
#include "heatskin/product/material_factors.h"
#include "heatskin/product/product.h"

namespace heatskin {

/// Takes what kernels take the place of out of the materials of what is fitted.
class MaterialStripper {
 public:
  /// `asset` was read from `document`; `constant_groups` is asked for its meshes and their primitives. `sums`
  /// are slotSums(). Document, asset and layout outlive this.
  MaterialStripper(
      GltfDocument& document, const Asset& asset, const ChannelLayout& layout,
      const std::function<std::uint32_t(std::size_t mesh, std::size_t primitive)>& constant_groups,
      std::map<PrimitiveKey, SlotSums> sums, Fallback fallback);

  /// To be called once, before what follows.
  Result<void> strip();

  ConstantMaterials constantMaterials();

  /// Those whose base colour is fitted.
  const std::set<PrimitiveKey>& colored() const { return colored_; }

  /// What Fallback::kTexture asks for.
  const FallbackImages& images() const { return images_; }

 private:
  std::size_t primitiveCount(std::size_t mesh) const;
  GltfJson& primitiveOf(const PrimitiveKey& key);
  std::optional<std::size_t> materialOf(const PrimitiveKey& key);
  void separateConstants();
  void giveConstantsMaterials();
  Result<void> stripMaterial(std::size_t number, const Material& material);
  void dropEmpty(std::size_t number);
  Result<std::size_t> whiteTexture(std::size_t texture, const Image& image);

  GltfDocument& document_;
  const Asset& asset_;
  const ChannelLayout& layout_;
  std::map<PrimitiveKey, SlotSums> sums_;
  Fallback fallback_;
  std::map<PrimitiveKey, std::uint32_t> groups_;  // in which they are constant
  std::set<PrimitiveKey> fitted_, constant_, colored_;
  std::map<std::size_t, std::size_t> white_;  // by texture
  FallbackImages images_;
};

}  // namespace heatskin
