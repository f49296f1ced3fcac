#pragma once

// The JSON of HSK_kernel_texture (docs/format.md). The reader is strict: whatever it returns can be computed
// with.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/product/asset_constants.h"
#include "heatskin/product/charts.h"
#include "heatskin/product/product.h"
#include "heatskin/product/quantize.h"

namespace heatskin {

inline constexpr const char* kExtensionName = "HSK_kernel_texture";

/// Readers refuse another major version. A larger minor version only adds properties that may be ignored.
inline constexpr int kFormatMajor = 2, kFormatMinor = 4;

/// Read as well: kernels in records, without lengths, of base_color alone.
inline constexpr int kRecordsMajor = 1, kRecordsMinor = 1;

/// Levels of detail came with this minor version; a file has so many at most.
inline constexpr int kLevelsMinor = 4;
inline constexpr std::size_t kMaxLevels = 64;

/// Values of kernels in some material variants, since 2.2.
struct StoredValues {
  std::vector<std::string> names;   ///< of KHR_materials_variants, at least one
  std::size_t buffer_view = 0;      ///< index in the file
  bool differences = false;         ///< codes are differences from the default's
  std::vector<std::size_t> groups;  ///< of the layout, increasing, at least one: those that have other values
  ChannelValues mean = Vec3f::Zero();  ///< [C] of the layout; the default's where groups are not listed
};

/// What the extension's object says.
struct ProductExtension {
  EvaluatorOptions options;
  bool records = false;  ///< version 1: kernel_records.h instead of kernel_columns.h
  KernelScales scales = {{}, {}, defaultChannelBits({})};  ///< all channels of a group have the same bits
  ChannelLayout layout;                                    ///< base_color comes first
  ChannelValues mean = Vec3f::Zero();                      ///< [C] in [0, 1]: part of the channel's range
  std::size_t kernels = 0;                                 ///< at least 1
  std::size_t buffer_view = 0;                             ///< index in the file
  std::size_t triangles = 0;  ///< of the scene, as a check that the geometry is still the one it was made for
  ConstantMaterials constant_materials;  ///< only where materials define every channel of the layout
  std::optional<ChartsHeader> charts;    ///< since 2.1; on a proxy since 2.3
  std::vector<StoredValues> variants;    ///< no name twice

  /// Of detail, since 2.4 (product/levels.h): nodes in the place of the scene's, with an extension of their
  /// own.
  struct Level {
    std::size_t node = 0;
    std::string json;
  };
  std::vector<Level> levels;
  ProductInfo info;
};

/// The object as JSON text, of the lowest version that can say it.
std::string writeExtension(const ProductExtension& extension);

/// The object read back. Refused, with the property's name: another major version, missing and doubled
/// properties, wrong types, values out of range, and properties that this version does not have.
Result<ProductExtension> readExtension(const std::string& json);

}  // namespace heatskin
