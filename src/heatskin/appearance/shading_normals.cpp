#include "heatskin/appearance/shading_normals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "heatskin/appearance/map_frame.h"
#include "heatskin/appearance/tangent_space.h"
#include "heatskin/appearance/texels.h"
#include "heatskin/base/parallel.h"
#include "heatskin/surface/crease_normals.h"

namespace heatskin {
namespace {

constexpr std::size_t kNormalFaces = 2048;  // per block

/// Normals closer to opposite than this (the cosine of their angle plus 1) have no axis that rounding would
/// leave alone.
constexpr double kOpposite = 1e-12;

const Primitive& primitiveOfFace(const Asset& asset, const FaceSource& source) {
  const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
  return asset.meshes[mesh].primitives[source.primitive];
}

bool hasNormals(const Primitive& primitive) {
  return !primitive.normals.empty() && primitive.normals.size() == primitive.positions.size();
}

Vec3f unitFloat3(const Vec3& v, const Vec3f& otherwise) {
  const double length = v.norm();
  return length > 0 && std::isfinite(length) ? Vec3f((v / length).cast<float>()) : otherwise;
}

/// What instances do to directions.
struct DirectionTransform {
  Mat3 linear = Mat3::Identity();
  Mat3 for_normals = Mat3::Identity();  ///< inverse transpose, up to a positive factor
  bool mirrors = false;

  explicit DirectionTransform(const Affine3& transform) : linear(transform.linear()) {
    // Cofactors instead of an inverse: they exist for flat transforms, too.
    for_normals.col(0) = linear.col(1).cross(linear.col(2));
    for_normals.col(1) = linear.col(2).cross(linear.col(0));
    for_normals.col(2) = linear.col(0).cross(linear.col(1));
    mirrors = linear.determinant() < 0;
    if (mirrors) for_normals = -for_normals;
  }
};

std::vector<DirectionTransform> directionTransforms(const Asset& asset) {
  std::vector<DirectionTransform> transforms;
  for (const Instance& instance : asset.instances)
    transforms.emplace_back(instance.asset_from_mesh);
  return transforms;
}

/// Corner normals of a primitive's triangles in the mesh's space, flat ones where it has none; [3 T].
std::vector<Vec3f> meshNormals(const Primitive& primitive) {
  std::vector<Vec3f> normals(primitive.triangles.size());
  const bool authored = hasNormals(primitive);
  for (std::size_t c = 0; c < normals.size(); ++c) {
    if (authored) normals[c] = primitive.normals[primitive.triangles[c]];
    if (authored && !normals[c].isZero()) continue;
    const std::size_t t = c / 3;
    const Vec3& a = primitive.positions[primitive.triangles[3 * t]];
    const Vec3& b = primitive.positions[primitive.triangles[3 * t + 1]];
    const Vec3& d = primitive.positions[primitive.triangles[3 * t + 2]];
    normals[c] = unitFloat3((b - a).cross(d - a), Vec3f::Zero());
  }
  return normals;
}

/// The texture whose coordinates tangents follow on faces of a material that have one in the slot.
const TextureUse& tangentTexture(const Material& material, const Primitive& primitive, std::size_t slot) {
  const TextureUse& normal = material.slots[kNormalSlot].texture;
  const auto set = static_cast<std::size_t>(normal.uv_set);
  const bool usable =
      normal.texture >= 0 && set < primitive.uv_sets.size() && !primitive.uv_sets[set].empty();
  return material.slots[slot == kAnisotropySlot && usable ? kNormalSlot : slot].texture;
}

/// Corner tangents of a primitive for a map of directions in the mesh's space; [3 T].
std::vector<Vec4f> meshTangents(const Primitive& primitive, const TextureUse& use) {
  std::vector<Vec4f> tangents(primitive.triangles.size());
  if (primitive.tangents.size() == primitive.positions.size() && hasNormals(primitive)) {
    for (std::size_t c = 0; c < tangents.size(); ++c)
      tangents[c] = primitive.tangents[primitive.triangles[c]];
    return tangents;
  }
  std::vector<Vec3> positions(tangents.size());
  std::vector<Vec2f> uvs(tangents.size());
  for (std::size_t c = 0; c < tangents.size(); ++c) {
    positions[c] = primitive.positions[primitive.triangles[c]];
    uvs[c] = texels::transformed(
        use, primitive.uv_sets[static_cast<std::size_t>(use.uv_set)][primitive.triangles[c]]);
  }
  return mikkTangents(positions, meshNormals(primitive), uvs);
}

/// Rotates v by the smallest rotation that takes unit vector a to unit vector b (back: b to a); the half turn
/// around `axis` where they are opposite.
Vec3 minimalRotation(const Vec3& a, const Vec3& b, const Vec3& axis, const Vec3& v, bool back) {
  const double cosine = a.dot(b);
  if (1 + cosine < kOpposite) return 2 * axis.dot(v) * axis - v;
  const Vec3 cross = (back ? -1.0 : 1.0) * a.cross(b);
  const Vec3 turned = cross.cross(v);
  return v + turned + cross.cross(turned) / (1 + cosine);
}

}  // namespace

std::vector<std::array<Vec3f, 3>> cornerNormals(const Asset& asset, const Surface& surface) {
  const std::size_t faces = surface.faceCount();
  const bool gltf = asset.format == "glb" || asset.format == "gltf";
  std::vector<std::array<Vec3f, 3>> normals(faces);
  if (!gltf) normals = creaseNormals(surface, kCreaseAngle);
  const std::vector<DirectionTransform> transforms = directionTransforms(asset);
  parallelFor(faces, kNormalFaces, [&](std::size_t begin, std::size_t end) {
    for (std::size_t f = begin; f < end; ++f) {
      const FaceSource& source = surface.sources()[f];
      const Primitive& primitive = primitiveOfFace(asset, source);
      const Vec3f flat = surface.frames()[f].normal().cast<float>();
      const bool authored = hasNormals(primitive);
      if (!authored) {
        if (gltf) normals[f] = {flat, flat, flat};
        continue;
      }
      const DirectionTransform& transform = transforms[source.instance];
      Vec3f sum = Vec3f::Zero();
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
        normals[f][c] =
            unitFloat3(transform.for_normals * primitive.normals[v].cast<double>(), Vec3f::Zero());
        sum += normals[f][c];
      }
      const bool inwards = sum.dot(flat) < 0;
      for (Vec3f& normal : normals[f]) {
        if (normal.isZero()) {
          normal = flat;
        } else if (inwards) {
          normal = -normal;
        }
      }
    }
  });
  return normals;
}

MapTangents mapTangents(const Asset& asset, const Surface& surface, const SlotAppearance& slots,
                        std::size_t slot) {
  MapTangents maps;
  const std::size_t faces = surface.faceCount();
  const std::vector<DirectionTransform> transforms = directionTransforms(asset);
  std::map<std::pair<int, std::uint32_t>, std::vector<Vec4f>> tangents_of;  // (mesh, primitive) -> [3 T]
  maps.tangents.assign(faces, {Vec4f::Zero(), Vec4f::Zero(), Vec4f::Zero()});
  maps.turned.assign(faces, 0);
  for (std::uint32_t f = 0; f < faces; ++f) {
    if (!slots.faceTextured(f, slot)) continue;
    const FaceSource& source = surface.sources()[f];
    const Primitive& primitive = primitiveOfFace(asset, source);
    const auto [entry, added] = tangents_of.try_emplace(
        {asset.instances[source.instance].mesh, source.primitive}, std::vector<Vec4f>());
    if (added) {
      const Material& material = asset.materials[static_cast<std::size_t>(primitive.material)];
      entry->second = meshTangents(primitive, tangentTexture(material, primitive, slot));
    }
    const DirectionTransform& transform = transforms[source.instance];
    const Vec3f flat = surface.frames()[f].normal().cast<float>();
    // The front of the file's triangle: repaired orientation and mirroring swap corners.
    const bool swapped = (source.corners[1] + 3 - source.corners[0]) % 3 == 2;
    const Vec3f front = swapped == transform.mirrors ? flat : Vec3f(-flat);
    Vec3f sum = Vec3f::Zero();
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t corner = 3 * std::size_t{source.triangle} + source.corners[c];
      const Vec4f& tangent = entry->second[corner];
      maps.tangents[f][c].head<3>() =
          unitFloat3(transform.linear * tangent.head<3>().cast<double>(), Vec3f::Zero());
      maps.tangents[f][c].w() = transform.mirrors ? -tangent.w() : tangent.w();
      const Vec3f authored =
          hasNormals(primitive) ? primitive.normals[primitive.triangles[corner]] : Vec3f(Vec3f::Zero());
      sum += unitFloat3(transform.for_normals * authored.cast<double>(), front);
    }
    maps.turned[f] = sum.dot(flat) < 0 ? 1 : 0;
  }
  return maps;
}

MapFrame mapFrame(const SurfacePoint& p, const std::array<Vec3f, 3>& normals,
                  const std::array<Vec4f, 3>& tangents, bool turned) {
  // The normals as the file has them: turning a face over must not turn the map.
  MapFrame frame;
  frame.side = turned ? -1.0 : 1.0;
  frame.normal = frame.tangent = Vec3::Zero();
  for (std::size_t c = 0; c < 3; ++c) {
    const double weight = p.barycentric[static_cast<Eigen::Index>(c)];
    frame.normal += frame.side * weight * normals[c].cast<double>();
    frame.tangent += weight * tangents[c].head<3>().cast<double>();
  }
  const double handedness = tangents[0].w() < 0 ? -1.0 : 1.0;
  frame.bitangent = handedness * frame.normal.cross(frame.tangent);
  return frame;
}

Vec3 MapFrame::direction(const Vec3& wanted) const {
  Mat3 axes;
  axes << tangent, bitangent, normal;
  // Cramer's rule.
  const double volume = axes.determinant();
  constexpr double kNoFrame = 1e-12;
  if (!(std::abs(volume) > kNoFrame)) return Vec3::UnitZ();
  Vec3 local(wanted.dot(bitangent.cross(normal)), wanted.dot(normal.cross(tangent)),
             wanted.dot(tangent.cross(bitangent)));
  local *= side / volume;
  local.z() = std::max(local.z(), 0.0);
  const double length = local.norm();
  return length > kNoFrame ? Vec3(local / length) : Vec3(Vec3::UnitZ());
}

Vec2 MapFrame::across(const Vec3& wanted) const {
  // Normal equations: interpolated axes are neither unit vectors nor quite perpendicular.
  const double tt = tangent.squaredNorm(), bb = bitangent.squaredNorm(), tb = tangent.dot(bitangent);
  const double t = tangent.dot(wanted), b = bitangent.dot(wanted), area = tt * bb - tb * tb;
  constexpr double kNoFrame = 1e-12;
  return area > kNoFrame ? Vec2((bb * t - tb * b) / area, (tt * b - tb * t) / area) : Vec2(Vec2::Zero());
}

ShadingNormals::ShadingNormals(const Asset& asset, const Surface& surface, const SlotAppearance& slots,
                               std::size_t slot)
    : slot_(slot), normals_(cornerNormals(asset, surface)) {
  if (!slots.textured(slot)) return;
  MapTangents maps = mapTangents(asset, surface, slots, slot);
  tangents_ = std::move(maps.tangents);
  turned_ = std::move(maps.turned);
  frames_.assign(surface.frames().begin(), surface.frames().end());
}

bool ShadingNormals::faceMapped(std::uint32_t face, const SlotAppearance& slots) const {
  return !tangents_.empty() && slots.faceTextured(face, slot_);
}

Vec3 ShadingNormals::vertexNormal(const SurfacePoint& p) const {
  return interpolatedNormal(normals_[p.face], p.barycentric, normals_[p.face][0].cast<double>());
}

Vec3 ShadingNormals::normal(const SurfacePoint& p, const SlotAppearance& slots, Filter filter) const {
  if (!faceMapped(p.face, slots)) return vertexNormal(p);
  const auto texel = slots.texel(p, slot_, filter);
  if (!texel) return vertexNormal(p);
  const MapFrame frame = mapFrame(p, normals_[p.face], tangents_[p.face], turned_[p.face] != 0);
  const double scale = static_cast<double>(slots.factor(p.face, slot_)[0]);
  const Vec3 local = 2 * texel->cast<double>() - Vec3::Ones();
  const Vec3 mapped =
      scale * (local.x() * frame.tangent + local.y() * frame.bitangent) + local.z() * frame.normal;
  const double length = mapped.norm();
  constexpr double kNoDirection = 1e-6;  // of texels with 8 bits
  return length > kNoDirection ? Vec3(frame.side / length * mapped) : vertexNormal(p);
}

Vec2 ShadingNormals::slope(const SurfacePoint& p, const SlotAppearance& slots, Filter filter) const {
  if (!faceMapped(p.face, slots)) return Vec2::Zero();
  return slopeFromNormal(frames_[p.face], vertexNormal(p), normal(p, slots, filter));
}

Vec3 ShadingNormals::anisotropy(const SurfacePoint& p, const SlotAppearance& slots, Filter filter) const {
  if (!faceMapped(p.face, slots)) return Vec3::Zero();
  const auto texel = slots.texel(p, slot_, filter);
  if (!texel) return Vec3::Zero();
  const MapFrame frame = mapFrame(p, normals_[p.face], tangents_[p.face], turned_[p.face] != 0);
  const Vec2 local = 2 * texel->head<2>().cast<double>() - Vec2::Ones();
  const auto angle = static_cast<double>(slots.rotation(p.face, slot_));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  Vec3 direction = (cosine * local.x() - sine * local.y()) * frame.tangent +
                   (sine * local.x() + cosine * local.y()) * frame.bitangent;
  const Vec3 n0 = vertexNormal(p);
  direction -= direction.dot(n0) * n0;
  const double length = direction.norm();
  const double strength = static_cast<double>((*texel)[2] * slots.factor(p.face, slot_)[0]);
  constexpr double kNoDirection = 1e-6;  // of texels with 8 bits
  return length > kNoDirection ? Vec3(strength / length * direction) : Vec3(Vec3::Zero());
}

Vec2 ShadingNormals::tangent(const SurfacePoint& p, const SlotAppearance& slots, Filter filter) const {
  if (slot_ != kAnisotropySlot) return slope(p, slots, filter);
  if (!faceMapped(p.face, slots)) return Vec2::Zero();
  return faceFromShaded(frames_[p.face], vertexNormal(p), anisotropy(p, slots, filter));
}

Vec3 normalFromSlope(const FaceFrame& frame, const Vec3& n0, const Vec2& slope) {
  const Vec3 nf = frame.normal();
  return minimalRotation(nf, n0, frame.x_axis, nf + frame.directionFromFace(slope), false).normalized();
}

Vec2 slopeFromNormal(const FaceFrame& frame, const Vec3& n0, const Vec3& normal) {
  const Vec3 nf = frame.normal();
  const Vec3 flat = minimalRotation(nf, n0, frame.x_axis, normal, true);
  const Vec2 across = frame.directionToFace(flat);
  const double height = nf.dot(flat), length = across.norm();
  if (!(length > 0)) return Vec2::Zero();
  return height * kMaxSlope > length ? Vec2(across / height) : Vec2(across * (kMaxSlope / length));
}

Vec3 shadedFromFace(const FaceFrame& frame, const Vec3& n0, const Vec2& vector) {
  return minimalRotation(frame.normal(), n0, frame.x_axis, frame.directionFromFace(vector), false);
}

Vec2 faceFromShaded(const FaceFrame& frame, const Vec3& n0, const Vec3& vector) {
  return frame.directionToFace(minimalRotation(frame.normal(), n0, frame.x_axis, vector, true));
}

bool isNormalChannel(std::string_view name) {
  const std::size_t slot = slotOf(name);
  return slot == kNormalSlot || slot == kCoatNormalSlot;
}

Vec3 NormalChannels::normal(const FaceFrame& frame, const Vec3& n0, const float* values) const {
  if (slopes_ != nullptr) {
    const float* slope = values + slopes_->first;
    return normalFromSlope(frame, n0, Vec2(slope[0], slope[1]));
  }
  if (residuals_ == nullptr) return n0;
  const Vec3 sum = n0 + Eigen::Map<const Vec3f>(values + residuals_->first).cast<double>();
  const double length = sum.norm();
  constexpr double kNoNormal = 1e-6;
  return length > kNoNormal ? Vec3(sum / length) : n0;
}

}  // namespace heatskin
