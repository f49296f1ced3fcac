#pragma once

// Material slots that kernels take the place of, in the file of a product: their textures go, and their
// factors become the mean over the surface, which is what programs show that do not know kernels.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Sums over area of the slots' linear values.
struct SlotSums {
  double area = 0;
  std::array<Vec3, kSlotCount> sums = zeros();

  void add(const SlotSums& other);

 private:
  static std::array<Vec3, kSlotCount> zeros();
};

/// Sums for the slots of a layout, for each primitive: by mesh and place in it, in the file that the asset
/// came from or, without one, in the file that encodeGlb() makes of it.
std::map<std::pair<std::size_t, std::size_t>, SlotSums> slotSums(const Asset& asset, const Surface& surface,
                                                                 const ChannelLayout& layout);

/// Takes the textures of the layout's slots out of a material of the document, but for groups in `constant`
/// (one bit each), and sets their factors to the means. A texture that another slot reads as well stays, with
/// its factors. Anisotropy goes with its texture: directions have no mean. `tangents`: all triangles of the
/// material have tangents in the file. Where they do not, a normal texture stays beside an anisotropy that
/// stays, whose directions follow its coordinates.
void stripSlots(GltfJson& material, const ChannelLayout& layout, std::uint32_t constant,
                const SlotSums& means, bool tangents);

}  // namespace heatskin
