#pragma once

#include "heatskin/evaluators/method_traits.h"

namespace heatskin::local {

/// LocalHK's row of traits.
MethodTraits methodTraits();

}  // namespace heatskin::local
