#pragma once

// The result of an asset: a JSON file below the folder's `rows`, written when everything else is in place. A
// row that says "done" and still fits its input, options and version is why work is not done twice.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "heatskin/base/result.h"
#include "heatskin/batch/manifest.h"

namespace heatskin::batch {

using Json = nlohmann::ordered_json;

/// Places in the folder of a batch.
class BatchFolder {
 public:
  explicit BatchFolder(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path product(const std::string& output) const { return root_ / (output + ".glb"); }
  std::filesystem::path config(const std::string& output) const { return root_ / (output + ".toml"); }
  std::filesystem::path rows() const { return root_ / "rows"; }
  std::filesystem::path row(const std::string& output) const { return rows() / (output + ".json"); }
  /// Rows of the lines that could not be used, one in each line; not there if all could.
  std::filesystem::path badRows() const { return rows() / "manifest_errors.jsonl"; }

  /// What workers keep for each other.
  std::filesystem::path state() const { return root_ / ".heatskin"; }
  std::filesystem::path leases() const { return state() / "leases"; }
  std::filesystem::path work() const { return state() / "work"; }
  std::filesystem::path checkpoints() const { return state() / "checkpoints"; }
  std::filesystem::path journal() const { return state() / "journal"; }
  std::filesystem::path manifestRecord() const { return state() / "manifest.json"; }

 private:
  std::filesystem::path root_;
};

/// A file that decided about an outcome.
struct UsedFile {
  std::string path;  ///< relative to the input's folder
  std::uintmax_t bytes = 0;
  std::string hash;  ///< 32 digits; empty: it was not there
};

/// Bytes and hash of a file as it is now.
UsedFile hashFile(const std::filesystem::path& file, const std::filesystem::path& relative_to);

/// Hash of options (with the content of files they name) and program version: what decides besides the input.
std::string optionsFingerprint(const LineOptions& options, std::string_view version);

/// Rows say more than this; it is what decides about doing the work again.
struct RowState {
  bool done = false;
  std::string error;        ///< of a failed row
  std::string fingerprint;  ///< optionsFingerprint()
  std::vector<UsedFile> files;
  UsedFile product;
  int attempts = 0;      ///< that failed, of this row's kind
  bool lasting = false;  ///< failed because of input or options: the next attempt would end in the same way
};

std::optional<Json> readJsonFile(const std::filesystem::path& file);

/// Nothing if it is no row.
std::optional<RowState> rowState(const Json& row);

/// Whether a done row still fits: options and version, content of all files, the product in place.
bool stillFits(const RowState& row, const BatchAsset& asset, std::string_view fingerprint,
               const BatchFolder& folder);

/// The row of a line that cannot be used.
Json badRow(const BadLine& line);

}  // namespace heatskin::batch
