#pragma once

// What became of material variants, for --json.

#include <span>

#include "heatskin/pipeline/carried_looks.h"

#include "cli/output.h"

namespace heatskin::cli {

/// `variants`: for each look of material variants its names and PSNR; nothing where there are none.
void addLooks(Json& json, std::span<const LookFigure> looks);

}  // namespace heatskin::cli
