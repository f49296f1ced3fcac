#include "heatskin/pipeline/export_arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/color_space.h"
#include "heatskin/io/image_f.h"
#include "heatskin/pipeline/npz_writer.h"
#include "heatskin/product/fallback_colors.h"
#include "heatskin/product/source_triangles.h"

namespace heatskin {
namespace {

/// Numbers of kernels, row after row.
struct KernelArray {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<float> values;
  std::vector<std::int32_t> integers;  ///< instead of `values`
};

/// All arrays, in the order of docs/baking.md.
std::vector<KernelArray> kernelArrays(const Product& product) {
  const KernelSet& kernels = product.kernels;
  const std::size_t n = kernels.size();
  const Surface& surface = *product.surface;
  const SourceTriangles triangles(product.asset, surface);
  const Similarity to_asset = surface.assetFromSurface();
  KernelArray triangle{"triangle", {n}, {}, {}}, barycentric{"barycentric", {n, 3}, {}, {}},
      position{"position", {n, 3}, {}, {}}, axis{"axis", {n, 3}, {}, {}}, normal{"normal", {n, 3}, {}, {}},
      length{"length", {n}, {}, {}};
  for (std::size_t i = 0; i < n; ++i) {
    const SurfacePoint& p = kernels.positions[i];
    const TrianglePoint at = triangles.toTriangle(p);
    triangle.integers.push_back(static_cast<std::int32_t>(at.triangle));
    const FaceFrame& frame = surface.frames()[p.face];
    const Vec3 place = to_asset(surface.position(p));
    const double angle = static_cast<double>(kernels.angles[i]);
    const Vec3 along = frame.directionFromFace({std::cos(angle), std::sin(angle)}), up = frame.normal();
    for (int c = 0; c < 3; ++c) {
      barycentric.values.push_back(static_cast<float>(at.barycentric[c]));
      position.values.push_back(static_cast<float>(place[c]));
      axis.values.push_back(static_cast<float>(along[c]));
      normal.values.push_back(static_cast<float>(up[c]));
    }
    length.values.push_back(kernels.lengths[i]);
  }
  std::vector<KernelArray> all = {triangle, barycentric, position, axis, normal, length};
  all.push_back({"anisotropy", {n}, kernels.anisotropies, {}});
  all.push_back({"threshold", {n}, kernels.thresholds, {}});
  all.push_back({"sharpness", {n}, kernels.sharpnesses, {}});
  all.push_back({"unit", {1}, {static_cast<float>(to_asset.scale)}, {}});
  for (const ChannelGroup& group : kernels.layout.groups()) {
    // Numbers of the channel itself: parts of the range times its width. Vectors of tangent groups are in
    // space, so that nobody needs to know frames.
    const float low = group.range[0], width = group.range[1] - group.range[0];
    const std::size_t count = group.isTangent() ? 3 : group.count;
    KernelArray values{"channel_" + group.name, {n, count}, {}, {}};
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = kernels.channels.row(i) + group.first;
      if (group.isTangent()) {
        // Residuals of vectors reach 1 for the range's end: half of its width.
        const Vec3 vector = surface.frames()[kernels.positions[i].face].directionFromFace(
            Vec2(static_cast<double>(row[0]), static_cast<double>(row[1])));
        for (int c = 0; c < 3; ++c)
          values.values.push_back(width * static_cast<float>(vector[c]));
        continue;
      }
      for (std::size_t c = 0; c < group.count; ++c)
        values.values.push_back(width * row[c]);
    }
    all.push_back(std::move(values));
    KernelArray mean{"mean_" + group.name, {count}, {}, {}};
    for (std::size_t c = 0; c < count; ++c)
      mean.values.push_back(
          group.isTangent() ? 0.0f : low + width * kernels.mean[static_cast<Eigen::Index>(group.first + c)]);
    all.push_back(std::move(mean));
    all.push_back({"range_" + group.name, {2}, {group.range[0], group.range[1]}, {}});
  }
  return all;
}

template <class T>
void putValue(std::vector<std::uint8_t>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace

std::vector<std::uint8_t> encodePly(const LoadedProduct& product) {
  Asset asset = product.product.asset;
  std::size_t vertices = 0, triangles = 0;
  bool normals = true;
  for (Mesh& mesh : asset.meshes) {
    for (Primitive& primitive : mesh.primitives) {
      // What has one colour in its material has it here, too.
      primitive.colors.assign(primitive.positions.size(), Vec4f::Ones());
      normals = normals && primitive.normals.size() == primitive.positions.size();
    }
  }
  setFallbackColors(product.texture, asset);
  for (const Instance& instance : asset.instances) {
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      vertices += primitive.positions.size();
      triangles += primitive.triangleCount();
    }
  }
  const std::string header = fmt::format(
      "ply\nformat binary_little_endian 1.0\ncomment heatskin: colours are sRGB\nelement vertex {}\n"
      "property float x\nproperty float y\nproperty float z\n{}"
      "property uchar red\nproperty uchar green\nproperty uchar blue\n"
      "element face {}\nproperty list uchar int vertex_indices\nend_header\n",
      vertices, normals ? "property float nx\nproperty float ny\nproperty float nz\n" : "", triangles);
  std::vector<std::uint8_t> out(header.begin(), header.end());
  for (const Instance& instance : asset.instances) {
    const Mat3 turn = instance.asset_from_mesh.linear().inverse().transpose();
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      for (std::size_t v = 0; v < primitive.positions.size(); ++v) {
        const Vec3 at = instance.asset_from_mesh * primitive.positions[v];
        for (int c = 0; c < 3; ++c)
          putValue(out, static_cast<float>(at[c]));
        if (normals) {
          Vec3 n = turn * primitive.normals[v].cast<double>();
          if (n.norm() > 0) n.normalize();
          for (int c = 0; c < 3; ++c)
            putValue(out, static_cast<float>(n[c]));
        }
        for (int c = 0; c < 3; ++c)
          out.push_back(toByte(srgbFromLinear(std::clamp(primitive.colors[v][c], 0.0f, 1.0f))));
      }
    }
  }
  std::int32_t first = 0;
  for (const Instance& instance : asset.instances) {
    const bool mirrored = instance.asset_from_mesh.linear().determinant() < 0;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      for (std::size_t t = 0; t < primitive.triangleCount(); ++t) {
        out.push_back(3);
        for (const std::size_t c :
             {std::size_t{0}, std::size_t{mirrored ? 2u : 1u}, std::size_t{mirrored ? 1u : 2u}})
          putValue(out, first + static_cast<std::int32_t>(primitive.triangles[3 * t + c]));
      }
      first += static_cast<std::int32_t>(primitive.positions.size());
    }
  }
  return out;
}

std::vector<std::uint8_t> encodeKernelArrays(const Product& product) {
  NpzWriter writer;
  for (const KernelArray& array : kernelArrays(product)) {
    if (!array.integers.empty()) {
      writer.addInt32s(array.name, array.shape, array.integers);
    } else {
      writer.addFloats(array.name, array.shape, array.values);
    }
  }
  return writer.bytes();
}

std::string kernelJson(const Product& product) {
  nlohmann::ordered_json json;
  json["generator"] = product.info.generator;
  json["method"] = std::string(methodName(product.options));
  json["kernels"] = product.kernels.size();
  json["channels"] = nlohmann::ordered_json::array();
  for (const ChannelGroup& group : product.kernels.layout.groups())
    json["channels"].push_back(group.name);
  for (const KernelArray& array : kernelArrays(product)) {
    if (!array.integers.empty()) {
      json[array.name] = array.integers;
    } else if (array.shape.size() == 1) {
      json[array.name] = array.values;
    } else {
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < array.shape[0]; ++i) {
        rows.push_back(
            std::vector<float>(array.values.begin() + static_cast<std::ptrdiff_t>(i * array.shape[1]),
                               array.values.begin() + static_cast<std::ptrdiff_t>((i + 1) * array.shape[1])));
      }
      json[array.name] = std::move(rows);
    }
  }
  return json.dump() + "\n";
}

}  // namespace heatskin
