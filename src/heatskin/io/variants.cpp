#include "heatskin/io/variants.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/files.h"
#include "heatskin/io/reference.h"

namespace heatskin {
namespace {

/// Names that a message lists; more would hide what it says.
constexpr std::size_t kListedNames = 20;

Primitive& primitiveOf(Asset& asset, const VariantLook::Change& change) {
  return asset.meshes[change.mesh].primitives[change.primitive];
}

}  // namespace

std::vector<VariantLook> variantLooks(const Asset& asset) {
  // Work and memory are proportional to what the file says, not to variants times primitives.
  std::vector<std::vector<VariantLook::Change>> changes(asset.variants.size());
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    const std::vector<Primitive>& primitives = asset.meshes[m].primitives;
    for (std::size_t p = 0; p < primitives.size(); ++p) {
      for (const VariantMaterial& mapping : primitives[p].variants) {
        if (mapping.material == primitives[p].material) continue;
        for (const std::uint32_t variant : mapping.variants)
          changes[variant].push_back({m, p, mapping.material});
      }
    }
  }
  std::vector<VariantLook> looks;
  std::map<std::vector<VariantLook::Change>, std::size_t> known;
  for (std::size_t v = 0; v < changes.size(); ++v) {
    if (changes[v].empty()) continue;
    const auto [entry, is_new] = known.try_emplace(changes[v], looks.size());
    if (is_new) looks.push_back({{}, changes[v]});
    looks[entry->second].names.push_back(asset.variants[v]);
  }
  return looks;
}

void setLook(Asset& asset, const VariantLook& look) {
  for (const VariantLook::Change& change : look.changes)
    primitiveOf(asset, change).material = change.material;
}

void unsetLook(Asset& asset, const Asset& original, const VariantLook& look) {
  for (const VariantLook::Change& change : look.changes)
    primitiveOf(asset, change).material = original.meshes[change.mesh].primitives[change.primitive].material;
}

Result<void> selectVariant(Asset& asset, const std::string& name) {
  const auto found = std::find(asset.variants.begin(), asset.variants.end(), name);
  if (found == asset.variants.end()) {
    const std::string file = asset.path.empty() ? std::string() : displayPath(asset.path) + ": ";
    if (asset.variants.empty())
      return usageError(file + "has no material variants, hence none called " + quoteForMessage(name));
    std::vector<std::string> quoted;
    for (const std::string& known :
         std::span(asset.variants).first(std::min(kListedNames, asset.variants.size())))
      quoted.push_back(quoteForMessage(known));
    return usageError(fmt::format("{}has no material variant {}; it has {}{}", file, quoteForMessage(name),
                                  fmt::join(quoted, ", "),
                                  asset.variants.size() > quoted.size() ? ", ..." : ""));
  }
  const auto variant = static_cast<std::uint32_t>(found - asset.variants.begin());
  for (Mesh& mesh : asset.meshes) {
    for (Primitive& primitive : mesh.primitives) {
      for (const VariantMaterial& mapping : primitive.variants) {
        if (std::binary_search(mapping.variants.begin(), mapping.variants.end(), variant))
          primitive.material = mapping.material;
      }
    }
  }
  asset.variant = name;
  return {};
}

}  // namespace heatskin
