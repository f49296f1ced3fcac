#pragma once

// Images of the kernels' colours in a product's file (Fallback::kTexture): which ones are wanted, in the
// place of which textures, and how they come into the document. Internal: includes the JSON library.

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "heatskin/io/asset.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/product/color_slots.h"
#include "heatskin/product/product.h"

namespace heatskin {

class FallbackImages {
 public:
  /// Notes what material `own` of the document says about its texture before that goes, if an image can take
  /// its place: it only gave colour, to `users`, whose base colour is fitted and which are opaque and have no
  /// vertex colours. `own` is material `material` of the asset that was read from the document, or a copy of
  /// it. `look` is FallbackRequest::look.
  void request(const GltfDocument& document, const Asset& asset, std::size_t own, std::size_t material,
               const std::set<PrimitiveKey>& users, std::size_t look);

  const std::vector<FallbackRequest>& requests() const { return requests_; }

  /// Whether a primitive shows one of the images, [requests()] or none, in its own material: that of its
  /// request is there.
  bool shown(const PrimitiveKey& key, std::span<const FallbackImage> images) const;

  /// Takes the sizes of images from the asset that the document was written from: images of other formats
  /// than glTF were not written with theirs.
  void useSizes(const Asset& asset);

  /// Extensions of the textures whose place is taken: they come back with the images.
  std::set<std::string> extensions() const;

  /// Puts the images, [requests()] or none, into the document; those without bytes stay away.
  void hang(GltfDocument& document, std::span<const FallbackImage> images) const;

 private:
  /// Materials of the file with what they said about the texture they had, and the sampler of that.
  struct Slots {
    struct Use {
      std::size_t material;
      bool metallic_roughness;  ///< else specular-glossiness
      GltfJson info;            ///< baseColorTexture
    };
    std::vector<Use> uses;
    GltfJson sampler;  ///< null: none
    std::string name;
  };

  std::vector<FallbackRequest> requests_;
  std::vector<Slots> slots_;                                  // [requests]
  std::map<PrimitiveKey, std::size_t> request_of_primitive_;  // in its own material
  /// By texture, factor and look.
  std::map<std::tuple<int, std::array<float, 4>, std::size_t>, std::size_t> request_of_;
};

}  // namespace heatskin
