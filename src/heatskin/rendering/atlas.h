#pragma once

// Rasterisation in texture space: which surface point belongs to a texel.
//
// Texture space is the asset's: (0, 0) is the upper left corner of the image and v points down; texel (i, j)
// has its centre at ((i + 0.5) / width, (j + 0.5) / height).

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct AtlasOptions {
  int width = 1024;
  int height = 1024;
  std::vector<std::uint8_t> include;  ///< [F] nonzero: draw the face; empty: draw all (see facesOfMaterial)
};

/// The atlas: one sample at every texel centre. Equal for any number of threads.
struct AtlasBuffer {
  int width = 0;
  int height = 0;
  std::vector<std::uint32_t> face;  // [height, width]; kNone: no chart
  std::vector<Vec3> barycentric;    // [height, width]; >= 0, sum 1; zero where there is no chart
  std::size_t covered_texels = 0;
  std::size_t overlapped_texels = 0;  ///< covered more than once; the lowest face was kept
  std::size_t faces_drawn = 0;
  std::size_t faces_without_uvs = 0;   ///< no texture coordinates, or some that are not finite
  std::size_t faces_without_area = 0;  ///< zero area in texture space; skipped
  std::size_t faces_cut = 0;           ///< repeat the texture too often along both sides; drawn in part

  SurfacePoint point(std::size_t texel) const { return {face[texel], barycentric[texel]}; }
  std::vector<std::uint8_t> mask() const;          // [height, width], 255 or 0
  std::vector<std::size_t> coveredTexels() const;  ///< indices, ascending
};

/// A face is drawn whole if it repeats the texture no more often than this along one of its two sides, or
/// covers all of it anyway; of the others, the part around their centroid.
inline constexpr int kMaxAtlasRepeats = 8;

/// Texture coordinates of a face's corners; false when it has none. Called concurrently.
using FaceUvs = std::function<bool(std::uint32_t face, std::array<Vec2f, 3>& uvs)>;

/// Draws all faces into the unit square. A face outside of it is moved in by whole units; a face that
/// crosses its border is drawn in every unit square it touches, wrapped (whatever the sampler's wrap mode:
/// the atlas only chooses points, their colours follow the sampler). Work and memory are bounded by faces and
/// texels, however large the coordinates. Sizes outside 1 .. kMaxImageSide
/// give an empty result.
AtlasBuffer rasteriseAtlas(std::uint32_t face_count, const FaceUvs& uvs, const AtlasOptions& options = {});

AtlasBuffer rasteriseAtlas(const Surface& surface, const Appearance& appearance,
                           const AtlasOptions& options = {});

/// AtlasOptions::include for the faces of one material (index into Asset::materials; -1: the default
/// material).
std::vector<std::uint8_t> facesOfMaterial(const Surface& surface, const Appearance& appearance, int material);

/// AtlasOptions::include for the faces whose base colour comes from one image (-1: from none).
std::vector<std::uint8_t> facesOfImage(const Surface& surface, const Appearance& appearance, int image);

}  // namespace heatskin
