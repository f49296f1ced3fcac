#pragma once

// Builds small glTF files for tests, right ones and wrong ones: `json` is open, nothing is checked.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace heatskin::testing {

/// The numbers of the file format.
template <class T>
constexpr int gltfComponentType() {
  if constexpr (std::is_same_v<T, std::int8_t>) return 5120;
  if constexpr (std::is_same_v<T, std::uint8_t>) return 5121;
  if constexpr (std::is_same_v<T, std::int16_t>) return 5122;
  if constexpr (std::is_same_v<T, std::uint16_t>) return 5123;
  if constexpr (std::is_same_v<T, std::uint32_t>) return 5125;
  if constexpr (std::is_same_v<T, float>) return 5126;
}

inline std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = (group << 8) | (k < n ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= n ? kAlphabet[(group >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return text;
}

template <class T>
std::vector<std::uint8_t> bytesOf(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class GltfBuilder {
 public:
  using Json = nlohmann::json;

  GltfBuilder() { json["asset"] = {{"version", "2.0"}}; }

  Json json;
  std::vector<std::uint8_t> bin;

  /// Appends to a top-level list and returns the index.
  std::size_t add(const char* list, Json item) {
    json[list].push_back(std::move(item));
    return json[list].size() - 1;
  }

  /// A buffer view over a copy of `bytes` in buffer 0, aligned to 4.
  std::size_t addView(std::span<const std::uint8_t> bytes, std::size_t stride = 0) {
    while (bin.size() % 4 != 0)
      bin.push_back(0);
    Json view = {{"buffer", 0}, {"byteOffset", bin.size()}, {"byteLength", bytes.size()}};
    if (stride != 0) view["byteStride"] = stride;
    bin.insert(bin.end(), bytes.begin(), bytes.end());
    return add("bufferViews", std::move(view));
  }

  /// A packed accessor; `type` is "SCALAR", "VEC2", ...
  template <class T>
  std::size_t addAccessor(const std::vector<T>& values, const char* type, bool normalized = false) {
    const std::size_t components = type[0] == 'S' ? 1 : static_cast<std::size_t>(type[3] - '0');
    Json accessor = {{"bufferView", addView(bytesOf(values))},
                     {"componentType", gltfComponentType<T>()},
                     {"count", values.size() / components},
                     {"type", type}};
    if (normalized) accessor["normalized"] = true;
    return add("accessors", std::move(accessor));
  }

  /// A mesh with one primitive, a node that holds it and a scene that holds the node. Returns the mesh.
  std::size_t addMesh(Json primitive) {
    const std::size_t mesh = add("meshes", {{"primitives", Json::array({std::move(primitive)})}});
    const std::size_t node = add("nodes", {{"mesh", mesh}});
    if (!json.contains("scenes")) {
      json["scenes"] = Json::array({{{"nodes", Json::array()}}});
      json["scene"] = 0;
    }
    json["scenes"][0]["nodes"].push_back(node);
    return mesh;
  }

  Json& primitive(std::size_t mesh = 0) { return json["meshes"][mesh]["primitives"][0]; }

  std::vector<std::uint8_t> glb() const {
    Json document = json;
    if (!document.contains("buffers") && !bin.empty()) {
      document["buffers"] = Json::array({{{"byteLength", bin.size()}}});
    }
    std::string text = document.dump();
    while (text.size() % 4 != 0)
      text += ' ';
    std::vector<std::uint8_t> data = bin;
    while (data.size() % 4 != 0)
      data.push_back(0);
    std::vector<std::uint8_t> file;
    const auto put = [&](std::uint32_t v) {
      for (int i = 0; i < 4; ++i)
        file.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
    };
    const std::size_t total = 12 + 8 + text.size() + (data.empty() ? 0 : 8 + data.size());
    put(0x46546C67);
    put(2);
    put(static_cast<std::uint32_t>(total));
    put(static_cast<std::uint32_t>(text.size()));
    put(0x4E4F534A);
    file.insert(file.end(), text.begin(), text.end());
    if (!data.empty()) {
      put(static_cast<std::uint32_t>(data.size()));
      put(0x004E4942);
      file.insert(file.end(), data.begin(), data.end());
    }
    return file;
  }

  /// The same as JSON with the buffer as data URI.
  std::vector<std::uint8_t> gltf() const {
    Json document = json;
    if (!document.contains("buffers") && !bin.empty()) {
      document["buffers"] = Json::array(
          {{{"byteLength", bin.size()}, {"uri", "data:application/octet-stream;base64," + base64(bin)}}});
    }
    const std::string text = document.dump();
    return {text.begin(), text.end()};
  }
};

/// A unit square in the plane z = 0 as two triangles, with texture coordinates: accessor 0 positions, 1
/// texture coordinates, 2 indices (16 bit).
inline GltfBuilder squareBuilder() {
  GltfBuilder builder;
  builder.addAccessor<float>({0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}, "VEC3");
  builder.addAccessor<float>({0, 1, 1, 1, 1, 0, 0, 0}, "VEC2");
  builder.addAccessor<std::uint16_t>({0, 1, 2, 0, 2, 3}, "SCALAR");
  builder.addMesh({{"attributes", {{"POSITION", 0}, {"TEXCOORD_0", 1}}}, {"indices", 2}});
  return builder;
}

}  // namespace heatskin::testing
