#pragma once

// Rows of a benchmark in processes of their own: the memory of a row is then its own, and what one row leaves
// behind slows no other one down.

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "heatskin/base/result.h"

#include "bench/harness.h"

namespace heatskin::bench {

/// Spot, if the shared assets are there, else empty.
std::filesystem::path spotIfThere();

/// A folder for the files of rows; it goes with this.
struct RowFolder {
  std::filesystem::path path;
  RowFolder();
  ~RowFolder();
  RowFolder(const RowFolder&) = delete;
  RowFolder& operator=(const RowFolder&) = delete;
};

/// Runs `heatskin bench NAME --row ROW` with the options' seed and steps, and gives its rows by name.
Result<nlohmann::json> runRow(const std::string& name, const BenchOptions& options,
                              const std::filesystem::path& asset, const std::string& row,
                              const std::filesystem::path& folder);

}  // namespace heatskin::bench
