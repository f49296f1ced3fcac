#include "heatskin/product/levels.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/io/gltf_document.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/product/product_extension.h"

namespace heatskin {
namespace {

/// The levels that the asset's extension lists.
Result<std::vector<ProductExtension::Level>> levelsOf(const Asset& asset) {
  const auto raw = std::find_if(asset.raw_extensions.begin(), asset.raw_extensions.end(),
                                [](const RawExtension& r) { return r.name == kExtensionName; });
  if (raw == asset.raw_extensions.end() || raw->from_extras) return std::vector<ProductExtension::Level>();
  auto extension = readExtension(raw->json);
  if (!extension) return extension.error().prefixed(fmt::format("{}: ", kExtensionName));
  return std::move(extension->levels);
}

}  // namespace

Result<std::size_t> levelCount(const Asset& asset) {
  const auto levels = levelsOf(asset);
  if (!levels) return levels.error();
  return levels->size() + 1;
}

Result<Asset> selectLevel(Asset asset, std::size_t level) {
  if (level == 0) return asset;
  const std::string name = asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
  const auto levels = levelsOf(asset);
  if (!levels) return levels.error().prefixed(name);
  if (level > levels->size() || asset.file == nullptr) {
    return usageError(levels->empty() ? fmt::format("{}has no levels of detail", name)
                                      : fmt::format("{}has no level of detail {}; the last one is {}", name,
                                                    level, levels->size()));
  }
  auto document = GltfDocument::open(*asset.file, asset.path);
  if (!document) return document.error();
  const ProductExtension::Level& chosen = (*levels)[level - 1];
  if (chosen.node >= document->list("nodes").size())
    return inputError(fmt::format("{}{}: levels[{}]: node {} does not exist", name, kExtensionName, level - 1,
                                  chosen.node));
  GltfJson& root = document->root();
  root["scene"] = 0;
  root["scenes"] = GltfJson::array({{{"nodes", GltfJson::array({chosen.node})}}});
  for (GltfJson& node : root["nodes"]) {
    GltfJson* extensions = memberOf(node, "extensions");
    if (extensions == nullptr || !extensions->is_object() || extensions->erase("MSFT_lod") == 0) continue;
    if (extensions->empty()) node.erase("extensions");
  }
  root["extensions"][kExtensionName] = GltfJson::parse(chosen.json);
  document->dropUnused();
  const auto glb = document->finish();
  if (!glb) return glb.error();
  return readGltfBytes(*glb, asset.path);
}

}  // namespace heatskin
