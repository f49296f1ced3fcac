#pragma once

// Textures that a text file names: MTL's maps and PLY's TextureFile.

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// A file name as text files write it: quotes around it are dropped and backslashes become slashes.
/// `changed` tells whether there were backslashes.
std::string portableFileName(std::string_view name, bool* changed = nullptr);

/// Loads each image once and adds it, with a texture for each way of wrapping, to an asset.
class TextureFiles {
 public:
  /// `asset.path` must be set; its folder is where files are looked for. Both outlive this object.
  TextureFiles(Asset& asset, const LoadOptions& options) : asset_(asset), options_(options) {}

  /// Index into asset.textures for the file `name` (as written), or -1 with a warning among the asset's
  /// notices when there is no such file, when it lies outside the asset's folder or when it is not an image
  /// we read; a file of that name beside the asset stands in for one that cannot be reached. A broken or
  /// oversized image is an error. With load_images off the answer is -1 without a word.
  Result<int> use(std::string_view name, Wrap wrap);

  /// A texture with the green of one and the blue of another, as glTF wants roughness and metalness; -1:
  /// white instead. As large as the larger one, with its modes. The indices are answers of use().
  int combine(int green, int blue);

 private:
  Result<int> loadImage(const std::string& name);

  Asset& asset_;
  const LoadOptions& options_;
  std::map<std::string, int> images_;             // by portable name; -1: cannot be used
  std::map<std::pair<int, Wrap>, int> textures_;  // by image and wrap mode
  std::map<std::pair<int, int>, int> combined_;
  std::size_t total_pixels_ = 0;
  std::size_t unusable_ = 0;
};

}  // namespace heatskin
