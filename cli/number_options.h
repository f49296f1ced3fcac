#pragma once

// Options that take a number say themselves what they take, in one line and under the name the user typed.

#include <string>
#include <vector>

#include "heatskin/base/result.h"

namespace CLI {
class App;
}

namespace heatskin::cli {

/// Looks at the value of every option in `arguments` that has a CLI::Range: a usage error if one is missing,
/// not a number (NaN and infinities are none), not whole where that is asked for, or out of range.
Result<void> checkNumberOptions(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace heatskin::cli
