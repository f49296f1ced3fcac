#pragma once

// Kernels turned into what every program shows: images along texture coordinates, or values at vertices.
//
// Memory: images of `width` x `height` texels are drawn band after band into their bytes (3 or 4 for a
// texel), and encoded one after the other, each giving back its bytes. What is taken at the peak is less than
// twice the bytes of all images together, and some tens of megabytes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/pipeline/pipeline.h"

namespace heatskin {

/// What is made of kernels.
enum class BakeTo : std::uint8_t {
  kUv,      ///< images along the texture coordinates that the file has
  kAtlas,   ///< images along new ones
  kVertex,  ///< values at vertices
  kFace,    ///< values of faces
};
inline constexpr std::string_view kBakeToNames[] = {"uv", "atlas", "vertex", "face"};

enum class BakeFormat : std::uint8_t { kPng, kJpeg, kWebp, kKtx2 };
inline constexpr std::string_view kBakeFormatNames[] = {"png", "jpeg", "webp", "ktx2"};

/// Images whose size is not given are doubled from kLeastBakeSide on, until they come this near to the
/// kernels in colour, another doubling brings less than kBakeGain, or their side is kMostBakeSide.
inline constexpr double kBakePsnr = 45, kBakeGain = 1;
inline constexpr int kLeastBakeSide = 256, kMostBakeSide = 4096;

struct BakeJob {
  std::optional<BakeTo> to;  ///< nothing: kUv if the file has coordinates that do not overlap, else kAtlas
  int size = 0;              ///< side of images in texels; 0: by their content
  int supersampling = 2;
  int gutter = 2;          ///< of a new atlas (bake/pack_charts.h)
  std::size_t uv_set = 0;  ///< of kUv: TEXCOORD_n
  BakeFormat format = BakeFormat::kPng;
  int quality = 90;  ///< of JPEG, WebP and KTX2

  /// kVertex: edges are cut in two until colours between vertices are this near to the kernels, in 8-bit
  /// levels; 0: the vertices stay as they are.
  double max_error = 0;
  std::size_t max_faces = 4'000'000;  ///< of such a mesh

  bool xatlas = false;          ///< kAtlas: by xatlas, where node and its package watlas are
  double xatlas_seconds = 120;  ///< after which ours takes its place

  bool evaluate = true;
  std::size_t samples = 100'000;  ///< points at which the outcome is compared with the kernels
  std::uint64_t seed = 1;
  Progress* progress = nullptr;  ///< may be null
};

/// An image in the file.
struct BakedFileImage {
  std::string name, mime_type;
  int width = 0, height = 0;
  std::size_t bytes = 0;
};

struct BakeOutcome {
  BakeTo to = BakeTo::kAtlas;
  std::vector<std::uint8_t> bytes;  ///< the GLB
  std::vector<BakedFileImage> images;
  int width = 0, height = 0;  ///< of the largest images; 0: there are none
  std::size_t charts = 0;     ///< of a new atlas
  double area_used = 0;       ///< of the images, by faces
  int gutter = 0;
  bool by_xatlas = false;
  double overlap = 0;                    ///< kUv: part of the texels in use that several faces claim
  std::size_t vertices = 0, faces = 0;   ///< of the file
  std::optional<Evaluation> evaluation;  ///< of the file that was written, read again, against the kernels
  std::vector<Notice> notices;
};

/// Bakes a product; its GLB is `bytes` of the outcome. Fails if the memory budget does not allow the size, if
/// the texture has channels that materials do not define, or if an encoder is missing.
Result<BakeOutcome> bakeProduct(const LoadedProduct& product, const BakeJob& job = {});

}  // namespace heatskin
