#pragma once

// Options of a fit as command lines give them: a preset, --set, and the ones that have a name of their own.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/training/config.h"

#include "cli/console.h"

namespace CLI {
class Range;
}

namespace heatskin::cli {

/// The range of an option that is an integer; where 0 has a meaning that an option of the command line says
/// by not being given, from `least`.
CLI::Range rangeOfOption(std::string_view key, std::int64_t least = 0);

/// Which options a command line gave, and how: two values of one option are refused.
class GivenOptions {
 public:
  /// "key=value" of every --set.
  Result<void> assign(FitConfig& config, const std::vector<std::string>& assignments);

  /// An option with a name of its own, whose value was checked: --steps 100.
  Result<void> shortcut(FitConfig& config, const std::string& option, std::string_view key,
                        const std::string& value);

  bool contains(std::string_view key) const { return source_.contains(key); }

  /// How an option that is there was given: "--set steps=3".
  const std::string& sourceOf(std::string_view key) const { return source_.find(key)->second; }

  /// Warns about every option that the fit will not look at.
  void warnWithoutEffect(Console& console, const FitConfig& config) const;

 private:
  Result<void> note(const FitConfig& config, std::string_view key, const std::string& from);

  std::map<std::string, std::string, std::less<>> value_, source_;
};

}  // namespace heatskin::cli
