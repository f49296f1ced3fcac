#pragma once

// The primitives of a product that are baked, and the texture coordinates they get.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/bake/sheet.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_vertices.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// A primitive with kernels in some group of channels.
struct BakedPrimitive {
  std::size_t mesh = 0, primitive = 0;  ///< in the asset
  std::uint32_t constant = 0;           ///< groups, one bit each, in which its material says everything

  /// The face made of each triangle, of the first instance that has one; kNone: the surface has none.  // [T]
  std::vector<std::uint32_t> face_of_triangle;

  // What becomes of it, once it is known; vertices are empty where it stays as it is.
  std::vector<VertexBlend> vertices;     // of the asset's
  std::vector<std::uint32_t> triangles;  // [3 T]
  std::vector<Vec2f> uvs;                // [vertices]
  std::vector<Vec4f> tangents;           // [vertices] or empty
};

/// All of a product's: those where not all groups are constant.
std::vector<BakedPrimitive> bakedPrimitives(const Product& product);

/// The faces of some primitives with TEXCOORD_`set` of the asset: a sheet each face of which is one triangle
/// of the file. Faces whose primitive has no such coordinates are counted.
SheetFaces ownUvs(const Product& product, std::span<const BakedPrimitive* const> primitives, std::size_t set,
                  std::size_t* without = nullptr);

/// The faces of all primitives, without coordinates.
SheetFaces facesOf(std::span<const BakedPrimitive> primitives);

/// Splits the vertices of primitives so that each has the coordinates that `sheet`, the answer of facesOf()
/// with new ones, gives it; triangles without a face get those of the nearest one. With `tangents` vertices
/// also get the tangents of MikkTSpace for these coordinates, where the primitive has normals.
void splitVertices(const Product& product, const SheetFaces& sheet, bool tangents,
                   std::vector<BakedPrimitive>& primitives);

/// The product's asset with the new vertices: readers of the baked file get the same. Texture coordinates
/// become set `set`.
Asset withNewVertices(const Asset& asset, std::span<const BakedPrimitive> primitives, std::size_t set);

}  // namespace heatskin
