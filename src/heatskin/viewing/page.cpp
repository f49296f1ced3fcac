#include "heatskin/viewing/page.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "heatskin/base/base64.h"
#include "heatskin/base/files.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_container.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_vertices.h"

namespace heatskin {
namespace {

using PageJson = nlohmann::ordered_json;

/// Stands in the page where the list of files goes.
constexpr std::string_view kNoFiles = R"(<script type="application/json" id="heatskin-files">[]</script>)";
constexpr std::string_view kNonce = "HEATSKIN_NONCE";

bool contains(std::span<const std::uint8_t> bytes, std::string_view text) {
  return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

/// JSON that cannot end the script element it stands in.
std::string scriptSafe(const PageJson& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, PageJson::error_handler_t::replace)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string fileElement(std::string_view id, std::span<const std::uint8_t> bytes) {
  std::string out = R"(<script type="text/plain" id=")";
  return out.append(id).append("\">").append(base64(bytes)).append("</script>\n");
}

Result<std::string> pageWith(std::string_view before, const PageJson& list) {
  const std::string_view page = viewerPage();
  const std::size_t at = page.find(kNoFiles);
  if (page.empty() || at == std::string_view::npos)
    return failure("this program was built without the viewer's page", error_code::kNoViewer);
  std::string out;
  out.reserve(page.size() + before.size() + 4096);
  out.append(page.substr(0, at)).append(before);
  out.append(R"(<script type="application/json" id="heatskin-files">)")
      .append(scriptSafe(list))
      .append("</script>");
  return out.append(page.substr(at + kNoFiles.size()));
}

PageJson entry(const ViewedBytes& file, const char* key, const std::string& address) {
  return {{"name", file.name}, {"bytes", file.bytes.size()}, {key, address}};
}

bool hasDraco(const GltfDocument& document) {
  for (const auto& mesh : document.list("meshes")) {
    for (const auto& primitive : mesh.value("primitives", GltfJson::array())) {
      if (primitive.contains("extensions") && primitive["extensions"].contains("KHR_draco_mesh_compression"))
        return true;
    }
  }
  return false;
}

/// The asset's file with plain geometry and everything else as it is; empty if there are primitives that were
/// not read.
Result<std::vector<std::uint8_t>> withoutDraco(const Asset& asset, const std::filesystem::path& path) {
  auto document = GltfDocument::open(*asset.file, path);
  if (!document) return document.error();
  auto vertices = GltfVertices::open(*asset.file, path);
  if (!vertices) return vertices.error();
  vertices->noteUsed(*document);
  for (const Mesh& mesh : asset.meshes) {
    for (const Primitive& primitive : mesh.primitives) {
      if (mesh.source < 0 || primitive.source < 0) continue;
      std::vector<VertexBlend> same(primitive.positions.size());
      for (std::size_t v = 0; v < same.size(); ++v) {
        same[v].from[0] =
            primitive.source_vertices.empty() ? static_cast<std::uint32_t>(v) : primitive.source_vertices[v];
      }
      if (auto done =
              vertices->rewrite(*document, static_cast<std::size_t>(mesh.source),
                                static_cast<std::size_t>(primitive.source), same, primitive.triangles, {});
          !done)
        return done.error();
    }
  }
  if (hasDraco(*document)) return std::vector<std::uint8_t>();
  vertices->dropUnused(*document);
  document->dropUnused();
  return document->finish();
}

}  // namespace

Result<ViewedBytes> readForViewing(const std::filesystem::path& path) {
  auto bytes = readFile(path);
  if (!bytes) return bytes.error();
  ViewedBytes out{.name = displayPath(path.filename()), .bytes = {}};
  const bool draco = contains(*bytes, "KHR_draco_mesh_compression");
  if (gltf::hasGlbMagic(*bytes) && !draco) {
    // What cannot be read is said here, not by the page.
    if (auto asset = loadAsset(path); !asset) return asset.error();
    out.bytes = std::move(*bytes);
    return out;
  }
  auto asset = loadAsset(path);
  if (!asset) return asset.error();
  if (asset->file != nullptr && !draco) {
    auto document = GltfDocument::open(*asset->file, path);
    if (!document) return document.error();
    auto finished = document->finish();
    if (!finished) return finished.error();
    out.bytes = std::move(*finished);
    return out;
  }
  if (asset->file != nullptr) {
    auto plain = withoutDraco(*asset, path);
    if (!plain) return plain.error();
    if (!plain->empty()) {
      out.bytes = std::move(*plain);
      return out;
    }
  }
  auto encoded = encodeGlb(*asset);
  if (!encoded) return encoded.error();
  out.bytes = std::move(*encoded);
  return out;
}

Result<std::string> singlePage(std::span<const ViewedFile> files) {
  std::size_t total = 0;
  for (const ViewedFile& file : files)
    total += file.shown.bytes.size() + (file.original ? file.original->bytes.size() : 0);
  if (total > kMostSinglePageBytes)
    return inputError("the files are too large for one page: more than 400 MiB");
  PageJson list = PageJson::array();
  std::string elements;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string id = "heatskin-file-" + std::to_string(i);
    PageJson one = entry(files[i].shown, "data", id);
    elements += fileElement(id, files[i].shown.bytes);
    if (files[i].original) {
      one["original"] = entry(*files[i].original, "data", id + "-original");
      elements += fileElement(id + "-original", files[i].original->bytes);
    }
    list.push_back(std::move(one));
  }
  return pageWith(elements, list);
}

std::vector<ServedFile> servedFiles(std::span<const ViewedFile> files) {
  std::vector<ServedFile> out;
  for (const ViewedFile& file : files) {
    for (const ViewedBytes* part : {&file.shown, static_cast<const ViewedBytes*>(file.original.get())})
      if (part != nullptr) out.push_back({"files/" + std::to_string(out.size()) + ".glb", part});
  }
  return out;
}

Result<std::string> linkedPage(std::span<const ViewedFile> files, bool live) {
  PageJson list = PageJson::array();
  const std::vector<ServedFile> served = servedFiles(files);
  const auto address = [&](const ViewedBytes& file) {
    return std::find_if(served.begin(), served.end(), [&](const ServedFile& s) { return s.file == &file; })
        ->address;
  };
  for (const ViewedFile& file : files) {
    PageJson one = entry(file.shown, "url", address(file.shown));
    if (file.original) one["original"] = entry(*file.original, "url", address(*file.original));
    list.push_back(std::move(one));
  }
  constexpr std::string_view kLive = R"(<script type="application/json" id="heatskin-live">"live/"</script>)";
  return pageWith(live ? kLive : std::string_view(), list);
}

std::string withNonce(std::string_view page, std::string_view nonce) {
  std::string out;
  out.reserve(page.size() + 128);
  while (true) {
    const std::size_t at = page.find(kNonce);
    out.append(page.substr(0, at));
    if (at == std::string_view::npos) return out;
    out.append(nonce);
    page.remove_prefix(at + kNonce.size());
  }
}

}  // namespace heatskin
