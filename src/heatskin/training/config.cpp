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
#include "heatskin/training/preset_texts.h"

namespace heatskin {
namespace {

using Value = std::variant<bool, std::int64_t, double, std::string_view>;
enum class Type { kBool, kInteger, kNumber, kChoice };

/// One line of the table.
struct Option {
  std::string_view key;
  Type type = Type::kNumber;
  double low = 0, high = 0;                      ///< allowed values of numbers, both included
  std::span<const std::string_view> names = {};  ///< of a choice, in the order of its enum
  Value (*get)(const FitConfig&) = nullptr;
  void (*set)(FitConfig&, const Value&) = nullptr;
  std::string_view help;
};

/// An option that is a number or a switch; `Field` is a captureless lambda from a FitConfig to the member.
template <class Field>
constexpr Option option(std::string_view key, Field, double low, double high, std::string_view help) {
  using Member = std::remove_cvref_t<std::invoke_result_t<Field, FitConfig&>>;
  using Stored =
      std::conditional_t<std::is_same_v<Member, bool>, bool,
                         std::conditional_t<std::is_floating_point_v<Member>, double, std::int64_t>>;
  Option o;
  o.key = key;
  o.type = std::is_same_v<Stored, bool>     ? Type::kBool
           : std::is_same_v<Stored, double> ? Type::kNumber
                                            : Type::kInteger;
  o.low = low;
  o.high = high;
  o.help = help;
  o.get = [](const FitConfig& c) { return Value(static_cast<Stored>(Field{}(c))); };
  o.set = [](FitConfig& c, const Value& v) { Field{}(c) = static_cast<Member>(std::get<Stored>(v)); };
  return o;
}

template <class Field>
constexpr Option option(std::string_view key, Field field, std::string_view help) {
  static_assert(std::is_same_v<bool&, std::invoke_result_t<Field, FitConfig&>>, "a number needs a range");
  return option(key, field, 0, 1, help);
}

/// An option that is an enum (or a string_view into `Names`).
template <const auto& Names, class Field>
constexpr Option choice(std::string_view key, Field, std::string_view help) {
  using Member = std::remove_cvref_t<std::invoke_result_t<Field, FitConfig&>>;
  Option o;
  o.key = key;
  o.type = Type::kChoice;
  o.names = Names;
  o.help = help;
  o.get = [](const FitConfig& c) {
    if constexpr (std::is_enum_v<Member>) {
      const auto index = static_cast<std::size_t>(Field{}(c));
      return Value(index < std::size(Names) ? Names[index] : std::string_view("?"));
    } else {
      return Value(Field{}(c));
    }
  };
  o.set = [](FitConfig& c, const Value& v) {
    const auto* found = std::find(std::begin(Names), std::end(Names), std::get<std::string_view>(v));
    if constexpr (std::is_enum_v<Member>) {
      Field{}(c) = static_cast<Member>(found - std::begin(Names));
    } else {
      Field{}(c) = *found;
    }
  };
  return o;
}

// In the order of the enums.
constexpr std::string_view kClampedColors[] = {"left", "led_back", "by_method"};
constexpr std::string_view kDecays[] = {"halving", "cosine"};
constexpr std::string_view kStartMeans[] = {"kernels", "surface"};
constexpr std::string_view kSamplings[] = {"paper", "stratified"};
constexpr std::string_view kDensities[] = {"paper", "budget"};
constexpr std::string_view kSights[] = {"last_edge", "carried"};
constexpr std::string_view kCandidateRules[] = {"per_query", "per_face", "by_reach"};

constexpr double kMaxRate = 1e4;
constexpr double kMaxSamples = 5e7;  // 2.4 GB of pool
constexpr double kMaxKernels = 1e6;
constexpr double kMaxLength = 10;  // five times the longest side of the bounding box

#define HEATSKIN_FIELD(path) ([](auto& c) -> auto& { return c.path; })

// clang-format off
/// The table. Keys without a dot come first (TOML's rule), those of a section stand together.
constexpr Option kOptions[] = {
    choice<kMethods>("method", HEATSKIN_FIELD(evaluator.method), "evaluator"),
    option("steps", HEATSKIN_FIELD(train.steps), 1, 1e7, "optimisation steps"),
    option("batch", HEATSKIN_FIELD(train.batch), 1, 1e6, "samples per step"),
    option("seed", HEATSKIN_FIELD(train.seed), 0, 0x1p63, "seed of everything random"),
    choice<kFilterNames>("filter", HEATSKIN_FIELD(train.filter), "how textures are read: auto is what the asset's samplers say; nearest and bilinear as in glTF; paper: round(u (W - 1)), for coordinates in [0, 1] only"),
    option("transport_angle", HEATSKIN_FIELD(train.transport_angle), "carry angles along a walk instead of keeping them relative to the frame of the new face; local only"),
    option("wrap_angle", HEATSKIN_FIELD(train.wrap_angle), "angles modulo pi instead of clamping; local only"),
    choice<kClampedColors>("clamped_colors", HEATSKIN_FIELD(train.clamped_colors), "spots whose colour was clamped are left as they are (the clamp's derivative) or led back; by_method: led back unless the method is local"),

    option("local.diffusion_time", HEATSKIN_FIELD(evaluator.local.diffusion_time), 1e-6, 1e3, "t of the heat kernel"),
    option("local.window_sigma", HEATSKIN_FIELD(evaluator.local.window_sigma), 0, kMaxLength, "sigma of the geodesic window; 0: no window (V0)"),
    option("local.max_radius", HEATSKIN_FIELD(evaluator.local.max_radius), 1e-4, kMaxLength, "cap of the support radius"),
    option("local.support_tail", HEATSKIN_FIELD(evaluator.local.support_tail), 1e-4, 0.5, "f at the rim of the support"),
    option("local.candidates", HEATSKIN_FIELD(evaluator.local.candidates), 1, 256, "kernels a query looks at"),
    choice<kCandidateRules>("local.rule", HEATSKIN_FIELD(evaluator.local.rule), "which kernels, where a face has too many: the query's nearest (PQ), its face's (PF), or the query's nearest in units of their supports (by_reach)"),
    option("local.rebuild_interval", HEATSKIN_FIELD(evaluator.local.rebuild_interval), 1, 1e6, "steps between renewals of the supports"),
    option("local.isotropic", HEATSKIN_FIELD(evaluator.local.isotropic), "ignore anisotropy and angle"),
    option("local.euclidean", HEATSKIN_FIELD(evaluator.local.euclidean), "chord distance and projected frame instead of developed ones"),
    choice<kSights>("local.sight", HEATSKIN_FIELD(evaluator.local.sight), "what an unfolding must see: the last edge as in the paper, or what all edges before leave visible"),
    option("local.edge_tolerance", HEATSKIN_FIELD(evaluator.local.edge_tolerance), 0, 1, "of the edge window, in edge lengths"),
    option("local.join_corners", HEATSKIN_FIELD(evaluator.local.join_corners), "faces around a vertex see it at one place of a kernel's plane: smaller colour jumps across edges"),
    option("local.proxy_faces", HEATSKIN_FIELD(evaluator.local.proxy_faces), 0, 1e9, "supports of surfaces with more than twice as many faces live on a simplified copy with so many; 0: never"),

    option("thermal.diffusion_time", HEATSKIN_FIELD(evaluator.thermal.diffusion_time), 1e-6, 1e3, "t of the heat kernel"),
    option("thermal.window_sigma", HEATSKIN_FIELD(evaluator.thermal.window_sigma), 1e-6, 1e3, "sigma of the window over routing distance"),
    option("thermal.candidates", HEATSKIN_FIELD(evaluator.thermal.candidates), 1, 256, "kernels a query looks at"),
    option("thermal.rank", HEATSKIN_FIELD(evaluator.thermal.rank), 1, 512, "of the heat factors"),
    option("thermal.oversampling", HEATSKIN_FIELD(evaluator.thermal.oversampling), 0, 256, "random vectors beyond the rank"),
    option("thermal.routing_time", HEATSKIN_FIELD(evaluator.thermal.routing_time), 1e-9, 1e3, "tau: how much the routing embedding is smoothed"),
    option("thermal.routing_dimensions", HEATSKIN_FIELD(evaluator.thermal.routing_dimensions), 1, 512, "of the routing embedding"),
    option("thermal.seed", HEATSKIN_FIELD(evaluator.thermal.seed), 0, 0x1p63, "of the random vectors behind the factors"),

    option("spectral.diffusion_time", HEATSKIN_FIELD(evaluator.spectral.diffusion_time), 1e-6, 1e3, "t of the heat kernel"),
    option("spectral.window_sigma", HEATSKIN_FIELD(evaluator.spectral.window_sigma), 1e-6, 1e3, "sigma of the window over biharmonic distance"),
    option("spectral.candidates", HEATSKIN_FIELD(evaluator.spectral.candidates), 1, 256, "kernels a query looks at"),
    option("spectral.modes", HEATSKIN_FIELD(evaluator.spectral.modes), 2, 1024, "eigenpairs per operator"),

    option("sampling.pool", HEATSKIN_FIELD(train.sampling.pool), 1, kMaxSamples, "samples with known colours that batches are drawn from"),
    choice<kSamplings>("sampling.rule", HEATSKIN_FIELD(train.sampling.rule), "independent draws as in the paper, or one in each of `batch` equal parts of the pool"),
    option("sampling.warmup_fraction", HEATSKIN_FIELD(train.sampling.warmup_fraction), 0, 1, "of the steps: uniform draws before errors count"),
    option("sampling.initial_error", HEATSKIN_FIELD(train.sampling.initial_error), 1e-6, 1e9, "paper: error of a sample before its first visit"),
    option("sampling.error_keep", HEATSKIN_FIELD(train.sampling.error_keep), 0, 1, "paper: part of the old error that stays at a visit"),
    option("sampling.error_power", HEATSKIN_FIELD(train.sampling.error_power), 0, 4, "stratified: weight = (squared error + floor) ^ power"),
    option("sampling.error_floor", HEATSKIN_FIELD(train.sampling.error_floor), 0, 3, "stratified: added to the squared error"),
    option("sampling.correction", HEATSKIN_FIELD(train.sampling.correction), 0, 1, "stratified: losses are weighted by (mean weight / weight) ^ correction"),

    option("start.kernels", HEATSKIN_FIELD(train.start.kernels), 1, kMaxKernels, "kernels at the start"),
    option("start.texture_aware", HEATSKIN_FIELD(train.start.texture_aware), "colours from the surface instead of random ones"),
    option("start.detail_share", HEATSKIN_FIELD(train.start.detail_share), 0, 1, "of the kernels: placed where colours change, the rest evenly"),
    choice<kStartMeans>("start.mean", HEATSKIN_FIELD(train.start.mean), "the mean colour is that of the kernels' first colours (METHOD), or that of the surface"),

    option("rates.mean_color", HEATSKIN_FIELD(train.rates.mean_color), 0, kMaxRate, "learning rate of the mean colour"),
    option("rates.color", HEATSKIN_FIELD(train.rates.color), 0, kMaxRate, "of residual colours"),
    option("rates.angle", HEATSKIN_FIELD(train.rates.angle), 0, kMaxRate, "of angles"),
    option("rates.anisotropy", HEATSKIN_FIELD(train.rates.anisotropy), 0, kMaxRate, "of anisotropies"),
    option("rates.threshold", HEATSKIN_FIELD(train.rates.threshold), 0, kMaxRate, "of thresholds"),
    option("rates.sharpness", HEATSKIN_FIELD(train.rates.sharpness), 0, kMaxRate, "of sharpnesses"),
    option("rates.position", HEATSKIN_FIELD(train.rates.position), 0, kMaxRate, "of positions"),
    option("rates.momentum", HEATSKIN_FIELD(train.rates.momentum), 0, 0.9999, "of positions"),
    option("rates.position_adam", HEATSKIN_FIELD(train.rates.position_adam), "divide position steps by the running size of a kernel's position gradient"),
    choice<kDecays>("rates.decay", HEATSKIN_FIELD(train.rates.decay), "halve after each fifth of the steps, or half a cosine"),
    option("rates.final_rate", HEATSKIN_FIELD(train.rates.final_rate), 0, 1, "cosine: factor at the end"),

    choice<kDensities>("density.rule", HEATSKIN_FIELD(train.density.rule), "prune and densify as in the paper, or keep the budget full and move idle kernels to errors"),
    option("density.max_kernels", HEATSKIN_FIELD(train.density.max_kernels), 1, kMaxKernels, "kernel budget"),
    option("density.min_kernels", HEATSKIN_FIELD(train.density.min_kernels), 1, kMaxKernels, "pruning stops here"),
    option("density.prune_from", HEATSKIN_FIELD(train.density.prune_from), 0, 1, "paper: of the steps: first pruning"),
    option("density.prune_until", HEATSKIN_FIELD(train.density.prune_until), 0, 1, "paper: of the steps: no pruning from here on"),
    option("density.prune_every", HEATSKIN_FIELD(train.density.prune_every), 0, 1, "paper: of the steps: between prunings"),
    option("density.prune_count_from", HEATSKIN_FIELD(train.density.prune_count_from), 0, 1, "paper: of the steps: use of kernels counts from here on"),
    option("density.prune_hits", HEATSKIN_FIELD(train.density.prune_hits), 0, 1, "paper: of the most hits: kernels with fewer go"),
    option("density.prune_contribution", HEATSKIN_FIELD(train.density.prune_contribution), 0, 1e6, "paper: kernels that contributed less go"),
    option("density.densify_from", HEATSKIN_FIELD(train.density.densify_from), 0, 1, "of the steps: first densification"),
    option("density.densify_until", HEATSKIN_FIELD(train.density.densify_until), 0, 1, "of the steps: none from here on"),
    option("density.densify_every", HEATSKIN_FIELD(train.density.densify_every), 0, 1, "of the steps: between densifications"),
    option("density.densify_count_from", HEATSKIN_FIELD(train.density.densify_count_from), 0, 1, "of the steps: errors count from here on"),
    option("density.error_steps", HEATSKIN_FIELD(train.density.error_steps), 0, 1, "paper: of the steps: accumulated errors are divided by so many"),
    option("density.error_threshold", HEATSKIN_FIELD(train.density.error_threshold), 0, 1e6, "paper: kernels with a larger error multiply"),
    option("density.growth", HEATSKIN_FIELD(train.density.growth), 0, 10, "of the present number: new kernels at once"),
    option("density.split_above", HEATSKIN_FIELD(train.density.split_above), 0, 1, "1 - threshold above which a kernel is split, not cloned"),
    option("density.split_distance", HEATSKIN_FIELD(train.density.split_distance), 0, kMaxLength, "times (1 - threshold): how far halves move"),
    option("density.split_shrink", HEATSKIN_FIELD(train.density.split_shrink), 1e-3, 1e3, "1 - threshold of the halves is divided by this"),
    option("density.relocate_share", HEATSKIN_FIELD(train.density.relocate_share), 0, 1, "budget: of the kernels, removed at once at most"),
    option("density.relocate_below", HEATSKIN_FIELD(train.density.relocate_below), 0, 1e3, "budget: of the median cost of removal; only kernels below it go"),
    option("density.insert_share", HEATSKIN_FIELD(train.density.insert_share), 0, 1, "budget: of the new kernels, at most, for places that no kernel covers; the rest splits"),
    option("density.insert_below", HEATSKIN_FIELD(train.density.insert_below), 0, 1e6, "budget: weight sum from which a place counts as covered"),
    option("density.insert_samples", HEATSKIN_FIELD(train.density.insert_samples), 1, kMaxSamples, "budget: points at which errors are looked up"),
    option("density.cover_share", HEATSKIN_FIELD(train.density.cover_share), 0, 1, "budget: of the kernels, taken from detail at once at most when the budget is full and places are uncovered"),
    option("density.cover_until", HEATSKIN_FIELD(train.density.cover_until), 0, 1, "budget: of the steps; uncovered places get kernels until here"),
    option("density.cover_spare", HEATSKIN_FIELD(train.density.cover_spare), 0, 1e3, "fit: diffusion time, window and radius of local grow until the budget is so many times what covers the surface; 0: they stay"),
    option("density.split_long_axis", HEATSKIN_FIELD(train.density.split_long_axis), "along the long axis; false: the short one, as HKTex's formula read literally"),
};
// clang-format on
#undef HEATSKIN_FIELD

const Option* findOption(std::string_view key) {
  const auto* found =
      std::find_if(std::begin(kOptions), std::end(kOptions), [&](const Option& o) { return o.key == key; });
  return found == std::end(kOptions) ? nullptr : found;
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
    return fmt::format("'{}' is none of {}", *s, joined(o.names, ", "));
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
  const Option* best = nullptr;
  std::size_t best_distance = 4;
  for (const Option& o : kOptions) {
    // "window_sigma" without its section is a likely slip, too.
    const bool suffix = o.key.size() > key.size() && o.key.ends_with(key) &&
                        o.key[o.key.size() - key.size() - 1] == '.' && !key.empty();
    const std::size_t distance = suffix ? 0 : editDistance(key.substr(0, kLongestKey), o.key);
    if (distance < best_distance) {
      best = &o;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : fmt::format(" (did you mean '{}'?)", best->key);
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
class Reader {
 public:
  Reader(std::string_view text, std::string source, int depth)
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
      if (!name) return at(*base, "base is the name of a preset, a string");
      auto started = presetAt(*name, depth_ + 1);
      if (!started) return at(*base, started.error().message);
      config = std::move(*started);
    }
    config.preset = presentableName(std::filesystem::path(source_).stem().string());
    if (const toml::node* preset = document.get("preset")) {
      const auto name = preset->value_exact<std::string>();
      if (!name) return at(*preset, "preset is a name, a string");
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
      const bool known_section = std::any_of(std::begin(kOptions), std::end(kOptions),
                                             [&](const Option& o) { return o.key.starts_with(key + "."); });
      if (known_section) {
        const toml::table* section = node.as_table();
        if (section == nullptr) return at(node, fmt::format("{} is a section, not a value", key));
        if (auto done = readTable(*section, key + ".", config); !done) return done;
        continue;
      }
      if (key == "base" || key == "preset") continue;
      const Option* o = findOption(key);
      if (o == nullptr) {
        return at(node, fmt::format("there is no option '{}'{}", printable(key), suggestion(key)));
      }
      const auto value = valueOf(*o, node);
      if (!value) return at(node, fmt::format("{} must be {}", key, typePhrase(*o)));
      if (const auto problem = rangeProblem(*o, *value)) {
        return at(node, fmt::format("{}: {}", key, *problem));
      }
      o->set(config, *value);
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
  if (depth > kMaxDepth) return inputError(fmt::format("preset '{}' builds upon itself", name));
  for (const PresetText& preset : presetTexts()) {
    if (preset.name == name) return Reader(preset.text, fmt::format("{}.toml", name), depth).read();
  }
  return usageError(
      fmt::format("there is no preset '{}'; there are {}", printable(name), fmt::join(presetNames(), ", ")));
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
  return Reader(text, source, 0).read();
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
  for (const Option& o : kOptions) {
    const std::size_t dot = o.key.find('.');
    const std::string_view in = dot == std::string_view::npos ? std::string_view() : o.key.substr(0, dot);
    if (in != section) {
      section = in;
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", o.key.substr(in.empty() ? 0 : dot + 1), valueText(o.get(config)));
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
  const Option* o = findOption(key);
  if (o == nullptr) {
    return usageError(fmt::format("there is no option '{}'{}; 'heatskin fit --list-options' lists all",
                                  printable(key), suggestion(key)));
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
  o->set(config, *value);
  return {};
}

TrainOptions trainOptions(const FitConfig& config) {
  TrainOptions options = config.train;
  if (options.clamped_colors == ClampedColors::kByMethod) {
    options.clamped_colors =
        config.evaluator.method == "local" ? ClampedColors::kLeft : ClampedColors::kLedBack;
  }
  // Angles of the other methods count from the curvature directions their operators are made of, and stop at
  // the ends of the grid of operators: nothing to carry from one face's frame to the next one's, nothing to
  // wrap.
  if (config.evaluator.method != "local") options.transport_angle = options.wrap_angle = false;
  return options;
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
  if (kernels >= before) return;
  const double shrink = static_cast<double>(kernels) / static_cast<double>(before);
  const auto scaled = static_cast<std::size_t>(static_cast<double>(config.train.start.kernels) * shrink);
  config.train.start.kernels = std::max<std::size_t>(1, scaled);
  config.train.density.min_kernels = std::min(config.train.density.min_kernels, config.train.start.kernels);
}

std::vector<OptionDifference> configDifferences(const FitConfig& first, const FitConfig& second) {
  std::vector<OptionDifference> differences;
  for (const Option& o : kOptions) {
    const Value a = o.get(first), b = o.get(second);
    if (a != b) differences.push_back({std::string(o.key), valueText(a), valueText(b)});
  }
  return differences;
}

std::vector<OptionInfo> fitOptions() {
  std::vector<OptionInfo> infos;
  for (const Option& o : kOptions)
    infos.push_back({o.key, typeText(o), rangeText(o), o.help, o.low, o.high});
  return infos;
}

std::string withoutEffect(const FitConfig& config, std::string_view key) {
  const Option* o = findOption(key);
  if (o == nullptr) return {};
  const std::size_t dot = key.find('.');
  const std::string_view section = dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
  const std::string_view method = config.evaluator.method;
  const bool of_method = std::find(std::begin(kMethods), std::end(kMethods), section) != std::end(kMethods);
  if ((of_method && section != method) || (o->help.ends_with("; local only") && method != "local"))
    return fmt::format("method is {}", method);
  // "stratified: ..." in a section whose rule is another one; the texts say where an option counts.
  for (const std::string_view rule_key : {"sampling.rule", "density.rule", "rates.decay"}) {
    if (!rule_key.starts_with(section) || section.empty()) continue;
    const Option* rule = findOption(rule_key);
    const auto chosen = std::get<std::string_view>(rule->get(config));
    for (const std::string_view name : rule->names) {
      if (name != chosen && o->help.starts_with(fmt::format("{}: ", name)))
        return fmt::format("{} is {}", rule_key, chosen);
    }
  }
  return {};
}

std::string optionText(const FitConfig& config, std::string_view key) {
  const Option* o = findOption(key);
  return o == nullptr ? std::string() : valueText(o->get(config));
}

}  // namespace heatskin
