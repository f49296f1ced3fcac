#pragma once

// What a file holds, as plain data and in one convention whatever the format was, and loadAsset(), which
// makes it from any supported file:
// - texture coordinates as in glTF: (0, 0) is the upper left corner of the image, v points down;
// - texture texels are 8-bit sRGB as stored; colour factors and vertex colours are linear (glTF's rule; the
// OBJ
//   and PLY readers convert);
// - triangles are counter-clockwise seen from outside;
// - positions are in double because an OBJ far from the origin would collapse in float.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/io/material_slots.h"

namespace heatskin {

/// An 8-bit RGBA image, rows from top to bottom.
struct Image {
  std::string name;  ///< file name or glTF image name; for messages
  int width = 0;
  int height = 0;
  int stored_channels = 4;         ///< 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA, as in the file
  int stored_bits = 8;             ///< bits per channel in the file (palette: bits per index)
  std::string format;              ///< "png", "jpeg" or "webp"
  std::vector<std::uint8_t> rgba;  // [height, width, 4]

  const std::uint8_t* texel(int x, int y) const {
    return rgba.data() +
           4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x));
  }
};

enum class Wrap : std::uint8_t { kRepeat, kClampToEdge, kMirroredRepeat };

/// How a sampler wants its texture to be read between texel centres.
enum class TexelFilter : std::uint8_t { kLinear, kNearest };

/// An image with its sampler's modes. Files that say nothing about filtering (OBJ, PLY, glTF without
/// magFilter and minFilter) get kLinear; glTF's filters with mip maps count as the filter inside a level,
/// because textures are only ever read at full resolution.
struct Texture {
  int image = -1;  ///< index into Asset::images; -1: the image could not be used (a notice says why)
  Wrap wrap_u = Wrap::kRepeat;
  Wrap wrap_v = Wrap::kRepeat;
  TexelFilter filter = TexelFilter::kLinear;
};

/// How a material refers to a texture. KHR_texture_transform: uv' = translate(offset) rotate(rotation)
/// scale(scale) uv, with the rotation of the extension (counter-clockwise in a v-down system seen on the
/// image).
struct TextureUse {
  int texture = -1;  ///< index into Asset::textures, -1: none
  int uv_set = 0;    ///< TEXCOORD_n
  Vec2f offset = {0, 0};
  Vec2f scale = {1, 1};
  float rotation = 0;  ///< radians
};

/// What a material has in one of the slots of material_slots.h.
struct SlotUse {
  TextureUse texture;            ///< as components, its texels are stored as the slot says
  Vec3f factor = Vec3f::Ones();  ///< strength included; the slot's first `count` numbers
  float low = 0;                 ///< SlotRule::kBetween: the other end
  float rotation = 0;            ///< MaterialSlot::rotation, radians
};
using SlotUses = std::array<SlotUse, kSlotCount>;

/// No textures, and the factors of a glTF material that says nothing.
SlotUses standardSlots();

/// The same for a material that knows colours alone (OBJ, PLY): not metal, a little glossy.
SlotUses plainSlots();

enum class AlphaMode : std::uint8_t { kOpaque, kMask, kBlend };

struct Material {
  std::string name;
  Vec4f base_color_factor = {1, 1, 1, 1};  ///< linear RGBA
  TextureUse base_color;
  SlotUses slots = plainSlots();  ///< everything else, in the order of kMaterialSlots
  AlphaMode alpha_mode = AlphaMode::kOpaque;
  float alpha_cutoff = 0.5f;
  bool double_sided = false;
};

/// KHR_materials_variants: what a primitive has instead of its material in some variants.
struct VariantMaterial {
  int material = -1;                    ///< index into Asset::materials
  std::vector<std::uint32_t> variants;  ///< increasing indices into Asset::variants
  int source = -1;                      ///< its number among the primitive's mappings in Asset::file
};

/// Triangles that share one material. Every non-empty attribute array has one entry per position.
struct Primitive {
  std::vector<Vec3> positions;              // [P]
  std::vector<std::vector<Vec2f>> uv_sets;  // [sets][P]; an absent set in between is an empty vector
  std::vector<Vec4f> colors;                // [P] or empty; linear RGBA
  std::vector<Vec3f> normals;  // [P] or empty; unit, or zero where the file's could not be used. Without one
                               // a glTF face is flat; OBJ and PLY leave it to the program
  std::vector<Vec4f>
      tangents;  // [P] or empty; unit (or zero) and w = +1 or -1, as in glTF; only with normals
  std::vector<std::uint32_t> triangles;   // [3 T], indices into positions
  int material = -1;                      ///< index into Asset::materials, -1: default material (white)
  std::vector<VariantMaterial> variants;  ///< no variant is in two of them (io/variants.h)

  /// Where it comes from, for those who write a glTF file back (Asset::file): its number in its mesh there,
  /// and its vertices among those of its POSITION (empty: all, in order). -1: not from a glTF file.
  int source = -1;
  std::vector<std::uint32_t> source_vertices;

  std::size_t triangleCount() const { return triangles.size() / 3; }
};

struct Mesh {
  std::string name;
  std::vector<Primitive> primitives;
  int source = -1;  ///< its number in Asset::file
};

/// A mesh placed in the world. Readers flatten the node hierarchy; a mirroring transform is kept as it is,
/// and whoever builds world triangles flips their order.
struct Instance {
  std::string name;
  int mesh = -1;
  Affine3 asset_from_mesh = Affine3::Identity();
};

/// A glTF extension of the document's root that io hands on unread to whoever knows it.
struct RawExtension {
  struct View {
    std::size_t index = 0;            ///< of the buffer view in the file
    std::vector<std::uint8_t> bytes;  ///< decompressed
  };
  std::string name;
  std::string json;          ///< the text of its object, as in the file
  std::vector<View> views;   ///< buffer views that properties called "bufferView" refer to, each once
  bool listed = false;       ///< in extensionsUsed, as glTF demands
  bool from_extras = false;  ///< a copy in a scene's extras: the extension itself is gone
  std::string geometry;      ///< there: what identifies the triangles it was made for
};

/// A file's content. Indices inside were checked by the reader: they are valid or -1.
struct Asset {
  std::filesystem::path path;
  std::string format;                                ///< "glb", "gltf", "obj" or "ply"
  std::vector<std::shared_ptr<const Image>> images;  ///< never null; shared with whoever reads texels later
  std::vector<Texture> textures;
  std::vector<Material> materials;
  std::vector<Mesh> meshes;
  std::vector<Instance> instances;
  std::vector<std::string> variants;    ///< names of KHR_materials_variants, no name twice
  std::string variant;                  ///< which of them materials are of (io/variants.h); empty: of none
  std::vector<Notice> notices;          ///< what the reader skipped, replaced or doubted
  std::vector<std::string> extensions;  ///< glTF extensions used by the file
  std::vector<RawExtension> raw_extensions;  ///< HSK_kernel_texture
  std::size_t stored_vertices = 0;  ///< before welding, over all triangle primitives of all instances
  std::size_t input_bytes = 0;      ///< of the file and those it refers to; 0: not from a file

  /// The bytes of a glTF file as they were read: what is not in here (skins, animations, other textures) is
  /// there. Null for other formats and for assets made otherwise; whoever changes meshes resets it.
  std::shared_ptr<const std::vector<std::uint8_t>> file;
};

/// Limits that keep hostile files from exhausting the machine; far above real assets.
struct LoadOptions {
  std::size_t max_image_pixels = std::size_t{1} << 28;  ///< 16384 x 16384, 1 GiB as RGBA
  std::size_t max_total_pixels = std::size_t{1} << 29;  ///< over all images of an asset
  std::size_t max_vertices = std::size_t{1}
                             << 25;  ///< over the whole asset, instances counted; 10 GB as a surface
  std::size_t max_triangles = std::size_t{1} << 25;  ///< over the whole asset, instances counted
  bool load_images = true;                           ///< false: geometry only

  /// Gets the other files an asset consists of (buffers, materials, images); null: nobody asks.
  std::vector<std::filesystem::path>* references = nullptr;
};

/// Reads .glb, .gltf, .obj or .ply, told apart by extension and checked against the content. The asset has at
/// least one triangle, finite positions and valid indices; everything that was repaired or skipped is in its
/// notices. External references are resolved only to regular files inside the folder of `path` (or below it).
Result<Asset> loadAsset(const std::filesystem::path& path, const LoadOptions& options = {});

}  // namespace heatskin
