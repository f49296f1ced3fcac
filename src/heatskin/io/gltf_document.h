#pragma once

// A glTF file as it is, JSON and bytes, to be changed in places and written as one GLB with everything else
// untouched: hierarchy, skins, animations, extensions nobody here knows. Internal: includes the JSON library.
//
//   auto document = GltfDocument::open(bytes, path);
//   document->root()["materials"][0]["pbrMetallicRoughness"].erase("baseColorTexture");
//   document->dropUnused();
//   Result<std::vector<std::uint8_t>> glb = document->finish();

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/glb_builder.h"

namespace heatskin {

/// A member of an object; null if there is none, or `object` is none.
GltfJson* memberOf(GltfJson& object, std::string_view key);

class GltfDocument {
 public:
  /// A file that readGltfBytes() accepts. External buffers and images are read from the folder of `path`;
  /// those that cannot be read stay references.
  static Result<GltfDocument> open(std::span<const std::uint8_t> bytes, const std::filesystem::path& path);

  /// The document. `buffers` belong to this class, `bufferViews` must not be removed or reordered.
  GltfJson& root() { return root_; }
  const GltfJson& root() const { return root_; }

  /// A member of the document's top level that is an array, such as "materials"; an empty one if there is
  /// none.
  const GltfJson& list(std::string_view name) const;

  /// Appends the element to the top-level array `name`; returns its index.
  std::size_t append(std::string_view name, GltfJson element);

  /// Adds bytes (not empty); returns the index of their buffer view.
  std::size_t addBufferView(std::span<const std::uint8_t> bytes,
                            GlbBuilder::Target target = GlbBuilder::Target::kUnspecified);

  /// Files of images that the document refers to and that cannot be read, or are no images: they stay
  /// references.
  std::vector<std::string> missingImages() const;

  /// Lists the extension in extensionsUsed, once.
  void useExtension(std::string_view name);

  /// Removes what was used when the file was opened (or at the last call) and no longer is: textures, then
  /// their samplers and images, buffer views of these, names in the lists of extensions. What nobody used
  /// before stays. Where an extension nobody here knows might count on numbers, things keep their number and
  /// only lose their bytes.
  void dropUnused();

  /// The GLB, with all images inside. The document is spent afterwards.
  Result<std::vector<std::uint8_t>> finish();

 private:
  enum class Kind { kTexture, kImage, kSampler, kBufferView };
  using Visit = std::function<void(GltfJson& index)>;

  /// The place of every index of a thing of that kind.
  void forEachReference(Kind kind, const Visit& visit);
  std::set<std::size_t> used(Kind kind);
  void noteUsed();
  std::set<std::string> extensionsThere() const;
  bool knowsAllExtensions() const;
  void remove(Kind kind, const std::set<std::size_t>& numbers);
  void empty(Kind kind, const std::set<std::size_t>& numbers);
  void loadBuffers(std::span<const std::uint8_t> bin, const std::filesystem::path& folder);
  void embedImages();
  void layOut(std::vector<std::uint8_t>& bin);

  /// A buffer's bytes, as many as the document says; not loaded: a buffer that has none (the fallback of
  /// EXT_meshopt_compression) or that could not be read.
  struct Bytes {
    std::vector<std::uint8_t> bytes;
    bool loaded = false;
  };

  std::filesystem::path folder_;
  GltfJson root_;
  std::vector<Bytes> buffers_;      // as root_["buffers"], then one for what was added
  std::set<std::size_t> textures_;  // used when the file was opened
  std::set<std::size_t> images_, samplers_, views_;
  std::set<std::string> extensions_;
};

}  // namespace heatskin
