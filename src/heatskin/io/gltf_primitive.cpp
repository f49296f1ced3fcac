#include "heatskin/io/gltf_primitive.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "heatskin/io/gltf_draco.h"
#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

enum Mode : std::size_t { kTriangles = 4, kTriangleStrip = 5, kTriangleFan = 6 };

/// Sets above this are no texture coordinates of anybody; the bound keeps the list of sets short.
constexpr std::size_t kMaxTexcoordSets = 64;

/// "TEXCOORD_3" -> 3.
std::optional<std::size_t> texcoordSet(const std::string& name) {
  constexpr std::string_view kPrefix = "TEXCOORD_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::size_t set = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, set);
  if (error != std::errc() || rest != end) return std::nullopt;
  return set;
}

bool isInteger(ComponentType type) {
  return type != ComponentType::kFloat;
}

bool allFinite(const float* values, std::size_t count) {
  return std::all_of(values, values + count, [](float v) { return std::isfinite(v); });
}

/// The direction of three numbers; zero if they have none.
Vec3f unitOrZero(const float* values) {
  if (!allFinite(values, 3)) return Vec3f::Zero();
  const Vec3 direction(values[0], values[1], values[2]);
  const double length = direction.norm();
  return length > 0 ? Vec3f((direction / length).cast<float>()) : Vec3f(Vec3f::Zero());
}

std::size_t triangleCount(std::size_t mode, std::size_t corners) {
  if (mode == kTriangles) return corners / 3;
  return corners < 3 ? 0 : corners - 2;
}

/// Corners in drawing order to triangles (specification 3.7.2.1). Strips jump by repeating vertices; the
/// triangles without area this makes are part of the encoding, not of the mesh, and are left out.
std::vector<std::uint32_t> expandTriangles(std::size_t mode, const std::vector<std::uint32_t>& corners) {
  const std::size_t count = triangleCount(mode, corners.size());
  std::vector<std::uint32_t> triangles;
  triangles.reserve(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t odd = i % 2;
    const std::uint32_t a = mode == kTriangleFan ? corners[i + 1] : corners[i];
    const std::uint32_t b = mode == kTriangleFan ? corners[i + 2] : corners[i + 1 + odd];
    const std::uint32_t c = mode == kTriangleFan ? corners[0] : corners[i + 2 - odd];
    if (a == b || b == c || c == a) continue;
    triangles.insert(triangles.end(), {a, b, c});
  }
  return triangles;
}

}  // namespace

struct MeshReader::Source {
  std::string where;
  Fields fields;
  const Json* attributes = nullptr;
  std::size_t mode = kTriangles;
  std::size_t position_accessor = 0;
  std::optional<std::size_t> index_accessor;
  std::optional<DracoMesh> draco;
  AccessorView positions;
  /// Vertices this primitive uses out of a vertex buffer it shares with others; otherwise all of them.
  std::vector<std::uint32_t> used;
  Selection selection;
};

MeshReader::MeshReader(const Document& document, Buffers& buffers, Accessors& accessors, MemoryBudget& budget,
                       const LoadOptions& options, NoticeList& notices)
    : document_(document),
      buffers_(buffers),
      accessors_(accessors),
      budget_(budget),
      options_(options),
      notices_(notices),
      quantization_(document.uses("KHR_mesh_quantization")) {
  const std::size_t accessor_count = document.list("accessors").size();
  for (const Json& mesh : document.list("meshes")) {
    Fields mesh_fields(mesh, "");
    const Json::array_t* primitives = mesh_fields.array("primitives");
    if (primitives == nullptr) continue;
    for (const Json& primitive : *primitives) {
      Fields fields(primitive, "");
      const Json* attributes = fields.object("attributes");
      if (attributes == nullptr) continue;
      Fields attribute_fields(*attributes, "");
      if (const auto position = attribute_fields.index("POSITION", accessor_count, "accessor")) {
        ++position_uses_[*position];
      }
    }
  }
}

Result<Mesh> MeshReader::readMesh(std::size_t index) {
  const std::string where = "mesh " + std::to_string(index);
  Fields fields(document_.list("meshes")[index], where);
  Mesh mesh;
  mesh.name = fields.text("name");
  mesh.source = static_cast<int>(index);
  const Json::array_t* primitives = fields.array("primitives");
  if (!fields.ok()) return fields.error();
  if (primitives == nullptr) return mesh;
  for (std::size_t i = 0; i < primitives->size(); ++i) {
    Result<std::optional<Primitive>> primitive =
        readPrimitive((*primitives)[i], where + ", primitive " + std::to_string(i));
    if (!primitive) return primitive.error();
    if (!primitive->has_value()) continue;
    mesh.primitives.push_back(std::move(**primitive));
    mesh.primitives.back().source = static_cast<int>(i);
  }
  return mesh;
}

Result<std::optional<Primitive>> MeshReader::readPrimitive(const Json& json, const std::string& where) {
  Source source{where, Fields(json, where), nullptr, kTriangles, 0, {}, {}, {}, {}, {}};
  Fields& fields = source.fields;
  source.mode = fields.size("mode", kTriangles);
  source.attributes = fields.object("attributes");
  source.index_accessor = fields.index("indices", document_.list("accessors").size(), "accessor");
  const auto material = fields.index("material", document_.list("materials").size(), "material");
  if (fields.has("targets")) {
    notices_.add("morph_targets", where + ": morph targets are ignored, the base shape is used", false);
  }
  if (!fields.ok()) return fields.error();
  if (source.mode > kTriangleFan) return inputError(where + ": unknown mode " + std::to_string(source.mode));
  if (source.mode < kTriangles) {
    ++skipped_modes_;
    notices_.add("lines_and_points", where + ": points and lines are skipped");
    return std::optional<Primitive>();
  }
  if (source.attributes == nullptr || !source.attributes->contains("POSITION")) {
    ++skipped_no_position_;
    notices_.add("no_position", where + ": has no POSITION and is skipped");
    return std::optional<Primitive>();
  }

  Primitive primitive;
  primitive.material = material ? static_cast<int>(*material) : -1;
  if (auto error = openSource(source)) return *error;
  if (auto error = readTriangles(source, primitive)) return *error;
  if (auto error = readPositions(source, primitive)) return *error;
  if (auto error = readTexcoords(source, primitive)) return *error;
  if (auto error = readColors(source, primitive)) return *error;
  if (auto error = readNormals(source, primitive)) return *error;
  if (auto error = readTangents(source, primitive)) return *error;
  if (primitive.triangles.empty()) return std::optional<Primitive>();
  if (!source.selection.all) primitive.source_vertices = std::move(source.used);
  return std::optional<Primitive>(std::move(primitive));
}

Result<AccessorView> MeshReader::attribute(const Source& source, const std::string& name,
                                           std::size_t accessor) {
  if (source.draco) {
    const auto it = source.draco->attributes.find(name);
    if (it != source.draco->attributes.end()) return it->second;
  }
  return accessors_.view(accessor);
}

std::optional<Error> MeshReader::openSource(Source& source) {
  Fields attributes(*source.attributes, source.where + ", attributes");
  const auto accessor = attributes.index("POSITION", document_.list("accessors").size(), "accessor");
  const Json* draco = source.fields.extension("KHR_draco_mesh_compression");
  if (!attributes.ok()) return attributes.error();
  if (!source.fields.ok()) return source.fields.error();
  source.position_accessor = *accessor;
  if (draco != nullptr) {
    if (auto error = openDraco(source, *draco)) return error;
  }
  Result<AccessorView> positions = attribute(source, "POSITION", *accessor);
  if (!positions) return positions.error();
  source.positions = *positions;
  if (source.positions.components != 3 || (isInteger(source.positions.component) && !quantization_) ||
      source.positions.component == ComponentType::kUnsignedInt) {
    return inputError(source.where + ": POSITION must be VEC3 of floats" +
                      (quantization_ ? " or of 8- or 16-bit integers" : ""));
  }
  const std::size_t count = source.positions.count;
  if (count > options_.max_vertices || count > std::numeric_limits<std::uint32_t>::max()) {
    return inputError(source.where + ": too many vertices: " + std::to_string(count));
  }
  stored_vertices_ += count;
  return std::nullopt;
}

std::optional<Error> MeshReader::openDraco(Source& source, const Json& extension) {
  Fields fields(extension, source.where + ", KHR_draco_mesh_compression");
  const auto view_index = fields.index("bufferView", document_.list("bufferViews").size(), "bufferView");
  const Json* ids = fields.object("attributes");
  if (!fields.ok()) return fields.error();
  if (!view_index || ids == nullptr) return inputError(fields.where() + ": needs bufferView and attributes");

  std::vector<DracoAttribute> wanted;
  Fields id_fields(*ids, fields.where());
  for (const auto& [name, id] : ids->items()) {
    // Joints and weights are not needed.
    if (name != "POSITION" && name != "COLOR_0" && name != "NORMAL" && name != "TANGENT" &&
        !texcoordSet(name)) {
      continue;
    }
    const auto accessor = source.attributes->find(name);
    if (accessor == source.attributes->end()) continue;
    DracoAttribute attribute;
    attribute.name = name;
    attribute.unique_id = static_cast<std::uint32_t>(
        id_fields.index(name.c_str(), std::numeric_limits<std::uint32_t>::max(), "attribute").value_or(0));
    Fields attribute_fields(*source.attributes, source.where + ", attributes");
    const Json::array_t& accessors = document_.list("accessors");
    const auto accessor_index = attribute_fields.index(name.c_str(), accessors.size(), "accessor");
    if (!attribute_fields.ok()) return attribute_fields.error();
    Fields accessor_fields(accessors[*accessor_index], "accessor " + std::to_string(*accessor_index));
    attribute.normalized = accessor_fields.boolean("normalized", false);
    if (!accessor_fields.ok()) return accessor_fields.error();
    wanted.push_back(std::move(attribute));
  }
  if (!id_fields.ok()) return id_fields.error();
  Result<BufferViewData> bytes = buffers_.view(*view_index);
  if (!bytes) return bytes.error();
  Result<DracoMesh> mesh = decodeDraco(bytes->bytes, wanted, budget_);
  if (!mesh) return mesh.error().prefixed(source.where + ": ");
  source.draco = std::move(*mesh);
  return std::nullopt;
}

std::optional<Error> MeshReader::readTriangles(Source& source, Primitive& primitive) {
  const std::size_t vertices = source.positions.count;
  std::vector<std::uint32_t> corners;
  const bool indexed = source.draco || source.index_accessor;
  const auto too_many = [&](std::size_t count) {
    return inputError(source.where + ": too many triangles: " + std::to_string(count));
  };
  if (source.draco) {
    corners = std::move(source.draco->indices);
    source.mode = kTriangles;
    if (vertices != source.draco->vertex_count) {
      return inputError(source.where + ": the Draco data has " + std::to_string(source.draco->vertex_count) +
                        " vertices, POSITION has " + std::to_string(vertices));
    }
    if (corners.size() / 3 > options_.max_triangles) return too_many(corners.size() / 3);
  } else {
    std::size_t count = vertices;
    AccessorView indices;
    if (indexed) {
      Result<AccessorView> view = accessors_.view(*source.index_accessor);
      if (!view) return view.error();
      indices = *view;
      if (indices.components != 1 || (indices.component != ComponentType::kUnsignedByte &&
                                      indices.component != ComponentType::kUnsignedShort &&
                                      indices.component != ComponentType::kUnsignedInt)) {
        return inputError(source.where + ": indices must be unsigned integers of type SCALAR");
      }
      count = indices.count;
    }
    const std::size_t triangles = triangleCount(source.mode, count);
    if (triangles > options_.max_triangles) return too_many(triangles);
    if (!budget_.take(count, sizeof(std::uint32_t)) ||
        !budget_.take(source.mode == kTriangles ? 0 : triangles, 3 * sizeof(std::uint32_t))) {
      return too_many(triangles);
    }
    corners.resize(count);
    if (indexed) {
      readIndices(indices, corners.data());
    } else {
      for (std::size_t i = 0; i < count; ++i)
        corners[i] = static_cast<std::uint32_t>(i);
    }
  }

  const auto bad =
      std::find_if(corners.begin(), corners.end(), [&](std::uint32_t i) { return i >= vertices; });
  if (bad != corners.end()) {
    return inputError(source.where + ": index " + std::to_string(*bad) + " at position " +
                      std::to_string(bad - corners.begin()) + " is out of range, there are " +
                      std::to_string(vertices) + " vertices");
  }
  if (source.mode == kTriangles) {
    if (corners.size() % 3 != 0) {
      notices_.add("incomplete_triangle", source.where + ": " + std::to_string(corners.size()) +
                                              " indices are not a multiple of 3, the last ones are ignored");
      corners.resize(corners.size() / 3 * 3);
    }
    primitive.triangles = std::move(corners);
  } else {
    if (corners.size() < 3) {
      notices_.add("incomplete_triangle", source.where + ": a strip or fan has fewer than 3 vertices");
    }
    primitive.triangles = expandTriangles(source.mode, corners);
  }

  // Exporters put a whole model into one vertex buffer and slice it by index; copying all of it into every
  // primitive would multiply the memory by their number.
  const auto uses = position_uses_.find(source.position_accessor);
  if (!source.draco && indexed && uses != position_uses_.end() && uses->second > 1) {
    source.used = primitive.triangles;
    std::sort(source.used.begin(), source.used.end());
    source.used.erase(std::unique(source.used.begin(), source.used.end()), source.used.end());
    if (source.used.size() < vertices) {
      for (std::uint32_t& corner : primitive.triangles) {
        corner = static_cast<std::uint32_t>(std::lower_bound(source.used.begin(), source.used.end(), corner) -
                                            source.used.begin());
      }
      source.selection = {false, source.used};
    }
  }
  return std::nullopt;
}

std::optional<Error> MeshReader::readPositions(const Source& source, Primitive& primitive) {
  const std::size_t count = source.selection.size(source.positions);
  if (!budget_.take(count, sizeof(Vec3))) {
    return inputError(source.where + ": too many vertices: " + std::to_string(count));
  }
  primitive.positions.resize(count);
  static_assert(sizeof(Vec3) == 3 * sizeof(double));
  if (count == 0) return std::nullopt;
  readNumbers(source.positions, source.selection, primitive.positions.front().data());
  for (std::size_t i = 0; i < count; ++i) {
    if (primitive.positions[i].allFinite()) continue;
    const std::size_t vertex = source.selection.all ? i : source.selection.listed[i];
    return inputError(source.where + ": the position of vertex " + std::to_string(vertex) +
                      " is not finite (accessor " + std::to_string(source.position_accessor) + ")");
  }
  return std::nullopt;
}

std::optional<Error> MeshReader::readTexcoords(const Source& source, Primitive& primitive) {
  Fields fields(*source.attributes, source.where + ", attributes");
  for (const auto& [name, value] : source.attributes->items()) {
    const std::optional<std::size_t> set = texcoordSet(name);
    if (!set) continue;
    if (*set >= kMaxTexcoordSets) {
      notices_.add("texcoord_set_ignored", source.where + ": " + quoteForMessage(name) + " is ignored");
      continue;
    }
    const auto accessor = fields.index(name.c_str(), document_.list("accessors").size(), "accessor");
    if (!fields.ok()) return fields.error();
    Result<AccessorView> view = attribute(source, name, *accessor);
    if (!view) return view.error();
    if (view->components != 2 || view->component == ComponentType::kUnsignedInt) {
      return inputError(source.where + ": " + name + " must be VEC2 of floats or normalised integers");
    }
    if (isInteger(view->component) && !view->normalized && !quantization_) {
      return inputError(source.where + ": " + name + " has integers that are not normalised");
    }
    if (view->count != source.positions.count) {
      return inputError(source.where + ": the count of " + name + " (" + std::to_string(view->count) +
                        ") differs from POSITION (" + std::to_string(source.positions.count) + ")");
    }
    const std::size_t count = source.selection.size(*view);
    if (!budget_.take(count, sizeof(Vec2f))) return inputError(source.where + ": too many vertices");
    if (primitive.uv_sets.size() <= *set) primitive.uv_sets.resize(*set + 1);
    std::vector<Vec2f>& uvs = primitive.uv_sets[*set];
    uvs.resize(count);
    if (count > 0) readNumbers(*view, source.selection, uvs.front().data());
    std::size_t replaced = 0;
    for (Vec2f& uv : uvs) {
      if (allFinite(uv.data(), 2)) continue;
      uv = {0, 0};
      ++replaced;
    }
    if (replaced > 0) {
      notices_.add("nonfinite_uv", source.where + ": " + name + " of " + std::to_string(replaced) +
                                       (replaced == 1 ? " vertex is" : " vertices are") +
                                       " not finite and became (0, 0)");
    }
  }
  return std::nullopt;
}

std::optional<Error> MeshReader::readColors(const Source& source, Primitive& primitive) {
  Fields fields(*source.attributes, source.where + ", attributes");
  const auto accessor = fields.index("COLOR_0", document_.list("accessors").size(), "accessor");
  if (!fields.ok()) return fields.error();
  if (!accessor) return std::nullopt;
  Result<AccessorView> view = attribute(source, "COLOR_0", *accessor);
  if (!view) return view.error();
  if ((view->components != 3 && view->components != 4) || view->component == ComponentType::kByte ||
      view->component == ComponentType::kShort || view->component == ComponentType::kUnsignedInt) {
    return inputError(source.where +
                      ": COLOR_0 must be VEC3 or VEC4 of floats or normalised unsigned integers");
  }
  if (view->count != source.positions.count) {
    return inputError(source.where + ": the count of COLOR_0 (" + std::to_string(view->count) +
                      ") differs from POSITION (" + std::to_string(source.positions.count) + ")");
  }
  if (isInteger(view->component) && !view->normalized) {
    notices_.add(
        "color_not_normalized",
        source.where + ": COLOR_0 has integers without the normalised flag and is read as if it had it");
    view->normalized = true;
  }
  const std::size_t count = source.selection.size(*view);
  if (!budget_.take(count, 2 * sizeof(Vec4f))) return inputError(source.where + ": too many vertices");
  std::vector<float> values(count * view->components);
  readNumbers(*view, source.selection, values.data());
  primitive.colors.resize(count);
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float* value = values.data() + i * view->components;
    if (!allFinite(value, view->components)) {
      primitive.colors[i] = Vec4f::Ones();
      ++replaced;
      continue;
    }
    const Vec4f color(value[0], value[1], value[2], view->components == 4 ? value[3] : 1.0f);
    primitive.colors[i] = color.cwiseMax(0.0f).cwiseMin(1.0f);
  }
  if (replaced > 0) {
    notices_.add("nonfinite_color", source.where + ": COLOR_0 of " + std::to_string(replaced) +
                                        (replaced == 1 ? " vertex is" : " vertices are") +
                                        " not finite and became white");
  }
  return std::nullopt;
}

/// The numbers of an attribute that holds unit vectors; empty if there is none, or one that cannot be used: a
/// file without usable normals still has a shape.
Result<std::vector<float>> MeshReader::readDirections(const Source& source, const char* name,
                                                      std::size_t components) {
  Fields fields(*source.attributes, source.where + ", attributes");
  const auto accessor = fields.index(name, document_.list("accessors").size(), "accessor");
  if (!fields.ok()) return fields.error();
  if (!accessor) return std::vector<float>();
  Result<AccessorView> view = attribute(source, name, *accessor);
  if (!view) return view.error();
  const auto ignored = [&](const std::string& why) {
    notices_.add("directions_ignored", source.where + ": " + name + " " + why + " and is ignored");
    return std::vector<float>();
  };
  const bool fixed_point =
      view->component == ComponentType::kByte || view->component == ComponentType::kShort;
  if (view->components != components || (view->component != ComponentType::kFloat && !fixed_point)) {
    return ignored(components == 3 ? "is not VEC3 of floats or signed integers"
                                   : "is not VEC4 of floats or signed integers");
  }
  if (view->count != source.positions.count) {
    return ignored("has a count (" + std::to_string(view->count) + ") other than POSITION's (" +
                   std::to_string(source.positions.count) + ")");
  }
  // Directions have no length: integers mean the same with or without the flag, but for tangents' w.
  if (fixed_point) view->normalized = true;
  const std::size_t count = source.selection.size(*view);
  if (!budget_.take(count, 2 * components * sizeof(float))) {
    return inputError(source.where + ": too many vertices");
  }
  std::vector<float> values(count * components);
  if (count > 0) readNumbers(*view, source.selection, values.data());
  return values;
}

std::optional<Error> MeshReader::readNormals(const Source& source, Primitive& primitive) {
  const Result<std::vector<float>> values = readDirections(source, "NORMAL", 3);
  if (!values) return values.error();
  primitive.normals.resize(values->size() / 3);
  std::size_t unusable = 0;
  for (std::size_t i = 0; i < primitive.normals.size(); ++i) {
    primitive.normals[i] = unitOrZero(values->data() + 3 * i);
    unusable += primitive.normals[i].isZero() ? 1 : 0;
  }
  if (unusable > 0) {
    notices_.add("unusable_normal", source.where + ": NORMAL of " + std::to_string(unusable) +
                                        (unusable == 1 ? " vertex has" : " vertices have") +
                                        " no direction, faces are flat there");
  }
  return std::nullopt;
}

std::optional<Error> MeshReader::readTangents(const Source& source, Primitive& primitive) {
  if (primitive.normals.empty()) return std::nullopt;  // specification 3.7.2.1: ignored without normals
  const Result<std::vector<float>> values = readDirections(source, "TANGENT", 4);
  if (!values) return values.error();
  primitive.tangents.resize(values->size() / 4);
  for (std::size_t i = 0; i < primitive.tangents.size(); ++i) {
    const float* value = values->data() + 4 * i;
    primitive.tangents[i] << unitOrZero(value), value[3] < 0 ? -1.0f : 1.0f;
  }
  return std::nullopt;
}

}  // namespace heatskin::gltf
