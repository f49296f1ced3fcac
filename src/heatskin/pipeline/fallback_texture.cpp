#include "heatskin/pipeline/fallback_texture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "heatskin/appearance/appearance.h"
#include "heatskin/bake/color_image.h"
#include "heatskin/io/encode_jpeg.h"
#include "heatskin/io/image.h"
#include "heatskin/io/variants.h"
#include "heatskin/product/fallback_colors.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

/// Points at which an image is compared with the kernels.
constexpr std::size_t kFallbackSamples = 16384;

/// JPEG qualities, the smallest file first; what they may cost in PSNR.
constexpr std::array kQualities = {75, 85, 92, 96};
constexpr double kCodingLoss = 0.5;  // dB

/// What a doubling of both sides must bring.
constexpr double kLeastGain = 0.5;  // dB

/// An image that is not nearer to the kernels than colours at the vertices by this must be smaller than they.
constexpr double kSameQuality = 0.5;  // dB
constexpr std::size_t kBytesOfColor = 4;

/// The asset with the kernels' colours at the vertices of what the requests are about, and no textures there.
Asset withVertexColors(const KernelTexture& texture, Asset asset, std::span<const FallbackRequest> requests) {
  for (Mesh& mesh : asset.meshes) {
    for (Primitive& primitive : mesh.primitives)
      primitive.colors.clear();
  }
  for (const FallbackRequest& request : requests) {
    for (const auto& [mesh, place] : request.primitives) {
      Primitive& primitive = asset.meshes[mesh].primitives[place];
      primitive.colors.resize(primitive.positions.size(), Vec4f::Ones());
      Material& material = asset.materials[static_cast<std::size_t>(primitive.material)];
      material.base_color.texture = -1;
      material.base_color_factor = Vec4f::Ones();
    }
  }
  setFallbackColors(texture, asset);
  return asset;
}

/// One image in the making: faces, coordinates, colours to come near to.
class FallbackBaker {
 public:
  FallbackBaker(const KernelTexture& texture, const Asset& asset, const Appearance& appearance,
                const FallbackRequest& request)
      : texture_(texture), appearance_(appearance) {
    const Surface& surface = texture.surface();
    const std::set<std::pair<std::size_t, std::size_t>> wanted(request.primitives.begin(),
                                                               request.primitives.end());
    std::vector<double> areas(surface.faceCount());
    for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
      const FaceSource& source = surface.sources()[f];
      const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
      if (!wanted.contains({mesh, source.primitive})) continue;
      areas[f] = surface.areas()[f];
      std::array<Vec2f, 3> uvs;
      if (!appearance_.faceUvs(f, uvs)) continue;
      faces_.faces.push_back(f);
      faces_.uvs.push_back(uvs);
    }
    if (std::none_of(areas.begin(), areas.end(), [](double a) { return a > 0; })) return;
    points_.resize(kFallbackSamples);
    SurfaceSampler(areas).sample(1, 0, 0, points_);
    truth_.resize(points_.size());
    texture.colors(points_, truth_);
    for (const SurfacePoint& point : points_) {
      std::array<Vec2f, 3> uvs;
      Vec2 uv = Vec2::Zero();
      if (appearance_.faceUvs(point.face, uvs)) {
        for (std::size_t c = 0; c < 3; ++c)
          uv += point.barycentric[static_cast<Eigen::Index>(c)] * uvs[c].cast<double>();
      }
      uvs_.push_back(uv);
    }
  }

  ColorImage bake(int width, int height) const {
    SheetOptions options;
    options.width = width;
    options.height = height;
    return drawColors(
        texture_.surface(), faces_,
        [&](std::span<const SurfacePoint> points, std::span<Vec3f> out) { texture_.colors(points, out); },
        options);
  }

  double psnr(const ColorImage& image) const {
    std::vector<Vec3f> colors(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i)
      colors[i] = image.at(uvs_[i]);
    return psnr(colors);
  }

  /// Of an asset that has its colours at the vertices.
  double psnr(const Appearance& vertex_colors) const {
    std::vector<Vec3f> colors(points_.size());
    vertex_colors.colors(points_, colors);
    return psnr(colors);
  }

  /// The image as whoever decodes it sees it.
  double psnr(const FallbackImage& image) const {
    const auto decoded = decodeImage(image.bytes, "fallback");
    if (!decoded) return 0;
    ColorImage read;
    read.width = decoded->width;
    read.height = decoded->height;
    for (std::size_t i = 0; i < decoded->rgba.size(); ++i) {
      if (i % 4 != 3) read.rgb.push_back(decoded->rgba[i]);
    }
    return psnr(read);
  }

  /// The smallest file that looks like `image`.
  Result<FallbackImage> encode(const ColorImage& image) const {
    auto png = encodePng(image.rgb, image.width, image.height, 3);
    if (!png) return png.error();
    FallbackImage best{std::move(*png), "image/png"};
    const double wanted = std::min(psnr(image), kFallbackPsnr) - kCodingLoss;
    for (const int quality : kQualities) {
      auto jpeg = encodeJpeg(image.rgb, image.width, image.height, quality);
      if (!jpeg) return jpeg.error();
      const auto decoded = decodeImage(*jpeg, "fallback");
      if (!decoded) return decoded.error();
      ColorImage coded = image;
      for (std::size_t i = 0; i < coded.rgb.size(); ++i)
        coded.rgb[i] = decoded->rgba[4 * (i / 3) + i % 3];
      if (psnr(coded) < wanted) continue;
      if (jpeg->size() < best.bytes.size()) best = {std::move(*jpeg), "image/jpeg"};
      break;
    }
    return best;
  }

 private:
  double psnr(std::span<const Vec3f> colors) const {
    double sum = 0;
    for (std::size_t i = 0; i < points_.size(); ++i)
      sum += static_cast<double>((colors[i] - truth_[i]).squaredNorm());
    return points_.empty() ? 100 : -10 * std::log10(sum / static_cast<double>(3 * points_.size()) + 1e-10);
  }

  const KernelTexture& texture_;
  const Appearance& appearance_;
  SheetFaces faces_;
  std::vector<SurfacePoint> points_;
  std::vector<Vec3f> truth_;
  std::vector<Vec2> uvs_;
};

/// The size of a level of an image: its sides halved, as often as it takes for the longer one not to exceed
/// `most`.
std::pair<int, int> sizeOf(const FallbackRequest& request, int most) {
  int width = std::max(request.width, 1), height = std::max(request.height, 1);
  while (std::max(width, height) > most) {
    width = std::max(1, (width + 1) / 2);
    height = std::max(1, (height + 1) / 2);
  }
  return {width, height};
}

}  // namespace

Result<std::vector<FallbackImage>> bakeFallback(const KernelTexture& texture, const Asset& asset,
                                                std::span<const FallbackRequest> requests, double* gained) {
  std::vector<FallbackImage> out;
  if (requests.empty()) return out;
  const Appearance appearance(asset, texture.surface());
  const Asset colored = withVertexColors(texture, asset, requests);
  const Appearance vertex_colors(colored, texture.surface());
  for (const FallbackRequest& request : requests) {
    const FallbackBaker baker(texture, asset, appearance, request);
    ColorImage best;
    double before = -100;
    for (int most = kSmallestFallback; most <= kLargestFallback; most *= 2) {
      const auto [width, height] = sizeOf(request, most);
      if (width == best.width && height == best.height) break;  // as large as the image it stands for
      ColorImage image = baker.bake(width, height);
      if (image.rgb.empty()) return failure("an image for the fallback cannot be drawn");
      const double psnr = baker.psnr(image);
      if (psnr < before + kLeastGain) break;
      best = std::move(image);
      before = psnr;
      if (psnr >= kFallbackPsnr) break;
    }
    auto encoded = baker.encode(best);
    // An image that was drawn by hand may take less than one of kernels: a smaller one will do.
    while (encoded && request.bytes > 0 && encoded->bytes.size() > request.bytes &&
           std::max(best.width, best.height) > kSmallestFallback) {
      best = baker.bake(std::max(1, best.width / 2), std::max(1, best.height / 2));
      encoded = baker.encode(best);
    }
    if (!encoded) return encoded.error();
    std::size_t vertices = 0;
    for (const auto& [mesh, place] : request.primitives)
      vertices += asset.meshes[mesh].primitives[place].positions.size();
    const double gain = baker.psnr(*encoded) - baker.psnr(vertex_colors);
    const bool smaller = encoded->bytes.size() < kBytesOfColor * vertices;
    if (gained != nullptr) *gained = out.empty() ? gain : std::min(*gained, gain);
    if (gain < 0 || (gain < kSameQuality && !smaller)) encoded->bytes.clear();
    out.push_back(std::move(*encoded));
  }
  return out;
}

Result<std::vector<FallbackImage>> bakeFallbacks(const KernelTexture& texture, const Asset& asset,
                                                 const ProductWriter& writer,
                                                 std::span<const VariantKernels> variants) {
  const std::vector<FallbackRequest>& requests = writer.fallbackRequests();
  std::vector<FallbackImage> images(requests.size());
  for (std::size_t l = 0; l <= writer.variants().size(); ++l) {
    std::vector<std::size_t> places;
    std::vector<FallbackRequest> wanted;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].look != l) continue;
      places.push_back(i);
      wanted.push_back(requests[i]);
    }
    if (wanted.empty()) continue;
    Result<std::vector<FallbackImage>> baked = std::vector<FallbackImage>();
    if (l == 0) {
      baked = bakeFallback(texture, asset, wanted);
    } else {
      Asset other = asset;
      setLook(other, variants[l - 1].look);
      const ProductWriter::Variant& stored = writer.variants()[l - 1];
      baked = bakeFallback(texture.withValues(stored.kernels, stored.constants), other, wanted);
    }
    if (!baked) return baked.error();
    for (std::size_t i = 0; i < places.size(); ++i)
      images[places[i]] = std::move((*baked)[i]);
  }
  return images;
}

}  // namespace heatskin
