#pragma once

#include "heatskin/evaluators/method_traits.h"

namespace heatskin::thermal {

/// ThermalRF's row of traits.
MethodTraits methodTraits();

}  // namespace heatskin::thermal
