#include "heatskin/appearance/appearance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/appearance/texels.h"
#include "heatskin/base/parallel.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/image.h"

namespace heatskin {
namespace {

constexpr std::size_t kBlock = 4096;

/// What normal maps are in a layout without tangent groups.
const ChannelGroup* residualsOf(const ChannelLayout& layout) {
  return layout.find("object_normal");
}

bool sameKindOfChannel(const ChannelGroup& a, const ChannelGroup& b) {
  return a.count == b.count && a.kind == b.kind && a.range == b.range;
}

}  // namespace

float Appearance::Look::visibility(float alpha) const {
  switch (alpha_mode) {
    case AlphaMode::kMask:
      return alpha >= cutoff ? 1.0f : 0.0f;
    case AlphaMode::kBlend:
      return alpha;
    case AlphaMode::kOpaque:
      break;
  }
  return 1;
}

Appearance::Appearance(const Asset& asset, const Surface& surface)
    : Appearance(asset, surface, asset.images) {}

Appearance::Appearance(const Asset& asset, const Surface& surface,
                       std::vector<std::shared_ptr<const Image>> images)
    : images_(std::move(images)), slots_(asset, surface, images_) {
  const auto mapsOf = [&](std::size_t slot) {
    return slots_.textured(slot) ? std::make_shared<const ShadingNormals>(asset, surface, slots_, slot)
                                 : nullptr;
  };
  normals_ = mapsOf(kNormalSlot);
  coat_ = mapsOf(kCoatNormalSlot);
  anisotropy_ = mapsOf(kAnisotropySlot);
  const std::size_t faces = surface.faceCount();
  face_look_.resize(faces);
  std::map<std::tuple<int, bool, bool>, std::uint32_t> look_of;  // (material, has usable uvs, colours)
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
    const bool colored = !primitive.colors.empty();
    const auto [entry, is_new] = look_of.try_emplace({primitive.material, textured, colored},
                                                     static_cast<std::uint32_t>(looks_.size()));
    if (is_new) {
      Look look;
      look.material = primitive.material;
      look.colored = colored;
      if (material != nullptr) {
        look.factor = material->base_color_factor;
        look.white = look.factor.head<3>() == Vec3f::Ones();
        look.alpha_mode = material->alpha_mode;
        look.cutoff = material->alpha_cutoff;
      }
      if (textured) {
        look.image = texture->image;
        look.uv_set = static_cast<int>(set);
        look.wrap_u = texture->wrap_u;
        look.wrap_v = texture->wrap_v;
        look.filter = texture->filter == TexelFilter::kNearest ? Filter::kNearest : Filter::kBilinear;
      }
      looks_.push_back(look);
    }
    face_look_[f] = entry->second;
    textured_faces_ += textured ? 1 : 0;
    constant_faces_ += textured || colored ? 0 : 1;
    any_color = any_color || colored;
  }

  if (textured_faces_ > 0) uvs_.assign(faces, {Vec2f::Zero(), Vec2f::Zero(), Vec2f::Zero()});
  if (any_color) colors_.assign(faces, {Vec4f::Ones(), Vec4f::Ones(), Vec4f::Ones()});
  std::vector<float> vertex_alpha(looks_.size(), 1.0f);  // the smallest
  for (std::size_t f = 0; f < faces && (textured_faces_ > 0 || any_color); ++f) {
    const FaceSource& source = surface.sources()[f];
    const Primitive& primitive = primitiveOf(source);
    const Look& look = looks_[face_look_[f]];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t v = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
      if (look.image >= 0) {
        const Material& material = asset.materials[static_cast<std::size_t>(look.material)];
        uvs_[f][c] = texels::transformed(material.base_color,
                                         primitive.uv_sets[static_cast<std::size_t>(look.uv_set)][v]);
      }
      if (look.colored) {
        colors_[f][c] = primitive.colors[v];
        vertex_alpha[face_look_[f]] = std::min(vertex_alpha[face_look_[f]], primitive.colors[v].w());
      }
    }
  }

  for (std::size_t i = 0; i < looks_.size(); ++i) {
    Look& look = looks_[i];
    if (look.alpha_mode == AlphaMode::kOpaque) continue;
    float smallest = look.factor.w() * vertex_alpha[i];
    if (look.image >= 0)
      smallest *= static_cast<float>(smallestAlpha(*images_[static_cast<std::size_t>(look.image)])) / 255.0f;
    look.opaque = look.visibility(smallest) >= 1;
    has_alpha_ = has_alpha_ || !look.opaque;
  }
}

Vec2 Appearance::uvAt(const SurfacePoint& p) const {
  const auto& uv = uvs_[p.face];
  return p.barycentric[0] * uv[0].cast<double>() + p.barycentric[1] * uv[1].cast<double>() +
         p.barycentric[2] * uv[2].cast<double>();
}

Vec4f Appearance::vertexColorAt(const SurfacePoint& p) const {
  const auto& corner = colors_[p.face];
  const Vec3f b = p.barycentric.cast<float>();
  return b[0] * corner[0] + b[1] * corner[1] + b[2] * corner[2];
}

/// The texel of the filters that blend nothing.
const std::uint8_t* Appearance::texelAt(const Look& look, const Vec2& uv, Filter filter) const {
  return texels::texelAt(*images_[static_cast<std::size_t>(look.image)], look.wrap_u, look.wrap_v, uv,
                         filter);
}

Vec4f Appearance::linearTexel(const Look& look, const Vec2& uv, Filter filter) const {
  using namespace texels;
  if (filter != Filter::kBilinear) return linearRgba(texelAt(look, uv, filter));
  const Image& image = *images_[static_cast<std::size_t>(look.image)];
  const Neighbours x = neighbours(uv.x(), image.width, look.wrap_u),
                   y = neighbours(uv.y(), image.height, look.wrap_v);
  const std::array<Vec4f, 4> four = {
      linearRgba(image.texel(x.first, y.first)), linearRgba(image.texel(x.second, y.first)),
      linearRgba(image.texel(x.first, y.second)), linearRgba(image.texel(x.second, y.second))};
  const auto blend = [&](const auto& a, const auto& b, const auto& c, const auto& d) {
    return ((1 - y.weight) * ((1 - x.weight) * a + x.weight * b) +
            y.weight * ((1 - x.weight) * c + x.weight * d))
        .eval();
  };
  const Vec4f plain = blend(four[0], four[1], four[2], four[3]);
  if (look.opaque || !(plain.w() > 0)) return plain;
  Vec4f seen;
  seen.head<3>() = blend(Vec3f(four[0].w() * four[0].head<3>()), Vec3f(four[1].w() * four[1].head<3>()),
                         Vec3f(four[2].w() * four[2].head<3>()), Vec3f(four[3].w() * four[3].head<3>())) /
                   plain.w();
  seen.w() = plain.w();
  return seen;
}

std::pair<Vec3f, float> Appearance::at(const SurfacePoint& p, Filter filter) const {
  const Look& look = lookOf(p.face);
  if (filter == Filter::kAuto) filter = look.filter;
  const bool translucent = look.alpha_mode != AlphaMode::kOpaque;
  float alpha = translucent ? look.factor.w() : 1.0f;
  if (look.white && !look.colored && look.image >= 0 && filter != Filter::kBilinear) {
    const std::uint8_t* texel = texelAt(look, uvAt(p), filter);
    if (translucent) alpha *= static_cast<float>(texel[3]) / 255.0f;
    return {Vec3f(texel[0], texel[1], texel[2]) / 255.0f, std::clamp(alpha, 0.0f, 1.0f)};
  }
  Vec3f linear = look.factor.head<3>();
  if (look.image >= 0) {
    const Vec4f texel = linearTexel(look, uvAt(p), filter);
    linear = linear.cwiseProduct(texel.head<3>());
    if (translucent) alpha *= texel.w();
  }
  if (look.colored) {
    const Vec4f color = vertexColorAt(p);
    linear = linear.cwiseProduct(color.head<3>());
    if (translucent) alpha *= color.w();
  }
  static const SrgbTable table;
  // The colour of a material is exactly the one that products keep for it.
  const bool exact = look.constant();
  const auto srgb = [&](float x) {
    const float inside = std::clamp(x, 0.0f, 1.0f);
    return exact ? srgbFromLinear(inside) : table(inside);
  };
  return {Vec3f(srgb(linear.x()), srgb(linear.y()), srgb(linear.z())), std::clamp(alpha, 0.0f, 1.0f)};
}

Vec3f Appearance::color(const SurfacePoint& p, Filter filter) const {
  return at(p, filter).first;
}

float Appearance::alpha(const SurfacePoint& p, Filter filter) const {
  const Look& look = lookOf(p.face);
  if (look.alpha_mode == AlphaMode::kOpaque) return 1;
  if (filter == Filter::kAuto) filter = look.filter;
  float alpha = look.factor.w();
  if (look.image >= 0) alpha *= linearTexel(look, uvAt(p), filter).w();
  if (look.colored) alpha *= vertexColorAt(p).w();
  return std::clamp(alpha, 0.0f, 1.0f);
}

float Appearance::visibility(const SurfacePoint& p, Filter filter) const {
  const Look& look = lookOf(p.face);
  return look.opaque ? 1.0f : look.visibility(alpha(p, filter));
}

void Appearance::prefetch(std::uint32_t face) const {
  __builtin_prefetch(&face_look_[face]);
  if (!uvs_.empty()) __builtin_prefetch(&uvs_[face]);
  if (!colors_.empty()) __builtin_prefetch(&colors_[face]);
}

void Appearance::colors(std::span<const SurfacePoint> points, std::span<Vec3f> out, Filter filter) const {
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = color(points[i], filter);
  });
}

void Appearance::colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
                        std::span<float> visibilities, Filter filter) const {
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto [color, alpha] = at(points[i], filter);
      colors[i] = color;
      visibilities[i] = lookOf(points[i].face).visibility(alpha);
    }
  });
}

ChannelGroup tangentGroup(std::size_t slot) {
  ChannelGroup group;
  group.name = kMaterialSlots[slot].channel;
  group.count = 2;
  const float most = slot == kAnisotropySlot ? 1.0f : static_cast<float>(kMaxSlope);
  group.range = {-most, most};
  group.kind = ChannelKind::kTangent;
  return group;
}

ChannelGroup objectNormalGroup() {
  ChannelGroup group;
  group.name = "object_normal";
  group.count = 3;
  group.range = {-2, 2};
  return group;
}

const ShadingNormals* Appearance::directions(std::size_t slot) const {
  if (slot == kNormalSlot) return normals_.get();
  return slot == kCoatNormalSlot ? coat_.get() : slot == kAnisotropySlot ? anisotropy_.get() : nullptr;
}

std::optional<ChannelGroup> Appearance::group(std::string_view name) const {
  for (const ChannelGroup& known : knownChannels()) {
    if (known.name == name) return known;
  }
  const std::size_t slot = slotOf(name);
  if (slot == kSlotCount) return std::nullopt;
  if (kMaterialSlots[slot].rule == SlotRule::kTangent) {
    if (directions(slot) == nullptr) return std::nullopt;
    return name == "object_normal" ? objectNormalGroup() : tangentGroup(slot);
  }
  ChannelGroup group;
  group.name = std::string(name);
  group.count = kMaterialSlots[slot].count;
  group.range = slots_.range(slot);
  return group;
}

bool Appearance::faceConstant(std::uint32_t face, std::string_view channel) const {
  const Look& look = lookOf(face);
  if (look.material < 0) return look.constant();
  const std::size_t slot = slotOf(channel);
  if (slot < kSlotCount) return !slots_.faceTextured(face, slot);
  return look.constant() || (channel == "alpha" && look.alpha_mode == AlphaMode::kOpaque);
}

bool Appearance::knows(const ChannelLayout& layout) {
  const auto groups = layout.groups();
  return std::all_of(groups.begin(), groups.end(), [](const ChannelGroup& group) {
    if (group.name == "base_color" || group.name == "alpha") return true;
    if (group.name == "object_normal") return sameKindOfChannel(group, objectNormalGroup());
    const std::size_t slot = slotOf(group.name);
    if (slot == kSlotCount) return false;
    return kMaterialSlots[slot].rule == SlotRule::kTangent ? sameKindOfChannel(group, tangentGroup(slot))
                                                           : kMaterialSlots[slot].count == group.count;
  });
}

void Appearance::values(std::span<const SurfacePoint> points, const ChannelLayout& layout,
                        std::span<float> out, Filter filter) const {
  const ChannelGroup* base_color = layout.find("base_color");
  const ChannelGroup* opacity = layout.find("alpha");
  const ChannelGroup* residuals = residualsOf(layout);
  std::vector<std::pair<std::size_t, const ShadingNormals*>> tangents;  // first channel, maps or null
  std::vector<std::size_t> slots, first;
  for (const ChannelGroup& group : layout.groups()) {
    if (&group == base_color || &group == opacity || &group == residuals) continue;
    if (group.isTangent()) {
      tangents.emplace_back(group.first, directions(slotOf(group.name)));
      continue;
    }
    slots.push_back(slotOf(group.name));
    first.push_back(group.first);
  }
  const bool colors = base_color != nullptr || opacity != nullptr;
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      // What faces have of a fine mesh comes from far away: it is asked for a few points ahead.
      constexpr std::size_t kAhead = 16;
      if (i + kAhead < end) prefetch(points[i + kAhead].face);
      float* row = out.data() + i * layout.size();
      if (colors) {
        const auto [color, alpha] = at(points[i], filter);
        if (base_color != nullptr) Eigen::Map<Vec3f>(row + base_color->first) = color;
        if (opacity != nullptr) row[opacity->first] = alpha;
      }
      if (!slots.empty()) slots_.values(points[i], slots, first, row, filter);
      for (const auto& [at, maps] : tangents) {
        const Vec2 vector = maps ? maps->tangent(points[i], slots_, filter) : Vec2(Vec2::Zero());
        Eigen::Map<Vec2f>(row + at) = vector.cast<float>();
      }
      if (residuals != nullptr) {
        const Vec3 residual =
            normals_ ? Vec3(normals_->normal(points[i], slots_, filter) - normals_->vertexNormal(points[i]))
                     : Vec3(Vec3::Zero());
        Eigen::Map<Vec3f>(row + residuals->first) = residual.cast<float>();
      }
    }
  });
}

void Appearance::visibilities(std::span<const SurfacePoint> points, std::span<float> out,
                              Filter filter) const {
  parallelFor(points.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out[i] = visibility(points[i], filter);
  });
}

bool Appearance::faceUvs(std::uint32_t face, std::array<Vec2f, 3>& uvs) const {
  if (faceImage(face) < 0) return false;
  uvs = uvs_[face];
  return true;
}

std::optional<float> Appearance::maskCutoff(int material) const {
  for (const Look& look : looks_) {
    if (look.material == material && look.alpha_mode == AlphaMode::kMask) return look.cutoff;
  }
  return std::nullopt;
}

std::vector<std::size_t> Appearance::imagesOf(const ChannelLayout& layout) const {
  std::set<std::size_t> used;
  for (const ChannelGroup& group : layout.groups()) {
    if (const std::size_t slot = slotOf(group.name); slot < kSlotCount) {
      const std::vector<std::size_t> images = slots_.images(slot);
      used.insert(images.begin(), images.end());
    } else {
      for (const Look& look : looks_) {
        if (look.image >= 0) used.insert(static_cast<std::size_t>(look.image));
      }
    }
  }
  return {used.begin(), used.end()};
}

std::string Appearance::filterUsed(Filter filter) const {
  if (filter != Filter::kAuto) return std::string(filterName(filter));
  bool nearest = false, bilinear = false;
  for (const Look& look : looks_) {
    if (look.image < 0) continue;
    (look.filter == Filter::kNearest ? nearest : bilinear) = true;
  }
  if (nearest && bilinear) return "nearest and bilinear";
  return nearest ? "nearest" : "bilinear";
}

}  // namespace heatskin
