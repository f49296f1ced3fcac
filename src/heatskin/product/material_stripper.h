#pragma once

// Materials of a product's file without the textures that kernels take the place of. Internal: includes the
// JSON library.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/variants.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/color_slots.h"
#include "heatskin/product/fallback_images.h"
#include "heatskin/product/material_factors.h"
#include "heatskin/product/product.h"

namespace heatskin {

/// Where the file names a material: a primitive's own, or that of one of its mappings to material variants.
struct MaterialUse {
  PrimitiveKey primitive;
  int mapping = -1;  ///< its number; -1: the primitive's own

  auto operator<=>(const MaterialUse&) const = default;
};

/// Takes what kernels take the place of out of the materials of what is fitted.
class MaterialStripper {
 public:
  /// The groups (one bit each) in which a primitive of the asset is constant with that material.
  using ConstantGroups = std::function<std::uint32_t(std::size_t mesh, std::size_t primitive, int material)>;

  /// `asset` was read from `document`; `sums` are slotSums(). `looks` are the material variants that kernels
  /// have values for. Document, asset and layout outlive this.
  MaterialStripper(GltfDocument& document, const Asset& asset, const ChannelLayout& layout,
                   const ConstantGroups& constant_groups, std::map<MaterialUse, SlotSums> sums,
                   Fallback fallback, std::span<const VariantLook> looks = {});

  /// To be called once, before what follows.
  Result<void> strip();

  ConstantMaterials constantMaterials();

  /// Those whose base colour is fitted.
  const std::set<PrimitiveKey>& colored() const { return colored_; }

  /// Materials of the file whose base colour is fitted, wherever they are used.
  const std::set<std::size_t>& coloredMaterials() const { return colored_materials_; }

  /// What Fallback::kTexture asks for.
  const FallbackImages& images() const { return images_; }

 private:
  std::size_t primitiveCount(std::size_t mesh) const;
  GltfJson& primitiveOf(const PrimitiveKey& key);
  GltfJson* mappingOf(const MaterialUse& use);
  std::optional<std::size_t> materialOf(const MaterialUse& use);
  void setMaterial(const MaterialUse& use, std::size_t material);
  void separateConstants();
  void giveConstantsMaterials();
  Result<void> stripMaterial(std::size_t number, const Material& material);
  void dropEmpty(std::size_t number);
  Result<std::size_t> whiteTexture(std::size_t texture, const Image& image);

  GltfDocument& document_;
  const Asset& asset_;
  const ChannelLayout& layout_;
  std::map<MaterialUse, SlotSums> sums_;
  Fallback fallback_;
  std::map<MaterialUse, std::uint32_t> groups_;  // in which they are constant
  std::map<MaterialUse, std::size_t> look_of_;   // of variants: the first look that has them, from 1
  std::set<MaterialUse> fitted_, constant_;
  std::set<PrimitiveKey> colored_;
  std::set<std::size_t> colored_materials_;
  std::map<std::size_t, std::size_t> white_;  // by texture
  FallbackImages images_;
};

}  // namespace heatskin
