#pragma once

// Everything that decides the outcome of a fit besides its input, as text: TOML files, presets and
// `--set key=value`. The tables of the methods (evaluators/*/method.cpp) and of training/options.cpp name
// every option.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/training/options.h"

namespace heatskin {

struct FitConfig {
  std::string preset;  ///< where the values come from; for reports, without influence on the fit
  MethodChoice evaluator;
  TrainOptions train;
};

/// `config.train` with what depends on the method settled, for a Trainer: that one does not know the method.
TrainOptions trainOptions(const FitConfig& config);

/// Names of the built-in presets: `default` first.
std::vector<std::string> presetNames();

/// A built-in preset. Unknown names are a usage error that lists the known ones.
Result<FitConfig> presetConfig(std::string_view name);

/// Reads a TOML text, `source` being its name in messages. Strict: an unknown key, another type, a value out
/// of range or options that contradict each other is an error of one line with the line number.
/// Two keys are no options: `base = "default"` names the preset that values start from (without it: `paper`,
/// the defaults of the structs), and `preset = "..."` is the name for reports (without it: the stem of
/// `source`).
Result<FitConfig> parseConfig(std::string_view text, const std::string& source);

/// parseConfig of a file.
Result<FitConfig> loadConfig(const std::filesystem::path& path);

/// The whole configuration as TOML: every option, in the order of the table. parseConfig() gets exactly the
/// same values from it.
std::string configToml(const FitConfig& config);

/// "key=value" as given on a command line; strings need no quotes.
Result<void> setOption(FitConfig& config, std::string_view assignment);

/// Fails if options that are each in range contradict each other (more kernels at the start than allowed).
Result<void> checkConfig(const FitConfig& config);

/// Changes the kernel budget; the start shrinks in proportion when the budget does.
void setKernelBudget(FitConfig& config, std::size_t kernels);

/// Options in which two configurations differ: key and both values as TOML. Names of presets are not
/// compared.
struct OptionDifference {
  std::string key, first, second;
};
std::vector<OptionDifference> configDifferences(const FitConfig& first, const FitConfig& second);

/// An option as people see it.
struct OptionInfo {
  std::string key;           ///< "rates.anisotropy"
  std::string type;          ///< "number", "integer", "true|false" or the choices, "halving|cosine"
  std::string range;         ///< "0 .. 1000", empty for choices
  std::string help;          ///< one line
  double low = 0, high = 0;  ///< ends of the range of a number
};

/// All options, in the order of the table.
std::vector<OptionInfo> fitOptions();

/// Why a fit with `config` does not look at an option ("method is local"); empty if it does.
std::string withoutEffect(const FitConfig& config, std::string_view key);

/// The value of an option as TOML; `key` is one of fitOptions().
std::string optionText(const FitConfig& config, std::string_view key);

}  // namespace heatskin
