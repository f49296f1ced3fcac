#pragma once

#include <string_view>

namespace heatskin::cli {

/// The commit this program was made from: the last one that changed what it is made of (no tests, no
/// documents), ten digits; with "+" and eight digits of what differed from it in the work tree, if anything
/// did. Empty if the sources were no work tree of git.
std::string_view buildCommit();

/// CMake's build type: "Release".
std::string_view buildType();

}  // namespace heatskin::cli
