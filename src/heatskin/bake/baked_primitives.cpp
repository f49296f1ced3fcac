#include "heatskin/bake/baked_primitives.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "heatskin/appearance/tangent_space.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/surface/closest_point.h"

namespace heatskin {
namespace {

const Primitive& primitiveOf(const Asset& asset, const BakedPrimitive& baked) {
  return asset.meshes[baked.mesh].primitives[baked.primitive];
}

/// Groups, one bit each, in which a face has its material's values.
std::uint32_t groupsOfFace(const Product& product, std::uint32_t face) {
  const std::uint32_t channels = product.constants.channelsOf(face);
  std::uint32_t groups = 0;
  for (std::size_t g = 0; g < product.kernels.layout.groups().size(); ++g)
    groups |= (channels >> product.kernels.layout.groups()[g].first & 1u) << g;
  return groups;
}

/// What tells the new vertices of one old vertex apart.
struct SplitKey {
  std::uint32_t vertex = 0;
  std::array<std::uint32_t, 6> bits = {};  // of the coordinates and the tangent

  bool operator==(const SplitKey&) const = default;
};

struct SplitKeyHash {
  std::size_t operator()(const SplitKey& key) const {
    std::size_t hash = key.vertex;
    for (const std::uint32_t word : key.bits)
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ull + (hash >> 29);
    return hash;
  }
};

/// Coordinates for the corners of triangles that have no face: those of the nearest face where it is the same
/// triangle, else of one point.
class NearestUvs {
 public:
  NearestUvs(const Product& product, const SheetFaces& sheet) : product_(product), sheet_(sheet) {
    for (std::size_t i = 0; i < sheet.faces.size(); ++i)
      place_[sheet.faces[i]] = i;
  }

  std::array<Vec2f, 3> at(const BakedPrimitive& baked, std::size_t triangle) {
    const Surface& surface = *product_.surface;
    if (!finder_) finder_.emplace(surface);
    const Primitive& primitive = primitiveOf(product_.asset, baked);
    const auto instance = std::find_if(
        product_.asset.instances.begin(), product_.asset.instances.end(),
        [&](const Instance& candidate) { return static_cast<std::size_t>(candidate.mesh) == baked.mesh; });
    std::array<Vec3, 3> corners;
    Vec3 middle = Vec3::Zero();
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3& at_mesh = primitive.positions[primitive.triangles[3 * triangle + c]];
      corners[c] = surface.surfaceFromAsset()(
          instance == product_.asset.instances.end() ? at_mesh : Vec3(instance->asset_from_mesh * at_mesh));
      middle += corners[c] / 3;
    }
    const SurfacePoint nearest = (*finder_)(middle).point;
    const auto found = place_.find(nearest.face);
    // Nobody sees a triangle without area; one on top of another has that one's neighbours at worst.
    if (found == place_.end()) return {Vec2f::Zero(), Vec2f::Zero(), Vec2f::Zero()};
    const std::array<Vec2f, 3>& uvs = sheet_.uvs[found->second];
    std::array<std::size_t, 3> match = {0, 0, 0};
    for (std::size_t c = 0; c < 3; ++c) {
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < 3; ++k) {
        const double distance =
            (surface.positions()[surface.faces()[nearest.face][k]] - corners[c]).squaredNorm();
        if (distance >= best) continue;
        best = distance;
        match[c] = k;
      }
    }
    if (match[0] != match[1] && match[1] != match[2] && match[2] != match[0])
      return {uvs[match[0]], uvs[match[1]], uvs[match[2]]};
    Vec2 point = Vec2::Zero();
    for (std::size_t k = 0; k < 3; ++k)
      point += nearest.barycentric[static_cast<Eigen::Index>(k)] * uvs[k].cast<double>();
    return {point.cast<float>(), point.cast<float>(), point.cast<float>()};
  }

 private:
  const Product& product_;
  const SheetFaces& sheet_;
  std::unordered_map<std::uint32_t, std::size_t> place_;
  std::optional<ClosestPointQuery> finder_;
};

/// Corner tangents of a primitive for new coordinates of its corners; [3 T].
std::vector<Vec4f> cornerTangents(const Primitive& primitive, std::span<const Vec2f> uvs) {
  std::vector<Vec3> positions(primitive.triangles.size());
  std::vector<Vec3f> normals(primitive.triangles.size());
  for (std::size_t c = 0; c < primitive.triangles.size(); ++c) {
    positions[c] = primitive.positions[primitive.triangles[c]];
    normals[c] = primitive.normals[primitive.triangles[c]];
  }
  return mikkTangents(positions, normals, uvs);
}

}  // namespace

std::vector<BakedPrimitive> bakedPrimitives(const Product& product) {
  const Surface& surface = *product.surface;
  std::map<std::pair<std::size_t, std::size_t>, BakedPrimitive> all;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const auto mesh = static_cast<std::size_t>(product.asset.instances[source.instance].mesh);
    const auto [entry, is_new] = all.try_emplace({mesh, source.primitive});
    BakedPrimitive& baked = entry->second;
    if (is_new) {
      baked.mesh = mesh;
      baked.primitive = source.primitive;
      baked.constant = groupsOfFace(product, f);
      baked.face_of_triangle.assign(product.asset.meshes[mesh].primitives[source.primitive].triangleCount(),
                                    kNone);
    }
    std::uint32_t& face = baked.face_of_triangle[source.triangle];
    if (face == kNone) face = f;
  }
  std::vector<BakedPrimitive> out;
  for (auto& [key, baked] : all) {
    if (baked.constant != allGroups(product.kernels.layout)) out.push_back(std::move(baked));
  }
  return out;
}

SheetFaces ownUvs(const Product& product, std::span<const BakedPrimitive* const> primitives, std::size_t set,
                  std::size_t* without) {
  SheetFaces sheet;
  for (const BakedPrimitive* baked : primitives) {
    const Primitive& primitive = primitiveOf(product.asset, *baked);
    const bool has = set < primitive.uv_sets.size() && !primitive.uv_sets[set].empty();
    for (std::size_t t = 0; t < baked->face_of_triangle.size(); ++t) {
      const std::uint32_t face = baked->face_of_triangle[t];
      if (face == kNone) continue;
      if (!has) {
        if (without != nullptr) ++*without;
        continue;
      }
      auto& uvs = sheet.uvs.emplace_back();
      sheet.faces.push_back(face);
      const auto& corners = product.surface->sources()[face].corners;
      for (std::size_t c = 0; c < 3; ++c)
        uvs[c] = primitive.uv_sets[set][primitive.triangles[3 * t + corners[c]]];
    }
  }
  return sheet;
}

SheetFaces facesOf(std::span<const BakedPrimitive> primitives) {
  SheetFaces sheet;
  for (const BakedPrimitive& baked : primitives) {
    for (const std::uint32_t face : baked.face_of_triangle) {
      if (face != kNone) sheet.faces.push_back(face);
    }
  }
  return sheet;
}

void splitVertices(const Product& product, const SheetFaces& sheet, bool tangents,
                   std::vector<BakedPrimitive>& primitives) {
  NearestUvs nearest(product, sheet);
  std::size_t next = 0;  // face of the sheet
  for (BakedPrimitive& baked : primitives) {
    const Primitive& primitive = primitiveOf(product.asset, baked);
    std::vector<Vec2f> uvs(primitive.triangles.size());
    for (std::size_t t = 0; t < baked.face_of_triangle.size(); ++t) {
      const std::uint32_t face = baked.face_of_triangle[t];
      if (face == kNone) {
        const auto there = nearest.at(baked, t);
        std::copy(there.begin(), there.end(), uvs.begin() + static_cast<std::ptrdiff_t>(3 * t));
        continue;
      }
      const auto& corners = product.surface->sources()[face].corners;
      for (std::size_t c = 0; c < 3; ++c)
        uvs[3 * t + corners[c]] = sheet.uvs[next][c];
      ++next;
    }
    const bool with_tangents = tangents && primitive.normals.size() == primitive.positions.size();
    std::vector<Vec4f> corner_tangents;
    if (with_tangents) corner_tangents = cornerTangents(primitive, uvs);

    std::unordered_map<SplitKey, std::uint32_t, SplitKeyHash> known;
    baked.vertices.clear();
    baked.triangles.clear();
    baked.uvs.clear();
    baked.tangents.clear();
    for (std::size_t c = 0; c < primitive.triangles.size(); ++c) {
      SplitKey key{primitive.triangles[c], {}};
      key.bits[0] = std::bit_cast<std::uint32_t>(uvs[c].x());
      key.bits[1] = std::bit_cast<std::uint32_t>(uvs[c].y());
      for (std::size_t k = 0; with_tangents && k < 4; ++k)
        key.bits[2 + k] = std::bit_cast<std::uint32_t>(corner_tangents[c][static_cast<Eigen::Index>(k)]);
      const auto [entry, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(baked.vertices.size()));
      if (is_new) {
        VertexBlend vertex;
        vertex.from = {key.vertex, key.vertex, key.vertex};
        baked.vertices.push_back(vertex);
        baked.uvs.push_back(uvs[c]);
        if (with_tangents) baked.tangents.push_back(corner_tangents[c]);
      }
      baked.triangles.push_back(entry->second);
    }
  }
}

Asset withNewVertices(const Asset& asset, std::span<const BakedPrimitive> primitives, std::size_t set) {
  Asset out = asset;
  out.file = nullptr;
  for (const BakedPrimitive& baked : primitives) {
    if (baked.vertices.empty()) continue;
    const Primitive& before = primitiveOf(asset, baked);
    Primitive& after = out.meshes[baked.mesh].primitives[baked.primitive];
    const auto gather = [&](const auto& from, auto& to) {
      if (from.empty()) return;
      to.resize(baked.vertices.size());
      for (std::size_t v = 0; v < baked.vertices.size(); ++v)
        to[v] = from[baked.vertices[v].from[0]];
    };
    gather(before.positions, after.positions);
    gather(before.normals, after.normals);
    gather(before.tangents, after.tangents);
    gather(before.colors, after.colors);
    for (std::size_t s = 0; s < before.uv_sets.size(); ++s)
      gather(before.uv_sets[s], after.uv_sets[s]);
    after.uv_sets.resize(std::max(after.uv_sets.size(), set + 1));
    after.uv_sets[set] = baked.uvs;
    if (!baked.tangents.empty()) after.tangents = baked.tangents;
    after.triangles = baked.triangles;
    after.source_vertices.clear();
  }
  return out;
}

}  // namespace heatskin
