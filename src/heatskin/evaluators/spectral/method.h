#pragma once

#include "heatskin/evaluators/method_traits.h"

namespace heatskin::spectral {

/// HKTex's row of traits.
MethodTraits methodTraits();

}  // namespace heatskin::spectral
