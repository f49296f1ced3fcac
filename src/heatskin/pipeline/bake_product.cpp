#include "heatskin/pipeline/bake_product.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/map_frame.h"
#include "heatskin/appearance/shading_normals.h"
#include "heatskin/bake/atlas_charts.h"
#include "heatskin/bake/baked_document.h"
#include "heatskin/bake/baked_primitives.h"
#include "heatskin/bake/pack_charts.h"
#include "heatskin/bake/vertex_values.h"
#include "heatskin/base/files.h"
#include "heatskin/base/plural.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/bake_sheets.h"
#include "heatskin/pipeline/node_tools.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/visibility.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

/// Own coordinates are good enough where less than this part of the texels in use is claimed twice.
constexpr double kMostOverlap = 0.01;
constexpr int kOverlapSide = 512;

/// Around charts of own coordinates: what filters and the blocks of JPEG may reach.
constexpr int kOwnGutter = 8;

class ProductBaker {
 public:
  ProductBaker(const LoadedProduct& product, const BakeJob& job)
      : product_(product),
        job_(job),
        layout_(product.texture.layout()),
        progress_(job.progress != nullptr ? *job.progress : silentProgress()) {}

  Result<BakeOutcome> run() {
    if (!Appearance::knows(layout_))
      return inputError("the texture has channels that materials of glTF do not have");
    primitives_ = bakedPrimitives(product_.product);
    auto document = BakedDocument::open(product_.product);
    if (!document) return document.error();
    document_.emplace(std::move(*document));
    document_->ownMaterials(primitives_);
    if (document_->dropVariants(primitives_)) {
      out_.notices.push_back(
          {"variants_left_out", "one look is baked; the material variants of what it shows are left out"});
    }
    if (auto settled = settleTarget(); !settled) return settled.error();
    out_.to = to_;
    Result<void> done;
    switch (to_) {
      case BakeTo::kUv:
        done = bakeOwnUvs();
        break;
      case BakeTo::kAtlas:
        done = bakeAtlas();
        break;
      case BakeTo::kVertex:
        done = bakeVertices();
        break;
      case BakeTo::kFace:
        done = bakeVertices();
        break;
    }
    if (!done) return done.error();
    auto bytes = document_->finish(fmt::format("heatskin {}", kVersion));
    if (!bytes) return bytes.error();
    out_.bytes = std::move(*bytes);
    document_.reset();
    if (auto checked = readBack(); !checked) return checked.error();
    return std::move(out_);
  }

 private:
  const Asset& asset() const { return product_.product.asset; }
  const Primitive& primitiveOf(const BakedPrimitive& baked) const {
    return asset().meshes[baked.mesh].primitives[baked.primitive];
  }

  /// The primitives of a material of the document.
  std::vector<const BakedPrimitive*> usersOf(std::size_t material) const {
    std::vector<const BakedPrimitive*> users;
    for (const std::size_t user : document_->users().at(material))
      users.push_back(&primitives_[user]);
    return users;
  }

  bool allHaveUvs() const {
    return std::all_of(primitives_.begin(), primitives_.end(), [&](const BakedPrimitive& baked) {
      const Primitive& primitive = primitiveOf(baked);
      return job_.uv_set < primitive.uv_sets.size() && !primitive.uv_sets[job_.uv_set].empty();
    });
  }

  /// Texels of own coordinates that several faces claim, of those in use, over all materials.
  double overlapOfOwnUvs() const {
    std::size_t covered = 0, overlapped = 0;
    for (const auto& [material, users] : document_->users()) {
      const SheetFaces sheet = ownUvs(product_.product, usersOf(material), job_.uv_set);
      AtlasOptions options;
      options.width = options.height = kOverlapSide;
      const AtlasBuffer drawn = rasteriseAtlas(
          static_cast<std::uint32_t>(sheet.faces.size()),
          [&](std::uint32_t face, std::array<Vec2f, 3>& uvs) {
            uvs = sheet.uvs[face];
            return true;
          },
          options);
      covered += drawn.covered_texels;
      overlapped += drawn.overlapped_texels;
    }
    return covered == 0 ? 1 : static_cast<double>(overlapped) / static_cast<double>(covered);
  }

  Result<void> settleTarget() {
    const bool uvs = !primitives_.empty() && allHaveUvs();
    if (job_.to == BakeTo::kUv || !job_.to) out_.overlap = uvs ? overlapOfOwnUvs() : 0;
    to_ = job_.to.value_or(uvs && out_.overlap <= kMostOverlap ? BakeTo::kUv : BakeTo::kAtlas);
    if (to_ != BakeTo::kUv) return {};
    if (!uvs && !primitives_.empty()) {
      return inputError(fmt::format("{}: parts have no texture coordinates TEXCOORD_{}",
                                    displayPath(asset().path), job_.uv_set));
    }
    if (out_.overlap > kMostOverlap) {
      out_.notices.push_back(
          {"overlapping_uvs",
           fmt::format("{:.0f} % of the texels in use belong to several faces, of which the "
                       "image can only show one; a new atlas has no such",
                       100 * out_.overlap)});
    }
    return {};
  }

  /// A slot whose directions are baked: that of normals if there are such, which all follow. kSlotCount:
  /// none.
  std::size_t directionSlot() const {
    std::size_t found = kSlotCount;
    for (const ChannelGroup& group : layout_.groups()) {
      const std::size_t slot = slotOf(group.name);
      if (slot < kSlotCount && kMaterialSlots[slot].rule == SlotRule::kTangent) found = std::min(found, slot);
    }
    return found;
  }

  /// What all images have in common.
  void prepareImages() {
    appearance_.emplace(asset(), *product_.product.surface);
    bool transparent = false;
    for (const BakedPrimitive& baked : primitives_) {
      for (const std::uint32_t face : baked.face_of_triangle)
        transparent = transparent || (face != kNone && !appearance_->faceOpaque(face));
    }
    images_.emplace(layout_, transparent);
    context_.product = &product_;
    context_.job = &job_;
    context_.images = &*images_;
    context_.appearance = &*appearance_;
    context_.progress = &progress_;
  }

  bool hasDirections() const { return directionSlot() < kSlotCount; }

  /// The frames of maps of directions on the asset with its new vertices, read with coordinates `set`.
  void prepareNormals(Asset target, std::size_t set) {
    const std::size_t directions = directionSlot();
    if (directions == kSlotCount) return;
    // Readers of the baked file see a map here; its frames are theirs.
    auto pixel = std::make_shared<Image>();
    pixel->width = pixel->height = 1;
    pixel->rgba = {128, 128, 255, 255};
    target.images.push_back(pixel);
    Texture texture;
    texture.image = static_cast<int>(target.images.size()) - 1;
    target.textures.push_back(texture);
    for (const BakedPrimitive& baked : primitives_) {
      Primitive& primitive = target.meshes[baked.mesh].primitives[baked.primitive];
      if (primitive.material < 0) {
        primitive.material = static_cast<int>(target.materials.size());
        target.materials.emplace_back();
      }
      SlotUse& use = target.materials[static_cast<std::size_t>(primitive.material)].slots[directions];
      use.texture = {};
      use.texture.texture = static_cast<int>(target.textures.size()) - 1;
      use.texture.uv_set = static_cast<int>(set);
      use.factor = Vec3f::Ones();
    }
    const SlotAppearance slots(target, *product_.product.surface, target.images);
    corner_normals_ = cornerNormals(target, *product_.product.surface);
    tangents_ = mapTangents(target, *product_.product.surface, slots, directions);
    context_.tangents = &tangents_;
    context_.corner_normals = corner_normals_;
  }

  /// Images of one sheet that its materials need: those with a channel that varies there.
  std::vector<std::uint8_t> wantedImages(std::span<const std::size_t> materials) const {
    std::vector<std::uint8_t> wanted;
    for (const ImagePlan& plan : images_->plans()) {
      bool any = false;
      for (const std::size_t material : materials) {
        for (const std::size_t user : document_->users().at(material)) {
          for (const ImagePart& part : plan.parts)
            any = any || (part.group < layout_.groups().size() &&
                          (primitives_[user].constant >> part.group & 1) == 0);
        }
      }
      wanted.push_back(any ? 1 : 0);
    }
    return wanted;
  }

  /// Draws, encodes and attaches the images of a sheet; with `size` 0 ever larger ones until they are good.
  /// `pack` gives the faces their coordinates for a size.
  Result<void> bakeSheet(SheetFaces& faces, std::span<const std::size_t> materials, int least_side,
                         int gutter, std::size_t set, bool repeat,
                         const std::function<Result<void>(int side)>& pack) {
    const std::vector<std::uint8_t> wanted = wantedImages(materials);
    int side = job_.size;
    SheetImages drawn;
    if (side == 0) {
      std::vector<std::uint8_t> color(wanted.size(), 0);
      color[0] = 1;
      double before = -100;
      for (side = std::min(std::max(least_side, kLeastBakeSide), kMaxImageSide);; side *= 2) {
        if (auto packed = pack(side); !packed) return packed;
        auto tried = drawSheet(context_, faces, side, side, gutter, color);
        if (!tried) return tried.error();
        const double psnr = sheetPsnr(context_, faces, *tried);
        if (psnr < before + kBakeGain) {
          side /= 2;
          if (auto packed = pack(side); !packed) return packed;
          break;
        }
        before = psnr;
        if (psnr >= kBakePsnr || side * 2 > std::max(kMostBakeSide, least_side)) break;
      }
    } else if (auto packed = pack(side); !packed) {
      return packed;
    }
    auto all = drawSheet(context_, faces, side, side, gutter, wanted);
    if (!all) return all.error();
    std::vector<EncodedImage> encoded(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == 0) continue;
      auto image = encodeSheetImage(context_, i, *all);
      if (!image) return image.error();
      encoded[i] = std::move(*image);
      out_.images.push_back(
          {images_->plans()[i].name, encoded[i].mime_type, side, side, encoded[i].bytes.size()});
    }
    document_->addImages(*images_, encoded, materials, set, repeat);
    out_.width = std::max(out_.width, side);
    out_.height = std::max(out_.height, side);
    return {};
  }

  Result<void> bakeOwnUvs() {
    prepareImages();
    prepareNormals(asset(), job_.uv_set);
    double used = 0, texels = 0;
    for (const auto& [material, users] : document_->users()) {
      SheetFaces faces = ownUvs(product_.product, usersOf(material), job_.uv_set);
      const std::array<std::size_t, 1> materials = {material};
      auto done = bakeSheet(faces, materials, kLeastBakeSide, kOwnGutter, job_.uv_set, true,
                            [](int) { return Result<void>(); });
      if (!done) return done;
      for (const auto& uvs : faces.uvs)
        used += 0.5 * std::abs(cross2((uvs[1] - uvs[0]).cast<double>(), (uvs[2] - uvs[0]).cast<double>()));
      texels += 1;
    }
    out_.area_used = texels > 0 ? std::min(used / texels, 1.0) : 0;
    document_->dropVertexColors(primitives_);
    return {};
  }

  /// Coordinates of the sheet's faces for an image of a size.
  Result<void> packAtlas(const AtlasMesh& mesh, const AtlasCharts& charts, int side, SheetFaces& sheet) {
    if (job_.xatlas && !xatlas_failed_) {
      std::vector<std::uint32_t> chart_of;
      auto atlas = xatlasOf(mesh, side, std::max(job_.gutter, 1), job_.xatlas_seconds, chart_of);
      if (atlas) {
        out_.by_xatlas = true;
        out_.charts = chart_of.empty() ? 0 : *std::max_element(chart_of.begin(), chart_of.end()) + 1;
        out_.gutter = atlas->gutter;
        out_.area_used = atlas->area_used;
        sheet.uvs = std::move(atlas->uvs);
        return {};
      }
      xatlas_failed_ = true;
      out_.by_xatlas = false;
      out_.notices.push_back({"no_xatlas", fmt::format("the atlas is ours: {}", atlas.error().message)});
    }
    PackOptions options;
    options.width = options.height = side;
    options.gutter = job_.gutter;
    auto atlas = packCharts(charts, options);
    if (!atlas) return atlas.error();
    out_.charts = charts.size();
    out_.gutter = atlas->gutter;
    out_.area_used = atlas->area_used;
    sheet.uvs = std::move(atlas->uvs);
    return {};
  }

  Result<void> bakeAtlas() {
    SheetFaces sheet = facesOf(primitives_);
    const AtlasMesh mesh = atlasMesh(*product_.product.surface, sheet.faces);
    const AtlasCharts charts = growCharts(mesh);
    // Coordinates that other textures are read with stay beside the new ones.
    std::size_t set = 0;
    std::vector<std::size_t> materials;
    for (const auto& [material, users] : document_->users()) {
      materials.push_back(material);
      if (!document_->readsOtherTextures(material, layout_)) continue;
      for (const std::size_t user : users)
        set = std::max(set, primitiveOf(primitives_[user]).uv_sets.size());
    }
    prepareImages();
    const auto pack = [&](int side) -> Result<void> {
      if (auto packed = packAtlas(mesh, charts, side, sheet); !packed) return packed;
      // Frames of normal maps follow the coordinates.
      splitVertices(product_.product, sheet, hasDirections(), primitives_);
      if (hasDirections()) prepareNormals(withNewVertices(asset(), primitives_, set), set);
      return {};
    };
    auto done =
        bakeSheet(sheet, materials, leastAtlasSide(charts, job_.gutter), job_.gutter, set, false, pack);
    if (!done) return done;
    document_->dropVertexColors(primitives_);
    return document_->setVertices(primitives_, set);
  }

  Result<void> bakeVertices() {
    appearance_.emplace(asset(), *product_.product.surface);
    VertexBakeOptions options;
    options.per_face = to_ == BakeTo::kFace;
    options.max_error = job_.max_error;
    options.max_faces = job_.max_faces;
    for (const BakedPrimitive& baked : primitives_)
      options.fixed.push_back(document_->skinned(baked) ? 1 : 0);
    auto values = bakeVertexValues(product_.product, product_.texture, *appearance_, primitives_, options);
    if (!values) return values.error();
    for (Notice& notice : values->notices)
      out_.notices.push_back(std::move(notice));
    document_->useVertexColors(primitives_);
    for (std::size_t i = 0; i < primitives_.size(); ++i) {
      if (auto set = document_->setVertices(primitives_[i], values->attributes[i]); !set) return set;
    }
    return {};
  }

  /// The file as others read it, beside the kernels.
  Result<void> readBack() {
    if (job_.format == BakeFormat::kKtx2 && out_.width > 0) {
      out_.notices.push_back({"not_compared",
                              "KTX2 images are not read here, so they were not compared with "
                              "the kernels",
                              1, false});
      return {};
    }
    auto asset = readGltfBytes(out_.bytes, "baked.glb");
    if (!asset) return failure(asset.error().message);
    for (const Mesh& mesh : asset->meshes) {
      for (const Primitive& primitive : mesh.primitives) {
        out_.vertices += primitive.positions.size();
        out_.faces += primitive.triangleCount();
      }
    }
    if (!job_.evaluate) return {};
    OpenOptions open;
    open.surface = productSurfaceOptions(methodOf(product_.product.options));
    auto loaded = openAsset(std::move(*asset), open);
    if (!loaded) return failure(loaded.error().message);
    EvaluationOptions options;
    options.surface_samples = job_.samples;
    options.seam_samples = job_.samples;
    options.atlas_size = options.view_size = options.query_runs = 0;
    options.seed = job_.seed;
    auto evaluation = evaluateProduct(product_, *loaded, options, Filter::kBilinear, progress_);
    if (!evaluation) return evaluation.error();
    out_.evaluation = std::move(*evaluation);
    return {};
  }

  const LoadedProduct& product_;
  const BakeJob& job_;
  const ChannelLayout& layout_;
  Progress& progress_;
  BakeTo to_ = BakeTo::kAtlas;
  std::vector<BakedPrimitive> primitives_;
  std::optional<BakedDocument> document_;
  std::optional<Appearance> appearance_;
  std::optional<MaterialImages> images_;
  std::vector<std::array<Vec3f, 3>> corner_normals_;
  MapTangents tangents_;
  SheetContext context_;
  bool xatlas_failed_ = false;
  BakeOutcome out_;
};

}  // namespace

Result<BakeOutcome> bakeProduct(const LoadedProduct& product, const BakeJob& job) {
  if (job.size < 0 || job.size > kMaxImageSide) {
    return usageError(
        fmt::format("an image has at most {} texels on a side, not {}", kMaxImageSide, job.size));
  }
  const bool power = job.gutter >= 0 && (job.gutter & (job.gutter - 1)) == 0;
  if (!power || job.gutter > 64)
    return usageError(fmt::format("a gutter has 0, 1, 2, 4, .. or 64 texels, not {}", job.gutter));
  try {
    return ProductBaker(product, job).run();
  } catch (const std::bad_alloc&) {
    return failure("not enough memory to bake");
  }
}

}  // namespace heatskin
