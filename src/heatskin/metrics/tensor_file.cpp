#include "heatskin/metrics/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "heatskin/base/files.h"

namespace heatskin {
namespace {

static_assert(std::endian::native == std::endian::little, "both formats are little-endian and read in place");

constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;  // of JSON; VGG16 needs 3 kB
constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxInflation = 1032;  // the most deflate can do; more is a forged size

template <class T>
T load(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

float floatFromHalf(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

float floatFromBfloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Product of the shape, or nothing when it exceeds `limit`.
std::optional<std::size_t> elementCount(const std::vector<std::size_t>& shape, std::size_t limit) {
  std::size_t count = 1;
  for (std::size_t side : shape) {
    if (side != 0 && count > limit / side) return std::nullopt;
    count *= side;
  }
  return count;
}

/// The text behind `'key':` in the dictionary of an .npy header, blanks skipped; empty when there is none.
std::string_view npyField(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 2);
  const std::size_t colon = rest.find_first_not_of(' ');
  if (colon == std::string_view::npos || rest[colon] != ':') return {};
  rest = rest.substr(colon + 1);
  const std::size_t value = rest.find_first_not_of(' ');
  return value == std::string_view::npos ? std::string_view{} : rest.substr(value);
}

/// "(64, 3, 11, 11)" or "(64,)" or "()".
std::optional<std::vector<std::size_t>> npyShape(std::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  std::vector<std::size_t> shape;
  std::size_t i = 1;
  while (i < text.size()) {
    const char c = text[i];
    if (c == ')') return shape;
    if (c == ' ' || c == ',') {
      ++i;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      std::size_t side = 0;
      for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
        side = 10 * side + static_cast<std::size_t>(text[i] - '0');
        if (side > TensorFile::kMaxBytes) return std::nullopt;
      }
      shape.push_back(side);
      if (shape.size() > kMaxDimensions) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Error TensorFile::refuse(const std::string& cause) const {
  return inputError(fmt::format("{}: {}", name_, cause));
}

Result<TensorFile> TensorFile::open(const std::filesystem::path& path) {
  auto bytes = readFile(path, kMaxBytes);
  if (!bytes) return bytes.error();
  return parse(std::move(*bytes), displayPath(path));
}

Result<TensorFile> TensorFile::parse(std::vector<std::uint8_t> bytes, std::string name) try {
  TensorFile file;
  file.bytes_ = std::move(bytes);
  file.name_ = std::move(name);
  if (file.bytes_.size() > kMaxBytes)
    return file.refuse("larger than 1 GiB, which no file of arrays that we need is");
  if (file.bytes_.size() < 8) return file.refuse("too short to be a .safetensors or .npz file");
  if (file.bytes_[0] == 0x80 && file.bytes_[1] <= 5)
    return file.refuse(
        "a Python pickle, which is not read because it could run code: convert it to "
        ".safetensors or .npz");
  file.npz_ = std::memcmp(file.bytes_.data(), "PK", 2) == 0;
  auto indexed = file.npz_ ? file.indexNpz() : file.indexSafetensors();
  if (!indexed) return indexed.error();
  if (file.entries_.empty()) return file.refuse("holds no array");
  return file;
} catch (const std::bad_alloc&) {
  return failure("out of memory while reading a file of arrays");
}

std::vector<std::string> TensorFile::tensorNames() const {
  std::vector<std::string> names;
  for (const auto& [tensor, entry] : entries_)
    names.push_back(tensor);
  return names;
}

Result<void> TensorFile::indexSafetensors() {
  const auto header_bytes = load<std::uint64_t>(bytes_.data());
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes_.size() - 8)
    return refuse("neither a .safetensors nor an .npz file, or cut short");
  const auto* text = reinterpret_cast<const char*>(bytes_.data() + 8);
  const auto header = nlohmann::json::parse(text, text + header_bytes, nullptr, false);
  if (!header.is_object()) return refuse("the .safetensors header is not a JSON object");

  const std::size_t data = 8 + static_cast<std::size_t>(header_bytes);
  const std::size_t data_bytes = bytes_.size() - data;
  for (const auto& item : header.items()) {
    const std::string& tensor = item.key();
    const auto& fields = item.value();
    if (tensor == "__metadata__") continue;
    const auto wrong = [&](const char* what) {
      return refuse(fmt::format("tensor '{}' has {}", tensor, what));
    };
    if (!fields.is_object() || !fields.contains("dtype") || !fields.contains("shape") ||
        !fields.contains("data_offsets"))
      return wrong("no dtype, shape or data_offsets");
    const auto& dtype = fields["dtype"];
    const auto& shape = fields["shape"];
    const auto& offsets = fields["data_offsets"];
    const auto whole = [](const nlohmann::json& number) { return number.is_number_unsigned(); };
    if (!dtype.is_string()) return wrong("a dtype that is not text");
    if (!shape.is_array() || shape.size() > kMaxDimensions || !std::all_of(shape.begin(), shape.end(), whole))
      return wrong("a shape that is not a short list of whole numbers");
    if (!offsets.is_array() || offsets.size() != 2 || !whole(offsets[0]) || !whole(offsets[1]))
      return wrong("data_offsets that are not two whole numbers");

    Entry entry;
    const auto& type = dtype.get_ref<const std::string&>();
    std::size_t element_bytes = 4;
    if (type == "F32") {
      entry.type = Type::kF32;
    } else if (type == "F16" || type == "BF16") {
      entry.type = type == "F16" ? Type::kF16 : Type::kBf16;
      element_bytes = 2;
    } else if (type == "F64") {
      entry.type = Type::kF64;
      element_bytes = 8;
    } else {
      continue;  // an integer buffer, for instance a batch counter: nothing we could be asked for
    }
    for (const auto& side : shape)
      entry.shape.push_back(side.get<std::size_t>());
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin > end || end > data_bytes)
      return wrong("data beyond the end of the file: it is cut short or damaged");
    const auto count = elementCount(entry.shape, data_bytes);
    if (!count || *count * element_bytes != end - begin) return wrong("a shape that does not match its data");
    entry.begin = data + static_cast<std::size_t>(begin);
    entry.stored_bytes = entry.inflated_bytes = static_cast<std::size_t>(end - begin);
    entries_.emplace(tensor, std::move(entry));
  }
  return {};
}

Result<void> TensorFile::indexNpz() {
  // A zip archive is read from its end: the end record (22 bytes and a comment) points to the directory.
  constexpr std::size_t kEndBytes = 22;
  constexpr std::size_t kMaxComment = 65535;
  constexpr std::size_t kDirectoryBytes = 46;
  constexpr std::size_t kLocalBytes = 30;
  const std::size_t size = bytes_.size();
  std::size_t end = size;
  for (std::size_t back = kEndBytes; back <= std::min(size, kEndBytes + kMaxComment); ++back) {
    if (std::memcmp(bytes_.data() + size - back, "PK\5\6", 4) == 0) {
      end = size - back;
      break;
    }
  }
  if (end == size) return refuse("the .npz archive has no end record: it is cut short or damaged");
  const std::size_t count = load<std::uint16_t>(bytes_.data() + end + 10);
  std::size_t at = load<std::uint32_t>(bytes_.data() + end + 16);
  for (std::size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kDirectoryBytes || std::memcmp(bytes_.data() + at, "PK\1\2", 4) != 0)
      return refuse("the directory of the .npz archive is damaged");
    const std::uint8_t* record = bytes_.data() + at;
    const auto flags = load<std::uint16_t>(record + 8);
    const auto method = load<std::uint16_t>(record + 10);
    const std::size_t name_bytes = load<std::uint16_t>(record + 28);
    const std::size_t tail_bytes =
        std::size_t{load<std::uint16_t>(record + 30)} + load<std::uint16_t>(record + 32);
    const std::size_t local = load<std::uint32_t>(record + 42);
    Entry entry;
    entry.crc = load<std::uint32_t>(record + 16);
    entry.stored_bytes = load<std::uint32_t>(record + 20);
    entry.inflated_bytes = load<std::uint32_t>(record + 24);
    if (end - at - kDirectoryBytes < name_bytes + tail_bytes)
      return refuse("the directory of the .npz archive is damaged");
    std::string tensor(reinterpret_cast<const char*>(record + kDirectoryBytes), name_bytes);
    at += kDirectoryBytes + name_bytes + tail_bytes;
    if (tensor.ends_with(".pkl"))
      return refuse(
          "a PyTorch file, which is not read because it could run code: convert it to .safetensors or .npz");
    if (!tensor.ends_with(".npy")) continue;
    tensor.resize(tensor.size() - 4);

    if ((flags & 1u) != 0 || (method != 0 && method != 8))
      return refuse(fmt::format("array '{}' is encrypted or compressed in a way other than deflate", tensor));
    entry.deflated = method == 8;
    constexpr std::size_t kZip64 = std::numeric_limits<std::uint32_t>::max();
    if (entry.stored_bytes == kZip64 || entry.inflated_bytes == kZip64 || local == kZip64)
      return refuse(fmt::format(
          "array '{}' needs zip64, which is not read: no file of arrays that we need is that large", tensor));
    if (local > size || size - local < kLocalBytes || std::memcmp(bytes_.data() + local, "PK\3\4", 4) != 0)
      return refuse(fmt::format("array '{}' is not where the archive's directory says", tensor));
    entry.begin = local + kLocalBytes + load<std::uint16_t>(bytes_.data() + local + 26) +
                  load<std::uint16_t>(bytes_.data() + local + 28);
    if (entry.begin > size || size - entry.begin < entry.stored_bytes)
      return refuse(fmt::format("array '{}' ends beyond the file: it is cut short or damaged", tensor));
    const bool plausible = entry.deflated ? entry.inflated_bytes <= kMaxInflation * entry.stored_bytes
                                          : entry.inflated_bytes == entry.stored_bytes;
    if (!plausible || entry.inflated_bytes > kMaxBytes)
      return refuse(fmt::format("array '{}' claims a size it cannot have", tensor));
    entries_.emplace(std::move(tensor), std::move(entry));
  }
  return {};
}

Result<std::vector<std::uint8_t>> TensorFile::unpack(const std::string& tensor, const Entry& entry) const {
  const std::uint8_t* stored = bytes_.data() + entry.begin;
  std::vector<std::uint8_t> out(entry.inflated_bytes);
  if (!entry.deflated) {
    std::copy_n(stored, entry.stored_bytes, out.begin());
  } else {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return failure("zlib could not be started");
    stream.next_in = const_cast<Bytef*>(stored);  // zlib's C interface; it does not write there
    stream.avail_in = static_cast<uInt>(entry.stored_bytes);
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    const bool complete = status == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!complete)
      return refuse(fmt::format("array '{}' cannot be decompressed: the file is damaged", tensor));
  }
  if (crc32(0, out.data(), static_cast<uInt>(out.size())) != entry.crc)
    return refuse(fmt::format("array '{}' has a wrong checksum: the file is damaged", tensor));
  return out;
}

Result<Tensor> TensorFile::read(const std::string& tensor) const try {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return refuse(fmt::format("no array '{}'", tensor));
  const Entry& entry = found->second;
  if (npz_) return readNpy(tensor, entry);
  return Tensor{entry.shape, decode(bytes_.data() + entry.begin, entry.stored_bytes, entry.type)};
} catch (const std::bad_alloc&) {
  return failure("out of memory while reading a file of arrays");
}

Result<TensorFile::Npy> TensorFile::openNpy(const std::string& tensor, const Entry& entry,
                                            std::size_t (*bytes_of)(std::string_view),
                                            const char* wanted) const {
  auto unpacked = unpack(tensor, entry);
  if (!unpacked) return unpacked.error();
  const std::vector<std::uint8_t>& npy = *unpacked;
  const auto wrong = [&](const std::string& what) {
    return refuse(fmt::format("array '{}' {}", tensor, what));
  };

  // Magic, version, then the header's length in 2 bytes (version 1) or 4.
  if (npy.size() < 12 || std::memcmp(npy.data(), "\x93NUMPY", 6) != 0) return wrong("is not an .npy file");
  if (npy[6] < 1 || npy[6] > 3) return wrong("has an .npy version that is not known");
  const std::size_t start = npy[6] == 1 ? 10 : 12;
  const std::size_t header_bytes =
      npy[6] == 1 ? load<std::uint16_t>(npy.data() + 8) : load<std::uint32_t>(npy.data() + 8);
  if (header_bytes > npy.size() - start) return wrong("ends within its header");
  const std::string_view header(reinterpret_cast<const char*>(npy.data() + start), header_bytes);

  const std::string_view order = npyField(header, "fortran_order");
  if (!order.starts_with("False")) return wrong("is in Fortran order: save numpy.ascontiguousarray of it");
  const std::string_view descr = npyField(header, "descr");
  const std::size_t end = descr.starts_with("'") ? descr.find('\'', 1) : std::string_view::npos;
  const std::string_view type = end == std::string_view::npos ? std::string_view{} : descr.substr(1, end - 1);
  const std::size_t element_bytes = bytes_of(type);
  if (element_bytes == 0) return wrong(fmt::format("is not of type {} (little-endian)", wanted));
  auto shape = npyShape(npyField(header, "shape"));
  if (!shape) return wrong("has a shape that cannot be read");
  const std::size_t data_bytes = npy.size() - start - header_bytes;
  const auto count = elementCount(*shape, data_bytes);
  if (!count || *count * element_bytes != data_bytes)
    return wrong("has a shape that does not match its data");
  std::string type_name(type);  // `type` looks into what is moved
  return Npy{std::move(*unpacked), start + header_bytes, std::move(type_name), std::move(*shape)};
}

Result<Tensor> TensorFile::readNpy(const std::string& tensor, const Entry& entry) const {
  constexpr auto kBytesOf = [](std::string_view type) -> std::size_t {
    return type == "<f4" ? 4 : type == "<f2" ? 2 : type == "<f8" ? 8 : 0;
  };
  auto npy = openNpy(tensor, entry, kBytesOf, "float16, float32 or float64");
  if (!npy) return npy.error();
  const Type type = npy->type == "<f2" ? Type::kF16 : npy->type == "<f8" ? Type::kF64 : Type::kF32;
  return Tensor{std::move(npy->shape),
                decode(npy->bytes.data() + npy->begin, npy->bytes.size() - npy->begin, type)};
}

std::size_t TensorFile::unpackedBytes(const std::string& tensor) const {
  const auto found = entries_.find(tensor);
  return found == entries_.end() ? 0 : found->second.inflated_bytes;
}

Result<IntegerTensor> TensorFile::readIntegers(const std::string& tensor) const try {
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return refuse(fmt::format("no array '{}'", tensor));
  if (!npz_) return refuse(fmt::format("array '{}': integers are read from .npz files only", tensor));
  constexpr auto kBytesOf = [](std::string_view type) -> std::size_t {
    if (type == "<i2" || type == "<u2") return 2;
    if (type == "<i4" || type == "<u4") return 4;
    return type == "<i8" ? 8 : 0;
  };
  auto npy = openNpy(tensor, found->second, kBytesOf, "int16, int32, int64, uint16 or uint32");
  if (!npy) return npy.error();
  IntegerTensor result{std::move(npy->shape), {}};
  const std::size_t element_bytes = kBytesOf(npy->type);
  result.values.reserve((npy->bytes.size() - npy->begin) / element_bytes);
  for (std::size_t at = npy->begin; at < npy->bytes.size(); at += element_bytes) {
    const std::uint8_t* element = npy->bytes.data() + at;
    if (npy->type == "<i2") result.values.push_back(load<std::int16_t>(element));
    if (npy->type == "<u2") result.values.push_back(load<std::uint16_t>(element));
    if (npy->type == "<i4") result.values.push_back(load<std::int32_t>(element));
    if (npy->type == "<u4") result.values.push_back(load<std::uint32_t>(element));
    if (npy->type == "<i8") result.values.push_back(load<std::int64_t>(element));
  }
  return result;
} catch (const std::bad_alloc&) {
  return failure("out of memory while reading a file of arrays");
}

std::vector<float> TensorFile::decode(const std::uint8_t* data, std::size_t bytes, Type type) {
  const std::size_t element_bytes = type == Type::kF64 ? 8 : type == Type::kF32 ? 4 : 2;
  std::vector<float> values(bytes / element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint8_t* element = data + i * element_bytes;
    switch (type) {
      case Type::kF32:
        values[i] = load<float>(element);
        break;
      case Type::kF64:
        values[i] = static_cast<float>(load<double>(element));
        break;
      case Type::kF16:
        values[i] = floatFromHalf(load<std::uint16_t>(element));
        break;
      case Type::kBf16:
        values[i] = floatFromBfloat(load<std::uint16_t>(element));
        break;
    }
  }
  return values;
}

}  // namespace heatskin
