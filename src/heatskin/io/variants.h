#pragma once

// Material variants (KHR_materials_variants): one geometry, other materials on some of its primitives. A
// primitive that a variant says nothing about keeps its own material there.

#include <cstddef>
#include <string>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin {

/// Variants that a file may have, and bytes of a name.
inline constexpr std::size_t kMaxVariants = 1024, kMaxVariantName = 256;

/// What some variants look like: other materials than the default ones.
struct VariantLook {
  struct Change {
    std::size_t mesh = 0, primitive = 0;  ///< of the asset
    int material = -1;                    ///< that it has instead

    bool operator==(const Change&) const = default;
    auto operator<=>(const Change&) const = default;
  };
  std::vector<std::string> names;  ///< of the variants
  std::vector<Change> changes;     ///< at least one, in the order of the primitives
};

/// The looks that differ from the default and from each other, in the order of their first variants. Variants
/// that change nothing have none.
std::vector<VariantLook> variantLooks(const Asset& asset);

/// Gives primitives the materials of a look, and back.
void setLook(Asset& asset, const VariantLook& look);
void unsetLook(Asset& asset, const Asset& original, const VariantLook& look);

/// Gives primitives their materials in a variant, and notes it in Asset::variant. Refuses
/// (error_code::kBadRequest) a name that the asset does not have, and lists those it has.
Result<void> selectVariant(Asset& asset, const std::string& name);

}  // namespace heatskin
