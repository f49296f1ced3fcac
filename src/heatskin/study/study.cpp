#include "heatskin/study/study.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

namespace heatskin::study {
namespace {

const Json* at(const Json& object, std::string_view path) {
  const Json* found = &object;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string key(path.substr(0, end));
    if (!found->is_object() || !found->contains(key)) return nullptr;
    found = &(*found)[key];
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return found;
}

std::string textAt(const Json& object, std::string_view path) {
  const Json* found = at(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

/// Fails unless every name is that of some run.
Result<void> checkNamed(std::span<const StudyRun> runs, std::span<const std::string> names,
                        std::string_view path, std::string_view what) {
  std::vector<std::string> known;
  for (const StudyRun& run : runs) {
    const std::string name = textAt(run.work, path);
    if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usageError(fmt::format("the study has no {} '{}'{}{}", what, name,
                                  known.empty() ? "" : "; it has ", fmt::join(known, ", ")));
  }
  return {};
}

bool isAmong(std::span<const std::string> names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<std::vector<StudyRun>> chooseRuns(std::vector<StudyRun> runs, std::span<const std::string> meshes,
                                         std::span<const std::string> methods) {
  if (auto known = checkNamed(runs, meshes, "mesh/name", "mesh"); !known) return known.error();
  if (auto known = checkNamed(runs, methods, "method/name", "method"); !known) return known.error();
  std::vector<StudyRun> chosen;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string method = textAt(runs[i].work, "method/name");
    if (!isAmong(meshes, textAt(runs[i].work, "mesh/name"))) continue;
    if (!method.empty() && !isAmong(methods, method)) continue;
    chosen.push_back(std::move(runs[i]));
    chosen.back().place = i;
  }
  return chosen;
}

double StudyRow::number(std::string_view key) const {
  for (const Json* part : {&values, &timing}) {
    const Json* found = at(*part, key);
    if (found != nullptr && found->is_number()) return found->get<double>();
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string StudyRow::text(std::string_view path) const {
  for (const Json* part : {&work, &values}) {
    const Json* found = at(*part, path);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
    if (found != nullptr && found->is_number_integer()) return found->dump();
  }
  return {};
}

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Json jsonNumber(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace heatskin::study
