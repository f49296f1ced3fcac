#include "heatskin/batch/row.h"

#include <array>
#include <fstream>
#include <span>
#include <system_error>

#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;

/// A row is some kilobytes, costs of a million assets are some megabytes.
constexpr std::size_t kMaxRowBytes = std::size_t{1} << 30;

/// Bytes read at a time.
constexpr std::size_t kPart = std::size_t{1} << 20;

std::string textOf(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : std::string();
}

std::optional<UsedFile> usedFile(const Json& json) {
  if (!json.is_object() || !json.contains("bytes") || !json["bytes"].is_number_unsigned()) return {};
  return UsedFile{textOf(json, "path"), json["bytes"].get<std::uintmax_t>(), textOf(json, "hash")};
}

}  // namespace

UsedFile hashFile(const fs::path& file, const fs::path& relative_to) {
  UsedFile used;
  used.path = relative_to.empty() ? file.filename().string() : file.lexically_relative(relative_to).string();
  if (used.path.empty()) used.path = file.string();
  std::error_code problem;
  if (!fs::is_regular_file(file, problem)) return used;
  std::ifstream in(file, std::ios::binary);
  std::vector<char> part(kPart);
  Fingerprint fingerprint;
  while (in) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    const auto count = static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount()));
    if (count == 0) break;
    fingerprint.add(std::span<const char>(part.data(), count));
    used.bytes += count;
  }
  if (in.eof()) used.hash = hexadecimal(fingerprint);
  return used;
}

std::string optionsFingerprint(const LineOptions& options, std::string_view version) {
  Fingerprint fingerprint;
  fingerprint.add(std::span<const char>(options.identity()));
  fingerprint.add(std::span<const char>(version));
  for (const fs::path& file : options.files)
    fingerprint.add(std::span<const char>(hashFile(file, {}).hash));
  return hexadecimal(fingerprint);
}

std::optional<Json> readJsonFile(const fs::path& file) {
  const auto bytes = readFile(file, kMaxRowBytes);
  if (!bytes) return {};
  Json json = Json::parse(bytes->begin(), bytes->end(), nullptr, false);
  if (!json.is_object()) return {};
  return json;
}

std::optional<RowState> rowState(const Json& row) {
  const std::string status = textOf(row, "status");
  if ((status != "done" && status != "failed") || !row.contains("batch") || !row["batch"].is_object())
    return {};
  const Json& batch = row["batch"];
  RowState state;
  state.done = status == "done";
  state.error = textOf(row, "error");
  state.fingerprint = textOf(batch, "fingerprint");
  if (batch.contains("attempts") && batch["attempts"].is_number_integer())
    state.attempts = static_cast<int>(std::clamp<std::int64_t>(batch["attempts"], 0, 1'000'000));
  state.lasting = batch.contains("lasting") && batch["lasting"] == true;
  if (batch.contains("files") && batch["files"].is_array()) {
    for (const Json& entry : batch["files"]) {
      auto file = usedFile(entry);
      if (!file) return {};
      state.files.push_back(std::move(*file));
    }
  }
  if (batch.contains("product")) {
    if (auto product = usedFile(batch["product"])) state.product = std::move(*product);
  }
  return state;
}

bool stillFits(const RowState& row, const BatchAsset& asset, std::string_view fingerprint,
               const BatchFolder& folder) {
  if (!row.done || row.fingerprint != fingerprint || row.files.empty() || row.product.hash.empty())
    return false;
  const fs::path from = asset.file.parent_path();
  // Lengths first: they cost nothing.
  const auto sameLength = [](const UsedFile& file, const fs::path& path) {
    std::error_code problem;
    const auto size = fs::file_size(path, problem);
    return (problem ? 0 : size) == file.bytes;
  };
  if (row.files.front().path != asset.file.filename().string()) return false;
  if (!sameLength(row.product, folder.product(asset.output))) return false;
  for (const UsedFile& file : row.files) {
    if (!sameLength(file, from / file.path)) return false;
  }
  for (const UsedFile& file : row.files) {
    if (hashFile(from / file.path, from).hash != file.hash) return false;
  }
  return hashFile(folder.product(asset.output), {}).hash == row.product.hash;
}

Json badRow(const BadLine& line) {
  return {{"input", line.input},
          {"output", line.output},
          {"status", "failed"},
          {"error", line.error},
          {"line", line.line}};
}

}  // namespace heatskin::batch
