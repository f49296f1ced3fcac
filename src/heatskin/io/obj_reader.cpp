#include "heatskin/io/obj_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/mtl_reader.h"
#include "heatskin/io/obj_notices.h"
#include "heatskin/io/obj_text.h"
#include "heatskin/io/polygon_soup.h"
#include "heatskin/io/reference.h"
#include "heatskin/io/texture_file.h"

namespace heatskin {
namespace {

using text::Fields;

constexpr std::size_t kMaxMtlBytes = std::size_t{64} << 20;

/// Statements whose geometry we leave out: elements other than faces, and free-form curves and surfaces.
constexpr std::array<std::string_view, 24> kSkipped = {
    "l",    "p",    "vp", "cstype", "deg", "bmat", "step",  "curv",  "curv2", "surf", "parm", "trim",
    "hole", "scrv", "sp", "end",    "con", "mg",   "ctech", "stech", "call",  "csh",  "bsp",  "bzp"};

/// Statements that say nothing about shape or base colour.
constexpr std::array<std::string_view, 11> kSilent = {
    "s", "bevel", "lod", "c_interp", "d_interp", "shadow_obj", "trace_obj", "usemap", "maplib", "cdc", "res"};

/// Objects and groups that become meshes of their own; a file with more is one mesh. Names are cut.
constexpr std::size_t kMostParts = 4096, kMostNameBytes = 256;

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// One reference of a face corner, before it is known how many of its kind there are.
enum class Kind { kVertex, kUv, kNormal };

constexpr const char* nameOf(Kind kind) {
  return kind == Kind::kVertex ? "vertex" : kind == Kind::kUv ? "vt" : "vn";
}

class ObjParser {
 public:
  ObjParser(const std::filesystem::path& path, const LoadOptions& options)
      : file_(displayPath(path)), options_(options) {
    asset_.path = path;
    asset_.format = "obj";
  }

  Result<Asset> parse(std::span<const std::uint8_t> bytes) {
    if (const void* nul = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size())) {
      const auto offset = static_cast<std::size_t>(static_cast<const std::uint8_t*>(nul) - bytes.data());
      line_ = text::lineOfOffset(bytes, offset);
      return refuse("NUL byte: not an OBJ text file (or a damaged one)");
    }
    text::LineReader lines(bytes);
    std::string_view line;
    while (lines.next(line)) {
      line_ = lines.number();
      if (Result<void> done = statement(line); !done) return done.error();
    }
    if (lines.lonelyCarriageReturns() > 0) {
      asset_.notices.push_back({"cr_line_ends", "lines end with CR only (old Mac text): read as line ends",
                                lines.lonelyCarriageReturns()});
    }
    notices_.appendTo(asset_.notices);
    return finish();
  }

 private:
  Error refuse(const std::string& what) const {
    return inputError(file_ + ":" + std::to_string(line_) + ": " + what);
  }

  std::string here(const std::string& what) const { return "line " + std::to_string(line_) + ": " + what; }

  Result<void> statement(std::string_view line) {
    Fields fields(line);
    const std::string_view keyword = fields.next();
    if (keyword.empty() || keyword[0] == '#') return {};
    if (keyword == "v") return vertex(fields);
    if (keyword == "vt") return textureVertex(fields);
    if (keyword == "f" || keyword == "fo") return face(fields);
    if (keyword == "vn") {
      normal(fields);
      return {};
    }
    if (keyword == "usemtl") {
      useMaterial(fields.rest());
    } else if (keyword == "mtllib") {
      libraries_.emplace_back(fields.rest());
    } else if (keyword == "o" || keyword == "g") {
      beginPart(keyword == "o", fields.rest());
    } else if (contains(kSkipped, keyword)) {
      notices_.add("skipped_elements", [&] {
        return here("'" + std::string(keyword) +
                    "': only faces are read; lines, points, curves and surfaces are skipped");
      });
    } else if (!contains(kSilent, keyword)) {
      notices_.add("unknown_statement",
                   [&] { return here("unknown statement " + quoteForMessage(keyword) + " skipped"); });
    }
    return {};
  }

  /// Up to 8 numbers of a v or vt line; the count, or what is wrong.
  Result<int> numbers(Fields& fields, const char* what, std::array<double, 8>& values) {
    int count = 0;
    while (!fields.empty()) {
      const std::string_view field = fields.next();
      if (field[0] == '#') break;
      if (count == static_cast<int>(values.size()))
        return refuse(std::string(what) + " has too many numbers");
      const std::optional<double> value = text::parseDouble(field);
      if (!value) return refuse(quoteForMessage(field) + " is not a number");
      values[static_cast<std::size_t>(count++)] = *value;
    }
    return count;
  }

  Result<void> vertex(Fields& fields) {
    std::array<double, 8> x{};
    const Result<int> count = numbers(fields, "vertex", x);
    if (!count) return count.error();
    if (*count < 3) return refuse("vertex needs three coordinates, found " + std::to_string(*count));
    if (*count == 5 || *count > 7) {
      return refuse("vertex has " + std::to_string(*count) +
                    " numbers; 3 or 4 coordinates, or 3 and a colour (r g b, r g b a) are known");
    }
    if (!std::isfinite(x[0]) || !std::isfinite(x[1]) || !std::isfinite(x[2])) {
      return refuse("vertex coordinate is not a finite number");
    }
    if (soup_.positions.size() >= options_.max_vertices) return refuse("too many vertices");
    soup_.positions.push_back({x[0], x[1], x[2]});
    if (*count >= 6) {
      soup_.colors.resize(soup_.positions.size() - 1, Vec4f::Ones());
      Vec4f color = Vec4f::Ones();
      for (int i = 0; i < *count - 3; ++i) {
        const double c = x[static_cast<std::size_t>(i) + 3];
        if (!std::isfinite(c)) {
          notices_.add("bad_color", [&] { return here("vertex colour is not a finite number: white used"); });
          continue;
        }
        color[i] = static_cast<float>(std::clamp(c, 0.0, 255.0));
      }
      brightest_ = std::max(brightest_, color.maxCoeff());
      soup_.colors.push_back(color);
      ++colored_;
    }
    return {};
  }

  Result<void> textureVertex(Fields& fields) {
    std::array<double, 8> x{};
    const Result<int> count = numbers(fields, "texture coordinate", x);
    if (!count) return count.error();
    if (*count < 1 || *count > 3) {
      return refuse("texture coordinate needs one to three numbers, found " + std::to_string(*count));
    }
    // Asset texture coordinates have v pointing down; the flip is done in double, so that METHOD's
    // (1 - v)(H - 1) and our v (H - 1) are the same number inside and outside [0, 1].
    Vec2f uv(static_cast<float>(x[0]), static_cast<float>(1 - x[1]));
    if (!uv.allFinite()) {
      notices_.add("bad_uv", [&] { return here("texture coordinate is not a finite number: 0 used"); });
      uv = Vec2f(0, 1);
    }
    soup_.uvs.push_back(uv);
    return {};
  }

  /// What is wrong with a normal is worth a warning, not a refusal: the shape is there without it.
  void normal(Fields& fields) {
    Vec3 direction = Vec3::Zero();
    bool complete = true;
    for (int i = 0; i < 3; ++i) {
      const std::optional<double> value = fields.empty() ? std::nullopt : text::parseDouble(fields.next());
      complete = complete && value.has_value();
      direction[i] = value.value_or(0);
    }
    const double length = direction.norm();
    const bool usable = complete && std::isfinite(length) && length > 0;
    if (!usable) {
      notices_.add("bad_normal", [&] { return here("normal has no direction: faces are flat there"); });
    }
    soup_.normals.push_back(usable ? Vec3f((direction / length).cast<float>()) : Vec3f(Vec3f::Zero()));
  }

  /// Index from 0 of a reference from 1 (or relative, if negative).
  Result<std::uint32_t> resolve(std::string_view field, Kind kind, std::size_t so_far) {
    std::int64_t index = 0;
    const text::IntegerStatus status = text::parseInteger(field, index);
    if (status != text::IntegerStatus::kOk) {
      return refuse("bad " + std::string(nameOf(kind)) + " index " + quoteForMessage(field));
    }
    if (index == 0) return refuse(std::string(nameOf(kind)) + " index 0: OBJ indices start at 1");
    if (index > 0) {
      // Forward references are legal, so the end of the range is checked when the file has been read.
      constexpr std::int64_t kMaxIndex = std::numeric_limits<std::uint32_t>::max() - 1;
      if (index <= kMaxIndex) return static_cast<std::uint32_t>(index - 1);
      return refuse(std::string(nameOf(kind)) + " index " + std::to_string(index) + " out of range");
    }
    if (index < -static_cast<std::int64_t>(so_far)) {
      return refuse(std::string(nameOf(kind)) + " index " + std::string(field) + " out of range (" +
                    std::to_string(so_far) + " so far)");
    }
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(so_far) + index);
  }

  Result<void> face(Fields& fields) {
    const std::size_t first = soup_.corner_position.size();
    while (!fields.empty()) {
      std::string_view field = fields.next();
      if (field[0] == '#') break;
      const std::string_view corner = field;
      const auto part = [&] {
        const std::size_t slash = std::min(field.find('/'), field.size());
        const std::string_view value = field.substr(0, slash);
        field.remove_prefix(std::min(slash + 1, field.size()));
        return value;
      };
      const std::string_view v = part(), vt = part(), vn = part();
      if (!field.empty()) return refuse("bad face corner " + quoteForMessage(corner));
      const Result<std::uint32_t> position = resolve(v, Kind::kVertex, soup_.positions.size());
      if (!position) return position.error();
      std::uint32_t uv = PolygonSoup::kNoUv;
      if (!vt.empty()) {
        const Result<std::uint32_t> resolved = resolve(vt, Kind::kUv, soup_.uvs.size());
        if (!resolved) return resolved.error();
        uv = *resolved;
      }
      soup_.corner_position.push_back(*position);
      soup_.corner_uv.push_back(uv);
      soup_.corner_normal.push_back(vn.empty() ? PolygonSoup::kNoNormal : normalReference(vn));
    }
    const std::size_t corners = soup_.corner_position.size() - first;
    if (corners < 3) {
      notices_.add("short_faces", [&] {
        return here("face with " + std::to_string(corners) + (corners == 1 ? " corner" : " corners") +
                    " skipped");
      });
      soup_.corner_position.resize(first);
      soup_.corner_uv.resize(first);
      soup_.corner_normal.resize(first);
      return {};
    }
    soup_.faces.push_back({static_cast<std::uint32_t>(first), material_, part()});
    face_lines_.push_back(
        static_cast<std::uint32_t>(std::min<std::size_t>(line_, std::numeric_limits<std::uint32_t>::max())));
    if (soup_.corner_position.size() - 2 * soup_.faces.size() > options_.max_triangles) {
      return refuse("too many triangles, the limit is " + std::to_string(options_.max_triangles));
    }
    return {};
  }

  /// Index from 0 of a normal, which may be defined later; kNoNormal, with a warning, for what is none.
  std::uint32_t normalReference(std::string_view field) {
    std::int64_t index = 0;
    const bool number = text::parseInteger(field, index) == text::IntegerStatus::kOk;
    const auto so_far = static_cast<std::int64_t>(soup_.normals.size());
    constexpr std::int64_t kMaxIndex = std::numeric_limits<std::uint32_t>::max() - 1;
    if (!number || index == 0 || index < -so_far || index > kMaxIndex) {
      notices_.add("bad_normal", [&] { return here("bad vn index " + quoteForMessage(field) + " ignored"); });
      return PolygonSoup::kNoNormal;
    }
    if (index > max_normal_) {
      max_normal_ = index;
      max_normal_line_ = line_;
    }
    return static_cast<std::uint32_t>(index > 0 ? index - 1 : so_far + index);
  }

  void useMaterial(std::string_view name) {
    if (name.empty()) {
      material_ = -1;
      return;
    }
    const auto [entry, added] =
        material_ids_.try_emplace(std::string(name), static_cast<int>(material_names_.size()));
    if (added) material_names_.emplace_back(name);
    material_ = entry->second;
  }

  /// From here on faces belong to an object, or to a group of the present object.
  void beginPart(bool object, std::string_view name) {
    const std::string readable = repairUtf8(std::string(name.substr(0, kMostNameBytes)));
    (object ? object_ : group_) = readable;
    if (object) group_.clear();
    part_known_ = false;
  }

  /// The number of the part that a face belongs to.
  std::uint32_t part() {
    if (part_known_) return part_;
    std::string name = object_;
    if (!group_.empty() && group_ != object_) name += (name.empty() ? "" : "/") + group_;
    const auto [entry, added] = part_ids_.try_emplace(name, static_cast<std::uint32_t>(part_ids_.size()));
    if (added && soup_.parts.size() <= kMostParts) soup_.parts.push_back(name);
    part_ = entry->second;
    part_known_ = true;
    return part_;
  }

  /// One part without a name is none; too many are none, too.
  void finishParts() {
    const bool nameless = soup_.parts.size() == 1 && soup_.parts[0].empty();
    if (soup_.parts.size() <= kMostParts && !nameless) return;
    if (!nameless) {
      asset_.notices.push_back(
          {"many_groups", std::to_string(part_ids_.size()) + " objects and groups: their names are not kept",
           part_ids_.size(), false});
    }
    soup_.parts.clear();
    for (PolygonSoup::Face& face : soup_.faces)
      face.part = 0;
  }

  /// Forward references resolved, colours converted, materials loaded.
  Result<Asset> finish() {
    if (soup_.faces.empty()) return inputError(file_ + ": no triangles in file: it has no faces");
    if (Result<void> checked = checkReferences(); !checked) return checked.error();
    if (std::all_of(soup_.corner_uv.begin(), soup_.corner_uv.end(),
                    [](std::uint32_t uv) { return uv == PolygonSoup::kNoUv; })) {
      soup_.corner_uv.clear();
    }
    finishColors();
    finishParts();
    if (Result<void> loaded = loadMaterials(); !loaded) return loaded.error();
    for (PolygonSoup::Face& face : soup_.faces) {
      if (face.material >= 0) face.material = asset_material_[static_cast<std::size_t>(face.material)];
    }
    if (Result<void> built = appendMesh(asset_, soup_, asset_.path.stem().string(), options_); !built) {
      return built.error();
    }
    return std::move(asset_);
  }

  Result<void> checkReferences() {
    const std::size_t positions = soup_.positions.size();
    const std::size_t uvs = soup_.uvs.size();
    for (std::size_t f = 0; f < soup_.faces.size(); ++f) {
      for (std::size_t c = soup_.faces[f].first_corner; c < soup_.faceEnd(f); ++c) {
        line_ = face_lines_[f];
        if (soup_.corner_position[c] >= positions) {
          return refuse("vertex index " + std::to_string(std::size_t{soup_.corner_position[c]} + 1) +
                        " out of range (" + std::to_string(positions) + " vertices)");
        }
        if (soup_.corner_uv[c] != PolygonSoup::kNoUv && soup_.corner_uv[c] >= uvs) {
          return refuse("vt index " + std::to_string(std::size_t{soup_.corner_uv[c]} + 1) +
                        " out of range (" + std::to_string(uvs) + " texture coordinates)");
        }
      }
    }
    const std::size_t normals = soup_.normals.size();
    if (max_normal_ > static_cast<std::int64_t>(normals)) {
      asset_.notices.push_back({"bad_normal", "line " + std::to_string(max_normal_line_) + ": vn index " +
                                                  std::to_string(max_normal_) + " out of range (" +
                                                  std::to_string(normals) + " normals), ignored"});
      for (std::uint32_t& normal : soup_.corner_normal) {
        if (normal != PolygonSoup::kNoNormal && normal >= normals) normal = PolygonSoup::kNoNormal;
      }
    }
    if (std::all_of(soup_.corner_normal.begin(), soup_.corner_normal.end(),
                    [](std::uint32_t normal) { return normal == PolygonSoup::kNoNormal; })) {
      soup_.corner_normal.clear();
    }
    return {};
  }

  void finishColors() {
    if (soup_.colors.empty()) return;
    soup_.colors.resize(soup_.positions.size(), Vec4f::Ones());
    if (colored_ < soup_.positions.size()) {
      const std::size_t plain = soup_.positions.size() - colored_;
      asset_.notices.push_back({"partial_colors",
                                std::to_string(plain) + " of " + std::to_string(soup_.positions.size()) +
                                    " vertices have no colour: white used",
                                plain});
    }
    float scale = 1;
    // Rounding may leave a 1 slightly larger; a file in bytes has at least one value far beyond.
    constexpr float kClearlyBytes = 1.5f;
    if (brightest_ > kClearlyBytes) {
      scale = 1.0f / 255.0f;
      asset_.notices.push_back({"color_range", "vertex colours go beyond 1: taken as 0 to 255"});
    }
    for (Vec4f& color : soup_.colors) {
      color = (color * scale).cwiseMin(1.0f);
      for (int i = 0; i < 3; ++i)
        color[i] = linearFromSrgb(color[i]);
    }
  }

  /// One asset material for every name that a usemtl mentions, white where no library defines it.
  Result<void> loadMaterials() {
    std::unordered_map<std::string, MtlMaterial> defined;
    for (const std::string& names : libraries_) {
      for (const std::string& name : libraryFiles(names))
        loadLibrary(name, defined);
    }
    TextureFiles textures(asset_, options_);
    std::string unknown;
    std::size_t unknown_count = 0;
    for (const std::string& name : material_names_) {
      asset_material_.push_back(static_cast<int>(asset_.materials.size()));
      const auto found = defined.find(name);
      if (found == defined.end()) {
        constexpr std::size_t kMaxListed = 5;
        if (++unknown_count <= kMaxListed) unknown += (unknown_count > 1 ? ", " : "") + quoteForMessage(name);
        asset_.materials.emplace_back().name = repairUtf8(name);
        continue;
      }
      Result<Material> material = materialFromMtl(found->second, textures, asset_.notices);
      if (!material) return material.error();
      asset_.materials.push_back(std::move(*material));
    }
    if (unknown_count > 0) {
      asset_.notices.push_back({"unknown_material",
                                (unknown_count == 1 ? "material " : "materials ") + unknown +
                                    (unknown_count > 5 ? ", ..." : "") + " not defined: white used",
                                unknown_count});
    }
    return {};
  }

  /// The files of a mtllib line: blanks separate names, unless the whole is the name of a file.
  std::vector<std::string> libraryFiles(const std::string& names) const {
    const std::string whole = portableFileName(names);
    if (whole.find_first_of(" \t") == std::string::npos) return {whole};
    std::error_code ignored;
    if (const auto file = resolveReference(asset_.path.parent_path(), whole);
        file && std::filesystem::is_regular_file(*file, ignored)) {
      return {whole};
    }
    std::vector<std::string> files;
    for (Fields fields(names); !fields.empty();)
      files.push_back(portableFileName(fields.next()));
    return files;
  }

  void loadLibrary(const std::string& name, std::unordered_map<std::string, MtlMaterial>& defined) {
    if (std::find(loaded_libraries_.begin(), loaded_libraries_.end(), name) != loaded_libraries_.end())
      return;
    constexpr std::size_t kMaxLibraries = 1000;
    if (loaded_libraries_.size() >= kMaxLibraries) {
      if (loaded_libraries_.size() == kMaxLibraries) {
        loaded_libraries_.emplace_back();
        asset_.notices.push_back({"many_libraries", "only the first 1000 material files are read"});
      }
      return;
    }
    loaded_libraries_.push_back(name);
    const auto warn = [&](const std::string& message) {
      asset_.notices.push_back({"missing_mtl", "material file " + message});
    };
    const Result<std::filesystem::path> file = resolveReference(asset_.path.parent_path(), name);
    if (!file) return warn(file.error().message + ": not read");
    std::error_code ignored;
    if (!std::filesystem::exists(*file, ignored)) {
      return warn(quoteForMessage(name) + " does not exist: put it beside the OBJ file");
    }
    if (options_.references != nullptr) options_.references->push_back(*file);
    const Result<std::vector<std::uint8_t>> bytes = readFile(*file, kMaxMtlBytes);
    if (!bytes) return warn(bytes.error().message + ": not read");
    MtlFile mtl = parseMtl(*bytes, repairUtf8(name));
    asset_.notices.insert(asset_.notices.end(), mtl.notices.begin(), mtl.notices.end());
    for (MtlMaterial& material : mtl.materials) {
      std::string key = material.name;
      defined.try_emplace(std::move(key), std::move(material));
    }
  }

  std::string file_;
  const LoadOptions& options_;
  Asset asset_;
  PolygonSoup soup_;
  NoticeCounter notices_;
  std::size_t line_ = 0;
  std::vector<std::uint32_t> face_lines_;  // [F]
  std::int64_t max_normal_ = 0;
  std::size_t max_normal_line_ = 0;
  std::size_t colored_ = 0;
  float brightest_ = 0;
  std::vector<std::string> libraries_;  // mtllib lines as written
  std::vector<std::string> loaded_libraries_;
  std::vector<std::string> material_names_;  // usemtl names by id
  std::unordered_map<std::string, int> material_ids_;
  std::vector<int> asset_material_;  // by id
  std::int32_t material_ = -1;       // id
  std::string object_, group_;       // names
  std::unordered_map<std::string, std::uint32_t> part_ids_;
  std::uint32_t part_ = 0;
  bool part_known_ = false;
};

}  // namespace

Result<Asset> readObj(const std::filesystem::path& path, const LoadOptions& options) {
  const Result<std::vector<std::uint8_t>> bytes = readFile(path);
  if (!bytes) return bytes.error();
  return parseObj(*bytes, path, options);
}

Result<Asset> parseObj(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                       const LoadOptions& options) {
  return ObjParser(path, options).parse(bytes);
}

}  // namespace heatskin
