#pragma once

// The files a verb reads and writes, named before it begins: no output is ever an input or another output,
// whatever names, links and folders lead to it, and what could not be written is found before the work.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"

namespace heatskin::cli {

class FilePlan {
 public:
  FilePlan() = default;
  FilePlan(const FilePlan&) = delete;
  FilePlan& operator=(const FilePlan&) = delete;
  ~FilePlan();  // removes the folders that were made and stayed empty: the verb failed

  /// A file that is read; `role` is how the user gave it: "ASSET", "--points". "-" is stdin. Empty paths are
  /// options that were not given, here and below.
  void reads(const std::filesystem::path& path, std::string role);

  /// A file that is written, as "-o" or "--json" asks; "-" is stdout. With an `extension` (".png") its name
  /// must have it, unless it is a device or a pipe.
  void writes(const std::filesystem::path& path, std::string role, std::string extension = {});

  /// Files that are written into a folder, which is made if it does not exist.
  void writesInto(const std::filesystem::path& folder, const std::vector<std::string>& names,
                  std::string role);

  /// No other process of this program may work on `path`, which is written, until this one ends.
  void locks(const std::filesystem::path& path) { locked_.push_back(path); }

  /// Checks everything above, makes the folders, takes the locks and removes what killed runs left beside the
  /// outputs. Called once, between a verb's prepare() and run().
  Result<void> settle();

  /// A file that turned out to be read as well (a texture of the asset). Fails if it is an output.
  Result<void> alsoReads(const std::filesystem::path& path, const std::string& role);

 private:
  struct Entry {
    std::filesystem::path path;
    std::string role;
    std::string extension;
  };
  Result<void> refuseOverlaps() const;

  std::vector<Entry> inputs_, outputs_;
  std::vector<std::filesystem::path> folders_, locked_;
  std::vector<FileLock> locks_;
  std::vector<std::filesystem::path> made_;  // folders, outer ones first
};

}  // namespace heatskin::cli
