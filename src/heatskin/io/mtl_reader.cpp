#include "heatskin/io/mtl_reader.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "heatskin/io/color_space.h"
#include "heatskin/io/obj_notices.h"
#include "heatskin/io/obj_text.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

using text::Fields;

/// Parses the lines of one file into materials.
class MtlParser {
 public:
  explicit MtlParser(const std::string& name) : name_(name) {}

  MtlFile parse(std::span<const std::uint8_t> bytes) {
    text::LineReader lines(bytes);
    std::string_view line;
    while (lines.next(line)) {
      line_ = lines.number();
      statement(line);
    }
    notices_.appendTo(file_.notices);
    return std::move(file_);
  }

 private:
  void statement(std::string_view line) {
    Fields fields(line);
    const std::string keyword = text::lowerCase(fields.next());
    if (keyword.empty() || keyword[0] == '#') return;
    if (keyword == "newmtl") {
      begin(fields.rest());
    } else if (keyword == "kd") {
      if (MtlMaterial* material = current(keyword)) diffuse(fields, *material);
    } else if (keyword == "d" || keyword == "tr") {
      if (MtlMaterial* material = current(keyword)) dissolve(fields, keyword == "tr", *material);
    } else if (keyword == "map_kd") {
      if (MtlMaterial* material = current(keyword)) diffuseMap(fields, *material);
    }
  }

  void begin(std::string_view name) {
    has_d_ = false;
    skipping_ = !names_.emplace(name).second;
    if (skipping_) {
      warn("duplicate_material",
           "material " + quoteForMessage(name) + " is defined again: the first definition is used");
      return;
    }
    file_.materials.emplace_back().name = std::string(name);
  }

  /// The block that a statement belongs to, null when there is none.
  MtlMaterial* current(const std::string& keyword) {
    if (skipping_) return nullptr;
    if (file_.materials.empty()) {
      warn("mtl_statement", "'" + keyword + "' before the first newmtl ignored");
      return nullptr;
    }
    return &file_.materials.back();
  }

  void diffuse(Fields fields, MtlMaterial& material) {
    Vec3f color = Vec3f::Zero();
    int count = 0;
    for (; count < 3 && !fields.empty(); ++count) {
      const std::string_view field = fields.next();
      if (field.starts_with('#')) break;
      const std::optional<double> value = text::parseDouble(field);
      if (!value || !std::isfinite(*value)) {
        warn("mtl_statement", "Kd needs three numbers, not " + quoteForMessage(field) + ": ignored");
        return;
      }
      if (*value < 0 || *value > 1) warn("mtl_range", "Kd outside 0..1: clamped");
      color[count] = static_cast<float>(std::clamp(*value, 0.0, 1.0));
    }
    if (count == 0) {
      warn("mtl_statement", "Kd without numbers ignored");
      return;
    }
    // One number means grey (the format's rule); two are completed the same way.
    for (int i = count; i < 3; ++i)
      color[i] = color[0];
    material.diffuse = color;
  }

  void dissolve(Fields fields, bool transparency, MtlMaterial& material) {
    // Some writers give both with the same meaning of one of them; d is the original statement and wins.
    if (transparency && has_d_) return;
    std::string_view field = fields.next();
    if (field == "-halo") field = fields.next();
    const std::optional<double> value = text::parseDouble(field);
    if (!value || !std::isfinite(*value)) {
      warn("mtl_statement", std::string(transparency ? "Tr" : "d") + " needs a number: ignored");
      return;
    }
    const double opaque = std::clamp(*value, 0.0, 1.0);
    material.dissolve = static_cast<float>(transparency ? 1 - opaque : opaque);
    has_d_ = has_d_ || !transparency;
  }

  /// One to three numbers of -s, -o or -t; the last field of a line is the file's name even when it is a
  /// number.
  static Vec2 components(Fields& fields, Vec2 value, bool& complete) {
    complete = false;
    for (int i = 0; i < 3; ++i) {
      Fields ahead = fields;
      const std::optional<double> number = text::parseDouble(ahead.next());
      if (!number || ahead.empty()) break;
      if (i < 2 && std::isfinite(*number)) value[i] = *number;
      complete = true;
      fields = ahead;
    }
    return value;
  }

  void diffuseMap(Fields fields, MtlMaterial& material) {
    MtlTexture map;
    while (true) {
      Fields ahead = fields;
      const std::string option = text::lowerCase(ahead.next());
      if (option.size() < 2 || option[0] != '-' || ahead.empty()) break;
      bool complete = true;
      if (option == "-s") {
        fields = ahead;
        map.scale = components(fields, map.scale, complete);
      } else if (option == "-o") {
        fields = ahead;
        map.offset = components(fields, map.offset, complete);
      } else if (option == "-t") {
        fields = ahead;
        components(fields, {0, 0}, complete);
        note(option);
      } else if (option == "-clamp") {
        map.clamp = text::lowerCase(ahead.next()) == "on";
        fields = ahead;
      } else if (option == "-mm") {
        ahead.next();
        ahead.next();
        fields = ahead;
        note(option);
      } else if (option == "-blendu" || option == "-blendv" || option == "-cc" || option == "-bm" ||
                 option == "-boost" || option == "-imfchan" || option == "-texres" || option == "-type") {
        ahead.next();
        fields = ahead;
        note(option);
      } else {
        break;  // a file name may begin with a hyphen
      }
      if (!complete) warn("mtl_statement", option + " of map_Kd without numbers ignored");
    }
    map.file = std::string(fields.rest());
    if (map.file.empty()) {
      warn("mtl_statement", "map_Kd without a file name ignored");
      return;
    }
    material.diffuse_map = std::move(map);
  }

  void warn(const char* code, const std::string& message) {
    notices_.add(code, [&] { return name_ + ":" + std::to_string(line_) + ": " + message; });
  }

  void note(const std::string& option) {
    notices_.add(
        "mtl_option",
        [&] { return name_ + ":" + std::to_string(line_) + ": map_Kd option " + option + " ignored"; },
        false);
  }

  const std::string& name_;
  MtlFile file_;
  NoticeCounter notices_;
  std::unordered_set<std::string> names_;
  std::size_t line_ = 0;
  bool skipping_ = false;
  bool has_d_ = false;
};

}  // namespace

MtlFile parseMtl(std::span<const std::uint8_t> bytes, const std::string& name) {
  return MtlParser(name).parse(bytes);
}

Result<Material> materialFromMtl(const MtlMaterial& mtl, TextureFiles& textures,
                                 std::vector<Notice>& notices) {
  Material material;
  material.name = repairUtf8(mtl.name);
  Vec3f diffuse = mtl.diffuse.value_or(Vec3f::Ones());
  if (mtl.diffuse_map) {
    const MtlTexture& map = *mtl.diffuse_map;
    const Result<int> texture = textures.use(map.file, map.clamp ? Wrap::kClampToEdge : Wrap::kRepeat);
    if (!texture) return texture.error();
    material.base_color.texture = *texture;
    // v_up' = s v_up + o with v_up = 1 - v turns into v' = s v + (1 - s - o).
    material.base_color.scale = map.scale.cast<float>();
    material.base_color.offset =
        Vec2f(static_cast<float>(map.offset.x()), static_cast<float>(1 - map.scale.y() - map.offset.y()));
    if (*texture >= 0 && diffuse.isZero()) {
      notices.push_back({"black_diffuse", "material " + quoteForMessage(mtl.name) +
                                              " has a texture and Kd 0 0 0, which would make it black: Kd "
                                              "taken as white"});
      diffuse = Vec3f::Ones();
    }
  }
  for (int i = 0; i < 3; ++i)
    material.base_color_factor[i] = linearFromSrgb(diffuse[i]);
  material.base_color_factor[3] = mtl.dissolve;
  if (mtl.dissolve < 1) material.alpha_mode = AlphaMode::kBlend;
  return material;
}

}  // namespace heatskin
