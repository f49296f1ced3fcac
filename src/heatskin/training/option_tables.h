#pragma once

// The lines of a fit's options: key, range and help of every member of the structs in config.h.

#include <span>

#include "heatskin/base/option_table.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// Those of TrainOptions are without its sections.
std::span<const Option> trainOptionTable();
std::span<const Option> samplingOptionTable();
std::span<const Option> startOptionTable();
std::span<const Option> rateOptionTable();
std::span<const Option> densityOptionTable();
std::span<const Option> budgetOptionTable();

}  // namespace heatskin
