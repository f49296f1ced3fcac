#include "heatskin/io/gltf_vertices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "heatskin/io/gltf_accessor.h"
#include "heatskin/io/gltf_buffers.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_draco.h"
#include "heatskin/io/gltf_json.h"

namespace heatskin {
namespace {

using gltf::AccessorView;
using gltf::ComponentType;

constexpr const char* kVertexTypes[] = {"SCALAR", "VEC2", "VEC3", "VEC4"};

/// Data of an accessor to be: elements are padded to multiples of four bytes, as vertex data must be.
struct PackedElements {
  std::vector<std::uint8_t> bytes;
  std::size_t stride = 0;
};

PackedElements gathered(const AccessorView& view, std::span<const VertexBlend> vertices) {
  const std::size_t size = view.components * gltf::componentBytes(view.component);
  PackedElements out;
  out.stride = (size + 3) / 4 * 4;
  out.bytes.resize(out.stride * vertices.size());
  for (std::size_t i = 0; i < vertices.size(); ++i)
    std::memcpy(out.bytes.data() + i * out.stride, view.data + vertices[i].from[0] * view.stride, size);
  return out;
}

/// Numbers of blended elements; [vertices, components].
std::vector<float> blended(const AccessorView& view, std::span<const VertexBlend> vertices, bool direction) {
  const std::size_t n = view.components;
  std::vector<double> all(view.count * n);
  gltf::readNumbers(view, {}, all.data());
  std::vector<float> out(vertices.size() * n);
  for (std::size_t i = 0; i < vertices.size(); ++i) {
    double length2 = 0;
    std::array<double, 4> sum = {0, 0, 0, 0};
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t k = 0; k < 3; ++k) {
        if (vertices[i].weight[k] != 0)
          sum[c] += static_cast<double>(vertices[i].weight[k]) * all[vertices[i].from[k] * n + c];
      }
      if (c < 3) length2 += sum[c] * sum[c];
    }
    const double scale = direction && length2 > 0 ? 1 / std::sqrt(length2) : 1;
    for (std::size_t c = 0; c < n; ++c)
      out[i * n + c] = static_cast<float>(c < 3 ? scale * sum[c] : sum[c]);
    // Handedness has no middle.
    if (direction && n == 4) out[i * n + 3] = sum[3] < 0 ? -1.0f : 1.0f;
  }
  return out;
}

template <class T>
std::span<const std::uint8_t> asBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

void addBounds(GltfJson& accessor, std::span<const float> rows, std::size_t components) {
  std::vector<float> low(components, std::numeric_limits<float>::infinity()), high(components);
  std::fill(high.begin(), high.end(), -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    low[i % components] = std::min(low[i % components], rows[i]);
    high[i % components] = std::max(high[i % components], rows[i]);
  }
  accessor["min"] = low;
  accessor["max"] = high;
}

std::optional<std::size_t> numberIn(const GltfJson& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::size_t>();
}

/// Calls `visit` with every accessor index of the document's meshes, and of what else has accessors.
void forEachAccessor(const GltfDocument& document, const std::function<void(std::size_t)>& visit) {
  const std::function<void(const GltfJson&)> all = [&](const GltfJson& value) {
    if (value.is_number_unsigned()) {
      visit(value.get<std::size_t>());
    } else if (value.is_structured()) {
      for (const GltfJson& item : value)
        all(item);
    }
  };
  const auto member = [&](const GltfJson& object, const char* key) {
    if (object.is_object() && object.contains(key)) all(object[key]);
  };
  for (const GltfJson& mesh : document.list("meshes")) {
    if (!mesh.is_object()) continue;
    for (const GltfJson& primitive : mesh.value("primitives", GltfJson::array())) {
      member(primitive, "attributes");
      member(primitive, "indices");
      member(primitive, "targets");
    }
  }
  for (const GltfJson& skin : document.list("skins"))
    member(skin, "inverseBindMatrices");
  for (const GltfJson& animation : document.list("animations")) {
    if (!animation.is_object()) continue;
    for (const GltfJson& sampler : animation.value("samplers", GltfJson::array())) {
      member(sampler, "input");
      member(sampler, "output");
    }
  }
  // EXT_mesh_gpu_instancing, and whatever else nodes may have.
  for (const GltfJson& node : document.list("nodes")) {
    if (node.is_object() && node.contains("extensions")) all(node["extensions"]);
  }
}

}  // namespace

struct GltfVertices::Impl {
  gltf::Document document;
  std::optional<gltf::MemoryBudget> budget;
  std::optional<gltf::Buffers> buffers;
  std::optional<gltf::Accessors> accessors;
  std::set<std::size_t> used;  // accessors

  /// Attributes of a primitive that are in a Draco stream.
  Result<std::map<std::string, AccessorView>> dracoAttributes(const GltfJson& primitive) {
    std::map<std::string, AccessorView> none;
    const auto extensions = primitive.find("extensions");
    if (extensions == primitive.end() || !extensions->is_object()) return none;
    const auto draco = extensions->find("KHR_draco_mesh_compression");
    if (draco == extensions->end() || !draco->is_object()) return none;
    const auto view = numberIn(*draco, "bufferView");
    if (!view || !draco->contains("attributes")) return none;
    std::vector<gltf::DracoAttribute> wanted;
    for (const auto& [name, id] : (*draco)["attributes"].items()) {
      const auto accessor = numberIn(primitive["attributes"], name);
      if (!accessor || !id.is_number_unsigned()) continue;
      const gltf::Json& json = document.list("accessors")[*accessor];
      wanted.push_back({name, id.get<std::uint32_t>(), json.value("normalized", false)});
    }
    const auto bytes = buffers->view(*view);
    if (!bytes) return bytes.error();
    auto mesh = gltf::decodeDraco(bytes->bytes, wanted, *budget);
    if (!mesh) return mesh.error();
    return std::move(mesh->attributes);
  }

  std::size_t addAccessor(GltfDocument& target, GltfJson accessor, std::span<const std::uint8_t> bytes,
                          GlbBuilder::Target kind, std::size_t stride) {
    const std::size_t view = target.addBufferView(bytes, kind);
    if (stride != 0) target.root()["bufferViews"][view]["byteStride"] = stride;
    GltfJson whole;
    whole["bufferView"] = view;
    for (auto& [key, value] : accessor.items())
      whole[key] = value;
    return target.append("accessors", std::move(whole));
  }

  std::size_t addFloats(GltfDocument& target, std::span<const float> rows, std::size_t components,
                        bool bounds) {
    GltfJson accessor;
    accessor["componentType"] = static_cast<int>(ComponentType::kFloat);
    accessor["count"] = rows.size() / components;
    accessor["type"] = kVertexTypes[components - 1];
    if (bounds) addBounds(accessor, rows, components);
    return addAccessor(target, std::move(accessor),
                       {reinterpret_cast<const std::uint8_t*>(rows.data()), rows.size_bytes()},
                       GlbBuilder::Target::kVertices, 0);
  }

  /// The accessor with the new vertices of an old one.
  Result<std::size_t> follow(GltfDocument& target, const std::string& name, const AccessorView& view,
                             std::size_t old, std::span<const VertexBlend> vertices, bool plain) {
    for (const VertexBlend& vertex : vertices) {
      for (std::size_t k = 0; k < 3; ++k) {
        if (vertex.weight[k] != 0 && vertex.from[k] >= view.count)
          return inputError(fmt::format("{} has fewer elements than POSITION", name));
      }
    }
    const bool position = name == "POSITION";
    if (!plain) {
      const bool direction = name == "NORMAL" || name == "TANGENT";
      const std::vector<float> rows = blended(view, vertices, direction);
      return addFloats(target, rows, view.components, position);
    }
    const PackedElements data = gathered(view, vertices);
    GltfJson accessor;
    accessor["componentType"] = static_cast<int>(view.component);
    if (view.normalized) accessor["normalized"] = true;
    accessor["count"] = vertices.size();
    accessor["type"] = kVertexTypes[view.components - 1];
    const GltfJson& before = target.list("accessors")[old];
    if (position) {
      AccessorView packed = view;
      packed.data = data.bytes.data();
      packed.stride = data.stride;
      packed.count = vertices.size();
      packed.normalized = false;  // bounds are of what is stored
      std::vector<float> rows(vertices.size() * view.components);
      gltf::readNumbers(packed, {}, rows.data());
      addBounds(accessor, rows, view.components);
    }
    if (before.contains("name")) accessor["name"] = before["name"];
    const std::size_t size = view.components * gltf::componentBytes(view.component);
    return addAccessor(target, std::move(accessor), data.bytes, GlbBuilder::Target::kVertices,
                       data.stride == size ? 0 : data.stride);
  }
};

GltfVertices::GltfVertices(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GltfVertices::~GltfVertices() = default;
GltfVertices::GltfVertices(GltfVertices&&) noexcept = default;
GltfVertices& GltfVertices::operator=(GltfVertices&&) noexcept = default;

Result<GltfVertices> GltfVertices::open(std::span<const std::uint8_t> bytes,
                                        const std::filesystem::path& path) {
  gltf::Container container;
  if (gltf::hasGlbMagic(bytes)) {
    const auto split = gltf::splitGlb(bytes);
    if (!split) return split.error();
    container = *split;
  } else {
    container.json = bytes;
  }
  auto parsed = gltf::parseJson(container.json);
  if (!parsed) return parsed.error();
  auto document = gltf::makeDocument(std::move(parsed->root));
  if (!document) return document.error();
  auto impl = std::make_unique<Impl>();
  impl->document = std::move(*document);
  impl->budget.emplace(bytes.size());
  impl->buffers.emplace(impl->document, container.bin, path.parent_path(), *impl->budget);
  impl->accessors.emplace(impl->document, *impl->buffers, *impl->budget);
  return GltfVertices(std::move(impl));
}

void GltfVertices::noteUsed(const GltfDocument& document) {
  forEachAccessor(document, [&](std::size_t a) { impl_->used.insert(a); });
}

Result<void> GltfVertices::rewrite(GltfDocument& document, std::size_t mesh, std::size_t number,
                                   std::span<const VertexBlend> vertices,
                                   std::span<const std::uint32_t> triangles,
                                   std::span<const VertexAttribute> added,
                                   std::span<const std::string> removed) {
  GltfJson primitive = document.list("meshes")[mesh]["primitives"][number];
  auto draco = impl_->dracoAttributes(primitive);
  if (!draco) return draco.error();
  const bool plain =
      std::all_of(vertices.begin(), vertices.end(), [](const VertexBlend& vertex) { return vertex.plain(); });
  const auto isRemoved = [&](const std::string& name) {
    return std::find(removed.begin(), removed.end(), name) != removed.end() ||
           std::any_of(added.begin(), added.end(),
                       [&](const VertexAttribute& attribute) { return attribute.name == name; });
  };
  const auto followAll = [&](const GltfJson& attributes, bool morph) -> Result<GltfJson> {
    GltfJson out = GltfJson::object();
    for (const auto& [name, index] : attributes.items()) {
      if ((!morph && isRemoved(name)) || !index.is_number_unsigned()) continue;
      const bool joints = name.starts_with("JOINTS_") || name.starts_with("WEIGHTS_");
      if (joints && !plain) return failure("vertices between others cannot follow a skin");
      const auto old = index.get<std::size_t>();
      const auto inside = draco->find(name);
      auto view = !morph && inside != draco->end() ? Result<AccessorView>(inside->second)
                                                   : impl_->accessors->view(old);
      if (!view) return view.error();
      // Displacements are no directions.
      auto accessor = impl_->follow(document, morph && name != "POSITION" ? "displacement" : name, *view, old,
                                    vertices, plain);
      if (!accessor) return accessor.error();
      out[name] = *accessor;
    }
    return out;
  };

  auto attributes = followAll(primitive["attributes"], false);
  if (!attributes) return attributes.error();
  for (const VertexAttribute& attribute : added) {
    const auto components = static_cast<std::size_t>(attribute.components);
    if (!attribute.normalized16) {
      (*attributes)[attribute.name] = impl_->addFloats(document, attribute.rows, components, false);
      continue;
    }
    std::vector<std::uint16_t> shorts;
    constexpr float kMost = 65535;
    const std::size_t padded = components == 3 ? 4 : components;  // multiples of four bytes
    for (std::size_t i = 0; i < attribute.rows.size(); ++i) {
      shorts.push_back(
          static_cast<std::uint16_t>(std::lround(kMost * std::clamp(attribute.rows[i], 0.0f, 1.0f))));
      if (padded != components && i % components + 1 == components) shorts.push_back(0);
    }
    GltfJson accessor;
    accessor["componentType"] = static_cast<int>(ComponentType::kUnsignedShort);
    accessor["normalized"] = true;
    accessor["count"] = vertices.size();
    accessor["type"] = kVertexTypes[components - 1];
    (*attributes)[attribute.name] =
        impl_->addAccessor(document, std::move(accessor), asBytes(shorts), GlbBuilder::Target::kVertices,
                           padded == components ? 0 : 2 * padded);
  }
  if (primitive.contains("targets") && primitive["targets"].is_array()) {
    for (GltfJson& morph : primitive["targets"]) {
      auto moved = followAll(morph, true);
      if (!moved) return moved.error();
      morph = std::move(*moved);
    }
  }
  primitive["attributes"] = std::move(*attributes);

  GltfJson indices;
  const bool wide = vertices.size() > 65534;
  indices["componentType"] =
      static_cast<int>(wide ? ComponentType::kUnsignedInt : ComponentType::kUnsignedShort);
  indices["count"] = triangles.size();
  indices["type"] = "SCALAR";
  if (wide) {
    const std::vector<std::uint32_t> all(triangles.begin(), triangles.end());
    primitive["indices"] =
        impl_->addAccessor(document, std::move(indices), asBytes(all), GlbBuilder::Target::kIndices, 0);
  } else {
    std::vector<std::uint16_t> all;
    for (const std::uint32_t corner : triangles)
      all.push_back(static_cast<std::uint16_t>(corner));
    primitive["indices"] =
        impl_->addAccessor(document, std::move(indices), asBytes(all), GlbBuilder::Target::kIndices, 0);
  }
  primitive.erase("mode");  // triangles
  if (GltfJson* extensions = memberOf(primitive, "extensions"); extensions != nullptr) {
    extensions->erase("KHR_draco_mesh_compression");
    if (extensions->empty()) primitive.erase("extensions");
  }
  document.root()["meshes"][mesh]["primitives"][number] = std::move(primitive);
  return {};
}

void GltfVertices::dropUnused(GltfDocument& document) const {
  std::set<std::size_t> still;
  forEachAccessor(document, [&](std::size_t a) { still.insert(a); });
  const std::size_t count = document.list("accessors").size();
  for (const std::size_t a : impl_->used) {
    if (still.contains(a) || a >= count) continue;
    // Its number may be counted on: it stays, as zeros that take no bytes.
    GltfJson& accessor = document.root()["accessors"][a];
    GltfJson empty;
    empty["componentType"] = static_cast<int>(ComponentType::kFloat);
    empty["count"] = 1;
    empty["type"] = "SCALAR";
    if (accessor.contains("name")) empty["name"] = accessor["name"];
    accessor = std::move(empty);
  }
}

}  // namespace heatskin
