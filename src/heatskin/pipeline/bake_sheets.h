#pragma once

// Images of a product's kernels along texture coordinates: sizes, drawing, encoding. Internal to
// bakeProduct().

#include <cstddef>
#include <span>
#include <vector>

#include "heatskin/bake/baked_document.h"
#include "heatskin/bake/material_images.h"
#include "heatskin/bake/sheet.h"
#include "heatskin/base/result.h"
#include "heatskin/pipeline/bake_product.h"

namespace heatskin {

/// Everything that the images of a bake have in common.
struct SheetContext {
  const LoadedProduct* product = nullptr;
  const BakeJob* job = nullptr;
  const MaterialImages* images = nullptr;
  const Appearance* appearance = nullptr;  ///< of the product: alpha that kernels do not hold; may be null
  const MapTangents* tangents = nullptr;   ///< of the target with its new coordinates; null: no directions
  std::span<const std::array<Vec3f, 3>> corner_normals;  // [F]
  Progress* progress = nullptr;
};

/// Drawn and filled images of one sheet, one for each plan; [height, width, channels].
struct SheetImages {
  int width = 0, height = 0;
  std::vector<std::vector<std::uint8_t>> pixels;
  SheetCounts counts;
};

/// Draws the images that `wanted` says, the others stay empty; `gutter` texels grow around charts.
Result<SheetImages> drawSheet(const SheetContext& context, const SheetFaces& faces, int width, int height,
                              int gutter, std::span<const std::uint8_t> wanted);

/// PSNR of the base colour of drawn images against the kernels, read bilinearly. `samples` points.
double sheetPsnr(const SheetContext& context, const SheetFaces& faces, const SheetImages& images);

/// One image of the sheet as a file; gives back its pixels.
Result<EncodedImage> encodeSheetImage(const SheetContext& context, std::size_t plan, SheetImages& images);

}  // namespace heatskin
