#include "heatskin/batch/status.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/batch/worker.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;

/// Different reasons that are counted apart; thousands of files may each have their own.
constexpr std::size_t kReasons = 1000;

std::string stringAt(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

std::size_t countAt(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_number_unsigned() ? json[key].get<std::size_t>() : 0;
}

/// Errors that begin with a file's name differ only there.
std::string reasonOf(const std::string& error) {
  const std::size_t colon = error.find(": ");
  const std::string head = error.substr(0, colon);
  const bool file = colon != std::string::npos &&
                    (head.find('/') != std::string::npos || head.find('.') != std::string::npos);
  return file ? error.substr(colon + 2) : error;
}

/// Files of rows below a folder, by name.
std::vector<fs::path> rowFiles(const fs::path& rows) {
  std::vector<fs::path> files;
  std::error_code problem;
  for (fs::recursive_directory_iterator at(rows, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (at->path().extension() == ".json") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string csvField(std::string value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Result<BatchRecord> readRecord(const fs::path& folder) {
  const auto json = readJsonFile(BatchFolder(folder).manifestRecord());
  if (!json) return inputError(fmt::format("{}: is not the folder of a batch", displayPath(folder)));
  BatchRecord record;
  record.manifest = stringAt(*json, "manifest");
  record.fingerprint = stringAt(*json, "fingerprint");
  record.version = stringAt(*json, "version");
  record.assets = countAt(*json, "assets");
  record.bad_lines = countAt(*json, "bad_lines");
  return record;
}

BatchStatus readStatus(const fs::path& folder, const BatchRecord& record, const Manifest* manifest,
                       double stale_s, std::string_view version) {
  const BatchFolder places(folder);
  BatchStatus status;
  status.leases = allLeases(places.leases());
  const auto isStale = [&](const FoundLease& lease) { return lease.dead || lease.age_s > stale_s; };
  std::map<std::string, const FoundLease*> leased;
  for (const FoundLease& lease : status.leases)
    leased.emplace(lease.info.name, &lease);
  const auto reason = [&](const std::string& error) {
    if (status.reasons.size() < kReasons || status.reasons.contains(reasonOf(error)))
      ++status.reasons[reasonOf(error)];
  };
  std::map<const LineOptions*, std::string> fingerprints;

  const auto addRow = [&](const Json& json, const RowState& row) {
    if (row.done) {
      ++status.done;
      if (json["batch"].contains("run_cpu_s") && json["batch"]["run_cpu_s"].is_number())
        status.seconds += json["batch"]["run_cpu_s"].get<double>();
    } else {
      ++status.failed;
      reason(row.error);
    }
  };
  if (manifest != nullptr) {
    std::vector<double> costs(manifest->assets.size(), 0);
    if (const auto kept = readJsonFile(places.state() / fmt::format("costs-{}.json", manifest->fingerprint));
        kept && kept->contains("costs") && (*kept)["costs"].size() == costs.size()) {
      for (std::size_t i = 0; i < costs.size(); ++i) {
        const Json& pair = (*kept)["costs"][i];
        if (pair.is_array() && !pair.empty() && pair[0].is_number()) costs[i] = pair[0].get<double>();
      }
    }
    for (std::size_t i = 0; i < manifest->assets.size(); ++i) {
      const BatchAsset& asset = manifest->assets[i];
      if (asset.cost > 0) costs[i] = asset.cost;
      const auto lease = leased.find(asset.output);
      if (lease != leased.end()) {
        ++(isStale(*lease->second) ? status.stale : status.running);
        status.remaining_s += costs[i];
        continue;
      }
      const auto json = readJsonFile(places.row(asset.output));
      const auto row = json ? rowState(*json) : std::nullopt;
      if (!row) {
        ++status.waiting;
        status.remaining_s += costs[i];
        continue;
      }
      addRow(*json, *row);
      if (row->done && !version.empty()) {
        const auto [known, added] = fingerprints.try_emplace(asset.options.get());
        if (added) known->second = optionsFingerprint(*asset.options, version);
        if (row->fingerprint != known->second) ++status.outdated;
      }
    }
    for (const BadLine& line : manifest->bad) {
      ++status.failed;
      reason(line.error);
    }
    status.total = manifest->size();
    return status;
  }
  for (const FoundLease& lease : status.leases)
    ++(isStale(lease) ? status.stale : status.running);
  for (const fs::path& file : rowFiles(places.rows())) {
    const auto json = readJsonFile(file);
    const auto row = json ? rowState(*json) : std::nullopt;
    if (!row) continue;
    std::string name = stringAt(*json, "output");
    if (name.ends_with(".glb")) name.resize(name.size() - 4);
    if (!leased.contains(name)) addRow(*json, *row);
  }
  status.failed += record.bad_lines;
  status.total = record.assets + record.bad_lines;
  const std::size_t known = status.done + status.failed + status.running + status.stale;
  status.waiting = status.total > known ? status.total - known : 0;
  return status;
}

void visitRows(const fs::path& folder, const Manifest* manifest,
               const std::function<void(const Json&)>& visit) {
  const BatchFolder places(folder);
  const auto visitFile = [&](const fs::path& file) {
    if (const auto json = readJsonFile(file); json && rowState(*json)) visit(*json);
  };
  if (manifest == nullptr) {
    for (const fs::path& file : rowFiles(places.rows()))
      visitFile(file);
    std::ifstream bad(places.badRows());
    for (std::string line; std::getline(bad, line);) {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_object()) visit(json);
    }
    return;
  }
  std::size_t b = 0;
  const auto visitBadBefore = [&](std::size_t line) {
    for (; b < manifest->bad.size() && manifest->bad[b].line < line; ++b)
      visit(badRow(manifest->bad[b]));
  };
  for (const BatchAsset& asset : manifest->assets) {
    visitBadBefore(asset.line);
    visitFile(places.row(asset.output));
  }
  visitBadBefore(static_cast<std::size_t>(-1));
}

void CsvTable::add(const Json& row) {
  std::vector<std::string> fields(columns_.size());
  const auto set = [&](const std::string& column, const Json& value) {
    const auto [place, added] = places_.try_emplace(column, columns_.size());
    if (added) columns_.push_back(column);
    if (fields.size() <= place->second) fields.resize(place->second + 1);
    fields[place->second] = value.is_null()     ? ""
                            : value.is_string() ? value.get<std::string>()
                                                : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  for (const char* first : {"input", "output", "status", "error"})
    set(first, row.contains(first) ? row[first] : Json(nullptr));
  for (const auto& [key, value] : row.items()) {
    if (!value.is_structured()) set(key, value);
  }
  if (row.contains("batch") && row["batch"].is_object()) {
    for (const char* key :
         {"run_s", "run_cpu_s", "run_peak_rss_mb", "predicted_s", "predicted_mb", "host", "attempts"}) {
      if (row["batch"].contains(key)) set(key, row["batch"][key]);
    }
  }
  rows_.push_back(std::move(fields));
}

std::string CsvTable::text() const {
  std::string out;
  const auto line = [&](const std::vector<std::string>& fields) {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      out += fmt::format("{}{}", c > 0 ? "," : "", c < fields.size() ? csvField(fields[c]) : "");
    out += '\n';
  };
  line(columns_);
  for (const auto& fields : rows_)
    line(fields);
  return out;
}

}  // namespace heatskin::batch
