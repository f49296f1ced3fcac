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
    } else if (keyword == "ke") {
      if (MtlMaterial* material = current(keyword))
        material->emissive = threeNumbers(fields, "Ke", double{kMaxFactor}, material->emissive);
    } else if (keyword == "pr" || keyword == "pm") {
      if (MtlMaterial* material = current(keyword))
        share(fields, keyword == "pr" ? "Pr" : "Pm",
              keyword == "pr" ? material->roughness : material->metallic);
    } else {
      for (const auto& [name, map] : kMaps) {
        if (keyword != text::lowerCase(name)) continue;
        if (MtlMaterial* material = current(keyword)) readMap(fields, name, material->*map);
      }
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

  struct Map {
    const char* name;
    std::optional<MtlTexture> MtlMaterial::*map;
  };
  static constexpr Map kMaps[] = {{"map_Kd", &MtlMaterial::diffuse_map},
                                  {"map_Ke", &MtlMaterial::emissive_map},
                                  {"map_Pr", &MtlMaterial::roughness_map},
                                  {"map_Pm", &MtlMaterial::metallic_map},
                                  {"norm", &MtlMaterial::normal_map}};

  void diffuse(Fields fields, MtlMaterial& material) {
    material.diffuse = threeNumbers(fields, "Kd", 1, material.diffuse);
  }

  /// A number in [0, 1].
  void share(Fields fields, const std::string& name, std::optional<float>& out) {
    const std::optional<double> value = text::parseDouble(fields.next());
    if (!value || !std::isfinite(*value)) {
      warn("mtl_statement", name + " needs a number: ignored");
      return;
    }
    if (*value < 0 || *value > 1) warn("mtl_range", name + " outside 0..1: clamped");
    out = static_cast<float>(std::clamp(*value, 0.0, 1.0));
  }

  /// Three numbers in [0, most]; `before` if there are none.
  std::optional<Vec3f> threeNumbers(Fields fields, const std::string& name, double most,
                                    const std::optional<Vec3f>& before) {
    Vec3f color = Vec3f::Zero();
    int count = 0;
    for (; count < 3 && !fields.empty(); ++count) {
      const std::string_view field = fields.next();
      if (field.starts_with('#')) break;
      const std::optional<double> value = text::parseDouble(field);
      if (!value || !std::isfinite(*value)) {
        warn("mtl_statement", name + " needs three numbers, not " + quoteForMessage(field) + ": ignored");
        return before;
      }
      if (*value < 0 || *value > most)
        warn("mtl_range", name + (most == 1 ? " outside 0..1: clamped" : " out of range: clamped"));
      color[count] = static_cast<float>(std::clamp(*value, 0.0, most));
    }
    if (count == 0) {
      warn("mtl_statement", name + " without numbers ignored");
      return before;
    }
    // One number means grey (the format's rule); two are completed the same way.
    for (int i = count; i < 3; ++i)
      color[i] = color[0];
    return color;
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

  void readMap(Fields fields, const std::string& name, std::optional<MtlTexture>& out) {
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
        note(name, option);
      } else if (option == "-clamp") {
        map.clamp = text::lowerCase(ahead.next()) == "on";
        fields = ahead;
      } else if (option == "-mm") {
        ahead.next();
        ahead.next();
        fields = ahead;
        note(name, option);
      } else if (option == "-blendu" || option == "-blendv" || option == "-cc" || option == "-bm" ||
                 option == "-boost" || option == "-imfchan" || option == "-texres" || option == "-type") {
        ahead.next();
        fields = ahead;
        note(name, option);
      } else {
        break;  // a file name may begin with a hyphen
      }
      if (!complete) warn("mtl_statement", option + " of " + name + " without numbers ignored");
    }
    map.file = std::string(fields.rest());
    if (map.file.empty()) {
      warn("mtl_statement", name + " without a file name ignored");
      return;
    }
    out = std::move(map);
  }

  void warn(const char* code, const std::string& message) {
    notices_.add(code, [&] { return name_ + ":" + std::to_string(line_) + ": " + message; });
  }

  void note(const std::string& map, const std::string& option) {
    notices_.add(
        "mtl_option",
        [&] { return name_ + ":" + std::to_string(line_) + ": " + map + " option " + option + " ignored"; },
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

/// The texture of a map statement; -1: it cannot be used.
Result<TextureUse> useOf(const MtlTexture& map, TextureFiles& textures) {
  const Result<int> texture = textures.use(map.file, map.clamp ? Wrap::kClampToEdge : Wrap::kRepeat);
  if (!texture) return texture.error();
  TextureUse use;
  use.texture = *texture;
  // v_up' = s v_up + o with v_up = 1 - v turns into v' = s v + (1 - s - o).
  use.scale = map.scale.cast<float>();
  use.offset =
      Vec2f(static_cast<float>(map.offset.x()), static_cast<float>(1 - map.scale.y() - map.offset.y()));
  return use;
}

/// Slots of physically based materials.
Result<void> readSlots(const MtlMaterial& mtl, TextureFiles& textures, SlotUses& slots) {
  SlotUse &rough = slots[slotOf("roughness")], &metal = slots[slotOf("metallic")];
  if (mtl.roughness) rough.factor.setConstant(*mtl.roughness);
  if (mtl.metallic) metal.factor.setConstant(*mtl.metallic);
  if (mtl.emissive) slots[slotOf("emissive")].factor = *mtl.emissive;
  TextureUse green, blue;
  for (const auto& [map, use] : {std::pair(&mtl.roughness_map, &green), std::pair(&mtl.metallic_map, &blue),
                                 std::pair(&mtl.emissive_map, &slots[slotOf("emissive")].texture),
                                 std::pair(&mtl.normal_map, &slots[slotOf("normal")].texture)}) {
    if (!*map) continue;
    const auto read = useOf(**map, textures);
    if (!read) return read.error();
    *use = *read;
  }
  // glTF has both in one picture, read in one way.
  if (const int both = textures.combine(green.texture, blue.texture); both >= 0) {
    TextureUse shared = green.texture >= 0 ? green : blue;
    shared.texture = both;
    if (green.texture >= 0) rough.texture = shared;
    if (blue.texture >= 0) metal.texture = shared;
    if (green.texture >= 0 && !mtl.roughness) rough.factor.setOnes();
    if (blue.texture >= 0 && !mtl.metallic) metal.factor.setOnes();
  }
  SlotUse& emissive = slots[slotOf("emissive")];
  if (emissive.texture.texture >= 0 && emissive.factor.isZero()) emissive.factor.setOnes();
  return {};
}

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
    const Result<TextureUse> use = useOf(*mtl.diffuse_map, textures);
    if (!use) return use.error();
    material.base_color = *use;
    if (use->texture >= 0 && diffuse.isZero()) {
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
  if (auto slots = readSlots(mtl, textures, material.slots); !slots) return slots.error();
  return material;
}

}  // namespace heatskin
