#pragma once

// What the user of the command line can do about an error of the library. The library says what is wrong and
// gives it a code; options and verbs are known only here.

#include <string>

#include "heatskin/base/result.h"

namespace heatskin::cli {

/// The message with the remedy of its code, if there is one.
std::string worded(const Error& error);
std::string worded(const Notice& notice);

}  // namespace heatskin::cli
