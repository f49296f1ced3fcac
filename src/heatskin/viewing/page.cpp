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
