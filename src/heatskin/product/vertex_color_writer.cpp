#include "heatskin/product/vertex_color_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

template <class T>
std::vector<std::uint8_t> packed(const std::vector<Vec4f>& colors) {
  constexpr auto kMost = static_cast<float>(std::numeric_limits<T>::max());
  std::vector<T> values;
  values.reserve(4 * colors.size());
  for (const Vec4f& color : colors) {
    for (int c = 0; c < 4; ++c)
      values.push_back(static_cast<T>(std::lround(std::clamp(color[c], 0.0f, 1.0f) * kMost)));
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

/// Eight bits in linear light are coarse where it is dark.
bool eightBitsDo(const std::vector<Vec4f>& colors) {
  constexpr float kSeen = 2.0f / 255;
  for (const Vec4f& color : colors) {
    for (int c = 0; c < 3; ++c) {
      const float value = std::clamp(color[c], 0.0f, 1.0f), stored = std::round(255 * value) / 255;
      if (std::abs(srgbFromLinear(value) - srgbFromLinear(stored)) > kSeen) return false;
    }
  }
  return true;
}

}  // namespace

void VertexColorWriter::add(const PrimitiveKey& key, const Primitive& primitive) {
  GltfJson& json = document_.root()["meshes"][key.first]["primitives"][key.second];
  const auto position = json["attributes"]["POSITION"].get<std::size_t>();
  Shared& shared = shared_[position];
  shared.users.push_back(key);
  const auto count = document_.list("accessors")[position]["count"].get<std::size_t>();
  shared.colors.resize(count, Vec4f::Ones());
  for (std::size_t v = 0; v < primitive.colors.size(); ++v) {
    const std::size_t at = primitive.source_vertices.empty() ? v : primitive.source_vertices[v];
    if (at < count) shared.colors[at] = primitive.colors[v];
  }
}

void VertexColorWriter::write() {
  for (const auto& [position, shared] : shared_) {
    const std::size_t accessor = place(colorsOf(shared), shared.colors);
    for (const auto& [mesh, place] : shared.users) {
      GltfJson& json = document_.root()["meshes"][mesh]["primitives"][place];
      json["attributes"]["COLOR_0"] = accessor;
      // Colours that were inside a Draco stream are now outside.
      GltfJson* extensions = memberOf(json, "extensions");
      GltfJson* draco = extensions == nullptr ? nullptr : memberOf(*extensions, "KHR_draco_mesh_compression");
      GltfJson* inside = draco == nullptr ? nullptr : memberOf(*draco, "attributes");
      if (inside != nullptr && inside->is_object()) inside->erase("COLOR_0");
    }
  }
}

/// The accessor of the colours they had, if it is theirs alone: the new ones take its place.
std::optional<std::size_t> VertexColorWriter::colorsOf(const Shared& shared) {
  std::set<std::size_t> theirs;
  std::size_t uses = 0;
  for (const auto& [mesh, place] : shared.users) {
    const GltfJson* color =
        memberOf(document_.root()["meshes"][mesh]["primitives"][place]["attributes"], "COLOR_0");
    if (color == nullptr || !color->is_number_unsigned()) return std::nullopt;
    theirs.insert(color->get<std::size_t>());
  }
  if (theirs.size() != 1) return std::nullopt;
  for (const GltfJson& mesh : document_.list("meshes")) {
    for (const GltfJson& primitive : mesh.value("primitives", GltfJson::array())) {
      for (const GltfJson& accessor : primitive.value("attributes", GltfJson::object()))
        uses += accessor.is_number_unsigned() && accessor.get<std::size_t>() == *theirs.begin() ? 1 : 0;
    }
  }
  return uses == shared.users.size() ? std::optional(*theirs.begin()) : std::nullopt;
}

std::size_t VertexColorWriter::place(std::optional<std::size_t> number, const std::vector<Vec4f>& colors) {
  constexpr int kUnsignedByte = 5121, kUnsignedShort = 5123;
  const bool eight = eightBitsDo(colors);
  GltfJson accessor;
  accessor["bufferView"] = document_.addBufferView(
      eight ? packed<std::uint8_t>(colors) : packed<std::uint16_t>(colors), GlbBuilder::Target::kVertices);
  accessor["componentType"] = eight ? kUnsignedByte : kUnsignedShort;
  accessor["normalized"] = true;
  accessor["count"] = colors.size();
  accessor["type"] = "VEC4";
  if (!number) return document_.append("accessors", std::move(accessor));
  document_.root()["accessors"][*number] = std::move(accessor);
  return *number;
}

}  // namespace heatskin
