#pragma once

// All channels of a product at points, as a table for people.

#include <span>
#include <string>
#include <vector>

#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct ChannelColumns {
  std::vector<std::string> names;  // [columns] r, g, b, then alpha, metallic, emissive_r, ...
  std::vector<float> values;       // [points, columns]
  std::vector<float> weights;      // [points] coverage
};

/// Values with factors, as KernelTexture::values() has them, except for normals: whichever group stands for
/// them (NormalChannels), the columns normal_x, normal_y and normal_z are the shading normal, a unit vector
/// in the axes of the file, on the outside of the surface (clearcoat_normal_x, ...: that of the clearcoat).
/// Vectors of other tangent groups are in these axes, too, in the plane of the face; those of anisotropy in
/// the plane of shading (shadedFromFace()).
ChannelColumns channelColumns(const LoadedProduct& product, std::span<const SurfacePoint> points);

}  // namespace heatskin
