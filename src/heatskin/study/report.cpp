#include "heatskin/study/report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/plural.h"

namespace heatskin::study {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

std::string csvQuoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cellText(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

/// Leaves of an object as "outer.inner" and their texts.
void flatten(const Json& object, const std::string& prefix, Cells& out) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      flatten(value, name, out);
    } else {
      out.emplace_back(name, cellText(value));
    }
  }
}

std::string markdownCell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.replace(at, 1, "\\|");
  return text;
}

}  // namespace

std::string markdownTable(const ReportTable& table) {
  std::string text = fmt::format("| {} |\n|---|", fmt::join(table.header, " | "));
  for (std::size_t i = 1; i < table.header.size(); ++i)
    text += "---:|";
  text += "\n";
  for (const auto& row : table.rows) {
    text += "|";
    for (const std::string& cell : row)
      text += " " + markdownCell(cell) + " |";
    text += "\n";
  }
  return text;
}

std::string rowsCsv(std::span<const StudyRow> rows, bool values, bool timing) {
  std::vector<std::string> columns = {"run"};
  std::vector<Cells> lines;
  for (const StudyRow& row : rows) {
    Cells cells = {{"run", row.name}};
    flatten(row.work, "", cells);
    if (values) flatten(row.values, "", cells);
    if (timing) flatten(row.timing, "", cells);
    for (const auto& [name, text] : cells) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
    lines.push_back(std::move(cells));
  }
  columns.emplace_back("error");
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> line;
    for (const std::string& column : columns) {
      const auto found = std::find_if(lines[i].begin(), lines[i].end(),
                                      [&](const auto& cell) { return cell.first == column; });
      line.push_back(csvQuoted(column == "error"         ? rows[i].error
                               : found == lines[i].end() ? std::string()
                                                         : found->second));
    }
    text += fmt::format("{}\n", fmt::join(line, ","));
  }
  return text;
}

std::vector<std::string> programsOf(std::span<const StudyRow> rows) {
  std::set<std::string> programs;
  for (const StudyRow& row : rows)
    programs.insert(row.program.empty() ? "of an unknown build" : row.program);
  return {programs.begin(), programs.end()};
}

std::vector<std::pair<std::string, std::string>> studyFiles(const Study& study,
                                                            std::span<const StudyRow> rows,
                                                            const std::filesystem::path& row_folder,
                                                            const std::string& command) {
  const StudyReport report = study.report(rows, row_folder);
  const std::string name(study.name());

  const std::vector<std::string> programs = programsOf(rows);

  Json json = {{"study", name},      {"title", report.title},     {"programs", programs},
               {"command", command}, {"summary", report.summary}, {"rows", Json::array()}};
  std::size_t failed = 0;
  for (const StudyRow& row : rows) {
    Json entry = {{"run", row.name}};
    for (const auto& [key, value] : row.work.items())
      entry[key] = value;
    for (const auto& [key, value] : row.values.items())
      entry[key] = value;
    if (study.timed()) {
      for (const auto& [key, value] : row.timing.items())
        entry[key] = value;
    }
    entry["error"] = row.error.empty() ? Json(nullptr) : Json(row.error);
    failed += row.error.empty() ? 0 : 1;
    json["rows"].push_back(std::move(entry));
  }

  std::string markdown = fmt::format("# {}\n\n```sh\n{}\n```\n\n", report.title, command);
  for (const std::string& sentence : report.lead)
    markdown += sentence + "\n";
  if (!report.figure.empty()) markdown += fmt::format("\n![{}]({}.svg)\n", report.title, name);
  for (const ReportTable& table : report.tables)
    markdown += fmt::format("\n**{}**\n\n{}", table.caption, markdownTable(table));
  if (failed > 0) {
    ReportTable table{"Runs that failed", {"run", "error"}, {}};
    for (const StudyRow& row : rows) {
      if (!row.error.empty()) table.rows.push_back({row.name, row.error});
    }
    markdown += fmt::format("\n**{}**\n\n{}", table.caption, markdownTable(table));
  }
  markdown += "\n";
  for (const std::string& note : report.notes)
    markdown += "- " + note + "\n";
  markdown += fmt::format("- {}, {} failed; heatskin {}. All rows: `{}.csv`, `{}.json`.\n",
                          plural(rows.size(), "run", "runs"), failed, fmt::join(programs, "; "), name, name);

  std::vector<std::pair<std::string, std::string>> files = {
      {name + ".json", json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"},
      {name + ".csv", rowsCsv(rows, true, study.timed())},
      {name + ".md", markdown},
      {name + ".svg", report.figure}};
  if (!study.timed()) files.emplace_back(name + "_timing.csv", rowsCsv(rows, false, true));
  return files;
}

}  // namespace heatskin::study
