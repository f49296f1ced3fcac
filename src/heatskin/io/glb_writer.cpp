#include "heatskin/io/glb_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <Eigen/SVD>

#include "heatskin/base/files.h"
#include "heatskin/io/glb_builder.h"
#include "heatskin/io/image.h"
#include "heatskin/surface/normals.h"

namespace heatskin {
namespace {

/// A mesh is stored around its centre when its distance from the origin exceeds its size by this factor:
/// floats then resolve less than 2^-24 x 64 = 4e-6 of its size.
constexpr double kFarForStorage = 64;

/// Cosine between two columns of a node matrix up to which the Khronos validator sees no shear; its own limit
/// is about 5e-4 (it decomposes in float), ours leaves room for rounding.
constexpr double kOrthogonalCosine = 1e-5;

constexpr int kNearest = 9728;
constexpr int kLinear = 9729;
constexpr int kLinearMipmapLinear = 9987;

int gltfWrap(Wrap wrap) {
  switch (wrap) {
    case Wrap::kClampToEdge:
      return 33071;
    case Wrap::kMirroredRepeat:
      return 33648;
    case Wrap::kRepeat:
      break;
  }
  return 10497;
}

bool validIndex(int index, std::size_t count) {
  return index >= 0 && static_cast<std::size_t>(index) < count;
}

/// One class per distinct position, numbered by first use. Exact comparison: seams repeat positions to the
/// bit.
std::vector<std::uint32_t> positionClasses(std::span<const Vec3> positions, std::uint32_t& class_count) {
  std::vector<std::uint32_t> order(positions.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](std::uint32_t i) {
    return std::array<double, 3>{positions[i].x(), positions[i].y(), positions[i].z()};
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> classes(positions.size());
  class_count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && key(order[i]) != key(order[i - 1])) ++class_count;
    classes[order[i]] = class_count;
  }
  if (!order.empty()) ++class_count;
  return classes;
}

/// Adds an asset piece by piece; each map turns an index of the asset into one of the document.
class AssetWriter {
 public:
  AssetWriter(GlbBuilder& builder, const Asset& asset, const GlbOptions& options)
      : builder_(builder), asset_(asset), options_(options) {}

  Result<void> write() {
    if (auto images = writeImages(); !images) return images;
    writeTextures();
    if (auto meshes = writeMeshes(); !meshes) return meshes;
    writeNodes();
    return {};
  }

 private:
  Result<void> writeImages() {
    images_.assign(asset_.images.size(), -1);
    for (std::size_t i = 0; i < asset_.images.size(); ++i) {
      const Image& image = *asset_.images[i];
      if (image.width <= 0 || image.height <= 0) continue;
      const std::size_t pixels =
          static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
      if (image.rgba.size() != 4 * pixels) {
        return failure("image " + std::to_string(i) + ": its texels do not match its size");
      }
      auto png = encodeTexels(image, pixels);
      if (!png) return png.error();
      GltfJson element;
      if (!image.name.empty()) element["name"] = image.name;
      element["mimeType"] = "image/png";
      element["bufferView"] = builder_.addBufferView(*png);
      images_[i] = builder_.append("images", std::move(element));
    }
    return {};
  }

  /// PNG without the alpha channel where it says nothing: a quarter less to store.
  static Result<std::vector<std::uint8_t>> encodeTexels(const Image& image, std::size_t pixels) {
    if (smallestAlpha(image) < 255) return encodePng(image.rgba, image.width, image.height, 4);
    std::vector<std::uint8_t> rgb(3 * pixels);
    for (std::size_t i = 0; i < pixels; ++i) {
      std::copy_n(image.rgba.begin() + static_cast<std::ptrdiff_t>(4 * i), 3,
                  rgb.begin() + static_cast<std::ptrdiff_t>(3 * i));
    }
    return encodePng(rgb, image.width, image.height, 3);
  }

  void writeTextures() {
    textures_.assign(asset_.textures.size(), -1);
    std::map<std::tuple<int, int, TexelFilter>, int> samplers;
    for (std::size_t i = 0; i < asset_.textures.size(); ++i) {
      const Texture& texture = asset_.textures[i];
      if (!validIndex(texture.image, images_.size())) continue;
      const int image = images_[static_cast<std::size_t>(texture.image)];
      if (image < 0) continue;
      const std::tuple modes{gltfWrap(texture.wrap_u), gltfWrap(texture.wrap_v), texture.filter};
      auto sampler = samplers.find(modes);
      if (sampler == samplers.end()) {
        const bool nearest = texture.filter == TexelFilter::kNearest;
        const int index =
            builder_.append("samplers", {{"magFilter", nearest ? kNearest : kLinear},
                                         {"minFilter", nearest ? kNearest : kLinearMipmapLinear},
                                         {"wrapS", std::get<0>(modes)},
                                         {"wrapT", std::get<1>(modes)}});
        sampler = samplers.emplace(modes, index).first;
      }
      textures_[i] = builder_.append("textures", {{"sampler", sampler->second}, {"source", image}});
    }
  }

  /// True if the document has the texture and the primitive the coordinates for it.
  bool canUse(const TextureUse& use, const Primitive& primitive) const {
    return validIndex(use.texture, textures_.size()) &&
           textures_[static_cast<std::size_t>(use.texture)] >= 0 &&
           validIndex(use.uv_set, primitive.uv_sets.size()) &&
           !primitive.uv_sets[static_cast<std::size_t>(use.uv_set)].empty();
  }

  /// The document's index of a material for `primitive`, written at its first use. A primitive without the
  /// texture coordinates its material asks for gets a twin without the texture, because glTF forbids the
  /// pair.
  std::optional<int> materialFor(const Primitive& primitive) {
    if (!validIndex(primitive.material, asset_.materials.size())) return std::nullopt;
    const Material& material = asset_.materials[static_cast<std::size_t>(primitive.material)];
    const bool textured = canUse(material.base_color, primitive);
    std::vector<bool> slots(kSlotCount);
    for (std::size_t s = 0; s < kSlotCount; ++s)
      slots[s] = canUse(material.slots[s].texture, primitive);
    const std::tuple key{primitive.material, textured, slots};
    if (const auto known = materials_.find(key); known != materials_.end()) return known->second;
    const int index = writeMaterial(material, textured, slots);
    materials_.emplace(key, index);
    return index;
  }

  int writeMaterial(const Material& material, bool textured, const std::vector<bool>& slots) {
    GltfJson element;
    if (!material.name.empty()) element["name"] = material.name;
    GltfJson& pbr = element["pbrMetallicRoughness"] = GltfJson::object();
    if (material.base_color_factor != Vec4f(1, 1, 1, 1)) {
      const Vec4f f = material.base_color_factor.cwiseMax(0.0f).cwiseMin(1.0f);
      pbr["baseColorFactor"] = {f[0], f[1], f[2], f[3]};
    }
    if (textured) pbr["baseColorTexture"] = textureInfo(material.base_color);
    for (std::size_t s = 0; s < kSlotCount; ++s)
      writeSlot(element, kMaterialSlots[s], material.slots[s], slots[s]);
    if (element["pbrMetallicRoughness"].empty()) element.erase("pbrMetallicRoughness");
    if (material.alpha_mode == AlphaMode::kBlend) element["alphaMode"] = "BLEND";
    if (material.alpha_mode == AlphaMode::kMask) {
      element["alphaMode"] = "MASK";
      element["alphaCutoff"] = std::max(material.alpha_cutoff, 0.0f);
    }
    if (material.double_sided) element["doubleSided"] = true;
    return builder_.append("materials", std::move(element));
  }

  /// Whole numbers without a decimal point.
  static GltfJson numberOf(float value) {
    if (value == std::floor(value) && std::abs(value) < 1e6f) return static_cast<int>(value);
    return value;
  }

  void writeSlot(GltfJson& material, const MaterialSlot& slot, const SlotUse& use, bool textured) {
    const bool standard =
        use.factor.head(static_cast<Eigen::Index>(slot.count)).isConstant(slot.standard, 0.0f) &&
        (slot.low.empty() || use.low == slot.standard_low) && use.rotation == 0;
    if (!textured && (standard || slot.factor_in_texture)) return;
    if (!slot.extension.empty()) builder_.useExtension(std::string(slot.extension));
    GltfJson& outer = slot.extension.empty() ? material : material["extensions"][std::string(slot.extension)];
    GltfJson& holder = slot.object.empty() ? outer : outer[std::string(slot.object)];
    if (textured) holder[std::string(slot.texture)] = textureInfo(use.texture);
    if (standard) return;
    Vec3f factor = use.factor;
    // glTF's factors of light end at 1.
    if (const float most = factor.maxCoeff(); !slot.strength.empty() && most > 1) {
      factor /= most;
      builder_.useExtension(std::string(slot.strength_in));
      material["extensions"][std::string(slot.strength_in)][std::string(slot.strength)] = numberOf(most);
    }
    GltfJson& place =
        (slot.factor_in_texture ? holder[std::string(slot.texture)] : holder)[std::string(slot.factor)];
    if (slot.count == 1 || slot.rule == SlotRule::kTangent) {
      place = numberOf(factor[0]);
    } else {
      place = {numberOf(factor[0]), numberOf(factor[1]), numberOf(factor[2])};
    }
    if (!slot.low.empty()) holder[std::string(slot.low)] = numberOf(use.low);
    if (use.rotation != 0) holder[std::string(slot.rotation)] = use.rotation;
  }

  GltfJson textureInfo(const TextureUse& use) {
    GltfJson info;
    info["index"] = textures_[static_cast<std::size_t>(use.texture)];
    if (use.uv_set > 0) info["texCoord"] = use.uv_set;
    GltfJson transform;
    if (use.offset != Vec2f(0, 0)) transform["offset"] = {use.offset.x(), use.offset.y()};
    if (use.rotation != 0) transform["rotation"] = use.rotation;
    if (use.scale != Vec2f(1, 1)) transform["scale"] = {use.scale.x(), use.scale.y()};
    if (!transform.is_null()) {
      builder_.useExtension("KHR_texture_transform");
      info["extensions"]["KHR_texture_transform"] = std::move(transform);
    }
    return info;
  }

  Result<void> writeMeshes() {
    meshes_.assign(asset_.meshes.size(), -1);
    centers_.assign(asset_.meshes.size(), Vec3::Zero());
    // Meshes in one place (the objects of an OBJ file) share a centre: where they touch, positions are
    // rounded alike and stay equal.
    const bool together =
        std::all_of(asset_.instances.begin(), asset_.instances.end(), [](const Instance& instance) {
          return instance.asset_from_mesh.matrix() == Affine3::Identity().matrix();
        });
    for (std::size_t m = 0; m < asset_.meshes.size(); ++m) {
      const Mesh& mesh = asset_.meshes[m];
      if (auto checked = checkMesh(mesh, m); !checked) return checked;
      if (together) {
        centers_[m] = m > 0 ? centers_[0] : storageCenter(asset_.meshes);
      } else {
        centers_[m] = storageCenter({&mesh, 1});
      }
      GltfJson primitives = GltfJson::array();
      for (const Primitive& primitive : mesh.primitives) {
        if (primitive.triangles.empty()) continue;
        primitives.push_back(writePrimitive(primitive, centers_[m]));
      }
      if (primitives.empty()) continue;
      GltfJson element;
      if (!mesh.name.empty()) element["name"] = mesh.name;
      element["primitives"] = std::move(primitives);
      meshes_[m] = builder_.append("meshes", std::move(element));
    }
    return {};
  }

  static Result<void> checkMesh(const Mesh& mesh, std::size_t m) {
    const auto where = [&](std::size_t p) {
      return "mesh " + std::to_string(m) + ", primitive " + std::to_string(p) + ": ";
    };
    for (std::size_t p = 0; p < mesh.primitives.size(); ++p) {
      const Primitive& primitive = mesh.primitives[p];
      const std::size_t count = primitive.positions.size();
      if (primitive.triangles.size() % 3 != 0) return failure(where(p) + "a triangle has three indices");
      for (const std::uint32_t index : primitive.triangles) {
        if (index >= count) return failure(where(p) + "index " + std::to_string(index) + " is out of range");
      }
      for (const Vec3& position : primitive.positions) {
        const bool in_range = position.cwiseAbs().maxCoeff() <= std::numeric_limits<float>::max();
        if (!position.allFinite() || !in_range) {
          return failure(where(p) + "a position is not a finite float");
        }
      }
      const auto fits = [&](std::size_t n) { return n == 0 || n == count; };
      if (!fits(primitive.colors.size())) return failure(where(p) + "colours do not match positions");
      for (const auto& uvs : primitive.uv_sets) {
        if (!fits(uvs.size())) return failure(where(p) + "texture coordinates do not match positions");
      }
    }
    return {};
  }

  static Vec3 storageCenter(std::span<const Mesh> meshes) {
    Eigen::AlignedBox3d box;
    for (const Mesh& mesh : meshes) {
      for (const Primitive& primitive : mesh.primitives) {
        for (const Vec3& position : primitive.positions)
          box.extend(position);
      }
    }
    if (box.isEmpty()) return Vec3::Zero();
    const double reach = std::max(box.min().cwiseAbs().maxCoeff(), box.max().cwiseAbs().maxCoeff());
    return reach > kFarForStorage * box.sizes().maxCoeff() ? Vec3(box.center()) : Vec3(Vec3::Zero());
  }

  /// The normals the primitive has, and ours where it has none.
  std::vector<Vec3f> normalsToWrite(const Primitive& primitive) const {
    const bool complete = primitive.normals.size() == primitive.positions.size();
    const auto usable = [](const Vec3f& n) { return n.allFinite() && !n.isZero(); };
    if (complete && std::all_of(primitive.normals.begin(), primitive.normals.end(), usable))
      return primitive.normals;
    std::vector<Vec3f> normals = shadingNormals(primitive, options_.crease_degrees);
    for (std::size_t i = 0; complete && i < normals.size(); ++i) {
      if (usable(primitive.normals[i])) normals[i] = primitive.normals[i];
    }
    return normals;
  }

  GltfJson writePrimitive(const Primitive& primitive, const Vec3& center) {
    const std::size_t count = primitive.positions.size();
    std::vector<float> values;
    values.reserve(4 * count);
    GltfJson attributes;
    for (const Vec3& position : primitive.positions) {
      const Vec3f stored = (position - center).cast<float>();
      values.insert(values.end(), {stored.x(), stored.y(), stored.z()});
    }
    attributes["POSITION"] = builder_.addFloats(values, 3, true);

    if (options_.normals) {
      values.clear();
      for (const Vec3f& normal : normalsToWrite(primitive)) {
        values.insert(values.end(), {normal.x(), normal.y(), normal.z()});
      }
      attributes["NORMAL"] = builder_.addFloats(values, 3, false);
    }
    // Sets are numbered without gaps in glTF: an absent one below a present one is filled with zeros.
    std::size_t sets = primitive.uv_sets.size();
    while (sets > 0 && primitive.uv_sets[sets - 1].empty())
      --sets;
    for (std::size_t set = 0; set < sets; ++set) {
      values.assign(2 * count, 0.0f);
      for (std::size_t i = 0; i < primitive.uv_sets[set].size(); ++i) {
        values[2 * i] = finiteOrZero(primitive.uv_sets[set][i].x());
        values[2 * i + 1] = finiteOrZero(primitive.uv_sets[set][i].y());
      }
      attributes["TEXCOORD_" + std::to_string(set)] = builder_.addFloats(values, 2, false);
    }
    if (!primitive.colors.empty()) {
      values.clear();
      for (const Vec4f& color : primitive.colors) {
        for (const float channel : color)
          values.push_back(std::clamp(finiteOrZero(channel), 0.0f, 1.0f));
      }
      attributes["COLOR_0"] = builder_.addFloats(values, 4, false);
    }

    GltfJson element;
    element["attributes"] = std::move(attributes);
    element["indices"] = builder_.addIndices(primitive.triangles, count);
    if (const auto material = materialFor(primitive)) element["material"] = *material;
    return element;
  }

  static float finiteOrZero(float value) { return std::isfinite(value) ? value : 0.0f; }

  void writeNodes() {
    GltfJson roots = GltfJson::array();
    for (const Instance& instance : asset_.instances) {
      if (!validIndex(instance.mesh, meshes_.size())) continue;
      const auto m = static_cast<std::size_t>(instance.mesh);
      if (meshes_[m] < 0) continue;
      roots.push_back(writeNode(instance, meshes_[m], centers_[m]));
    }
    if (roots.empty()) return;
    builder_.append("scenes", {{"nodes", std::move(roots)}});
    builder_.root()["scene"] = 0;
  }

  int writeNode(const Instance& instance, int mesh, const Vec3& center) {
    const Affine3 placed = instance.asset_from_mesh * Eigen::Translation3d(center);
    GltfJson node;
    if (!instance.name.empty()) node["name"] = instance.name;
    node["mesh"] = mesh;
    if (isOrthogonal(placed.linear())) {
      setMatrix(node, placed);
      return builder_.append("nodes", std::move(node));
    }
    // linear = U S V^T: the outer node scales along U's axes, the inner one turns by V^T; neither shears.
    const Eigen::JacobiSVD<Mat3> svd(placed.linear(), Eigen::ComputeFullU | Eigen::ComputeFullV);
    Mat3 u = svd.matrixU(), v = svd.matrixV();
    if (v.determinant() < 0) {
      u.col(2) = -u.col(2);
      v.col(2) = -v.col(2);
    }
    Affine3 inner = Affine3::Identity(), outer = Affine3::Identity();
    inner.linear() = v.transpose();
    outer.linear() = u * svd.singularValues().asDiagonal();
    outer.translation() = placed.translation();
    setMatrix(node, inner);
    GltfJson parent;
    setMatrix(parent, outer);
    parent["children"] = GltfJson::array({builder_.append("nodes", std::move(node))});
    return builder_.append("nodes", std::move(parent));
  }

  static bool isOrthogonal(const Mat3& linear) {
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3;
      const double scale = linear.col(a).norm() * linear.col(b).norm();
      if (!(std::abs(linear.col(a).dot(linear.col(b))) <= kOrthogonalCosine * scale)) return false;
    }
    return true;
  }

  static void setMatrix(GltfJson& node, const Affine3& transform) {
    if (transform.matrix() == Affine3::Identity().matrix()) return;
    GltfJson& matrix = node["matrix"];
    for (int column = 0; column < 4; ++column) {
      for (int row = 0; row < 3; ++row)
        matrix.push_back(transform.matrix()(row, column));
      matrix.push_back(column == 3 ? 1.0 : 0.0);
    }
  }

  GlbBuilder& builder_;
  const Asset& asset_;
  const GlbOptions& options_;
  std::vector<int> images_;
  std::vector<int> textures_;
  std::map<std::tuple<int, bool, std::vector<bool>>, int> materials_;
  std::vector<int> meshes_;
  std::vector<Vec3> centers_;
};

}  // namespace

std::vector<Vec3f> shadingNormals(const Primitive& primitive, double crease_degrees) {
  const auto& positions = primitive.positions;
  const auto& triangles = primitive.triangles;
  std::vector<NormalSum> own(positions.size());
  std::vector<Vec3> face_normals(primitive.triangleCount(), Vec3::Zero());
  std::vector<double> angles(triangles.size(), 0.0);
  for (std::size_t f = 0; f < face_normals.size(); ++f) {
    const std::array<std::uint32_t, 3> t = {triangles[3 * f], triangles[3 * f + 1], triangles[3 * f + 2]};
    const Vec3& a = positions[t[0]];
    const Vec3& b = positions[t[1]];
    const Vec3& c = positions[t[2]];
    const Vec3 normal = (b - a).cross(c - a);
    const double length = normal.norm();
    if (!(length > 0)) continue;
    face_normals[f] = normal / length;
    angles[3 * f] = cornerAngle(a, b, c);
    angles[3 * f + 1] = cornerAngle(b, c, a);
    angles[3 * f + 2] = cornerAngle(c, a, b);
    for (std::size_t k = 0; k < 3; ++k)
      own[t[k]].add(face_normals[f], angles[3 * f + k]);
  }

  // Corners at one place, whatever vertex of the file they have there.
  std::uint32_t class_count = 0;
  const std::vector<std::uint32_t> classes = positionClasses(positions, class_count);
  std::vector<std::uint32_t> class_of_corner(triangles.size());
  for (std::size_t i = 0; i < triangles.size(); ++i)
    class_of_corner[i] = classes[triangles[i]];
  const CornersOfVertices around(class_count, class_of_corner);

  const double min_cosine = std::cos(crease_degrees * std::numbers::pi / 180);
  std::vector<Vec3f> normals(positions.size(), Vec3f(0, 1, 0));
  for (std::size_t v = 0; v < positions.size(); ++v) {
    if (own[v].cancelled()) continue;
    const Vec3 mean = own[v].unit(Vec3::UnitY());
    NormalSum sum = own[v];
    for (const std::size_t corner : around[classes[v]]) {
      if (triangles[corner] == v) continue;  // already in `own`, whatever its tilt
      const Vec3& normal = face_normals[corner / 3];
      if (normal.dot(mean) >= min_cosine) sum.add(normal, angles[corner]);
    }
    normals[v] = sum.unit(mean).cast<float>();
  }
  return normals;
}

Result<void> addAsset(GlbBuilder& builder, const Asset& asset, const GlbOptions& options) {
  return AssetWriter(builder, asset, options).write();
}

Result<std::vector<std::uint8_t>> encodeGlb(const Asset& asset, const GlbOptions& options) {
  GlbBuilder builder;
  if (auto added = addAsset(builder, asset, options); !added) return added.error();
  return builder.finish();
}

Result<void> writeGlb(const std::filesystem::path& path, const Asset& asset, const GlbOptions& options) {
  auto glb = encodeGlb(asset, options);
  if (!glb) return glb.error().prefixed(displayPath(path) + ": cannot be written: ");
  return writeFileAtomically(path, *glb);
}

}  // namespace heatskin
