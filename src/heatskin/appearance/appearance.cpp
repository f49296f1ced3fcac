#include "heatskin/appearance/appearance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

constexpr std::size_t kBlock = 4096;

/// The texel index in [0, size) that a wrapped index stands for; any finite index.
int wrapIndex(double index, int size, Wrap wrap) {
  const double n = size;
  switch (wrap) {
    case Wrap::kClampToEdge:
      return static_cast<int>(std::clamp(index, 0.0, n - 1));
    case Wrap::kMirroredRepeat: {
      const double period = index - 2 * n * std::floor(index / (2 * n));
      const double folded = period < n ? period : 2 * n - 1 - period;
      return static_cast<int>(std::clamp(folded, 0.0, n - 1));
    }
    case Wrap::kRepeat:
      break;
  }
  return static_cast<int>(std::clamp(index - n * std::floor(index / n), 0.0, n - 1));
}

Vec4f linearRgba(const std::uint8_t* texel) {
  return {linearFromSrgb8[texel[0]], linearFromSrgb8[texel[1]], linearFromSrgb8[texel[2]],
          static_cast<float>(texel[3]) / 255.0f};
}

/// KHR_texture_transform: scale, then rotate, then move.
Vec2f transformed(const TextureUse& use, const Vec2f& uv) {
  const float c = std::cos(use.rotation), s = std::sin(use.rotation);
  const Vec2f scaled = use.scale.cwiseProduct(uv);
  return {c * scaled.x() + s * scaled.y() + use.offset.x(),
          -s * scaled.x() + c * scaled.y() + use.offset.y()};
}

bool hasTransparentTexel(const Image& image) {
  for (std::size_t i = 3; i < image.rgba.size(); i += 4) {
    if (image.rgba[i] != 255) return true;
  }
  return false;
}

}  // namespace

Appearance::Appearance(const Asset& asset, const Surface& surface) : images_(asset.images) {
  const std::size_t faces = surface.faceCount();
  face_look_.resize(faces);
  std::map<std::pair<int, bool>, std::uint32_t> look_of;  // (material, has usable uvs)
  const auto primitiveOf = [&](const FaceSource& s) -> const Primitive& {
    const auto mesh = static_cast<std::size_t>(asset.instances[s.instance].mesh);
    return asset.meshes[mesh].primitives[s.primitive];
  };

  bool any_color = false;
  for (std::size_t f = 0; f < faces; ++f) {
    const Primitive& primitive = primitiveOf(surface.sources()[f]);
    const Material* material =
        primitive.material < 0 ? nullptr : &asset.materials[static_cast<std::size_t>(primitive.material)];
    const Texture* texture = material == nullptr || material->base_color.texture < 0
                                 ? nullptr
                                 : &asset.textures[static_cast<std::size_t>(material->base_color.texture)];
    const auto set = static_cast<std::size_t>(material == nullptr ? 0 : material->base_color.uv_set);
    const bool textured = texture != nullptr && texture->image >= 0 && set < primitive.uv_sets.size() &&
                          !primitive.uv_sets[set].empty();
    const auto [entry, is_new] =
        look_of.try_emplace({primitive.material, textured}, static_cast<std::uint32_t>(looks_.size()));
    if (is_new) {
      Look look;
      look.material = primitive.material;
      if (material != nullptr) {
        look.factor = material->base_color_factor;
        look.white = look.factor.head<3>() == Vec3f::Ones();
        look.opaque = material->alpha_mode == AlphaMode::kOpaque;
      }
      if (textured) {
        look.image = texture->image;
        look.uv_set = static_cast<int>(set);
        look.wrap_u = texture->wrap_u;
        look.wrap_v = texture->wrap_v;
      }
      if (!look.opaque &&
          (look.factor.w() < 1 ||
           (textured && hasTransparentTexel(images_[static_cast<std::size_t>(look.image)])))) {
        has_alpha_ = true;
      }
      looks_.push_back(look);
    }
    face_look_[f] = entry->second;
    textured_faces_ += textured ? 1 : 0;
    any_color = any_color || !primitive.colors.empty();
  }

  if (textured_faces_ > 0) uvs_.assign(faces, {Vec2f::Zero(), Vec2f::Zero(), Vec2f::Zero()});
  if (any_color) colors_.assign(faces, {Vec4f::Ones(), Vec4f::Ones(), Vec4f::Ones()});
  for (std::size_t f = 0; f < faces && (textured_faces_ > 0 || any_color); ++f) {
    const FaceSource& source = surface.sources()[f];
    const Primitive& primitive = primitiveOf(source);
    const Look& look = looks_[face_look_[f]];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
      if (look.image >= 0) {
        const Material& material = asset.materials[static_cast<std::size_t>(look.material)];
        uvs_[f][c] =
            transformed(material.base_color, primitive.uv_sets[static_cast<std::size_t>(look.uv_set)][v]);
      }
      if (!primitive.colors.empty()) {
        colors_[f][c] = primitive.colors[v];
        if (!look.opaque && primitive.colors[v].w() < 1) has_alpha_ = true;
      }
    }
  }

  has_color_ = textured_faces_ > 0 || any_color;
  for (const Look& look : looks_) {
    has_color_ = has_color_ || look.factor.head<3>() != looks_.front().factor.head<3>();
  }
}

Vec2 Appearance::uvAt(const SurfacePoint& p) const {
  const auto& uv = uvs_[p.face];
  return p.barycentric[0] * uv[0].cast<double>() + p.barycentric[1] * uv[1].cast<double>() +
         p.barycentric[2] * uv[2].cast<double>();
}

Vec4f Appearance::linearTexel(const Look& look, const Vec2& uv, Filter filter) const {
  const Image& image = images_[static_cast<std::size_t>(look.image)];
  if (filter == Filter::kNearest) {
    return linearRgba(
        image.texel(wrapIndex(std::round(uv.x() * (image.width - 1)), image.width, look.wrap_u),
                    wrapIndex(std::round(uv.y() * (image.height - 1)), image.height, look.wrap_v)));
  }
  const double x = uv.x() * image.width - 0.5, y = uv.y() * image.height - 0.5;
  const double x0 = std::floor(x), y0 = std::floor(y);
  const auto fx = static_cast<float>(x - x0), fy = static_cast<float>(y - y0);
  const int xa = wrapIndex(x0, image.width, look.wrap_u), xb = wrapIndex(x0 + 1, image.width, look.wrap_u);
  const int ya = wrapIndex(y0, image.height, look.wrap_v), yb = wrapIndex(y0 + 1, image.height, look.wrap_v);
  const Vec4f top = (1 - fx) * linearRgba(image.texel(xa, ya)) + fx * linearRgba(image.texel(xb, ya));
  const Vec4f bottom = (1 - fx) * linearRgba(image.texel(xa, yb)) + fx * linearRgba(image.texel(xb, yb));
  return (1 - fy) * top + fy * bottom;
}

Vec3f Appearance::color(const SurfacePoint& p, Filter filter) const {
  const Look& look = looks_[face_look_[p.face]];
  const bool plain = look.white && colors_.empty();
  if (plain && look.image >= 0 && filter == Filter::kNearest) {
    const Image& image = images_[static_cast<std::size_t>(look.image)];
    const Vec2 uv = uvAt(p);
    const std::uint8_t* texel =
        image.texel(wrapIndex(std::round(uv.x() * (image.width - 1)), image.width, look.wrap_u),
                    wrapIndex(std::round(uv.y() * (image.height - 1)), image.height, look.wrap_v));
    return Vec3f(texel[0], texel[1], texel[2]) / 255.0f;
  }
  Vec3f linear = look.factor.head<3>();
  if (look.image >= 0) linear = linear.cwiseProduct(linearTexel(look, uvAt(p), filter).head<3>());
  if (!colors_.empty()) {
    const auto& corner = colors_[p.face];
    const Vec3f b = p.barycentric.cast<float>();
    linear = linear.cwiseProduct((b[0] * corner[0] + b[1] * corner[1] + b[2] * corner[2]).head<3>());
  }
  const auto srgb = [](float x) { return srgbFromLinear(std::clamp(x, 0.0f, 1.0f)); };
  return {srgb(linear.x()), srgb(linear.y()), srgb(linear.z())};
}

float Appearance::alpha(const SurfacePoint& p, Filter filter) const {
  const Look& look = looks_[face_look_[p.face]];
  if (look.opaque) return 1;
  float alpha = look.factor.w();
  if (look.image >= 0) alpha *= linearTexel(look, uvAt(p), filter).w();
  if (!colors_.empty()) {
    const auto& corner = colors_[p.face];
    const Vec3f b = p.barycentric.cast<float>();
    alpha *= b[0] * corner[0].w() + b[1] * corner[1].w() + b[2] * corner[2].w();
  }
  return std::clamp(alpha, 0.0f, 1.0f);
}

void Appearance::colors(std::span<const SurfacePoint> points, std::span<Vec3f> out, Filter filter) const {
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = color(points[i], filter);
  });
}

bool Appearance::faceUvs(std::uint32_t face, std::array<Vec2f, 3>& uvs) const {
  if (faceImage(face) < 0) return false;
  uvs = uvs_[face];
  return true;
}

}  // namespace heatskin
