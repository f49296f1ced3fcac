#include "heatskin/io/polygon_soup.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "heatskin/base/files.h"
#include "heatskin/io/triangulate.h"

namespace heatskin {
namespace {

struct VertexKey {
  std::uint32_t position;
  std::uint64_t uv;
  std::array<std::uint32_t, 3> normal;
  bool operator==(const VertexKey&) const = default;
};

struct VertexKeyHash {
  std::size_t operator()(const VertexKey& key) const {
    // The finaliser of SplitMix64 over all parts.
    std::uint64_t h = key.uv + 0x9E3779B97F4A7C15u * (std::uint64_t{key.position} + 1);
    for (const std::uint32_t part : key.normal)
      h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u + part;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
    return h ^ (h >> 31);
  }
};

/// Bits of a texture coordinate; adding zero turns -0 into +0, so that equal values have equal bits.
std::uint64_t uvBits(const Vec2f& uv) {
  return (std::uint64_t{std::bit_cast<std::uint32_t>(uv.x() + 0.0f)} << 32) |
         std::bit_cast<std::uint32_t>(uv.y() + 0.0f);
}

std::array<std::uint32_t, 3> normalBits(const Vec3f& normal) {
  return {std::bit_cast<std::uint32_t>(normal.x() + 0.0f), std::bit_cast<std::uint32_t>(normal.y() + 0.0f),
          std::bit_cast<std::uint32_t>(normal.z() + 0.0f)};
}

/// Fills primitives one after the other; keeps the tables that are as long as the soup.
class PrimitiveBuilder {
 public:
  explicit PrimitiveBuilder(const PolygonSoup& soup)
      : soup_(soup), stamp_(soup.positions.size(), 0), vertex_(soup.positions.size()) {}

  Primitive build(std::span<const std::uint32_t> faces, int material, bool has_uv, bool has_color) {
    Primitive primitive;
    primitive.material = material;
    if (has_uv) primitive.uv_sets.resize(1);
    has_normals_ = std::any_of(faces.begin(), faces.end(), [&](std::uint32_t face) {
      for (std::size_t c = soup_.faces[face].first_corner; c < soup_.faceEnd(face); ++c) {
        if (!normalOf(c).isZero()) return true;
      }
      return false;
    });
    ++group_;
    seams_.clear();
    for (const std::uint32_t face : faces) {
      const std::size_t begin = soup_.faces[face].first_corner;
      const std::size_t count = soup_.faceEnd(face) - begin;
      outline_.clear();
      for (std::size_t corner = begin; corner < begin + count; ++corner) {
        outline_.push_back(vertexOf(corner, primitive, has_uv, has_color));
      }
      if (count == 3) {
        primitive.triangles.insert(primitive.triangles.end(), outline_.begin(), outline_.end());
        continue;
      }
      points_.clear();
      for (std::size_t corner = begin; corner < begin + count; ++corner) {
        points_.push_back(soup_.positions[soup_.corner_position[corner]]);
      }
      local_.clear();
      if (triangulator_.append(points_, local_) == TriangulationKind::kBrokenFan) ++broken_polygons;
      for (const std::uint32_t corner : local_)
        primitive.triangles.push_back(outline_[corner]);
    }
    return primitive;
  }

  /// Positions that no face used so far.
  std::size_t unusedPositions() const {
    std::size_t unused = 0;
    for (const std::uint32_t stamp : stamp_)
      unused += stamp == 0 ? 1 : 0;
    return unused;
  }

  std::size_t broken_polygons = 0;

 private:
  /// The normal of a corner; zero: none.
  Vec3f normalOf(std::size_t corner) const {
    if (soup_.corner_normal.empty() || soup_.corner_normal[corner] == PolygonSoup::kNoNormal)
      return Vec3f::Zero();
    return soup_.normals[soup_.corner_normal[corner]];
  }

  std::uint32_t vertexOf(std::size_t corner, Primitive& primitive, bool has_uv, bool has_color) {
    const std::uint32_t position = soup_.corner_position[corner];
    const Vec2f uv = has_uv ? soup_.uvs[soup_.corner_uv[corner]] : Vec2f::Zero();
    const Vec3f normal = has_normals_ ? normalOf(corner) : Vec3f(Vec3f::Zero());
    const bool first_time = stamp_[position] != group_;
    if (!first_time) {
      const std::uint32_t known = vertex_[position];
      if ((!has_uv || primitive.uv_sets[0][known] == uv) &&
          (!has_normals_ || primitive.normals[known] == normal)) {
        return known;
      }
    }
    // Most positions have one texture coordinate and normal; the others, on seams, go through a hash table.
    const auto added = static_cast<std::uint32_t>(primitive.positions.size());
    if (first_time) {
      stamp_[position] = group_;
      vertex_[position] = added;
    } else {
      const auto [entry, inserted] =
          seams_.try_emplace(VertexKey{position, uvBits(uv), normalBits(normal)}, added);
      if (!inserted) return entry->second;
    }
    primitive.positions.push_back(soup_.positions[position]);
    if (has_uv) primitive.uv_sets[0].push_back(uv);
    if (has_normals_) primitive.normals.push_back(normal);
    if (has_color) primitive.colors.push_back(soup_.colors[position]);
    return added;
  }

  const PolygonSoup& soup_;
  Triangulator triangulator_;
  std::vector<std::uint32_t> stamp_;   // [V] group that used the position last, 0: none
  std::vector<std::uint32_t> vertex_;  // [V] its first vertex in that group
  std::unordered_map<VertexKey, std::uint32_t, VertexKeyHash> seams_;
  std::uint32_t group_ = 0;
  bool has_normals_ = false;
  std::vector<std::uint32_t> outline_;
  std::vector<std::uint32_t> local_;
  std::vector<Vec3> points_;
};

bool isTextured(const Asset& asset, int material) {
  if (material < 0) return false;
  const int texture = asset.materials[static_cast<std::size_t>(material)].base_color.texture;
  return texture >= 0 && asset.textures[static_cast<std::size_t>(texture)].image >= 0;
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

Result<void> appendMesh(Asset& asset, const PolygonSoup& soup, const std::string& name,
                        const LoadOptions& options) {
  const std::size_t triangles = soup.corner_position.size() - 2 * soup.faces.size();
  if (soup.positions.size() > options.max_vertices || triangles > options.max_triangles) {
    return inputError(displayPath(asset.path) + ": too large: " + std::to_string(soup.positions.size()) +
                      " vertices and " + std::to_string(triangles) + " triangles, the limits are " +
                      std::to_string(options.max_vertices) + " and " + std::to_string(options.max_triangles));
  }

  // Faces sorted by group, groups in the order of first use.
  struct Group {
    std::uint32_t part;
    int material;
    bool has_uv;
    auto operator<=>(const Group&) const = default;
  };
  std::map<Group, std::uint32_t> group_of;
  std::vector<Group> groups;
  std::vector<std::uint32_t> face_group(soup.faces.size());
  std::vector<std::size_t> group_begin = {0};
  std::uint32_t last_group = 0;
  std::size_t untextured_faces = 0;  // textured material, but no texture coordinates
  std::size_t plain_faces = 0;       // no texture coordinates among faces that have some
  bool some_uvs = false;
  for (std::size_t f = 0; f < soup.faces.size(); ++f) {
    bool has_uv = !soup.corner_uv.empty();
    for (std::size_t c = soup.faces[f].first_corner; has_uv && c < soup.faceEnd(f); ++c) {
      has_uv = soup.corner_uv[c] != PolygonSoup::kNoUv;
    }
    const Group key = {soup.faces[f].part, soup.faces[f].material, has_uv};
    if (groups.empty() || groups[last_group] != key) {
      const auto [entry, added] = group_of.try_emplace(key, static_cast<std::uint32_t>(groups.size()));
      if (added) {
        groups.push_back(key);
        group_begin.push_back(0);
      }
      last_group = entry->second;
    }
    face_group[f] = last_group;
    ++group_begin[last_group + 1];
    some_uvs = some_uvs || has_uv;
    if (!has_uv) ++(isTextured(asset, key.material) ? untextured_faces : plain_faces);
  }
  for (std::size_t g = 1; g < group_begin.size(); ++g)
    group_begin[g] += group_begin[g - 1];
  std::vector<std::uint32_t> sorted(soup.faces.size());
  std::vector<std::size_t> fill = group_begin;
  for (std::size_t f = 0; f < soup.faces.size(); ++f) {
    sorted[fill[face_group[f]]++] = static_cast<std::uint32_t>(f);
  }

  std::vector<Mesh> meshes(std::max<std::size_t>(1, soup.parts.size()));
  for (std::size_t part = 0; part < meshes.size(); ++part)
    meshes[part].name = soup.parts.empty() || soup.parts[part].empty() ? name : soup.parts[part];
  PrimitiveBuilder builder(soup);
  std::size_t vertices = 0;
  bool colors_left_out = false;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto [part, material, has_uv] = groups[g];
    // Neither format says what a texture and vertex colours mean together; writers that store both mean the
    // same colour twice, and multiplying would darken it.
    const bool textured = has_uv && isTextured(asset, material);
    const bool has_color = !soup.colors.empty() && !textured;
    colors_left_out = colors_left_out || (textured && !soup.colors.empty());
    const std::span<const std::uint32_t> faces(sorted.data() + group_begin[g],
                                               group_begin[g + 1] - group_begin[g]);
    std::vector<Primitive>& primitives = meshes[part].primitives;
    primitives.push_back(builder.build(faces, material, has_uv, has_color));
    vertices += primitives.back().positions.size();
    if (vertices > options.max_vertices) {
      return inputError(displayPath(asset.path) + ": too many vertices, the limit is " +
                        std::to_string(options.max_vertices));
    }
  }

  if (untextured_faces > 0) {
    asset.notices.push_back(
        {"missing_uv",
         counted(untextured_faces, "face has", "faces have") +
             " a textured material but no texture coordinates and will show the material's plain colour",
         untextured_faces});
  }
  if (plain_faces > 0 && some_uvs) {
    asset.notices.push_back({"mixed_uv",
                             counted(plain_faces, "face", "faces") +
                                 " without texture coordinates among faces that have them (not textured)",
                             plain_faces, false});
  }
  if (colors_left_out) {
    asset.notices.push_back(
        {"vertex_colors_ignored", "vertex colours are ignored where there is a texture", 1, false});
  }
  if (builder.broken_polygons > 0) {
    asset.notices.push_back({"broken_polygons",
                             counted(builder.broken_polygons, "polygon crosses itself or has",
                                     "polygons cross themselves or have") +
                                 " no area and was cut as a fan",
                             builder.broken_polygons});
  }
  if (const std::size_t unused = builder.unusedPositions(); unused > 0 && !soup.faces.empty()) {
    asset.notices.push_back({"unused_vertices",
                             counted(unused, "vertex belongs", "vertices belong") + " to no face: left out",
                             unused});
  }

  asset.stored_vertices += soup.positions.size();
  for (Mesh& mesh : meshes) {
    Instance instance;
    instance.name = mesh.name;
    instance.mesh = static_cast<int>(asset.meshes.size());
    asset.meshes.push_back(std::move(mesh));
    asset.instances.push_back(std::move(instance));
  }
  return {};
}

}  // namespace heatskin
