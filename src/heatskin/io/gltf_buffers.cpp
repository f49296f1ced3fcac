#include "heatskin/io/gltf_buffers.h"

#include <string>
#include <utility>

#include <meshoptimizer.h>

#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

Error prefixed(const std::string& where, const Error& error) {
  return error.prefixed(where + ": ");
}

}  // namespace

Buffers::Buffers(const Document& document, std::optional<std::span<const std::uint8_t>> bin,
                 std::filesystem::path folder, MemoryBudget& budget)
    : document_(document), bin_(bin), folder_(std::move(folder)), budget_(budget) {}

Result<Buffers::Buffer> Buffers::loadBuffer(std::size_t index) {
  const std::string where = "buffer " + std::to_string(index);
  Fields fields(document_.list("buffers")[index], where);
  const std::size_t length = fields.requiredSize("byteLength");
  const std::string& uri = fields.text("uri");
  if (!fields.ok()) return fields.error();

  Buffer buffer;
  if (!fields.has("uri")) {
    if (index != 0 || !bin_) return inputError(where + " has no data: neither a uri nor a BIN chunk");
    buffer.bytes = *bin_;
  } else if (isDataUri(uri)) {
    Result<std::vector<std::uint8_t>> data = decodeDataUri(uri);
    if (!data) return prefixed(where, data.error());
    buffer.owned = std::make_shared<const std::vector<std::uint8_t>>(std::move(*data));
    buffer.bytes = *buffer.owned;
  } else {
    Result<Buffer> file = loadFile(uri);
    if (!file) return prefixed(where, file.error());
    buffer = std::move(*file);
  }
  if (buffer.bytes.size() < length) {
    return inputError(where + " is shorter than its byteLength: " + std::to_string(buffer.bytes.size()) +
                      " of " + std::to_string(length) + " bytes");
  }
  buffer.bytes = buffer.bytes.first(length);
  return buffer;
}

Result<Buffers::Buffer> Buffers::loadFile(const std::string& uri) {
  Result<std::string> name = percentDecode(uri);
  if (!name) return name.error();
  Result<std::filesystem::path> path = resolveReference(folder_, *name);
  if (!path) return path.error();
  if (const auto it = files_.find(path->string()); it != files_.end()) return it->second;
  Result<std::vector<std::uint8_t>> data = readReference(folder_, *name);
  if (!data) return data.error();
  budget_.earn(data->size());
  Buffer buffer;
  buffer.owned = std::make_shared<const std::vector<std::uint8_t>>(std::move(*data));
  buffer.bytes = *buffer.owned;
  return files_.emplace(path->string(), std::move(buffer)).first->second;
}

Result<std::span<const std::uint8_t>> Buffers::buffer(std::size_t index) {
  if (const auto it = buffers_.find(index); it != buffers_.end()) return it->second.bytes;
  Result<Buffer> loaded = loadBuffer(index);
  if (!loaded) return loaded.error();
  return buffers_.emplace(index, std::move(*loaded)).first->second.bytes;
}

Result<std::span<const std::uint8_t>> Buffers::range(std::size_t index, std::size_t offset,
                                                     std::size_t length) {
  Result<std::span<const std::uint8_t>> bytes = buffer(index);
  if (!bytes) return bytes.error();
  if (offset > bytes->size() || length > bytes->size() - offset) {
    return inputError("out of range of buffer " + std::to_string(index) + ": bytes " +
                      std::to_string(offset) + " to " + std::to_string(offset + length) + " of " +
                      std::to_string(bytes->size()));
  }
  return bytes->subspan(offset, length);
}

Result<BufferViewData> Buffers::view(std::size_t index) {
  const std::string where = "bufferView " + std::to_string(index);
  const Json::array_t& views = document_.list("bufferViews");
  if (index >= views.size()) return inputError(where + " does not exist");
  Fields fields(views[index], where);
  const std::size_t length = fields.requiredSize("byteLength");
  const std::size_t stride = fields.size("byteStride", 0);
  const std::size_t offset = fields.size("byteOffset", 0);
  const std::optional<std::size_t> buffer_index =
      fields.index("buffer", document_.list("buffers").size(), "buffer");
  const Json* meshopt = fields.extension("EXT_meshopt_compression");
  if (!fields.ok()) return fields.error();

  BufferViewData view;
  view.stride = stride;
  if (meshopt != nullptr) {
    auto it = decompressed_.find(index);
    if (it == decompressed_.end()) {
      Result<std::vector<std::uint8_t>> bytes = decompress(*meshopt, where, length);
      if (!bytes) return bytes.error();
      it = decompressed_.emplace(index, std::move(*bytes)).first;
    }
    view.bytes = it->second;
    return view;
  }
  if (!buffer_index) return inputError(where + ": has no buffer");
  Result<std::span<const std::uint8_t>> bytes = range(*buffer_index, offset, length);
  if (!bytes) {
    // A broken buffer explains itself; a range needs the view's name.
    const bool out_of_range = bytes.error().message.starts_with("out of range");
    return out_of_range ? inputError(where + " " + bytes.error().message) : bytes.error();
  }
  view.bytes = *bytes;
  return view;
}

Result<std::vector<std::uint8_t>> Buffers::decompress(const Json& extension, const std::string& where,
                                                      std::size_t view_length) {
  Fields fields(extension, where + ", EXT_meshopt_compression");
  const std::optional<std::size_t> source =
      fields.index("buffer", document_.list("buffers").size(), "buffer");
  const std::size_t offset = fields.size("byteOffset", 0);
  const std::size_t length = fields.requiredSize("byteLength");
  const std::size_t stride = fields.requiredSize("byteStride");
  const std::size_t count = fields.requiredSize("count");
  const std::string& mode = fields.requiredText("mode");
  const std::string filter = fields.has("filter") ? fields.text("filter") : "NONE";
  if (!source) fields.fail("has no buffer");

  // The decoder asserts on all of this instead of reporting it.
  constexpr std::size_t kMaxVertexBytes = 256;
  const bool attributes = mode == "ATTRIBUTES", triangles = mode == "TRIANGLES", indices = mode == "INDICES";
  if (!attributes && !triangles && !indices) fields.fail("unknown mode " + quoteForMessage(mode));
  if (attributes && (stride == 0 || stride % 4 != 0 || stride > kMaxVertexBytes)) {
    fields.fail("byteStride " + std::to_string(stride) + " is not a multiple of 4 up to 256");
  }
  if ((triangles || indices) && stride != 2 && stride != 4) {
    fields.fail("byteStride " + std::to_string(stride) + " is neither 2 nor 4");
  }
  if (triangles && count % 3 != 0) fields.fail("count " + std::to_string(count) + " is not a multiple of 3");
  const bool octahedral = filter == "OCTAHEDRAL", quaternion = filter == "QUATERNION",
             exponential = filter == "EXPONENTIAL";
  if (!octahedral && !quaternion && !exponential && filter != "NONE") {
    fields.fail("unknown filter " + quoteForMessage(filter));
  }
  if (filter != "NONE" && !attributes) fields.fail("filter " + quoteForMessage(filter) + " needs ATTRIBUTES");
  if (octahedral && stride != 4 && stride != 8) fields.fail("OCTAHEDRAL needs byteStride 4 or 8");
  if (quaternion && stride != 8) fields.fail("QUATERNION needs byteStride 8");
  if (!fields.ok()) return fields.error();

  if (stride == 0 || count != view_length / stride || view_length % stride != 0) {
    return inputError(fields.where() + ": count times byteStride differs from the view's byteLength");
  }
  Result<std::span<const std::uint8_t>> packed = range(*source, offset, length);
  if (!packed) return prefixed(fields.where(), packed.error());
  if (!budget_.take(count, stride)) {
    return inputError(fields.where() + ": the decompressed data is too large");
  }
  std::vector<std::uint8_t> bytes(count * stride);
  // The filters work on whole elements and an empty stream has none.
  if (count == 0) return bytes;
  const int status =
      attributes  ? meshopt_decodeVertexBuffer(bytes.data(), count, stride, packed->data(), packed->size())
      : triangles ? meshopt_decodeIndexBuffer(bytes.data(), count, stride, packed->data(), packed->size())
                  : meshopt_decodeIndexSequence(bytes.data(), count, stride, packed->data(), packed->size());
  if (status != 0) return inputError(fields.where() + ": the meshopt data is corrupt");
  if (octahedral) meshopt_decodeFilterOct(bytes.data(), count, stride);
  if (quaternion) meshopt_decodeFilterQuat(bytes.data(), count, stride);
  if (exponential) meshopt_decodeFilterExp(bytes.data(), count, stride);
  return bytes;
}

}  // namespace heatskin::gltf
