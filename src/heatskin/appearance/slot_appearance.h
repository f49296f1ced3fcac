#pragma once

// What an asset's materials say at a surface point in every slot but the base colour: metallic, roughness,
// occlusion, emissive and whatever else io/material_slots.h lists.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/asset.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// What a slot without texture has everywhere, as its channel has it: the first `count` numbers.
Vec3f slotConstant(const MaterialSlot& slot, const SlotUse& use);

/// Values of slots at points of the surface that was built from the same asset. Holds what it needs.
class SlotAppearance {
 public:
  SlotAppearance(const Asset& asset, const Surface& surface,
                 std::span<const std::shared_ptr<const Image>> images);

  /// The slot's final value, factors included, as its channel has it (kMaterialSlots[slot].values): the first
  /// `count` numbers. Not for SlotRule::kTangent.
  Vec3f value(const SurfacePoint& p, std::size_t slot, Filter filter = Filter::kAuto) const;

  /// Values of several slots: `slots[i]` is written to row[first[i]] and behind it. Texels that slots share
  /// are read once.
  void values(const SurfacePoint& p, std::span<const std::size_t> slots, std::span<const std::size_t> first,
              float* row, Filter filter = Filter::kAuto) const;

  /// The components that the slot reads of its texture, linear, without factors; nothing where it has none.
  std::optional<Vec3f> texel(const SurfacePoint& p, std::size_t slot, Filter filter = Filter::kAuto) const;

  /// Texture coordinates of a face's corners for a slot (KHR_texture_transform applied, v down); false when
  /// the slot has no texture there.
  bool faceUvs(std::uint32_t face, std::size_t slot, std::array<Vec2f, 3>& uvs) const;

  /// Which of a primitive's texture coordinates they are made of: TEXCOORD_n; -1: no texture.
  int faceUvSet(std::uint32_t face, std::size_t slot) const;

  /// Factors of a slot (SlotUse::factor).
  const Vec3f& factor(std::uint32_t face, std::size_t slot) const { return lookOf(face).slots[slot].factor; }

  /// SlotUse::rotation of a slot.
  float rotation(std::uint32_t face, std::size_t slot) const { return lookOf(face).slots[slot].rotation; }

  /// True when the slot's value is read from a texture on this face.
  bool faceTextured(std::uint32_t face, std::size_t slot) const { return lookOf(face).slots[slot].read >= 0; }

  /// True when some face reads the slot from a texture.
  bool textured(std::size_t slot) const { return textured_[slot]; }

  /// Least and largest value of a slot's channel over all materials in use: [0, 1] where factors are bounded.
  std::array<float, 2> range(std::size_t slot) const;

  /// Images that the slot reads on some face: indices into the asset's, increasing.
  std::vector<std::size_t> images(std::size_t slot) const;

 private:
  /// A texture read in one way; slots share it where they read it alike.
  struct Read {
    int image = -1;
    Wrap wrap_u = Wrap::kRepeat, wrap_v = Wrap::kRepeat;
    Filter filter = Filter::kBilinear;  ///< the sampler's
    ColorSpace space = ColorSpace::kLinear;
    std::size_t uvs = 0;      ///< into uvs_
    TextureUse use;           ///< with KHR_texture_transform
    bool transforms = false;  ///< it changes something
  };
  struct Slot {
    int read = -1;  ///< into Look::reads
    Vec3f factor = Vec3f::Ones();
    float low = 0, rotation = 0;
    Vec3f constant = Vec3f::Ones();  ///< its value without texture
  };
  /// A material for one kind of primitive (with or without the texture coordinates it wants).
  struct Look {
    std::vector<Read> reads;
    std::array<Slot, kSlotCount> slots;
  };

  Look makeLook(const Asset& asset, const Primitive& primitive);
  int addRead(Look& look, const Asset& asset, const Primitive& primitive, const TextureUse& use,
              ColorSpace space);
  std::array<Vec2f, 3> cornersOf(std::uint32_t face, const Read& read) const;
  const Look& lookOf(std::uint32_t face) const { return looks_[face_look_[face]]; }
  Vec4f texelOf(const SurfacePoint& p, const Read& read, Filter filter) const;

  std::vector<std::shared_ptr<const Image>> images_;
  std::vector<Look> looks_;
  std::vector<std::uint32_t> face_look_;                // [F] into looks_
  std::vector<std::vector<std::array<Vec2f, 3>>> uvs_;  // [sets in use][F] as stored, without transforms
  std::vector<int> uv_sets_;                            // [sets in use] TEXCOORD_n
  std::array<bool, kSlotCount> textured_ = {};
};

}  // namespace heatskin
