#pragma once

// The glTF document of a product on its way to an ordinary file: the kernels go, and what was made of them
// comes in as textures of materials or attributes of vertices. Everything else stays as it is. Internal:
// includes the JSON library.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heatskin/bake/baked_primitives.h"
#include "heatskin/bake/material_images.h"
#include "heatskin/base/result.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_vertices.h"
#include "heatskin/product/product.h"

namespace heatskin {

/// An image as it comes into the file.
struct EncodedImage {
  std::vector<std::uint8_t> bytes;
  std::string mime_type;  ///< "image/png", "image/jpeg", "image/webp", "image/ktx2"
};

class BakedDocument {
 public:
  /// The product must outlive it.
  static Result<BakedDocument> open(const Product& product);

  /// Gives every primitive a material that nobody else has but primitives that are constant in the same
  /// groups. To be called first.
  void ownMaterials(std::span<const BakedPrimitive> primitives);

  /// The materials, as ownMaterials() left them, with the primitives of each; in order.
  const std::map<std::size_t, std::vector<std::size_t>>& users() const { return users_; }

  /// Whether a material still reads textures besides those that are baked: then its primitives keep their
  /// texture coordinates.
  bool readsOtherTextures(std::size_t material, const ChannelLayout& layout) const;

  /// Puts images, one for each plan, into the document and into the slots of these materials where they say
  /// more than a factor, to be read with TEXCOORD_`set`. `repeat`: coordinates beyond [0, 1] repeat them.
  void addImages(const MaterialImages& images, std::span<const EncodedImage> encoded,
                 std::span<const std::size_t> materials, std::size_t set, bool repeat);

  /// New vertices, texture coordinates and tangents of primitives (those that have any).
  Result<void> setVertices(std::span<const BakedPrimitive> primitives, std::size_t set);

  /// New vertices with these attributes, one row for each vertex.
  Result<void> setVertices(const BakedPrimitive& primitive, std::span<const VertexAttribute> attributes);

  /// Colour comes from elsewhere: takes the vertex colours of primitives away where kernels hold the colour.
  void dropVertexColors(std::span<const BakedPrimitive> primitives);

  /// Colour comes from vertices: takes the colour textures of the materials of primitives away and makes
  /// their factors white.
  void useVertexColors(std::span<const BakedPrimitive> primitives);

  /// Whether a primitive's vertices belong to joints: there are none in between.
  bool skinned(const BakedPrimitive& primitive);

  /// Material variants of primitives whose kernels are gone.
  bool dropVariants(std::span<const BakedPrimitive> primitives);

  /// The GLB; the document is spent.
  Result<std::vector<std::uint8_t>> finish(const std::string& generator);

  GltfDocument& document() { return document_; }

 private:
  BakedDocument(const Product& product, GltfDocument document, GltfVertices vertices)
      : product_(&product), document_(std::move(document)), vertices_(std::move(vertices)) {}

  GltfJson& primitiveOf(const BakedPrimitive& primitive);
  bool colored(const BakedPrimitive& primitive) const;
  void attach(std::size_t material, const ImagePlan& plan, const GltfJson& info, std::uint32_t constant);

  const Product* product_;
  GltfDocument document_;
  GltfVertices vertices_;
  std::map<std::size_t, std::vector<std::size_t>> users_;  // material -> primitives
  std::map<std::size_t, std::uint32_t> constant_;          // material -> groups
};

}  // namespace heatskin
