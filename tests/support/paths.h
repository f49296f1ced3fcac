#pragma once

// Where the source and the build are. The answers are in one file that CMake writes and not in definitions on
// the compiler's command line: objects then do not depend on where the project lies, and ccache finds those
// of another clone.

#include <string>
#include <string_view>

namespace heatskin::testing {

/// The absolute path of `path`, which is relative to the root of the source tree.
std::string inSource(std::string_view path);

/// The absolute path of `path`, which is relative to the build folder.
std::string inBuild(std::string_view path);

}  // namespace heatskin::testing
