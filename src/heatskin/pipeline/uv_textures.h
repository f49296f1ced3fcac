#pragma once

// The base colour textures of an asset as someone would ship them instead of kernels: smaller, encoded, with
// the texture coordinates they need.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/resize.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

enum class ImageFormat { kPng, kJpeg, kWebp };

struct ImageCoding {
  ImageFormat format = ImageFormat::kPng;
  int quality = 0;  ///< 1 .. 100; 0: lossless (PNG always, WebP)
};

/// What the texture coordinates take. A vertex counts once for each pair of coordinates it has. They are
/// stored as 2 x 16 bits over the range of their primitive, or as 2 floats where a step would be more than
/// an eighth of a texel (textures that repeat often). Vertices that exist only because of seams also repeat
/// position and normal; that is not counted here, in favour of images.
struct UvCost {
  std::size_t vertices = 0;
  std::size_t seam_vertices = 0;  ///< more than there are positions
  std::size_t raw_bytes = 0;
  std::size_t bytes = 0;  ///< compressedStreamBytes(), where that is less
};

/// All textures of an asset in one size and coding.
struct CodedTextures {
  std::size_t bytes = 0;  ///< of all images, without coordinates
  Appearance appearance;  ///< of the asset with the images as decoded and the coordinates as stored
};

/// See the head of the file. The asset must outlive it.
///
/// Only colours are coded. The alpha of cut-outs and blended materials is neither counted nor coded, as it is
/// not for kernels, whose products keep it from the asset.
class UvTextures {
 public:
  explicit UvTextures(const LoadedAsset& asset);

  bool empty() const { return used_.empty(); }  ///< no face has a texture
  const UvCost& coordinates() const { return cost_; }
  std::size_t images() const { return used_.size(); }

  /// Sides of the largest image after so many halvings, in texels.
  int width(int halvings) const;
  int height(int halvings) const;

  /// Every image with sides divided by 2^halvings, at least a texel. Averaged over the stored sRGB values
  /// with a Lanczos window, which gave images the highest PSNR (docs/results/rd.md).
  std::vector<Image> halved(int halvings, ResizeOptions options = {}) const;

  /// `images` are what halved() returned.
  Result<CodedTextures> code(const std::vector<Image>& images, const ImageCoding& coding) const;

 private:
  struct Used {
    std::size_t image;
    bool alpha;  ///< a material that is not opaque uses it
  };
  void storeCoordinates();

  const LoadedAsset* asset_;
  Asset stored_;  // the asset with coordinates as stored
  std::vector<Used> used_;
  std::size_t largest_ = 0;  // index of the image with most texels
  UvCost cost_;
};

}  // namespace heatskin
