#include "cli/number_options.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace heatskin::cli {
namespace {

struct NumberRange {
  bool whole = false;
  std::string low, high;  ///< as CLI11 writes them
};

/// CLI::Range appends its own words to the type's name: "N:INT in [0 - 1024]".
std::optional<NumberRange> rangeOf(std::string_view type_name) {
  for (const std::string_view kind : {"INT", "UINT", "FLOAT"}) {
    const std::string begin = fmt::format(":{} in [", kind);
    const std::size_t at = type_name.find(begin);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = type_name.substr(at + begin.size());
    const std::size_t middle = rest.find(" - "), end = rest.find(']');
    if (middle == std::string_view::npos || end == std::string_view::npos || end < middle) continue;
    return NumberRange{kind != "FLOAT", std::string(rest.substr(0, middle)),
                       std::string(rest.substr(middle + 3, end - middle - 3))};
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class Number>
bool within(std::string_view text, const NumberRange& range) {
  const auto value = parsed<Number>(text);
  // Written so that a NaN fails.
  return value && *value >= parsed<Number>(range.low).value_or(0) &&
         *value <= parsed<Number>(range.high).value_or(0);
}

bool accepts(const NumberRange& range, std::string_view text) {
  if (!range.whole) return within<double>(text, range);
  return range.low.starts_with('-') ? within<std::int64_t>(text, range) : within<std::uint64_t>(text, range);
}

std::string bound(std::string_view text) {
  const auto value = parsed<double>(text);
  return value && text.find('e') != std::string_view::npos ? fmt::format("{:.0f}", *value)
                                                           : std::string(text);
}

std::string wanted(const NumberRange& range) {
  return fmt::format("a {} from {} to {}", range.whole ? "whole number" : "number", bound(range.low),
                     bound(range.high));
}

}  // namespace

Result<void> checkNumberOptions(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") break;
    if (!argument.starts_with('-') || argument.size() < 2) continue;
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr || option->get_items_expected_min() == 0) continue;
    const bool attached = equals != std::string::npos;
    const auto range = rangeOf(option->get_type_name());
    if (range && !attached && i + 1 == arguments.size())
      return usageError(fmt::format("{}: {} is missing", name, wanted(*range)));
    if (!attached) ++i;
    if (!range || i >= arguments.size()) continue;
    const std::string value = attached ? argument.substr(equals + 1) : arguments[i];
    if (accepts(*range, value)) continue;
    const bool plain = !value.empty() && value.find(' ') == std::string::npos;
    return usageError(fmt::format("{} {}: give {}", name, plain ? value : "'" + value + "'", wanted(*range)));
  }
  return {};
}

}  // namespace heatskin::cli
