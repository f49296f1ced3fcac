#include "heatskin/pipeline/uv_textures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "heatskin/io/encode_jpeg.h"
#include "heatskin/io/encode_webp.h"
#include "heatskin/io/image.h"
#include "heatskin/pipeline/compressed_stream.h"

namespace heatskin {
namespace {

constexpr double kUvSteps = 65535;        // of 16 bits
constexpr double kUvTolerance = 1.0 / 8;  // texels that a step may have

template <class T>
void appendValue(std::vector<std::uint8_t>& bytes, T value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

/// The range of coordinates on one axis, in which they are stored.
struct UvRange {
  double low = 0, step = 0;

  std::uint16_t code(float x) const {
    if (!(step > 0)) return 0;
    return static_cast<std::uint16_t>(
        std::lround(std::clamp((static_cast<double>(x) - low) / step, 0.0, kUvSteps)));
  }
  float value(std::uint16_t code) const { return static_cast<float>(low + step * code); }
};

std::vector<std::uint8_t> rgbOf(const Image& image) {
  std::vector<std::uint8_t> rgb(image.rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgb.size() / 3; ++i)
    std::copy_n(image.rgba.data() + 4 * i, 3, rgb.data() + 3 * i);
  return rgb;
}

Result<std::vector<std::uint8_t>> encode(const Image& image, const ImageCoding& coding) {
  switch (coding.format) {
    case ImageFormat::kPng:
      return encodePng(rgbOf(image), image.width, image.height, 3);
    case ImageFormat::kJpeg:
      return encodeJpeg(rgbOf(image), image.width, image.height, coding.quality);
    case ImageFormat::kWebp:
      break;
  }
  std::vector<std::uint8_t> opaque = image.rgba;
  for (std::size_t i = 3; i < opaque.size(); i += 4)
    opaque[i] = 255;
  return coding.quality == 0
             ? encodeWebpLossless(opaque, image.width, image.height)
             : encodeWebp(opaque, image.width, image.height, static_cast<float>(coding.quality));
}

int halvedSide(int side, int halvings) {
  return std::max(1, side >> halvings);
}

}  // namespace

UvTextures::UvTextures(const LoadedAsset& asset) : asset_(&asset), stored_(asset.asset) {
  std::map<std::size_t, bool> used;
  for (std::uint32_t f = 0; f < asset.appearance.faceCount(); ++f) {
    const int image = asset.appearance.faceImage(f);
    if (image < 0) continue;
    bool& alpha = used[static_cast<std::size_t>(image)];
    alpha = alpha || asset.appearance.faceAlphaMode(f) != AlphaMode::kOpaque;
  }
  const auto texels = [&](std::size_t i) {
    return static_cast<double>(asset.asset.images[i]->width) * asset.asset.images[i]->height;
  };
  for (const auto& [image, alpha] : used) {
    if (used_.empty() || texels(image) > texels(largest_)) largest_ = image;
    used_.push_back({image, alpha});
  }
  storeCoordinates();
}

void UvTextures::storeCoordinates() {
  // Primitives with a texture, and which of their vertices faces use, in the order of the file: instances
  // share them.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> used;
  const Surface& surface = *asset_->surface;
  std::set<std::tuple<std::size_t, std::size_t, std::uint32_t>> triangles;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    if (asset_->appearance.faceImage(f) < 0) continue;
    const FaceSource& source = surface.sources()[f];
    triangles.emplace(static_cast<std::size_t>(stored_.instances[source.instance].mesh), source.primitive,
                      source.triangle);
  }
  for (const auto& [mesh, primitive, triangle] : triangles) {
    const auto& indices = stored_.meshes[mesh].primitives[primitive].triangles;
    auto& vertices = used[{mesh, primitive}];
    for (std::size_t c = 0; c < 3; ++c)
      vertices.push_back(indices[3 * std::size_t{triangle} + c]);
  }

  for (auto& [where, vertices] : used) {
    Primitive& primitive = stored_.meshes[where.first].primitives[where.second];
    const TextureUse& use = stored_.materials[static_cast<std::size_t>(primitive.material)].base_color;
    std::vector<Vec2f>& uvs = primitive.uv_sets[static_cast<std::size_t>(use.uv_set)];
    const Image& image =
        *stored_
             .images[static_cast<std::size_t>(stored_.textures[static_cast<std::size_t>(use.texture)].image)];

    std::array<UvRange, 2> ranges;
    bool fine = true;
    for (int axis = 0; axis < 2; ++axis) {
      double low = static_cast<double>(uvs[vertices[0]][axis]), high = low;
      for (const std::uint32_t v : vertices) {
        low = std::min(low, static_cast<double>(uvs[v][axis]));
        high = std::max(high, static_cast<double>(uvs[v][axis]));
      }
      const double step = (high - low) / kUvSteps;
      const auto scale = static_cast<double>(use.scale.cwiseAbs().maxCoeff());
      fine = fine && step * scale * std::max(image.width, image.height) <= kUvTolerance;
      ranges[static_cast<std::size_t>(axis)] = {low, step};
    }

    // A vertex that a file repeats for other reasons (hard edges) counts once.
    std::set<std::array<double, 5>> seen;
    std::set<std::array<double, 3>> positions;
    std::vector<std::uint8_t> stream;
    std::vector<std::uint8_t> done(uvs.size(), 0);
    std::size_t count = 0;
    for (const std::uint32_t v : vertices) {
      if (done[v] != 0) continue;
      done[v] = 1;
      const std::array<std::uint16_t, 2> codes = {ranges[0].code(uvs[v][0]), ranges[1].code(uvs[v][1])};
      if (fine) uvs[v] = {ranges[0].value(codes[0]), ranges[1].value(codes[1])};
      const Vec3& p = primitive.positions[v];
      positions.insert({p[0], p[1], p[2]});
      if (!seen.insert({p[0], p[1], p[2], static_cast<double>(uvs[v][0]), static_cast<double>(uvs[v][1])})
               .second)
        continue;
      ++count;
      for (int axis = 0; axis < 2; ++axis) {
        if (fine) {
          appendValue(stream, codes[static_cast<std::size_t>(axis)]);
        } else {
          appendValue(stream, uvs[v][axis]);
        }
      }
    }
    cost_.vertices += count;
    cost_.seam_vertices += count - positions.size();
    cost_.raw_bytes += stream.size();
    cost_.bytes += std::min(stream.size(), compressedStreamBytes(stream, fine ? 4 : 8));
  }
}

int UvTextures::width(int halvings) const {
  return halvedSide(stored_.images[largest_]->width, halvings);
}

int UvTextures::height(int halvings) const {
  return halvedSide(stored_.images[largest_]->height, halvings);
}

std::vector<Image> UvTextures::halved(int halvings, ResizeOptions options) const {
  std::vector<Image> result;
  for (const Used& used : used_) {
    const Image& image = *stored_.images[used.image];
    options.weigh_by_alpha = used.alpha;
    result.push_back(
        resized(image, halvedSide(image.width, halvings), halvedSide(image.height, halvings), options));
  }
  return result;
}

Result<CodedTextures> UvTextures::code(const std::vector<Image>& images, const ImageCoding& coding) const {
  // Only what appearances are made from is copied: geometry is large.
  std::vector<std::shared_ptr<const Image>> decoded = stored_.images;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    const auto file = encode(images[i], coding);
    if (!file) return file.error();
    bytes += file->size();
    auto back = decodeImage(*file, images[i].name);
    if (!back) return back.error();
    for (std::size_t a = 3; a < back->rgba.size(); a += 4)
      back->rgba[a] = images[i].rgba[a];
    decoded[used_[i].image] = std::make_shared<const Image>(std::move(*back));
  }
  return CodedTextures{bytes, Appearance(stored_, *asset_->surface, std::move(decoded))};
}

}  // namespace heatskin
