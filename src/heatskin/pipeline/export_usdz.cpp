#include "heatskin/pipeline/export_usdz.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "heatskin/io/asset.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/io/image.h"
#include "heatskin/pipeline/zip_archive.h"
#include "heatskin/product/file_contents.h"

namespace heatskin {
namespace {

constexpr std::size_t kUsdzAlignment = 64;

/// Names of prims are identifiers.
std::string identifier(std::string_view name, std::string_view otherwise, std::set<std::string>& taken) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    out += letter || (c >= '0' && c <= '9') ? c : '_';
  }
  if (out.find_first_not_of('_') == std::string::npos) out = otherwise;
  if (out[0] >= '0' && out[0] <= '9') out = "_" + out;
  std::string unique = out;
  for (int i = 1; !taken.insert(unique).second; ++i)
    unique = fmt::format("{}_{}", out, i);
  return unique;
}

template <class Vector>
std::string usdTuple(const Vector& v) {
  std::string text = "(";
  for (Eigen::Index c = 0; c < v.size(); ++c)
    text += fmt::format("{}{:.7g}", c == 0 ? "" : ", ", v[c]);
  return text + ")";
}

/// The layer's text, and the images it names.
class UsdWriter {
 public:
  explicit UsdWriter(const Asset& asset) : asset_(asset) {}

  std::string layer() {
    text_ =
        "#usda 1.0\n(\n    defaultPrim = \"Root\"\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n\n"
        "def Xform \"Root\" (\n    kind = \"component\"\n)\n{\n";
    // Materials and objects are children of the root, so that everything comes along where others refer to
    // it.
    std::set<std::string> taken;
    for (const Instance& instance : asset_.instances) {
      // In the order of their use: three.js gives the root the first mesh and the first material once more.
      for (const Primitive& primitive : asset_.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
        const int m = primitive.material;
        if (m < 0 || materials_.contains(m)) continue;
        const Material& used = asset_.materials[static_cast<std::size_t>(m)];
        materials_[m] = identifier(used.name, fmt::format("Material_{}", m), taken);
        material(used, materials_[m]);
      }
    }
    for (const Instance& instance : asset_.instances) {
      const Mesh& mesh = asset_.meshes[static_cast<std::size_t>(instance.mesh)];
      for (const Primitive& part : mesh.primitives)
        primitive(part, instance.asset_from_mesh,
                  identifier(instance.name.empty() ? mesh.name : instance.name, "Object", taken));
    }
    text_ += "}\n";
    return std::move(text_);
  }

  /// By their names in the archive.
  const std::map<int, std::string>& images() const { return images_; }
  std::size_t materialCount() const { return materials_.size(); }
  std::size_t meshCount() const { return meshes_; }

 private:
  /// Writes a texture node of the material `path`, called after it and `name`: three.js looks for names in
  /// the whole file. False if the use has no image.
  bool textureNode(const std::string& path, const char* name, const TextureUse& use, bool srgb,
                   const std::string& scale, const std::string& bias) {
    if (use.texture < 0) return false;
    const Texture& texture = asset_.textures[static_cast<std::size_t>(use.texture)];
    if (texture.image < 0) return false;
    const auto [file, is_new] = images_.try_emplace(texture.image);
    if (is_new) file->second = fmt::format("textures/image_{}.png", texture.image);
    const auto wrap = [](Wrap mode) {
      return mode == Wrap::kRepeat ? "repeat" : mode == Wrap::kClampToEdge ? "clamp" : "mirror";
    };
    text_ += fmt::format(
        "\n            def Shader \"{0}\"\n            {{\n                uniform token info:id = "
        "\"UsdUVTexture\"\n"
        "                asset inputs:file = @{1}@\n                token inputs:sourceColorSpace = \"{2}\"\n"
        "                float2 inputs:st.connect = <{3}/st_{4}.outputs:result>\n"
        "                token inputs:wrapS = \"{5}\"\n                token inputs:wrapT = \"{6}\"\n",
        nodeName(path, name), file->second, srgb ? "sRGB" : "raw", path, use.uv_set, wrap(texture.wrap_u),
        wrap(texture.wrap_v));
    if (!scale.empty()) text_ += fmt::format("                float4 inputs:scale = {}\n", scale);
    if (!bias.empty()) text_ += fmt::format("                float4 inputs:bias = {}\n", bias);
    text_ +=
        "                float outputs:r\n                float outputs:g\n                float outputs:b\n"
        "                float outputs:a\n                float3 outputs:rgb\n            }\n";
    sets_.insert(use.uv_set);
    return true;
  }

  void material(const Material& material, const std::string& name) {
    const std::string path = "/Root/" + name;
    sets_.clear();
    std::string inputs;
    text_ += fmt::format(
        "        def Material \"{}\"\n        {{\n            token outputs:surface.connect = "
        "<{}/Surface.outputs:surface>\n",
        name, path);
    const auto connect = [&](const char* type, const char* input, const char* node, const char* output) {
      inputs += fmt::format("                {} inputs:{}.connect = <{}/{}.outputs:{}>\n", type, input, path,
                            nodeName(path, node), output);
    };
    const auto plain = [&](const char* type, const char* input, const std::string& value) {
      inputs += fmt::format("                {} inputs:{} = {}\n", type, input, value);
    };
    const Vec4f& factor = material.base_color_factor;
    const bool transparent = material.alpha_mode != AlphaMode::kOpaque;
    const bool white = factor.head<3>().isOnes() && (!transparent || factor.w() == 1);
    if (textureNode(path, "Diffuse", material.base_color, true, white ? "" : usdTuple(factor), "")) {
      connect("color3f", "diffuseColor", "Diffuse", "rgb");
      if (transparent) connect("float", "opacity", "Diffuse", "a");
    } else {
      plain("color3f", "diffuseColor", usdTuple(Vec3f(factor.head<3>())));
      if (transparent) plain("float", "opacity", fmt::format("{:.7g}", factor.w()));
    }
    if (material.alpha_mode == AlphaMode::kMask)
      plain("float", "opacityThreshold", fmt::format("{:.7g}", material.alpha_cutoff));
    const auto scalar = [&](const char* channel, const char* input, const char* node, const char* output) {
      const SlotUse& use = material.slots[slotOf(channel)];
      const float f = use.factor[0];
      // Occlusion is 1 + f (t - 1).
      const bool occlusion = std::string_view(channel) == "occlusion";
      const std::string scale = f == 1 ? "" : usdTuple(Vec4f(f, f, f, 1));
      const std::string bias = occlusion && f != 1 ? usdTuple(Vec4f(1 - f, 1 - f, 1 - f, 0)) : "";
      if (textureNode(path, node, use.texture, false, scale, bias)) {
        connect("float", input, node, output);
      } else if (!occlusion) {
        plain("float", input, fmt::format("{:.7g}", f));
      }
    };
    scalar("metallic", "metallic", "Metallic", "b");
    scalar("roughness", "roughness", "Roughness", "g");
    scalar("occlusion", "occlusion", "Occlusion", "r");
    scalar("clearcoat", "clearcoat", "Clearcoat", "r");
    scalar("clearcoat_roughness", "clearcoatRoughness", "ClearcoatRoughness", "g");
    const SlotUse& emissive = material.slots[slotOf("emissive")];
    const Vec4f glow(emissive.factor[0], emissive.factor[1], emissive.factor[2], 1);
    if (textureNode(path, "Emissive", emissive.texture, true, glow.isOnes() ? "" : usdTuple(glow), "")) {
      connect("color3f", "emissiveColor", "Emissive", "rgb");
    } else if (!emissive.factor.isZero()) {
      plain("color3f", "emissiveColor", usdTuple(emissive.factor));
    }
    const SlotUse& normal = material.slots[slotOf("normal")];
    const float tilt = normal.factor[0];
    if (textureNode(path, "Normal", normal.texture, false, usdTuple(Vec4f(2 * tilt, 2 * tilt, 2, 1)),
                    usdTuple(Vec4f(-tilt, -tilt, -1, 0))))
      connect("normal3f", "normal", "Normal", "rgb");
    text_ += fmt::format(
        "\n            def Shader \"Surface\"\n            {{\n                uniform token info:id = "
        "\"UsdPreviewSurface\"\n{}                token outputs:surface\n            }}\n",
        inputs);
    for (const int set : sets_) {
      text_ += fmt::format(
          "\n            def Shader \"st_{0}\"\n            {{\n                uniform token info:id = "
          "\"UsdPrimvarReader_float2\"\n                string inputs:varname = \"{1}\"\n"
          "                float2 outputs:result\n            }}\n",
          set, primvar(set));
    }
    text_ += "        }\n";
  }

  static std::string nodeName(const std::string& path, const char* name) {
    return fmt::format("{}_{}", path.substr(path.rfind('/') + 1), name);
  }

  static std::string primvar(int set) { return set == 0 ? "st" : fmt::format("st{}", set); }

  template <class Range, class Text>
  void array(const std::string& declaration, const Range& values, const Text& of, const char* metadata = "") {
    text_ += fmt::format("            {} = [", declaration);
    bool first = true;
    for (const auto& value : values) {
      if (!first) text_ += ", ";
      first = false;
      text_ += of(value);
    }
    text_ += fmt::format("]{}\n", metadata);
  }

  /// An object of its own with points in place: of several meshes in one object three.js sees the first, and
  /// of transforms only those of objects. For it the material is the object's, too, from which meshes have
  /// it.
  void primitive(const Primitive& primitive, const Affine3& place, const std::string& name) {
    constexpr const char* kVertex = " (\n                interpolation = \"vertex\"\n            )";
    const auto material = materials_.find(primitive.material);
    text_ += fmt::format("\n    def Xform \"{}\"{}\n    {{\n", name,
                         material == materials_.end()
                             ? ""
                             : " (\n        prepend apiSchemas = [\"MaterialBindingAPI\"]\n    )");
    if (material != materials_.end())
      text_ += fmt::format("        rel material:binding = </Root/{}>\n\n", material->second);
    text_ += "        def Mesh \"Mesh\"\n        {\n";
    ++meshes_;
    std::vector<Vec3> points;
    for (const Vec3& p : primitive.positions)
      points.push_back(place * p);
    // Cofactors turn normals, whatever the scale; a transform may be flat.
    const Eigen::Matrix3d linear = place.linear();
    Eigen::Matrix3d cofactors;
    for (int c = 0; c < 3; ++c)
      cofactors.col(c) = linear.col((c + 1) % 3).cross(linear.col((c + 2) % 3));
    const bool mirrors = linear.determinant() < 0;
    std::vector<Vec3f> normals;
    for (const Vec3f& n : primitive.normals) {
      const Vec3 turned = (mirrors ? -1 : 1) * (cofactors * n.cast<double>());
      normals.push_back((turned.norm() > 0 ? turned.normalized() : turned).cast<float>());
    }
    std::vector<std::uint32_t> triangles = primitive.triangles;
    for (std::size_t t = 0; mirrors && t < triangles.size(); t += 3)
      std::swap(triangles[t + 1], triangles[t + 2]);
    Vec3 low = points.front(), high = low;
    for (const Vec3& p : points) {
      low = low.cwiseMin(p);
      high = high.cwiseMax(p);
    }
    const bool two_sided = primitive.material >= 0 &&
                           asset_.materials[static_cast<std::size_t>(primitive.material)].double_sided;
    text_ +=
        fmt::format("            uniform bool doubleSided = {}\n            float3[] extent = [{}, {}]\n",
                    two_sided ? 1 : 0, usdTuple(low), usdTuple(high));
    text_ += "            uniform token subdivisionScheme = \"none\"\n";
    array("int[] faceVertexCounts", std::vector<int>(primitive.triangleCount(), 3),
          [](int n) { return std::to_string(n); });
    array("int[] faceVertexIndices", triangles, [](std::uint32_t v) { return std::to_string(v); });
    array("point3f[] points", points, [](const Vec3& p) { return usdTuple(p); });
    if (normals.size() == points.size())
      array(
          "normal3f[] normals", normals, [](const Vec3f& n) { return usdTuple(n); }, kVertex);
    for (std::size_t set = 0; set < primitive.uv_sets.size(); ++set) {
      if (primitive.uv_sets[set].empty()) continue;
      // Upwards, from the lower left corner.
      array(
          fmt::format("texCoord2f[] primvars:{}", primvar(static_cast<int>(set))), primitive.uv_sets[set],
          [](const Vec2f& uv) { return usdTuple(Vec2f(uv.x(), 1 - uv.y())); }, kVertex);
    }
    if (!primitive.colors.empty()) {
      array(
          "color3f[] primvars:displayColor", primitive.colors,
          [](const Vec4f& c) { return usdTuple(Vec3f(c.head<3>())); }, kVertex);
    }
    text_ += "        }\n    }\n";
  }

  const Asset& asset_;
  std::string text_;
  std::map<int, std::string> materials_, images_;
  std::set<int> sets_;
  std::size_t meshes_ = 0;
};

std::uint32_t numberAt(std::span<const std::uint8_t> bytes, std::size_t at, int size) {
  std::uint32_t value = 0;
  for (int i = size; i-- > 0;)
    value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}

}  // namespace

Result<UsdzOutcome> encodeUsdz(std::span<const std::uint8_t> baked_glb) {
  auto asset = readGltfBytes(baked_glb, "baked.glb");
  if (!asset) return failure(asset.error().message);
  UsdzOutcome out;
  if (const auto contents = contentsOf(*asset); contents) {
    std::string left;
    for (const char* word : {"animations", "skins", "cameras", "KHR_lights_punctual", "morph_targets"}) {
      if (contents->contains(word)) left += (left.empty() ? "" : ", ") + std::string(word);
    }
    if (!left.empty())
      out.notices.push_back({"left_out", fmt::format("left out of the USDZ file: {}", left)});
  }
  UsdWriter writer(*asset);
  const std::string layer = writer.layer();
  ZipArchive archive(kUsdzAlignment);
  archive.addStored("model.usda", {reinterpret_cast<const std::uint8_t*>(layer.data()), layer.size()});
  for (const auto& [number, name] : writer.images()) {
    const Image& image = *asset->images[static_cast<std::size_t>(number)];
    const bool opaque = smallestAlpha(image) == 255;
    std::vector<std::uint8_t> pixels;
    if (opaque) {
      for (std::size_t i = 0; i < image.rgba.size(); ++i) {
        if (i % 4 != 3) pixels.push_back(image.rgba[i]);
      }
    }
    const auto png = encodePng(opaque ? pixels : image.rgba, image.width, image.height, opaque ? 3 : 4);
    if (!png) return png.error();
    archive.addStored(name, *png);
  }
  out.bytes = archive.bytes();
  out.meshes = writer.meshCount();
  out.materials = writer.materialCount();
  out.images = writer.images().size();
  if (std::string wrong = checkUsdz(out.bytes); !wrong.empty())
    return failure("the USDZ file is wrong: " + wrong);
  return out;
}

std::string checkUsdz(std::span<const std::uint8_t> bytes) {
  std::set<std::string> names;
  std::string layer;
  std::size_t at = 0;
  for (; at + 30 <= bytes.size() && numberAt(bytes, at, 4) == 0x04034b50;) {
    const std::size_t name_size = numberAt(bytes, at + 26, 2), extra = numberAt(bytes, at + 28, 2);
    const std::size_t data = at + 30 + name_size + extra, size = numberAt(bytes, at + 18, 4);
    if (data + size > bytes.size()) return "an entry reaches beyond the end";
    const std::string name(reinterpret_cast<const char*>(bytes.data()) + at + 30, name_size);
    if (numberAt(bytes, at + 8, 2) != 0) return name + " is compressed";
    if (numberAt(bytes, at + 6, 2) != 0) return name + " is encrypted or of unknown size";
    if (data % kUsdzAlignment != 0) return name + " does not begin at a multiple of 64 bytes";
    const std::string ending = name.substr(std::min(name.rfind('.'), name.size()));
    const bool is_layer = ending == ".usda" || ending == ".usdc" || ending == ".usd";
    if (names.empty() && !is_layer) return "the first entry is no layer";
    if (!is_layer && ending != ".png" && ending != ".jpg" && ending != ".jpeg") return name + " is no image";
    if (names.empty()) layer.assign(reinterpret_cast<const char*>(bytes.data()) + data, size);
    if (!names.insert(name).second) return name + " is there twice";
    at = data + size;
  }
  if (names.empty()) return "there is no entry";
  if (at + 4 > bytes.size() || numberAt(bytes, at, 4) != 0x02014b50) return "there is no directory";
  if (!layer.starts_with("#usda 1.0\n")) return "the layer is no text layer";
  int depth = 0;
  for (const char c : layer)
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
  if (depth != 0) return "braces of the layer do not match";
  for (std::size_t open = layer.find('@'); open != std::string::npos;) {
    const std::size_t close = layer.find('@', open + 1);
    if (close == std::string::npos) return "a file name of the layer does not end";
    const std::string name = layer.substr(open + 1, close - open - 1);
    if (!names.contains(name)) return "the layer names " + name + ", which is not there";
    open = layer.find('@', close + 1);
  }
  return {};
}

}  // namespace heatskin
