#pragma once

// What a folder of a batch holds, from anywhere, while workers work on it.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/batch/lease.h"
#include "heatskin/batch/manifest.h"
#include "heatskin/batch/row.h"

namespace heatskin::batch {

/// What a folder's workers said about its manifest.
struct BatchRecord {
  std::filesystem::path manifest;
  std::string fingerprint, version;
  std::size_t assets = 0, bad_lines = 0;
};

/// Fails if the folder is not that of a batch.
Result<BatchRecord> readRecord(const std::filesystem::path& folder);

struct BatchStatus {
  std::size_t total = 0;     ///< lines of the manifest
  std::size_t done = 0;      ///< with a row that says so
  std::size_t failed = 0;    ///< with a row that says so, and lines that cannot be used
  std::size_t running = 0;   ///< with a lease whose owner shows signs of life
  std::size_t stale = 0;     ///< with a lease whose owner is gone: the next worker takes them over
  std::size_t waiting = 0;   ///< the rest
  std::size_t outdated = 0;  ///< of those that are done: by another version, or with other options
  double seconds = 0;        ///< of processor time, of the fits that are done
  double remaining_s = 0;    ///< on one thread, of those that are not, as predicted; 0: not known
  std::vector<FoundLease> leases;
  std::map<std::string, std::size_t> reasons;  ///< of failures, with how many have each
};

/// `manifest` may be null: then assets count that have rows. `version`: of the program that asks; empty: any.
BatchStatus readStatus(const std::filesystem::path& folder, const BatchRecord& record,
                       const Manifest* manifest, double stale_s, std::string_view version);

/// Calls visit(row) for every row, in the order of the manifest's lines; lines without a row are left out.
/// `manifest` may be null: then all rows there are, by name, and after them those of unusable lines.
void visitRows(const std::filesystem::path& folder, const Manifest* manifest,
               const std::function<void(const Json&)>& visit);

/// Rows as CSV: a header, then a line for each. Columns are the row's values that are neither lists nor
/// objects, in the order in which they first appear, input, output, status and error first.
class CsvTable {
 public:
  void add(const Json& row);
  std::string text() const;
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heatskin::batch
