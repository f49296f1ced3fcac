#include "heatskin/study/study.h"

#include <cmath>
#include <limits>

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

}  // namespace

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

Json jsonNumber(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace heatskin::study
