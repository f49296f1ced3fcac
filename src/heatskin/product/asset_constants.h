#pragma once

// Which faces of an asset have one value in which channels: their material has a factor there and nothing
// else.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/surface.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// Those of an asset that is fitted. None if all faces are so in all channels: then there is nothing to fit,
/// and kernels that are there all the same are meant to be seen; unless there are `other_looks` that need
/// them. Appearance::knows() the layout.
ConstantFaces constantFaces(const Appearance& appearance, const ChannelLayout& layout = {},
                            bool other_looks = false);

/// Materials (increasing indices into Asset::materials) whose faces have the values of their factors.
struct ConstantMaterials {
  std::vector<std::size_t> all;                    ///< in all channels
  std::vector<std::vector<std::size_t>> of_group;  ///< [groups of the layout] in this one, besides; or empty

  bool empty() const;
  bool operator==(const ConstantMaterials&) const = default;
};

/// Their faces. base_color is the factor's colour, alpha the factor's alpha unless the material is opaque,
/// the rest what slotConstant() says, within the ranges. Appearance::knows() the layout.
ConstantFaces constantFaces(const Asset& asset, const Surface& surface, const ConstantMaterials& materials,
                            const ChannelLayout& layout = {});

/// Groups of the layout (one bit each) in which nothing but a factor gives the primitive its values: no
/// texture or no coordinates for it and, for base_color and alpha, no vertex colours. The same as
/// AppearanceTarget::constantGroups() of its faces.
std::uint32_t constantGroups(const Asset& asset, const Primitive& primitive, const ChannelLayout& layout);

/// The same for another of the asset's materials; -1: the default one.
std::uint32_t constantGroups(const Asset& asset, const Primitive& primitive, int material,
                             const ChannelLayout& layout);

/// All groups of a layout, one bit each.
std::uint32_t allGroups(const ChannelLayout& layout);

}  // namespace heatskin
