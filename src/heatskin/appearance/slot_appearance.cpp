#include "heatskin/appearance/slot_appearance.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "heatskin/appearance/texels.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

const Primitive& primitiveOf(const Asset& asset, const FaceSource& source) {
  const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
  return asset.meshes[mesh].primitives[source.primitive];
}

bool hasUvSet(const Primitive& primitive, int set) {
  const auto at = static_cast<std::size_t>(set);
  return set >= 0 && at < primitive.uv_sets.size() && !primitive.uv_sets[at].empty();
}

bool isPlain(const TextureUse& use) {
  return use.offset == Vec2f(0, 0) && use.scale == Vec2f(1, 1) && use.rotation == 0;
}

bool readsAlike(const TextureUse& a, const TextureUse& b) {
  return a.texture == b.texture && a.uv_set == b.uv_set && a.offset == b.offset && a.scale == b.scale &&
         a.rotation == b.rotation;
}

Vec4f unitRgba(const std::uint8_t* texel) {
  return Vec4f(texel[0], texel[1], texel[2], texel[3]) / 255.0f;
}

Vec3f componentsOf(const MaterialSlot& slot, const Vec4f& texel) {
  Vec3f out = Vec3f::Ones();
  for (std::size_t c = 0; c < slot.count; ++c)
    out[static_cast<Eigen::Index>(c)] = texel[slot.components[c]];
  return out;
}

/// A value of the slot's channel from a linear one. `exact`: what a material without texture has, which
/// products keep.
Vec3f encoded(const MaterialSlot& slot, const Vec3f& linear, bool exact) {
  if (slot.values == ColorSpace::kLinear) return linear;
  static const SrgbTable table;
  const auto srgb = [&](float x) {
    const float inside = std::clamp(x, 0.0f, 1.0f);
    return exact ? srgbFromLinear(inside) : table(inside);
  };
  return {srgb(linear.x()), srgb(linear.y()), srgb(linear.z())};
}

}  // namespace

Vec3f slotConstant(const MaterialSlot& slot, const SlotUse& use) {
  return encoded(slot, slotValue(slot, use.factor, use.low, Vec3f::Ones()), true);
}

int SlotAppearance::addRead(Look& look, const Asset& asset, const Primitive& primitive, const TextureUse& use,
                            ColorSpace space) {
  if (use.texture < 0 || !hasUvSet(primitive, use.uv_set)) return -1;
  const Texture& texture = asset.textures[static_cast<std::size_t>(use.texture)];
  if (texture.image < 0) return -1;
  for (std::size_t r = 0; r < look.reads.size(); ++r) {
    if (look.reads[r].space == space && readsAlike(look.reads[r].use, use)) return static_cast<int>(r);
  }
  Read read;
  read.image = texture.image;
  read.wrap_u = texture.wrap_u;
  read.wrap_v = texture.wrap_v;
  read.filter = texture.filter == TexelFilter::kNearest ? Filter::kNearest : Filter::kBilinear;
  read.space = space;
  read.use = use;
  read.transforms = !isPlain(use);
  const auto known = std::find(uv_sets_.begin(), uv_sets_.end(), use.uv_set);
  read.uvs = static_cast<std::size_t>(known - uv_sets_.begin());
  if (known == uv_sets_.end()) uv_sets_.push_back(use.uv_set);
  look.reads.push_back(read);
  return static_cast<int>(look.reads.size()) - 1;
}

SlotAppearance::Look SlotAppearance::makeLook(const Asset& asset, const Primitive& primitive) {
  Look look;
  const SlotUses uses = primitive.material < 0
                            ? standardSlots()
                            : asset.materials[static_cast<std::size_t>(primitive.material)].slots;
  for (std::size_t s = 0; s < kSlotCount; ++s) {
    const MaterialSlot& slot = kMaterialSlots[s];
    Slot& out = look.slots[s];
    out.factor = uses[s].factor;
    out.low = uses[s].low;
    out.rotation = uses[s].rotation;
    out.read = addRead(look, asset, primitive, uses[s].texture, slot.texels);
    out.constant = slotConstant(slot, uses[s]);
    textured_[s] = textured_[s] || out.read >= 0;
  }
  return look;
}

SlotAppearance::SlotAppearance(const Asset& asset, const Surface& surface,
                               std::span<const std::shared_ptr<const Image>> images)
    : images_(images.begin(), images.end()), face_look_(surface.faceCount()) {
  // By material and by which of the sets of coordinates there are that it asks for.
  std::map<std::pair<int, std::vector<bool>>, std::uint32_t> look_of;
  std::pair<int, std::vector<bool>> key;
  const Primitive* last = nullptr;
  std::uint32_t last_look = 0;
  for (std::size_t f = 0; f < face_look_.size(); ++f) {
    const Primitive& primitive = primitiveOf(asset, surface.sources()[f]);
    if (&primitive != last) {
      key.first = primitive.material;
      key.second.assign(kSlotCount, false);
      for (std::size_t s = 0; s < kSlotCount && primitive.material >= 0; ++s) {
        const SlotUse& use = asset.materials[static_cast<std::size_t>(primitive.material)].slots[s];
        key.second[s] = use.texture.texture >= 0 && hasUvSet(primitive, use.texture.uv_set);
      }
      const auto [entry, is_new] = look_of.try_emplace(key, static_cast<std::uint32_t>(looks_.size()));
      if (is_new) looks_.push_back(makeLook(asset, primitive));
      last = &primitive;
      last_look = entry->second;
    }
    face_look_[f] = last_look;
  }

  uvs_.resize(uv_sets_.size());
  for (std::size_t u = 0; u < uvs_.size(); ++u) {
    uvs_[u].assign(face_look_.size(), {Vec2f::Zero(), Vec2f::Zero(), Vec2f::Zero()});
    for (std::size_t f = 0; f < face_look_.size(); ++f) {
      const FaceSource& source = surface.sources()[f];
      const Primitive& primitive = primitiveOf(asset, source);
      if (!hasUvSet(primitive, uv_sets_[u])) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
        uvs_[u][f][c] = primitive.uv_sets[static_cast<std::size_t>(uv_sets_[u])][v];
      }
    }
  }
}

std::array<Vec2f, 3> SlotAppearance::cornersOf(std::uint32_t face, const Read& read) const {
  std::array<Vec2f, 3> corners = uvs_[read.uvs][face];
  for (Vec2f& corner : corners) {
    if (read.transforms) corner = texels::transformed(read.use, corner);
  }
  return corners;
}

Vec4f SlotAppearance::texelOf(const SurfacePoint& p, const Read& read, Filter filter) const {
  if (filter == Filter::kAuto) filter = read.filter;
  const std::array<Vec2f, 3> corners = cornersOf(p.face, read);
  const Vec2 uv = p.barycentric[0] * corners[0].cast<double>() +
                  p.barycentric[1] * corners[1].cast<double>() + p.barycentric[2] * corners[2].cast<double>();
  const Image& image = *images_[static_cast<std::size_t>(read.image)];
  const auto decode = [&](const std::uint8_t* texel) {
    return read.space == ColorSpace::kSrgb ? texels::linearRgba(texel) : unitRgba(texel);
  };
  if (filter == Filter::kBilinear) return texels::blended(image, read.wrap_u, read.wrap_v, uv, decode);
  return decode(texels::texelAt(image, read.wrap_u, read.wrap_v, uv, filter));
}

Vec3f SlotAppearance::value(const SurfacePoint& p, std::size_t slot, Filter filter) const {
  const std::size_t first = 0;
  std::array<float, 3> row = {};
  values(p, {&slot, 1}, {&first, 1}, row.data(), filter);
  return {row[0], row[1], row[2]};
}

void SlotAppearance::values(const SurfacePoint& p, std::span<const std::size_t> slots,
                            std::span<const std::size_t> first, float* row, Filter filter) const {
  const Look& look = lookOf(p.face);
  std::array<Vec4f, kSlotCount> texel;
  std::array<bool, kSlotCount> known = {};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const MaterialSlot& slot = kMaterialSlots[slots[i]];
    const Slot& use = look.slots[slots[i]];
    Vec3f value = use.constant;
    if (use.read >= 0) {
      const auto r = static_cast<std::size_t>(use.read);
      if (!known[r]) texel[r] = texelOf(p, look.reads[r], filter);
      known[r] = true;
      value = encoded(slot, slotValue(slot, use.factor, use.low, componentsOf(slot, texel[r])), false);
    }
    std::copy_n(value.data(), slot.count, row + first[i]);
  }
}

std::optional<Vec3f> SlotAppearance::texel(const SurfacePoint& p, std::size_t slot, Filter filter) const {
  const Look& look = lookOf(p.face);
  const int read = look.slots[slot].read;
  if (read < 0) return std::nullopt;
  return componentsOf(kMaterialSlots[slot], texelOf(p, look.reads[static_cast<std::size_t>(read)], filter));
}

bool SlotAppearance::faceUvs(std::uint32_t face, std::size_t slot, std::array<Vec2f, 3>& uvs) const {
  const Look& look = lookOf(face);
  const int read = look.slots[slot].read;
  if (read < 0) return false;
  uvs = cornersOf(face, look.reads[static_cast<std::size_t>(read)]);
  return true;
}

int SlotAppearance::faceUvSet(std::uint32_t face, std::size_t slot) const {
  const Look& look = lookOf(face);
  const int read = look.slots[slot].read;
  return read < 0 ? -1 : look.reads[static_cast<std::size_t>(read)].use.uv_set;
}

std::array<float, 2> SlotAppearance::range(std::size_t slot) const {
  if (kMaterialSlots[slot].bounded) return {0.0f, 1.0f};
  float largest = 0;
  for (const Look& look : looks_) {
    const Slot& use = look.slots[slot];
    largest =
        std::max(largest, use.factor.head(static_cast<Eigen::Index>(kMaterialSlots[slot].count)).maxCoeff());
    if (kMaterialSlots[slot].rule == SlotRule::kBetween) largest = std::max(largest, use.low);
  }
  return {0.0f, largest > 0 ? largest : 1.0f};
}

std::vector<std::size_t> SlotAppearance::images(std::size_t slot) const {
  std::set<std::size_t> used;
  for (const Look& look : looks_) {
    const int read = look.slots[slot].read;
    if (read >= 0) used.insert(static_cast<std::size_t>(look.reads[static_cast<std::size_t>(read)].image));
  }
  return {used.begin(), used.end()};
}

}  // namespace heatskin
