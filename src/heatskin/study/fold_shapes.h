#pragma once

// Test objects where distance over the surface and distance through space differ: thin sheets, sharp folds,
// close parts. Made by code, coloured in the surface's own coordinates, so that opposite sides have nothing
// in common.

#include <span>
#include <string_view>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"

namespace heatskin::study {

struct FoldShape {
  std::string_view name;
  std::string_view description;
};

/// plane (the control: no folds), sheet, accordion, coil, plates.
std::span<const FoldShape> foldShapes();

/// The asset of that name, with vertex colours: tiles of random colours. Usage error for an unknown name.
Result<Asset> makeFoldShape(std::string_view name);

}  // namespace heatskin::study
