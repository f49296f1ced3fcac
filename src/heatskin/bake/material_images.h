#pragma once

// Which images the channels of a texture make, packed as glTF wants them, and what a texel of each holds.
// Slots of one part of the material share an image where they read different components of texels in the same
// colour space: occlusion, roughness and metallic are one image (red, green, blue), sheen colour and sheen
// roughness another.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/appearance/map_frame.h"
#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/material_slots.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// A group of channels in an image.
struct ImagePart {
  std::size_t group = 0;             ///< of the layout; its size: alpha that is not among the channels
  std::size_t slot = 0;              ///< of kMaterialSlots; kSlotCount: base_color or alpha
  std::size_t first = 0, count = 0;  ///< among the numbers of MaterialImages
  std::array<std::uint8_t, 3> components = {};  ///< of the texel
  ColorSpace texels = ColorSpace::kLinear;
  float low = 0, factor = 1;  ///< a texel of 0 and of 1 stands for these
};

struct ImagePlan {
  std::string name;                     ///< "base_color", "orm", "emissive", "normal", ...
  int channels = 3;                     ///< 3, or 4 with alpha
  std::size_t directions = kSlotCount;  ///< the slot, of a map of directions: texels are relative to a frame
  std::vector<ImagePart> parts;

  bool isDirections() const { return directions < kSlotCount; }
};

class MaterialImages {
 public:
  /// For a layout that Appearance::knows(). `alpha`: there is alpha that kernels do not hold.
  MaterialImages(const ChannelLayout& layout, bool alpha);

  const std::vector<ImagePlan>& plans() const { return plans_; }

  /// Numbers for a point whose mean stands for a texel: colours in linear light; normals and directions of
  /// anisotropy as vectors, in the axes of the asset.
  std::size_t numbers() const { return numbers_; }

  /// These numbers, [points, numbers()]. `normals` are those at the corners of the surface's faces (needed if
  /// there are maps of directions), `appearance` has the alpha that kernels do not (needed if there is such).
  void valuesAt(const KernelTexture& texture, std::span<const std::array<Vec3f, 3>> normals,
                const Appearance* appearance, std::span<const SurfacePoint> points,
                std::span<float> out) const;

  /// The bytes of a texel of an image ([channels]) from such numbers. `frame` is that of the texel's centre,
  /// for maps of directions.
  void texel(const ImagePlan& plan, const float* numbers, const MapFrame& frame, std::uint8_t* bytes) const;

 private:
  ChannelLayout layout_;
  std::vector<ImagePlan> plans_;
  std::size_t numbers_ = 0;
  std::size_t extra_alpha_ = 0;  // number; numbers_ if there is none
};

}  // namespace heatskin
