#pragma once

// Where the shared test assets are, and how a test skips without them.

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/paths.h"

namespace heatskin::testing {

/// $HEATSKIN_ASSETS, or ../shared/assets beside the source tree; empty when neither exists.
inline std::filesystem::path assetsFolder() {
  if (const char* folder = std::getenv("HEATSKIN_ASSETS"); folder != nullptr && *folder != '\0') {
    if (std::filesystem::is_directory(folder)) return folder;
  }
  const std::filesystem::path beside = inSource("../shared/assets");
  if (std::filesystem::is_directory(beside)) return std::filesystem::canonical(beside);
  return {};
}

}  // namespace heatskin::testing

/// Skips the current test, saying why, unless the shared assets are there.
#define HEATSKIN_REQUIRE_ASSETS()                  \
  if (::heatskin::testing::assetsFolder().empty()) \
  GTEST_SKIP() << "the shared test assets are not here: put them in ../shared/assets or set HEATSKIN_ASSETS"
