#include "heatskin/io/gltf_variants.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heatskin/io/variants.h"

namespace heatskin::gltf {
namespace {

constexpr const char* kExtension = "KHR_materials_variants";

const Json* memberOf(const Json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

const Json* arrayOf(const Json* object, const char* key) {
  const Json* found = memberOf(object, key);
  return found != nullptr && found->is_array() ? found : nullptr;
}

/// An index below `count`.
std::optional<std::size_t> indexOf(const Json* value, std::size_t count) {
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  const auto index = value->get<std::uint64_t>();
  return index < count ? std::optional(static_cast<std::size_t>(index)) : std::nullopt;
}

class VariantReader {
 public:
  VariantReader(NoticeList& notices, Asset& asset) : notices_(notices), asset_(asset) {}

  void readNames(const Json& list) {
    std::set<std::string> known;
    for (const Json& entry : list) {
      numbers_.emplace_back();
      const Json* name = memberOf(&entry, "name");
      if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty() ||
          name->get_ref<const std::string&>().size() > kMaxVariantName) {
        leaveOut("a material variant without a usable name is left out");
      } else if (asset_.variants.size() == kMaxVariants) {
        leaveOut("of the material variants only the first " + std::to_string(kMaxVariants) + " are used");
      } else if (!known.insert(name->get<std::string>()).second) {
        leaveOut("two material variants have one name; the first one counts");
      } else {
        numbers_.back() = static_cast<std::uint32_t>(asset_.variants.size());
        asset_.variants.push_back(name->get<std::string>());
      }
    }
  }

  void readMappings(const Json& list, Primitive& primitive) {
    std::set<std::uint32_t> mapped;
    for (std::size_t m = 0; m < list.size(); ++m) {
      const auto material = indexOf(memberOf(&list[m], "material"), asset_.materials.size());
      const Json* variants = arrayOf(&list[m], "variants");
      if (!material || variants == nullptr) {
        leaveOut("a primitive maps material variants to a material that does not exist");
        continue;
      }
      VariantMaterial mapping{static_cast<int>(*material), {}, static_cast<int>(m)};
      for (const Json& entry : *variants) {
        const auto number = indexOf(&entry, numbers_.size());
        if (!number) {
          leaveOut("a primitive maps a material variant that does not exist");
        } else if (numbers_[*number] && !mapped.insert(*numbers_[*number]).second) {
          leaveOut("a primitive maps a material variant twice; the first mapping counts");
        } else if (numbers_[*number]) {
          mapping.variants.push_back(*numbers_[*number]);
        }
      }
      std::sort(mapping.variants.begin(), mapping.variants.end());
      if (!mapping.variants.empty()) primitive.variants.push_back(std::move(mapping));
    }
  }

 private:
  void leaveOut(const std::string& what) { notices_.add("material_variants", what); }

  NoticeList& notices_;
  Asset& asset_;
  std::vector<std::optional<std::uint32_t>> numbers_;  // [variants of the file] which of the asset's they are
};

}  // namespace

void readVariants(const Document& document, NoticeList& notices, Asset& asset) {
  const Json* names = arrayOf(memberOf(memberOf(&document.root, "extensions"), kExtension), "variants");
  if (names == nullptr) return;
  VariantReader reader(notices, asset);
  reader.readNames(*names);
  for (Mesh& mesh : asset.meshes) {
    const Json* primitives =
        arrayOf(&document.list("meshes")[static_cast<std::size_t>(mesh.source)], "primitives");
    for (Primitive& primitive : mesh.primitives) {
      const Json& json = (*primitives)[static_cast<std::size_t>(primitive.source)];
      const Json* mappings = arrayOf(memberOf(memberOf(&json, "extensions"), kExtension), "mappings");
      if (mappings != nullptr) reader.readMappings(*mappings, primitive);
    }
  }
}

}  // namespace heatskin::gltf
