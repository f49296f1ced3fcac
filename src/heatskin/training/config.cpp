#include "heatskin/training/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "heatskin/base/edit_distance.h"
#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/training/option_tables.h"
#include "heatskin/training/preset_texts.h"

namespace heatskin {
namespace {

using Value = OptionValue;
using Type = OptionType;

constexpr std::size_t kPaperBudget = 5000;

constexpr Option kMethodOption[] = {choice<&MethodChoice::method, kMethodNames>(
    "method", "how the response of a kernel at a point is computed: LocalHK, ThermalRF or HKTex")};

/// The options of one struct inside a FitConfig.
struct Section {
  std::string_view name;  ///< empty: keys without a dot, which come first (TOML's rule)
  std::span<const Option> options;
  void* (*in)(FitConfig&);
  std::optional<Method> of;  ///< counts for this method only
};

std::span<const Section> sections() {
  static const Section kSections[] = {
      {"", kMethodOption, [](FitConfig& c) -> void* { return &c.evaluator; }, {}},
      {"", trainOptionTable(), [](FitConfig& c) -> void* { return &c.train; }, {}},
      {"local", traits(Method::kLocal).options, [](FitConfig& c) -> void* { return &c.evaluator.local; },
       Method::kLocal},
      {"thermal", traits(Method::kThermal).options,
       [](FitConfig& c) -> void* { return &c.evaluator.thermal; }, Method::kThermal},
      {"spectral", traits(Method::kSpectral).options,
       [](FitConfig& c) -> void* { return &c.evaluator.spectral; }, Method::kSpectral},
      {"sampling", samplingOptionTable(), [](FitConfig& c) -> void* { return &c.train.sampling; }, {}},
      {"start", startOptionTable(), [](FitConfig& c) -> void* { return &c.train.start; }, {}},
      {"rates", rateOptionTable(), [](FitConfig& c) -> void* { return &c.train.rates; }, {}},
      {"density", densityOptionTable(), [](FitConfig& c) -> void* { return &c.train.density; }, {}},
      {"budget", budgetOptionTable(), [](FitConfig& c) -> void* { return &c.train.budget; }, {}},
  };
  return kSections;
}

/// An option with its full key.
struct Entry : Option {
  std::string full_key;
  const Section* section = nullptr;

  Value value(const FitConfig& config) const {
    return get(section->in(const_cast<FitConfig&>(config)));  // only looked at
  }
  void assign(FitConfig& config, const Value& value) const { set(section->in(config), value); }

  /// One line, with when it counts.
  std::string text() const {
    if (when_key.empty()) return std::string(help);
    if (when_key == "method") return fmt::format("{} (method {} only)", help, when_value);
    return fmt::format("{} (only with {} = {})", help, when_key, when_value);
  }
};

/// All options, sections one after the other.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = [] {
    std::vector<Entry> all;
    for (const Section& section : sections()) {
      for (const Option& o : section.options) {
        const std::string prefix = section.name.empty() ? "" : std::string(section.name) + ".";
        all.push_back({o, prefix + std::string(o.key), &section});
      }
    }
    return all;
  }();
  return kEntries;
}

const Entry* findOption(std::string_view key) {
  const auto found =
      std::find_if(entries().begin(), entries().end(), [&](const Entry& o) { return o.full_key == key; });
  return found == entries().end() ? nullptr : &*found;
}

std::string joined(std::span<const std::string_view> names, std::string_view separator) {
  return fmt::format("{}", fmt::join(names, separator));
}

/// Shortest text that reads back as the same double; TOML wants a point or an exponent in it.
std::string numberText(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string valueText(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* i = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&value)) return numberText(*d);
  return fmt::format("\"{}\"", std::get<std::string_view>(value));
}

std::string typeText(const Option& o) {
  switch (o.type) {
    case Type::kBool:
      return "true|false";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kChoice:
      return joined(o.names, "|");
  }
  return {};
}

/// The largest seed TOML can hold is no double.
std::string boundText(const Option& o, double bound) {
  if (o.type == Type::kNumber) return fmt::format("{:g}", bound);
  return bound >= 0x1p63 ? fmt::format("{}", std::numeric_limits<std::int64_t>::max())
                         : fmt::format("{:.0f}", bound);
}

std::string rangeText(const Option& o) {
  if (o.type != Type::kInteger && o.type != Type::kNumber) return {};
  return fmt::format("{} .. {}", boundText(o, o.low), boundText(o, o.high));
}

/// What is wrong with a value, or nothing.
std::optional<std::string> rangeProblem(const Option& o, const Value& value) {
  double number = 0;
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*i);
  } else if (const auto* d = std::get_if<double>(&value)) {
    number = *d;
  } else if (const auto* s = std::get_if<std::string_view>(&value)) {
    if (std::find(o.names.begin(), o.names.end(), *s) != o.names.end()) return {};
    return fmt::format("'{}' is not one of {}", *s, joined(o.names, ", "));
  } else {
    return {};
  }
  // Written so that a NaN fails.
  if (number >= o.low && number <= o.high) return {};
  return fmt::format("{} is outside {}", valueText(value), rangeText(o));
}

/// " (did you mean 'rates.color'?)" or nothing.
std::string suggestion(std::string_view key) {
  constexpr std::size_t kLongestKey = 64;
  const Entry* best = nullptr;
  std::size_t best_distance = 4;
  for (const Entry& o : entries()) {
    // "window_sigma" without its section is a likely slip, too.
    const bool suffix = o.full_key != o.key && o.key == key;
    const std::size_t distance = suffix ? 0 : editDistance(key.substr(0, kLongestKey), o.full_key);
    if (distance < best_distance) {
      best = &o;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : fmt::format(" (did you mean '{}'?)", best->full_key);
}

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7F ? '?' : c;
  }
  return result;
}

/// A name that any TOML file and any report can hold.
std::string presentableName(std::string_view name) {
  std::string result = printable(name);
  for (char& c : result)
    c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  return result;
}

/// A preset that something else builds upon, `depth` levels down.
Result<FitConfig> presetAt(std::string_view name, int depth);

/// Reads one TOML document into a configuration.
class TomlReader {
 public:
  TomlReader(std::string_view text, std::string source, int depth)
      : text_(text), source_(std::move(source)), depth_(depth) {}

  Result<FitConfig> read() {
    toml::table document;
    try {
      document = toml::parse(text_, source_);
    } catch (const toml::parse_error& problem) {
      return at(problem.source().begin.line, printable(problem.description()));
    }
    FitConfig config;
    if (const toml::node* base = document.get("base")) {
      const auto name = base->value_exact<std::string>();
      if (!name) return at(*base, "base must be a string, the name of a preset");
      auto started = presetAt(*name, depth_ + 1);
      if (!started) return at(*base, started.error().message);
      config = std::move(*started);
    }
    config.preset = presentableName(std::filesystem::path(source_).stem().string());
    if (const toml::node* preset = document.get("preset")) {
      const auto name = preset->value_exact<std::string>();
      if (!name) return at(*preset, "preset must be a string");
      config.preset = presentableName(*name);
    }
    if (auto done = readTable(document, "", config); !done) return done.error();
    if (auto sound = checkConfig(config); !sound) {
      return inputError(fmt::format("{}: {}", source_, sound.error().message));
    }
    return config;
  }

 private:
  Error at(std::size_t line, std::string_view what) const {
    return inputError(fmt::format("{}:{}: {}", source_, line, what));
  }
  Error at(const toml::node& node, std::string_view what) const { return at(node.source().begin.line, what); }

  Result<void> readTable(const toml::table& table, const std::string& prefix, FitConfig& config) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      const bool known_section = std::any_of(sections().begin(), sections().end(),
                                             [&](const Section& section) { return section.name == key; });
      if (known_section) {
        const toml::table* section = node.as_table();
        if (section == nullptr) return at(node, fmt::format("{} is a section, not a value", key));
        if (auto done = readTable(*section, key + ".", config); !done) return done;
        continue;
      }
      if (key == "base" || key == "preset") continue;
      const Entry* o = findOption(key);
      if (o == nullptr) {
        return at(node, fmt::format("there is no option '{}'{}", printable(key), suggestion(key)));
      }
      const auto value = valueOf(*o, node);
      if (!value) return at(node, fmt::format("{} must be {}", key, typePhrase(*o)));
      if (const auto problem = rangeProblem(*o, *value)) {
        return at(node, fmt::format("{}: {}", key, *problem));
      }
      o->assign(config, *value);
    }
    return {};
  }

  static std::string typePhrase(const Option& o) {
    switch (o.type) {
      case Type::kBool:
        return "true or false";
      case Type::kInteger:
        return "an integer";
      case Type::kNumber:
        return "a number";
      case Type::kChoice:
        return fmt::format("one of \"{}\"", joined(o.names, "\", \""));
    }
    return {};
  }

  /// The node's value in the option's type; whole numbers are numbers, too.
  static std::optional<Value> valueOf(const Option& o, const toml::node& node) {
    switch (o.type) {
      case Type::kBool:
        if (const auto v = node.value_exact<bool>()) return Value(*v);
        return {};
      case Type::kInteger:
        if (const auto v = node.value_exact<std::int64_t>()) return Value(*v);
        return {};
      case Type::kNumber:
        if (const auto v = node.value_exact<double>()) return Value(*v);
        if (const auto v = node.value_exact<std::int64_t>()) return Value(static_cast<double>(*v));
        return {};
      case Type::kChoice:
        if (const auto v = node.value_exact<std::string_view>()) return Value(*v);
        return {};
    }
    return {};
  }

  std::string_view text_;
  std::string source_;
  int depth_;
};

Result<FitConfig> presetAt(std::string_view name, int depth) {
  constexpr int kMaxDepth = 8;  // presets that build upon each other in a circle are refused, not followed
  if (depth > kMaxDepth) return inputError(fmt::format("preset '{}' is based on itself", name));
  for (const PresetText& preset : presetTexts()) {
    if (preset.name == name) return TomlReader(preset.text, fmt::format("{}.toml", name), depth).read();
  }
  return usageError(fmt::format("there is no preset '{}'; choose one of {}", printable(name),
                                fmt::join(presetNames(), ", ")));
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::vector<std::string> presetNames() {
  std::vector<std::string> names = {"default"};
  for (const PresetText& preset : presetTexts()) {
    if (preset.name != "default") names.emplace_back(preset.name);
  }
  return names;
}

Result<FitConfig> presetConfig(std::string_view name) {
  return presetAt(name, 0);
}

Result<FitConfig> parseConfig(std::string_view text, const std::string& source) {
  return TomlReader(text, source, 0).read();
}

Result<FitConfig> loadConfig(const std::filesystem::path& path) {
  constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
  const auto bytes = readFile(path, kMaxConfigBytes);
  if (!bytes) return bytes.error();
  return parseConfig({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, displayPath(path));
}

std::string configToml(const FitConfig& config) {
  std::string text, section;
  if (!config.preset.empty()) {
    std::string name;
    for (const char c : presentableName(config.preset))
      name += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    text = fmt::format("preset = \"{}\"\n", name);
  }
  for (const Entry& o : entries()) {
    if (o.section->name != section) {
      section = o.section->name;
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", o.key, valueText(o.value(config)));
  }
  return text;
}

Result<void> setOption(FitConfig& config, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return usageError(
        fmt::format("'{}' is not an assignment; write key=value, as in steps=500", printable(assignment)));
  }
  const std::string_view key = trimmed(assignment.substr(0, equals));
  std::string_view text = trimmed(assignment.substr(equals + 1));
  const Entry* o = findOption(key);
  if (o == nullptr) {
    return usageError(fmt::format("there is no option '{}'{}", printable(key), suggestion(key)),
                      error_code::kUnknownOption);
  }
  std::optional<Value> value;
  switch (o->type) {
    case Type::kBool:
      if (text == "true" || text == "false") value = Value(text == "true");
      break;
    case Type::kInteger:
      if (const auto v = parsed<std::int64_t>(text)) value = Value(*v);
      break;
    case Type::kNumber:
      if (const auto v = parsed<double>(text)) value = Value(*v);
      break;
    case Type::kChoice:
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
      value = Value(text);
      break;
  }
  if (!value) {
    const std::string wanted =
        o->type == Type::kBool
            ? "true or false"
            : "a" + (o->type == Type::kInteger ? "n integer" : std::string(" number")) + ", " + rangeText(*o);
    return usageError(fmt::format("{}: '{}' is not {}", key, printable(text), wanted));
  }
  if (const auto problem = rangeProblem(*o, *value)) {
    return usageError(fmt::format("{}: {}", key, printable(*problem)));
  }
  o->assign(config, *value);
  return {};
}

TrainOptions trainOptions(const FitConfig& config) {
  const MethodTraits& method = traits(config.evaluator.method);
  TrainOptions options = config.train;
  if (options.clamp_gradient == ClampGradient::kByMethod) {
    options.clamp_gradient =
        method.straight_through_clamp ? ClampGradient::kStraightThrough : ClampGradient::kZero;
  }
  // Idle kernels that coast do so in every step: then as often as METHOD section 8 says.
  options.rebuild_slowdown = options.idle == Idle::kCoast && method.has_lengths ? 1 : method.rebuild_slowdown;
  // Angles that count from the curvature directions a method's operators are made of stop at the ends of the
  // grid of operators: nothing to carry from one face's frame to the next one's, nothing to wrap.
  if (!method.has_lengths) {
    options.lengths = Lengths::kUnit;
    // Kernels of one length: the paper's number, and more do not help (METHOD section 13).
    if (options.budget.automatic)
      options.density.max_kernels = std::min(options.density.max_kernels, kPaperBudget);
    options.budget.automatic = false;
  }
  if (!method.carries_angle) options.transport_angle = options.wrap_angle = false;
  return options;
}

int stepsOf(const FitConfig& config) {
  TrainOptions options = trainOptions(config);
  followBudget(options);
  return options.steps;
}

Result<void> checkConfig(const FitConfig& config) {
  const std::size_t start = config.train.start.kernels, most = config.train.density.max_kernels;
  if (start > most) {
    return usageError(fmt::format(
        "start.kernels ({}) is above density.max_kernels ({}); lower one or raise the other", start, most));
  }
  return {};
}

void setKernelBudget(FitConfig& config, std::size_t kernels) {
  const std::size_t before = config.train.density.max_kernels;
  config.train.density.max_kernels = kernels;
  if (kernels >= before || config.train.start.kernels == 0) {
    config.train.density.min_kernels = std::min(config.train.density.min_kernels, kernels);
    return;
  }
  const double shrink = static_cast<double>(kernels) / static_cast<double>(before);
  const auto scaled = static_cast<std::size_t>(static_cast<double>(config.train.start.kernels) * shrink);
  config.train.start.kernels = std::max<std::size_t>(1, scaled);
  config.train.density.min_kernels = std::min(config.train.density.min_kernels, config.train.start.kernels);
}

std::vector<OptionDifference> configDifferences(const FitConfig& first, const FitConfig& second) {
  std::vector<OptionDifference> differences;
  for (const Entry& o : entries()) {
    const Value a = o.value(first), b = o.value(second);
    if (a != b) differences.push_back({o.full_key, valueText(a), valueText(b)});
  }
  return differences;
}

std::vector<OptionInfo> fitOptions() {
  std::vector<OptionInfo> infos;
  for (const Entry& o : entries())
    infos.push_back({o.full_key, typeText(o), rangeText(o), o.text(), o.low, o.high});
  return infos;
}

std::string withoutEffect(const FitConfig& config, std::string_view key) {
  const Entry* o = findOption(key);
  if (o == nullptr) return {};
  if (o->section->of && *o->section->of != config.evaluator.method)
    return fmt::format("method is {}", methodName(config.evaluator.method));
  if (o->when_key.empty()) return {};
  const Value chosen = findOption(o->when_key)->value(config);
  const auto* name = std::get_if<std::string_view>(&chosen);
  const std::string text = name != nullptr ? std::string(*name) : valueText(chosen);
  return text == o->when_value ? std::string() : fmt::format("{} is {}", o->when_key, text);
}

std::string optionText(const FitConfig& config, std::string_view key) {
  const Entry* o = findOption(key);
  return o == nullptr ? std::string() : valueText(o->value(config));
}

}  // namespace heatskin
