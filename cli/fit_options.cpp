#include "cli/fit_options.h"

#include <algorithm>
#include <functional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heatskin::cli {

CLI::Range rangeOfOption(std::string_view key, std::int64_t least) {
  for (const OptionInfo& option : fitOptions()) {
    if (option.key == key)
      return CLI::Range(std::max(least, static_cast<std::int64_t>(option.low)),
                        static_cast<std::int64_t>(option.high));
  }
  return CLI::Range(std::int64_t{0});
}

Result<void> GivenOptions::note(const FitConfig& config, std::string_view key, const std::string& from) {
  const std::string value = optionText(config, key);
  const auto [it, added] = value_.emplace(key, value);
  if (added) {
    source_.emplace(key, from);
  } else if (it->second != value) {
    return usageError(
        fmt::format("{} and {} contradict each other; give only one of them", sourceOf(key), from));
  }
  return {};
}

Result<void> GivenOptions::assign(FitConfig& config, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    if (auto set = setOption(config, assignment); !set) return set.error().prefixed("--set ");
    std::string key = assignment.substr(0, assignment.find('='));
    key.erase(0, key.find_first_not_of(" \t"));
    key.erase(key.find_last_not_of(" \t") + 1);
    if (auto noted = note(config, key, "--set " + assignment); !noted) return noted;
  }
  return {};
}

Result<void> GivenOptions::shortcut(FitConfig& config, const std::string& option, std::string_view key,
                                    const std::string& value) {
  if (!setOption(config, fmt::format("{}={}", key, value))) {
    // Numbers were checked with the options; this is the method's name.
    return usageError(fmt::format("{} {}: choose one of {}", option, value, fmt::join(kMethodNames, ", ")));
  }
  return note(config, key, fmt::format("{} {}", option, value));
}

void GivenOptions::warnWithoutEffect(Console& console, const FitConfig& config) const {
  for (const auto& [key, from] : source_) {
    if (const std::string why = withoutEffect(config, key); !why.empty())
      console.warning(fmt::format("{} has no effect: {}", from, why));
  }
}

}  // namespace heatskin::cli
