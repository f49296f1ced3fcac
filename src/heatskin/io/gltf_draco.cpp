#include "heatskin/io/gltf_draco.h"

#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <draco/compression/decode.h>
#include <draco/compression/point_cloud/point_cloud_decoder.h>
#include <draco/core/varint_decoding.h>
#include <draco/metadata/metadata_decoder.h>

namespace heatskin::gltf {
namespace {

/// Memory the decoder needs per face (corner table, faces, traversal marks) and per vertex (portable and
/// final attribute values, maps), rounded up from its data structures.
constexpr std::size_t kBytesPerFace = 96;
constexpr std::size_t kBytesPerVertex = 128;

struct MeshSize {
  std::uint32_t faces = 0;
  std::uint32_t vertices = 0;
};

draco::DecoderBuffer bufferOf(std::span<const std::uint8_t> bytes) {
  draco::DecoderBuffer buffer;
  buffer.Init(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return buffer;
}

/// The number of faces and vertices the stream announces (Draco bitstream specification, "Draco header" and
/// the connectivity headers of the two mesh methods).
std::optional<MeshSize> announcedSize(std::span<const std::uint8_t> bytes) {
  draco::DecoderBuffer buffer = bufferOf(bytes);
  draco::DracoHeader header;
  if (!draco::PointCloudDecoder::DecodeHeader(&buffer, &header).ok()) return std::nullopt;
  if (header.encoder_type != draco::TRIANGULAR_MESH) return std::nullopt;
  const auto version =
      static_cast<std::uint16_t>(DRACO_BITSTREAM_VERSION(header.version_major, header.version_minor));
  buffer.set_bitstream_version(version);
  if ((header.flags & METADATA_FLAG_MASK) != 0) {
    draco::GeometryMetadata metadata;
    draco::MetadataDecoder decoder;
    if (!decoder.DecodeGeometryMetadata(&buffer, &metadata)) return std::nullopt;
  }
  // The extension is defined for bitstream 2.2; older streams store the sizes in other ways.
  if (version < DRACO_BITSTREAM_VERSION(2, 2)) return std::nullopt;
  MeshSize size;
  bool ok = true;
  if (header.encoder_method == draco::MESH_EDGEBREAKER_ENCODING) {
    std::uint8_t traversal = 0;
    ok = buffer.Decode(&traversal) && draco::DecodeVarint(&size.vertices, &buffer) &&
         draco::DecodeVarint(&size.faces, &buffer);
  } else {
    ok = draco::DecodeVarint(&size.faces, &buffer) && draco::DecodeVarint(&size.vertices, &buffer);
  }
  return ok ? std::optional(size) : std::nullopt;
}

std::optional<ComponentType> componentTypeOf(draco::DataType type) {
  switch (type) {
    case draco::DT_INT8:
      return ComponentType::kByte;
    case draco::DT_UINT8:
      return ComponentType::kUnsignedByte;
    case draco::DT_INT16:
      return ComponentType::kShort;
    case draco::DT_UINT16:
      return ComponentType::kUnsignedShort;
    case draco::DT_UINT32:
      return ComponentType::kUnsignedInt;
    case draco::DT_FLOAT32:
      return ComponentType::kFloat;
    default:
      return std::nullopt;
  }
}

/// The attribute's values, one per vertex, packed.
Result<AccessorView> attributeView(const draco::Mesh& mesh, const DracoAttribute& wanted,
                                   MemoryBudget& budget) {
  const draco::PointAttribute* attribute = mesh.GetAttributeByUniqueId(wanted.unique_id);
  if (attribute == nullptr) {
    return inputError("the Draco data has no attribute " + std::to_string(wanted.unique_id) + " for " +
                      wanted.name);
  }
  const std::optional<ComponentType> type = componentTypeOf(attribute->data_type());
  const std::size_t components = attribute->num_components();
  if (!type || components < 1 || components > 4) {
    return inputError("the Draco attribute " + wanted.name + " has an unsupported type");
  }
  const std::size_t element = componentBytes(*type) * components;
  const std::size_t count = mesh.num_points();
  if (!budget.take(count, element)) return inputError("the Draco mesh is too large");
  const auto stride = static_cast<std::size_t>(attribute->byte_stride());
  const draco::DataBuffer* buffer = attribute->buffer();
  if (buffer == nullptr || stride < element || attribute->byte_offset() < 0) {
    return inputError("the Draco attribute " + wanted.name + " is corrupt");
  }
  const auto offset = static_cast<std::size_t>(attribute->byte_offset());
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    if (!attribute->is_mapping_identity() && i >= attribute->indices_map_size()) {
      return inputError("the Draco attribute " + wanted.name + " is corrupt");
    }
    const std::size_t entry =
        attribute->mapped_index(draco::PointIndex(static_cast<std::uint32_t>(i))).value();
    const std::size_t at = offset + entry * stride;
    if (at + element > buffer->data_size()) {
      return inputError("the Draco attribute " + wanted.name + " is corrupt");
    }
    std::memcpy(bytes->data() + i * element, buffer->data() + at, element);
  }
  AccessorView view;
  view.data = bytes->data();
  view.stride = element;
  view.count = count;
  view.component = *type;
  view.components = components;
  view.normalized = wanted.normalized;
  view.owned = std::move(bytes);
  return view;
}

}  // namespace

Result<DracoMesh> decodeDraco(std::span<const std::uint8_t> bytes, std::span<const DracoAttribute> attributes,
                              MemoryBudget& budget) {
  const auto corrupt = [](const std::string& why) {
    return inputError("the Draco data is corrupt" + (why.empty() ? why : ": " + why));
  };
  try {
    const std::optional<MeshSize> size = announcedSize(bytes);
    if (!size) return corrupt("it has no mesh header that can be read");
    if (!budget.take(size->faces, kBytesPerFace) || !budget.take(size->vertices, kBytesPerVertex)) {
      return inputError("the Draco mesh is too large: it announces " + std::to_string(size->faces) +
                        " triangles and " + std::to_string(size->vertices) + " vertices in " +
                        std::to_string(bytes.size()) + " bytes");
    }
    draco::DecoderBuffer buffer = bufferOf(bytes);
    draco::Decoder decoder;
    auto decoded = decoder.DecodeMeshFromBuffer(&buffer);
    if (!decoded.ok()) return corrupt(decoded.status().error_msg_string());
    const std::unique_ptr<draco::Mesh> draco_mesh = std::move(decoded).value();

    DracoMesh mesh;
    mesh.vertex_count = draco_mesh->num_points();
    if (!budget.take(draco_mesh->num_faces(), 3 * sizeof(std::uint32_t))) {
      return inputError("the Draco mesh is too large");
    }
    mesh.indices.reserve(std::size_t{3} * draco_mesh->num_faces());
    for (std::uint32_t f = 0; f < draco_mesh->num_faces(); ++f) {
      for (const draco::PointIndex& corner : draco_mesh->face(draco::FaceIndex(f))) {
        if (corner.value() >= mesh.vertex_count)
          return corrupt("a triangle uses a vertex that does not exist");
        mesh.indices.push_back(corner.value());
      }
    }
    for (const DracoAttribute& wanted : attributes) {
      Result<AccessorView> view = attributeView(*draco_mesh, wanted, budget);
      if (!view) return view.error();
      mesh.attributes.emplace(wanted.name, std::move(*view));
    }
    return mesh;
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the Draco mesh");
  } catch (const std::exception& e) {
    return corrupt(e.what());
  }
}

}  // namespace heatskin::gltf
