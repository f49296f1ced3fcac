#include "heatskin/io/gltf_accessor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

static_assert(std::endian::native == std::endian::little, "glTF data is little-endian and read in place");

/// The largest element we read, VEC4 of floats; what accessors without data read again and again.
constexpr std::size_t kMaxElementBytes = 16;
constexpr std::uint8_t kZeros[kMaxElementBytes] = {};

std::optional<ComponentType> componentType(std::size_t code) {
  switch (code) {
    case 5120:
    case 5121:
    case 5122:
    case 5123:
    case 5125:
    case 5126:
      return static_cast<ComponentType>(code);
    default:
      return std::nullopt;
  }
}

/// 0 for the matrix types and for anything unknown.
std::size_t componentCount(const std::string& type) {
  if (type == "SCALAR") return 1;
  if (type == "VEC2") return 2;
  if (type == "VEC3") return 3;
  if (type == "VEC4") return 4;
  return 0;
}

/// True when `count` elements of `element` bytes, `stride` apart, end within `available` bytes.
bool fits(std::size_t offset, std::size_t count, std::size_t stride, std::size_t element,
          std::size_t available) {
  if (count == 0) return offset <= available;
  if (offset > available || element > available - offset) return false;
  return stride == 0 || count - 1 <= (available - offset - element) / stride;
}

template <class T>
T load(const std::uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T, bool kNormalized, class Out>
Out convert(T value) {
  if constexpr (!kNormalized || std::is_floating_point_v<T>) {
    return static_cast<Out>(value);
  } else {
    const Out fraction = static_cast<Out>(value) / static_cast<Out>(std::numeric_limits<T>::max());
    // Two codes stand for -1 in signed types (specification 3.11).
    return std::is_signed_v<T> ? std::max(fraction, Out{-1}) : fraction;
  }
}

template <class T, bool kNormalized, class Out>
void readTyped(const AccessorView& view, const Selection& selection, Out* out) {
  const std::size_t count = selection.size(view);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t element = selection.all ? i : selection.listed[i];
    const std::uint8_t* p = view.data + element * view.stride;
    for (std::size_t c = 0; c < view.components; ++c) {
      *out++ = convert<T, kNormalized, Out>(load<T>(p + c * sizeof(T)));
    }
  }
}

template <class T, class Out>
void readEither(const AccessorView& view, const Selection& selection, Out* out) {
  if (view.normalized) {
    readTyped<T, true>(view, selection, out);
  } else {
    readTyped<T, false>(view, selection, out);
  }
}

template <class Out>
void readAny(const AccessorView& view, const Selection& selection, Out* out) {
  switch (view.component) {
    case ComponentType::kByte:
      return readEither<std::int8_t>(view, selection, out);
    case ComponentType::kUnsignedByte:
      return readEither<std::uint8_t>(view, selection, out);
    case ComponentType::kShort:
      return readEither<std::int16_t>(view, selection, out);
    case ComponentType::kUnsignedShort:
      return readEither<std::uint16_t>(view, selection, out);
    case ComponentType::kUnsignedInt:
      return readEither<std::uint32_t>(view, selection, out);
    case ComponentType::kFloat:
      return readEither<float>(view, selection, out);
  }
}

template <class T>
void readIndicesTyped(const AccessorView& view, std::uint32_t* out) {
  for (std::size_t i = 0; i < view.count; ++i)
    out[i] = load<T>(view.data + i * view.stride);
}

bool isUnsigned(ComponentType type) {
  return type == ComponentType::kUnsignedByte || type == ComponentType::kUnsignedShort ||
         type == ComponentType::kUnsignedInt;
}

}  // namespace

std::size_t componentBytes(ComponentType type) {
  switch (type) {
    case ComponentType::kByte:
    case ComponentType::kUnsignedByte:
      return 1;
    case ComponentType::kShort:
    case ComponentType::kUnsignedShort:
      return 2;
    case ComponentType::kUnsignedInt:
    case ComponentType::kFloat:
      break;
  }
  return 4;
}

void readNumbers(const AccessorView& view, const Selection& selection, double* out) {
  readAny(view, selection, out);
}

void readNumbers(const AccessorView& view, const Selection& selection, float* out) {
  readAny(view, selection, out);
}

void readIndices(const AccessorView& view, std::uint32_t* out) {
  switch (view.component) {
    case ComponentType::kUnsignedByte:
      return readIndicesTyped<std::uint8_t>(view, out);
    case ComponentType::kUnsignedShort:
      return readIndicesTyped<std::uint16_t>(view, out);
    default:
      return readIndicesTyped<std::uint32_t>(view, out);
  }
}

Result<AccessorView> Accessors::view(std::size_t index) {
  const std::string where = "accessor " + std::to_string(index);
  const Json::array_t& accessors = document_.list("accessors");
  if (index >= accessors.size()) return inputError(where + " does not exist");
  Fields fields(accessors[index], where);
  const std::size_t component_code = fields.requiredSize("componentType");
  const std::string& type = fields.requiredText("type");
  const std::size_t offset = fields.size("byteOffset", 0);
  const std::optional<std::size_t> view_index =
      fields.index("bufferView", document_.list("bufferViews").size(), "bufferView");
  const Json* sparse = fields.object("sparse");
  AccessorView view;
  view.count = fields.requiredSize("count");
  view.normalized = fields.boolean("normalized", false);
  if (!fields.ok()) return fields.error();
  const std::optional<ComponentType> component = componentType(component_code);
  if (!component) return inputError(where + ": unknown componentType " + std::to_string(component_code));
  view.component = *component;
  view.components = componentCount(type);
  if (view.components == 0)
    return inputError(where + ": type " + quoteForMessage(type) + " cannot be used here");

  const std::size_t element = componentBytes(view.component) * view.components;
  if (!view_index) {
    view.data = kZeros;
    view.stride = 0;
  } else {
    Result<BufferViewData> bytes = buffers_.view(*view_index);
    if (!bytes) return bytes.error();
    view.stride = bytes->stride == 0 ? element : bytes->stride;
    if (view.stride < element) {
      return inputError(where + ": the byteStride " + std::to_string(view.stride) + " of bufferView " +
                        std::to_string(*view_index) + " is smaller than an element");
    }
    if (!fits(offset, view.count, view.stride, element, bytes->bytes.size())) {
      return inputError(where + " is out of range of bufferView " + std::to_string(*view_index) + ": " +
                        std::to_string(view.count) + " elements of " + std::to_string(element) +
                        " bytes do not fit");
    }
    view.data = bytes->bytes.data() + offset;
  }
  if (sparse != nullptr) return patched(view, *sparse, where);
  return view;
}

Result<AccessorView> Accessors::patched(const AccessorView& base, const Json& sparse,
                                        const std::string& where) {
  Fields fields(sparse, where + ", sparse");
  const std::size_t count = fields.requiredSize("count");
  const Json* index_json = fields.object("indices");
  const Json* value_json = fields.object("values");
  if (!fields.ok()) return fields.error();
  if (index_json == nullptr || value_json == nullptr) {
    return inputError(fields.where() + ": needs indices and values");
  }
  if (count > base.count) return inputError(fields.where() + ": count is larger than the accessor");
  const std::size_t views = document_.list("bufferViews").size();
  Fields index_fields(*index_json, fields.where() + ".indices");
  Fields value_fields(*value_json, fields.where() + ".values");
  const auto index_view = index_fields.index("bufferView", views, "bufferView");
  const std::size_t index_offset = index_fields.size("byteOffset", 0);
  const std::size_t index_code = index_fields.requiredSize("componentType");
  const auto value_view = value_fields.index("bufferView", views, "bufferView");
  const std::size_t value_offset = value_fields.size("byteOffset", 0);
  if (!index_fields.ok()) return index_fields.error();
  if (!value_fields.ok()) return value_fields.error();
  if (!index_view || !value_view) return inputError(fields.where() + ": needs buffer views");
  const std::optional<ComponentType> index_type = componentType(index_code);
  if (!index_type || !isUnsigned(*index_type)) {
    return inputError(index_fields.where() + ": componentType " + std::to_string(index_code) +
                      " is not an unsigned integer");
  }

  Result<BufferViewData> index_bytes = buffers_.view(*index_view);
  if (!index_bytes) return index_bytes.error();
  Result<BufferViewData> value_bytes = buffers_.view(*value_view);
  if (!value_bytes) return value_bytes.error();
  const std::size_t element = componentBytes(base.component) * base.components;
  const std::size_t index_size = componentBytes(*index_type);
  if (!fits(index_offset, count, index_size, index_size, index_bytes->bytes.size()) ||
      !fits(value_offset, count, element, element, value_bytes->bytes.size())) {
    return inputError(fields.where() + ": " + std::to_string(count) + " entries are out of range of their " +
                      "buffer views");
  }
  if (!budget_.take(base.count, element)) {
    return inputError(where + " is too large: " + std::to_string(base.count) + " elements");
  }

  AccessorView index_list;
  index_list.data = index_bytes->bytes.data() + index_offset;
  index_list.stride = index_size;
  index_list.count = count;
  index_list.component = *index_type;
  std::vector<std::uint32_t> targets(count);
  readIndices(index_list, targets.data());

  auto bytes = std::make_shared<std::vector<std::uint8_t>>(base.count * element);
  if (base.stride != 0) {
    for (std::size_t i = 0; i < base.count; ++i) {
      std::memcpy(bytes->data() + i * element, base.data + i * base.stride, element);
    }
  }
  const std::uint8_t* values = value_bytes->bytes.data() + value_offset;
  for (std::size_t i = 0; i < count; ++i) {
    if (targets[i] >= base.count || (i > 0 && targets[i] <= targets[i - 1])) {
      return inputError(index_fields.where() + ": entry " + std::to_string(i) + " (" +
                        std::to_string(targets[i]) + ") is out of range or out of order");
    }
    std::memcpy(bytes->data() + targets[i] * element, values + i * element, element);
  }
  AccessorView view = base;
  view.data = bytes->data();
  view.stride = element;
  view.owned = std::move(bytes);
  return view;
}

}  // namespace heatskin::gltf
