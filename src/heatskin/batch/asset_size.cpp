#include "heatskin/batch/asset_size.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "heatskin/io/reference.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using SortedJson = nlohmann::json;

/// Bytes read of an image (JPEG files begin with thumbnails and profiles), of a text header, of a glTF
/// document.
constexpr std::size_t kImageHead = 1 << 16, kTextHead = 1 << 16, kDocument = std::size_t{64} << 20;

/// Bytes of an OBJ file for each triangle and for each vertex of it; spot has 56 and 113.
constexpr double kObjBytesPerTriangle = 60, kObjBytesPerVertex = 115;

/// An image whose head does not tell: texels for each byte of a photograph.
constexpr double kTexelsPerByte = 8;

std::vector<std::uint8_t> readPart(const fs::path& file, std::uint64_t from, std::size_t bytes) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::uint8_t> part(bytes);
  in.seekg(static_cast<std::streamoff>(from));
  in.read(reinterpret_cast<char*>(part.data()), static_cast<std::streamsize>(bytes));
  part.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return part;
}

double sizeOf(const fs::path& file) {
  std::error_code problem;
  const auto size = fs::file_size(file, problem);
  return problem ? 0.0 : static_cast<double>(size);
}

std::uint32_t big16(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0] << 8 | p[1]);
}
std::uint32_t little(const std::uint8_t* p, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(p[i]) << (8 * i);
  return value;
}

void addImage(AssetSize& size, std::span<const std::uint8_t> head, double bytes) {
  const auto [width, height] = imageSize(head);
  const double texels = static_cast<double>(width) * static_cast<double>(height);
  size.texels += texels > 0 ? texels : kTexelsPerByte * bytes;
  size.image_bytes += bytes;
}

void addImageFile(AssetSize& size, const fs::path& folder, const std::string& reference) {
  const auto file = resolveReference(folder, reference);
  if (!file) return;
  const double bytes = sizeOf(*file);
  size.file_bytes += bytes;
  if (bytes > 0) addImage(size, readPart(*file, 0, kImageHead), bytes);
}

/// A number of a JSON object; `otherwise` for whatever is none.
double numberAt(const SortedJson& object, const char* key, double otherwise = 0) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return otherwise;
  return std::clamp(object[key].get<double>(), 0.0, 1e15);
}

const SortedJson& itemAt(const SortedJson& document, const char* list, double index) {
  static const SortedJson kNothing;
  if (!document.contains(list) || !document[list].is_array()) return kNothing;
  const auto at = static_cast<std::size_t>(index);
  return at < document[list].size() ? document[list][at] : kNothing;
}

const SortedJson& itemsAt(const SortedJson& document, const char* list) {
  static const SortedJson kNone = SortedJson::array();
  return document.is_object() && document.contains(list) && document[list].is_array() ? document[list]
                                                                                      : kNone;
}

void addPrimitive(AssetSize& size, const SortedJson& document, const SortedJson& primitive,
                  double instances) {
  if (!primitive.is_object() || numberAt(primitive, "mode", 4) < 4) return;
  const auto count = [&](const SortedJson& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_number()
               ? numberAt(itemAt(document, "accessors", numberAt(object, key)), "count")
               : 0.0;
  };
  const double vertices = primitive.contains("attributes") ? count(primitive["attributes"], "POSITION") : 0;
  const double corners = count(primitive, "indices");
  const double triangles = corners > 0 ? corners : vertices;
  size.triangles += instances * (numberAt(primitive, "mode", 4) > 4 ? triangles : triangles / 3);
  size.vertices += instances * vertices;
}

/// `binary_at`: where the binary chunk of a GLB file begins in it.
void measureGltf(AssetSize& size, const SortedJson& document, const fs::path& file, std::uint64_t binary_at) {
  std::vector<double> instances(itemsAt(document, "meshes").size(), 0);
  for (const SortedJson& node : itemsAt(document, "nodes")) {
    const double mesh = numberAt(node, "mesh", 1e15);
    if (mesh < static_cast<double>(instances.size())) ++instances[static_cast<std::size_t>(mesh)];
  }
  for (std::size_t m = 0; m < instances.size(); ++m) {
    for (const SortedJson& primitive : itemsAt(document["meshes"][m], "primitives"))
      addPrimitive(size, document, primitive, std::max(1.0, instances[m]));
  }
  for (const SortedJson& image : itemsAt(document, "images")) {
    if (!image.is_object()) continue;
    if (image.contains("bufferView") && image["bufferView"].is_number()) {
      const SortedJson& view = itemAt(document, "bufferViews", numberAt(image, "bufferView"));
      const double bytes = numberAt(view, "byteLength");
      const auto at = binary_at + static_cast<std::uint64_t>(numberAt(view, "byteOffset"));
      if (binary_at > 0)
        addImage(size, readPart(file, at, static_cast<std::size_t>(std::min<double>(kImageHead, bytes))),
                 bytes);
    } else if (image.contains("uri") && image["uri"].is_string()) {
      const auto uri = image["uri"].get<std::string>();
      if (isDataUri(uri)) {
        addImage(size, {}, 0.75 * static_cast<double>(uri.size()));
      } else if (const auto name = percentDecode(uri)) {
        addImageFile(size, file.parent_path(), *name);
      }
    }
  }
  for (const SortedJson& buffer : itemsAt(document, "buffers")) {
    if (buffer.is_object() && buffer.contains("uri")) size.file_bytes += numberAt(buffer, "byteLength");
  }
}

void measureGlb(AssetSize& size, const fs::path& file) {
  const auto head = readPart(file, 0, 20);
  if (head.size() < 20 || std::memcmp(head.data(), "glTF", 4) != 0) return;
  const std::size_t length = std::min<std::size_t>(little(head.data() + 12, 4), kDocument);
  const auto text = readPart(file, 20, length);
  const SortedJson document = SortedJson::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_object()) measureGltf(size, document, file, 28 + length);
}

void measureObj(AssetSize& size, const fs::path& file) {
  size.triangles = size.file_bytes / kObjBytesPerTriangle;
  size.vertices = size.file_bytes / kObjBytesPerVertex;
  const auto head = readPart(file, 0, kTextHead);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const auto lines = [](std::string_view all, auto&& visit) {
    while (!all.empty()) {
      const std::size_t end = std::min(all.find('\n'), all.size());
      std::string_view line = all.substr(0, end);
      while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
        line.remove_suffix(1);
      visit(line);
      all.remove_prefix(std::min(all.size(), end + 1));
    }
  };
  lines(text, [&](std::string_view line) {
    if (!line.starts_with("mtllib ")) return;
    const auto materials = resolveReference(file.parent_path(), line.substr(7));
    if (!materials) return;
    const auto content = readPart(*materials, 0, kTextHead);
    lines({reinterpret_cast<const char*>(content.data()), content.size()}, [&](std::string_view entry) {
      // "map_Kd -options image.png": the image is the last word.
      if (!entry.starts_with("map_") && !entry.starts_with("norm ")) return;
      const std::size_t blank = entry.find_last_of(" \t");
      if (blank != std::string_view::npos)
        addImageFile(size, materials->parent_path(), std::string(entry.substr(blank + 1)));
    });
  });
}

void measurePly(AssetSize& size, const fs::path& file) {
  const auto head = readPart(file, 0, kTextHead);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::string_view header = text.substr(0, text.find("end_header"));
  const auto countOf = [&](std::string_view element) {
    const std::size_t at = header.find(element);
    if (at == std::string_view::npos) return 0.0;
    double count = 0;
    for (const char c : header.substr(at + element.size())) {
      if (c < '0' || c > '9') break;
      count = std::min(1e15, 10 * count + (c - '0'));
    }
    return count;
  };
  size.triangles = countOf("element face ");
  size.vertices = countOf("element vertex ");
  const std::string_view mark = "comment TextureFile ";
  if (const std::size_t at = header.find(mark); at != std::string_view::npos) {
    std::string_view name = header.substr(at + mark.size());
    name = name.substr(0, name.find_first_of("\r\n"));
    addImageFile(size, file.parent_path(), std::string(name));
  }
}

}  // namespace

std::pair<std::uint32_t, std::uint32_t> imageSize(std::span<const std::uint8_t> head) {
  const std::uint8_t* p = head.data();
  const std::size_t size = head.size();
  if (size >= 24 && std::memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) {
    return {big16(p + 16) << 16 | big16(p + 18), big16(p + 20) << 16 | big16(p + 22)};
  }
  if (size >= 30 && std::memcmp(p, "RIFF", 4) == 0 && std::memcmp(p + 8, "WEBP", 4) == 0) {
    if (std::memcmp(p + 12, "VP8X", 4) == 0) return {1 + little(p + 24, 3), 1 + little(p + 27, 3)};
    if (std::memcmp(p + 12, "VP8L", 4) == 0) {
      const std::uint32_t bits = little(p + 21, 4);
      return {1 + (bits & 0x3fff), 1 + (bits >> 14 & 0x3fff)};
    }
    if (std::memcmp(p + 12, "VP8 ", 4) == 0) return {little(p + 26, 2) & 0x3fff, little(p + 28, 2) & 0x3fff};
    return {0, 0};
  }
  if (size >= 4 && p[0] == 0xff && p[1] == 0xd8) {
    for (std::size_t at = 2; at + 9 < size;) {
      if (p[at] != 0xff) return {0, 0};
      const std::uint8_t marker = p[at + 1];
      if (marker == 0xff) {
        ++at;  // fill byte
      } else if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
        return {big16(p + at + 7), big16(p + at + 5)};
      } else {
        at += 2 + std::max<std::uint32_t>(2, big16(p + at + 2));
      }
    }
  }
  return {0, 0};
}

AssetSize measureAsset(const fs::path& file) {
  AssetSize size;
  std::error_code problem;
  if (!fs::is_regular_file(file, problem)) return size;
  size.file_bytes = sizeOf(file);
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  size.found = true;
  try {
    if (ending == ".glb") {
      measureGlb(size, file);
    } else if (ending == ".gltf") {
      const auto text = readPart(file, 0, std::min(kDocument, static_cast<std::size_t>(size.file_bytes)));
      const SortedJson document = SortedJson::parse(text.begin(), text.end(), nullptr, false);
      if (document.is_object()) measureGltf(size, document, file, 0);
    } else if (ending == ".obj") {
      measureObj(size, file);
    } else if (ending == ".ply") {
      measurePly(size, file);
    } else {
      size.found = false;
    }
  } catch (const std::exception&) {
    // A hostile file gets no prediction; whoever reads it later says what is wrong.
  }
  return size;
}

}  // namespace heatskin::batch
