#pragma once

// The built-in asset: a pumpkin made by code, so that the product's main job needs no download. It is also
// the test for thin features: the stem is a thin part behind a sharp crease, where kernels of the body do not
// reach.

#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"

namespace heatskin {

struct PumpkinOptions {
  int resolution = 3000;    ///< vertices after welding, met within 5 %; clamped to [500, 1000000]
  int texture_size = 1024;  ///< side of the square texture in texels; clamped to [256, 4096]
  std::uint64_t seed = 1;   ///< shape of the ribs, lumps, speckles; the carved face is always the same
};

enum class PumpkinPart : std::uint8_t { kBody, kStem, kStemEnd };

/// One closed, outward oriented triangle mesh of genus 0. Vertices repeat along chart borders with
/// bit-identical positions, which are exactly representable as floats. Metres, y up, the face looks along +z,
/// about 0.3 across.
struct PumpkinMesh {
  std::vector<Vec3> positions;           // [P]
  std::vector<Vec2f> uvs;                // [P] inside (0, 1), charts do not overlap
  std::vector<std::uint8_t> charts;      // [P] 0..4: front, right, left, stem, cut end of the stem
  std::vector<std::uint32_t> triangles;  // [3 T]
  std::vector<PumpkinPart> parts;        // [T]
  std::size_t welded_vertices = 0;
};

PumpkinMesh makePumpkinMesh(const PumpkinOptions& options = {});

/// The painted texture: albedo in sRGB, a function of the place on the smooth surface, so that charts agree
/// along their borders; the gutters between charts continue the paint. Does not depend on `resolution`.
Image paintPumpkin(const PumpkinOptions& options = {}, Progress& progress = silentProgress());

/// Mesh, material and texture as one asset with one primitive, whose triangles are those of makePumpkinMesh
/// in order. Deterministic: the same options give the same asset on any machine and thread count.
Asset makePumpkin(const PumpkinOptions& options = {}, Progress& progress = silentProgress());

}  // namespace heatskin
