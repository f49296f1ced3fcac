#include "heatskin/io/glb_builder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

namespace heatskin {
namespace {

static_assert(std::endian::native == std::endian::little,
              "glTF is little-endian and so are all our machines");

constexpr std::uint32_t kGlbMagic = 0x46546C67;   // "glTF"
constexpr std::uint32_t kJsonChunk = 0x4E4F534A;  // "JSON"
constexpr std::uint32_t kBinChunk = 0x004E4942;   // "BIN\0"

constexpr int kUnsignedShort = 5123;
constexpr int kUnsignedInt = 5125;
constexpr int kFloat = 5126;

/// 65535 is the primitive-restart value of 16-bit indices; glTF forbids it.
constexpr std::size_t kMaxShortVertices = 65535;

std::uint8_t* putWord(std::uint8_t* at, std::uint32_t word) {
  for (int shift = 0; shift < 32; shift += 8)
    *at++ = static_cast<std::uint8_t>(word >> shift);
  return at;
}

template <class T>
std::span<const std::uint8_t> bytesOf(std::span<const T> values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace

GlbBuilder::GlbBuilder() {
  root_["asset"] = {{"version", "2.0"}, {"generator", "heatskin"}};
}

GlbBuilder::GlbBuilder(GltfJson root, std::vector<std::uint8_t> bin)
    : root_(std::move(root)), bin_(std::move(bin)) {}

int GlbBuilder::append(std::string_view name, GltfJson element) {
  GltfJson& array = root_[std::string(name)];
  if (array.is_null()) array = GltfJson::array();
  array.push_back(std::move(element));
  return static_cast<int>(array.size()) - 1;
}

int GlbBuilder::addBufferView(std::span<const std::uint8_t> bytes, Target target) {
  assert(!bytes.empty());
  bin_.resize((bin_.size() + 3) / 4 * 4);
  GltfJson view;
  view["buffer"] = 0;
  view["byteOffset"] = bin_.size();
  view["byteLength"] = bytes.size();
  if (target != Target::kUnspecified) view["target"] = static_cast<int>(target);
  bin_.insert(bin_.end(), bytes.begin(), bytes.end());
  return append("bufferViews", std::move(view));
}

int GlbBuilder::addFloats(std::span<const float> values, int components, bool bounds) {
  static constexpr std::array<const char*, 5> kTypes = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
  assert(components >= 1 && components <= 4);
  const auto width = static_cast<std::size_t>(components);
  GltfJson accessor;
  accessor["bufferView"] = addBufferView(bytesOf(values), Target::kVertices);
  accessor["componentType"] = kFloat;
  accessor["count"] = values.size() / width;
  accessor["type"] = kTypes[width];
  if (bounds) {
    std::vector<double> low(width, std::numeric_limits<double>::infinity());
    std::vector<double> high(width, -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < values.size(); ++i) {
      low[i % width] = std::min(low[i % width], static_cast<double>(values[i]));
      high[i % width] = std::max(high[i % width], static_cast<double>(values[i]));
    }
    accessor["min"] = low;
    accessor["max"] = high;
  }
  return append("accessors", std::move(accessor));
}

int GlbBuilder::addIndices(std::span<const std::uint32_t> indices, std::size_t vertex_count) {
  const bool is_short = vertex_count <= kMaxShortVertices;
  GltfJson accessor;
  if (is_short) {
    const std::vector<std::uint16_t> narrow(indices.begin(), indices.end());
    accessor["bufferView"] = addBufferView(bytesOf(std::span(narrow)), Target::kIndices);
  } else {
    accessor["bufferView"] = addBufferView(bytesOf(indices), Target::kIndices);
  }
  accessor["componentType"] = is_short ? kUnsignedShort : kUnsignedInt;
  accessor["count"] = indices.size();
  accessor["type"] = "SCALAR";
  return append("accessors", std::move(accessor));
}

void GlbBuilder::useExtension(std::string_view name, bool required) {
  const auto addOnce = [&](const char* list) {
    GltfJson& names = root_[list];
    if (names.is_null()) names = GltfJson::array();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  addOnce("extensionsUsed");
  if (required) addOnce("extensionsRequired");
}

Result<std::vector<std::uint8_t>> GlbBuilder::finish() {
  if (!bin_.empty() && !root_.contains("buffers")) append("buffers", {{"byteLength", bin_.size()}});
  std::string text = root_.dump(-1, ' ', false, GltfJson::error_handler_t::replace);
  text.resize((text.size() + 3) / 4 * 4, ' ');
  bin_.resize((bin_.size() + 3) / 4 * 4);

  const std::size_t total = 12 + 8 + text.size() + (bin_.empty() ? 0 : 8 + bin_.size());
  if (total > std::numeric_limits<std::uint32_t>::max()) {
    return failure("a GLB cannot hold more than 4 GiB, but this asset needs " + std::to_string(total >> 20) +
                   " MiB: use fewer vertices or smaller images");
  }
  std::vector<std::uint8_t> glb(total);
  std::uint8_t* at = glb.data();
  const auto putChunk = [&](std::uint32_t type, const auto& content) {
    at = putWord(at, static_cast<std::uint32_t>(content.size()));
    at = putWord(at, type);
    at = std::copy(content.begin(), content.end(), at);
  };
  at = putWord(at, kGlbMagic);
  at = putWord(at, 2);
  at = putWord(at, static_cast<std::uint32_t>(total));
  putChunk(kJsonChunk, text);
  if (!bin_.empty()) putChunk(kBinChunk, bin_);
  root_ = nullptr;
  bin_ = {};
  return glb;
}

}  // namespace heatskin
