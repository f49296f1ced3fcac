#pragma once

// Edits of a product: its mesh was changed in places, or its look is.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/pipeline/carried_looks.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/transfer/refit_kernels.h"

namespace heatskin {

/// Where the look of changed triangles comes from.
enum class EditLook : std::uint8_t {
  kAuto,     ///< from the mesh's own textures or vertex colours if it has any, else from the product
  kMesh,     ///< from the mesh
  kProduct,  ///< from the product, at the nearest place; what is new is filled from its surroundings
};
inline constexpr std::string_view kEditLookNames[] = {"auto", "mesh", "product"};

struct EditOptions {
  EditLook look = EditLook::kAuto;
  std::size_t samples = 50'000;  ///< for the figures
  std::uint64_t seed = 1;
  RefitOptions refit = {150, 0.8};
  OpenOptions open;
};

struct EditOutcome {
  std::vector<std::uint8_t> bytes;  ///< of the product, a GLB
  std::optional<LoadedProduct> stored;
  double surface_psnr_source = 0;  ///< against the product before, where nothing was to change
  double surface_psnr = 0;         ///< against what was asked for, everywhere
  std::size_t kernels_kept = 0;    ///< as they were, to the bit
  std::size_t kernels_changed = 0, kernels_added = 0, kernels_dropped = 0;  ///< added ones count as changed
  double changed_area = 0;                                                  ///< a part of the area
  double unmatched_area = 0;  ///< of it: without a counterpart in the product
  std::size_t changed_triangles = 0, removed_triangles = 0;
  bool look_of_mesh = false;
  RefitReport refit;
  std::vector<LookFigure> variants;  ///< against what was asked for, everywhere
  std::vector<Notice> notices;
};

/// The product of a mesh that was edited in places. Kernels out of reach of the changes stay as they are, to
/// the bit (lengths count relative to the longest side: if that has changed, they change with it); those in
/// reach are fitted anew, in all material variants of the product. Refuses a mesh that has no triangle in
/// common with the product (error_code::kOtherShape).
Result<EditOutcome> editMesh(const LoadedProduct& product, Asset changed, const EditOptions& options = {});

}  // namespace heatskin
