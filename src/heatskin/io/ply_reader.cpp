#include "heatskin/io/ply_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/io/color_space.h"
#include "heatskin/io/obj_notices.h"
#include "heatskin/io/obj_text.h"
#include "heatskin/io/ply_header.h"
#include "heatskin/io/polygon_soup.h"
#include "heatskin/io/reference.h"
#include "heatskin/io/texture_file.h"

namespace heatskin {
namespace {

using ply::Element;
using ply::Property;
using ply::Type;

template <class T>
double valueAt(const std::uint8_t* bytes, bool swap) {
  std::array<std::uint8_t, sizeof(T)> raw;
  std::memcpy(raw.data(), bytes, sizeof(T));
  if (swap) std::reverse(raw.begin(), raw.end());
  return static_cast<double>(std::bit_cast<T>(raw));
}

/// Reads the values after the header one by one. A double holds every PLY type exactly.
class Values {
 public:
  Values(std::span<const std::uint8_t> bytes, const ply::Header& header)
      : bytes_(bytes),
        at_(header.data_offset),
        line_(header.lines + 1),
        ascii_(header.format == ply::Format::kAscii),
        swap_((header.format == ply::Format::kBigEndian) != (std::endian::native == std::endian::big)) {}

  /// False at the end of the file or, in ascii, at something that is not a number of this type.
  bool next(Type type, double& value) { return ascii_ ? nextAscii(type, value) : nextBinary(type, value); }

  /// The bytes that are left; nothing can hold more values than this.
  std::size_t left() const { return bytes_.size() - at_; }

  /// Passes over `count` binary values of a type without looking at them.
  bool skipBinary(std::size_t bytes) {
    if (bytes > left()) return false;
    at_ += bytes;
    return true;
  }

  bool ascii() const { return ascii_; }
  std::size_t line() const { return line_; }
  bool ended() const { return at_ >= bytes_.size(); }
  std::string_view badField() const { return bad_field_; }

 private:
  bool nextBinary(Type type, double& value) {
    const std::size_t size = ply::sizeOf(type);
    if (size > left()) return false;
    const std::uint8_t* p = bytes_.data() + at_;
    at_ += size;
    switch (type) {
      case Type::kInt8:
        value = valueAt<std::int8_t>(p, false);
        break;
      case Type::kUint8:
        value = *p;
        break;
      case Type::kInt16:
        value = valueAt<std::int16_t>(p, swap_);
        break;
      case Type::kUint16:
        value = valueAt<std::uint16_t>(p, swap_);
        break;
      case Type::kInt32:
        value = valueAt<std::int32_t>(p, swap_);
        break;
      case Type::kUint32:
        value = valueAt<std::uint32_t>(p, swap_);
        break;
      case Type::kFloat32:
        value = valueAt<float>(p, swap_);
        break;
      case Type::kFloat64:
        value = valueAt<double>(p, swap_);
        break;
    }
    return true;
  }

  bool nextAscii(Type type, double& value) {
    while (at_ < bytes_.size()) {
      const auto c = static_cast<char>(bytes_[at_]);
      if (c == '\n' || (c == '\r' && !(at_ + 1 < bytes_.size() && bytes_[at_ + 1] == '\n'))) {
        ++line_;
      } else if (!text::isBlank(c) && c != '\r') {
        break;
      }
      ++at_;
    }
    const std::size_t begin = at_;
    while (at_ < bytes_.size() && !isSpace(static_cast<char>(bytes_[at_])))
      ++at_;
    const std::string_view field(reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin);
    if (field.empty()) return false;
    const std::optional<double> number = text::parseDouble(field);
    if (!number || (ply::isInteger(type) && std::nearbyint(*number) != *number)) {
      bad_field_ = field;
      return false;
    }
    value = *number;
    return true;
  }

  static bool isSpace(char c) { return text::isBlank(c) || c == '\n' || c == '\r'; }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_;
  std::size_t line_;
  bool ascii_;
  bool swap_;
  std::string_view bad_field_;
};

/// Which property of a vertex a name stands for.
enum Role : std::size_t { kX, kY, kZ, kRed, kGreen, kBlue, kAlpha, kU, kV, kNx, kNy, kNz, kRoles };

std::optional<Role> vertexRole(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Role>, 25> kNames = {{{"x", kX},
                                                                         {"y", kY},
                                                                         {"z", kZ},
                                                                         {"red", kRed},
                                                                         {"green", kGreen},
                                                                         {"blue", kBlue},
                                                                         {"alpha", kAlpha},
                                                                         {"r", kRed},
                                                                         {"g", kGreen},
                                                                         {"b", kBlue},
                                                                         {"a", kAlpha},
                                                                         {"diffuse_red", kRed},
                                                                         {"diffuse_green", kGreen},
                                                                         {"diffuse_blue", kBlue},
                                                                         {"s", kU},
                                                                         {"t", kV},
                                                                         {"u", kU},
                                                                         {"v", kV},
                                                                         {"texture_u", kU},
                                                                         {"texture_v", kV},
                                                                         {"texture_s", kU},
                                                                         {"texture_t", kV},
                                                                         {"nx", kNx},
                                                                         {"ny", kNy},
                                                                         {"nz", kNz}}};
  for (const auto& [known, role] : kNames) {
    if (known == name) return role;
  }
  return std::nullopt;
}

class PlyParser {
 public:
  PlyParser(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
            const LoadOptions& options)
      : bytes_(bytes), file_(displayPath(path)), options_(options) {
    asset_.path = path;
    asset_.format = "ply";
  }

  Result<Asset> parse() {
    Result<ply::Header> header = ply::parseHeader(bytes_, file_);
    if (!header) return header.error();
    const Element* vertices = nullptr;
    for (const Element& element : header->elements) {
      if (element.name == "vertex") vertices = &element;
    }
    if (vertices == nullptr) return inputError(file_ + ": no triangles in file: it has no vertices");
    vertex_count_ = vertices->count;
    if (vertex_count_ > std::min<std::size_t>(options_.max_vertices, PolygonSoup::kNoUv)) {
      return inputError(file_ + ": too many vertices: " + std::to_string(vertex_count_) + ", the limit is " +
                        std::to_string(options_.max_vertices));
    }

    Values values(bytes_, *header);
    values_ = &values;
    for (const Element& element : header->elements) {
      Result<void> done = element.name == "vertex"      ? readVertices(element)
                          : element.name == "face"      ? readFaces(element)
                          : element.name == "tristrips" ? readStrips(element)
                                                        : skipRows(element);
      if (!done) return done.error();
    }
    notices_.appendTo(asset_.notices);
    if (soup_.faces.empty()) {
      return inputError(file_ + ": no triangles in file" +
                        (vertex_count_ > 0 ? ": it has vertices but no faces (a point cloud?)" : ""));
    }
    finishUvs();
    if (!soup_.normals.empty()) soup_.corner_normal = soup_.corner_position;
    if (Result<void> loaded = loadTextures(header->texture_files); !loaded) return loaded.error();
    if (Result<void> built = appendMesh(asset_, soup_, asset_.path.stem().string(), options_); !built) {
      return built.error();
    }
    return std::move(asset_);
  }

 private:
  /// Refuses the row that is being read.
  Error refuse(const Element& element, std::size_t row, const std::string& what) const {
    return inputError(file_ + ":" + (values_->ascii() ? std::to_string(values_->line()) + ":" : "") + " " +
                      element.name + " " + std::to_string(row) + ": " + what);
  }

  Error refuseValue(const Element& element, std::size_t row) const {
    if (!values_->badField().empty()) {
      return refuse(element, row,
                    quoteForMessage(values_->badField()) + " is not a number of the declared type");
    }
    return inputError(file_ + ": the file ends early: in " + element.name + " " + std::to_string(row) +
                      " of " + std::to_string(element.count));
  }

  /// A list into `list_`; its length is checked before anything is kept.
  Result<void> readList(const Element& element, std::size_t row, const Property& property, bool keep) {
    double count = 0;
    if (!values_->next(property.count_type, count)) return refuseValue(element, row);
    list_.clear();
    const std::size_t value_bytes = values_->ascii() ? 1 : ply::sizeOf(property.type);
    if (!(count >= 0) || count > static_cast<double>(values_->left() / value_bytes)) {
      const auto shown = static_cast<long long>(std::clamp(count, -1e18, 1e18));
      return refuse(element, row,
                    "the file ends early: a list of " + std::to_string(shown) +
                        " values does not fit into the " + std::to_string(values_->left()) + " bytes left");
    }
    const auto length = static_cast<std::size_t>(count);
    if (!keep && !values_->ascii()) {
      values_->skipBinary(length * value_bytes);
      return {};
    }
    for (std::size_t i = 0; i < length; ++i) {
      double value = 0;
      if (!values_->next(property.type, value)) return refuseValue(element, row);
      if (keep) list_.push_back(value);
    }
    return {};
  }

  /// Reads a property whose value nobody wants.
  Result<void> skip(const Element& element, std::size_t row, const Property& property) {
    if (property.is_list) return readList(element, row, property, false);
    double ignored = 0;
    if (!values_->next(property.type, ignored)) return refuseValue(element, row);
    return {};
  }

  Result<void> skipRows(const Element& element) {
    // A row without properties has no bytes: a count of billions must not become a loop.
    if (element.properties.empty()) return {};
    for (std::size_t row = 0; row < element.count; ++row) {
      for (const Property& property : element.properties) {
        if (Result<void> done = skip(element, row, property); !done) return done;
      }
    }
    return {};
  }

  Result<void> readVertices(const Element& element) {
    std::vector<std::optional<Role>> roles;
    std::array<bool, kRoles> present{};
    std::array<double, kRoles> white{};
    for (const Property& property : element.properties) {
      std::optional<Role> role = property.is_list ? std::nullopt : vertexRole(property.name);
      if (role && std::exchange(present[*role], true)) role.reset();  // "red" and "diffuse_red": the first
      if (role) white[*role] = ply::whiteOf(property.type);
      roles.push_back(role);
    }
    if (!present[kX] || !present[kY] || !present[kZ]) {
      return inputError(file_ + ": the vertices have no x, y and z");
    }
    const bool has_color = present[kRed] && present[kGreen] && present[kBlue];
    has_vertex_uvs_ = present[kU] && present[kV];
    const bool has_normals = present[kNx] && present[kNy] && present[kNz];
    if (has_normals) soup_.normals.reserve(element.count);
    soup_.positions.reserve(element.count);
    if (has_color) soup_.colors.reserve(element.count);
    if (has_vertex_uvs_) vertex_uvs_.reserve(element.count);
    std::array<double, kRoles> value{};
    for (std::size_t row = 0; row < element.count; ++row) {
      for (std::size_t i = 0; i < roles.size(); ++i) {
        if (!roles[i]) {
          if (Result<void> done = skip(element, row, element.properties[i]); !done) return done;
        } else if (!values_->next(element.properties[i].type, value[*roles[i]])) {
          return refuseValue(element, row);
        }
      }
      const Vec3 position(value[kX], value[kY], value[kZ]);
      if (!position.allFinite()) return refuse(element, row, "coordinate is not a finite number");
      soup_.positions.push_back(position);
      if (has_color) {
        soup_.colors.push_back(colorOf(row, value, white, present[kAlpha]));
      }
      if (has_vertex_uvs_) vertex_uvs_.push_back(uvOf(row, value[kU], value[kV]));
      if (has_normals) soup_.normals.push_back(normalOf(row, {value[kNx], value[kNy], value[kNz]}));
    }
    return {};
  }

  Vec4f colorOf(std::size_t row, const std::array<double, kRoles>& value,
                const std::array<double, kRoles>& white, bool has_alpha) {
    Vec4f color = Vec4f::Ones();
    for (std::size_t i = 0; i < (has_alpha ? 4u : 3u); ++i) {
      const double c = value[kRed + i] / white[kRed + i];
      if (!std::isfinite(c)) {
        notices_.add("bad_color", [&] {
          return "colour of vertex " + std::to_string(row) + " is not a finite number: white used";
        });
        continue;
      }
      if (c > 1 || c < 0) {
        notices_.add("color_range", [&] {
          return "colour of vertex " + std::to_string(row) + " outside its range: clamped";
        });
      }
      const auto display = static_cast<float>(std::clamp(c, 0.0, 1.0));
      color[static_cast<Eigen::Index>(i)] = i < 3 ? linearFromSrgb(display) : display;
    }
    return color;
  }

  Vec3f normalOf(std::size_t row, const Vec3& value) {
    const double length = value.norm();
    if (std::isfinite(length) && length > 0) return (value / length).cast<float>();
    notices_.add("bad_normal", [&] {
      return "normal of vertex " + std::to_string(row) + " has no direction: faces are flat there";
    });
    return Vec3f::Zero();
  }

  /// PLY has v pointing up as its writers (MeshLab, Blender) do.
  Vec2f uvOf(std::size_t row, double u, double v) {
    const Vec2f uv(static_cast<float>(u), static_cast<float>(1 - v));
    if (uv.allFinite()) return uv;
    notices_.add("bad_uv", [&] {
      return "texture coordinate in row " + std::to_string(row) + " is not a finite number: 0 used";
    });
    return {0, 1};
  }

  Result<std::uint32_t> vertexIndex(const Element& element, std::size_t row, double value) const {
    if (!(value >= 0 && value < static_cast<double>(vertex_count_) && std::nearbyint(value) == value)) {
      const double shown = std::isfinite(value) ? std::clamp(value, -1e18, 1e18) : -1;
      return refuse(element, row,
                    "vertex index " + std::to_string(static_cast<long long>(shown)) + " out of range (" +
                        std::to_string(vertex_count_) + " vertices)");
    }
    return static_cast<std::uint32_t>(value);
  }

  Result<void> checkLimit(const Element& element, std::size_t row) {
    if (soup_.corner_position.size() - 2 * soup_.faces.size() > options_.max_triangles) {
      return refuse(element, row,
                    "too many triangles, the limit is " + std::to_string(options_.max_triangles));
    }
    return {};
  }

  Result<void> readFaces(const Element& element) {
    int indices = element.find("vertex_indices");
    if (indices < 0) indices = element.find("vertex_index");
    if (element.count > 0 &&
        (indices < 0 || !element.properties[static_cast<std::size_t>(indices)].is_list)) {
      return inputError(file_ + ": the faces have no list vertex_indices");
    }
    if (element.find("red") >= 0 || element.find("diffuse_red") >= 0) {
      asset_.notices.push_back({"face_colors", "colours per face are not used, only colours per vertex"});
    }
    const int wedge = element.find("texcoord");
    const int number = element.find("texnumber");
    for (std::size_t row = 0; row < element.count; ++row) {
      const std::size_t first = soup_.corner_position.size();
      std::size_t corners = 0;
      wedge_.clear();
      double texture = 0;
      for (std::size_t i = 0; i < element.properties.size(); ++i) {
        const Property& property = element.properties[i];
        const int id = static_cast<int>(i);
        if (id == number && !property.is_list) {
          if (!values_->next(property.type, texture)) return refuseValue(element, row);
          continue;
        }
        const bool keep = property.is_list && (id == indices || id == wedge);
        if (!keep) {
          if (Result<void> done = skip(element, row, property); !done) return done;
          continue;
        }
        if (Result<void> done = readList(element, row, property, true); !done) return done;
        if (id == wedge) {
          wedge_.swap(list_);
          continue;
        }
        corners = list_.size();
        for (const double value : list_) {
          const Result<std::uint32_t> index = vertexIndex(element, row, value);
          if (!index) return index.error();
          soup_.corner_position.push_back(*index);
        }
      }
      if (corners < 3) {
        notices_.add("short_faces", [&] {
          return "face " + std::to_string(row) + " with " + std::to_string(corners) +
                 (corners == 1 ? " corner" : " corners") + " skipped";
        });
        soup_.corner_position.resize(first);
        continue;
      }
      soup_.faces.push_back({static_cast<std::uint32_t>(first), textureNumber(texture)});
      if (wedge >= 0) addWedges(row, corners);
      if (Result<void> done = checkLimit(element, row); !done) return done;
    }
    return {};
  }

  /// Which texture file a face uses; replaced by a material once they are loaded.
  static std::int32_t textureNumber(double texture) {
    return texture >= 0 && texture < 1e6 ? static_cast<std::int32_t>(texture) : -1;
  }

  void addWedges(std::size_t row, std::size_t corners) {
    soup_.corner_uv.resize(soup_.corner_position.size() - corners, PolygonSoup::kNoUv);
    if (wedge_.size() != 2 * corners) {
      if (!wedge_.empty()) {
        notices_.add("bad_texcoord", [&] {
          return "texcoord of face " + std::to_string(row) + " has " + std::to_string(wedge_.size()) +
                 " numbers for " + std::to_string(corners) + " corners: ignored";
        });
      }
      soup_.corner_uv.resize(soup_.corner_position.size(), PolygonSoup::kNoUv);
      return;
    }
    for (std::size_t c = 0; c < corners; ++c) {
      soup_.corner_uv.push_back(static_cast<std::uint32_t>(soup_.uvs.size()));
      soup_.uvs.push_back(uvOf(row, wedge_[2 * c], wedge_[2 * c + 1]));
    }
  }

  /// Strips as in the Stanford models: runs of vertices, separated by -1, every other triangle turned.
  Result<void> readStrips(const Element& element) {
    const int indices = element.find("vertex_indices");
    if (indices < 0 || !element.properties[static_cast<std::size_t>(indices)].is_list)
      return skipRows(element);
    for (std::size_t row = 0; row < element.count; ++row) {
      for (std::size_t i = 0; i < element.properties.size(); ++i) {
        const Property& property = element.properties[i];
        if (static_cast<int>(i) != indices) {
          if (Result<void> done = skip(element, row, property); !done) return done;
          continue;
        }
        if (Result<void> done = readList(element, row, property, true); !done) return done;
        std::array<std::uint32_t, 2> last{};
        std::size_t length = 0;
        for (const double value : list_) {
          if (value == -1) {
            length = 0;
            continue;
          }
          const Result<std::uint32_t> index = vertexIndex(element, row, value);
          if (!index) return index.error();
          if (length >= 2 && last[0] != last[1] && *index != last[0] && *index != last[1]) {
            const std::size_t odd = length % 2;
            soup_.faces.push_back({static_cast<std::uint32_t>(soup_.corner_position.size()), 0});
            soup_.corner_position.insert(soup_.corner_position.end(), {last[odd], last[1 - odd], *index});
            if (Result<void> done = checkLimit(element, row); !done) return done;
          }
          last = {last[1], *index};
          ++length;
        }
      }
    }
    return {};
  }

  /// Texture coordinates per corner if there are any, otherwise per vertex.
  void finishUvs() {
    if (!soup_.uvs.empty()) {
      soup_.corner_uv.resize(soup_.corner_position.size(), PolygonSoup::kNoUv);
    } else if (has_vertex_uvs_) {
      soup_.uvs = std::move(vertex_uvs_);
      soup_.corner_uv = soup_.corner_position;
    } else {
      soup_.corner_uv.clear();
    }
  }

  /// A material for every texture file that a face uses; faces without one have the default material.
  Result<void> loadTextures(const std::vector<std::string>& names) {
    TextureFiles textures(asset_, options_);
    std::vector<int> material_of(names.size(), -2);
    for (PolygonSoup::Face& face : soup_.faces) {
      const auto number = static_cast<std::size_t>(face.material);
      if (face.material < 0 || number >= names.size()) {
        face.material = -1;
        continue;
      }
      if (material_of[number] == -2) {
        const Result<int> texture = textures.use(names[number], Wrap::kRepeat);
        if (!texture) return texture.error();
        Material material;
        material.name = repairUtf8(names[number]);
        material.base_color.texture = *texture;
        material_of[number] = static_cast<int>(asset_.materials.size());
        asset_.materials.push_back(std::move(material));
      }
      face.material = material_of[number];
    }
    return {};
  }

  std::span<const std::uint8_t> bytes_;
  std::string file_;
  const LoadOptions& options_;
  Values* values_ = nullptr;
  Asset asset_;
  PolygonSoup soup_;  // a face's material is a texture number until loadTextures
  NoticeCounter notices_;
  std::size_t vertex_count_ = 0;
  bool has_vertex_uvs_ = false;
  std::vector<Vec2f> vertex_uvs_;
  std::vector<double> list_;
  std::vector<double> wedge_;
};

}  // namespace

Result<Asset> readPly(const std::filesystem::path& path, const LoadOptions& options) {
  const Result<std::vector<std::uint8_t>> bytes = readFile(path);
  if (!bytes) return bytes.error();
  return parsePly(*bytes, path, options);
}

Result<Asset> parsePly(std::span<const std::uint8_t> bytes, const std::filesystem::path& path,
                       const LoadOptions& options) {
  return PlyParser(bytes, path, options).parse();
}

}  // namespace heatskin
