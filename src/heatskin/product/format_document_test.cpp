// The tables of docs/format.md against the reader: every type, range and choice they state is what
// readExtension() enforces, and they list exactly the properties that files have. The check is a function of
// the document's text, so that errors can be planted in it.

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/evaluators/method_traits.h"
#include "heatskin/product/product_extension.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/training/config.h"

#include "support/kernel_buffers.h"
#include "support/paths.h"

namespace heatskin {
namespace {

using Json = nlohmann::ordered_json;

std::string documentText() {
  std::ifstream file(testing::inSource("docs/format.md"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// One row of a table of properties.
struct DocumentRow {
  std::string table;  ///< "" for the root, the name of a method, "group", "proxy" or "version 1"
  std::string name;   ///< "kernels.count"
  std::string type, allowed;
  std::size_t begin = 0, end = 0;                 ///< the line, with its end, in the document
  std::size_t type_begin = 0, allowed_begin = 0;  ///< of the cells' texts
};

std::vector<DocumentRow> rowsOf(const std::string& text) {
  std::vector<DocumentRow> rows;
  std::string method;
  std::optional<std::string> table;  // none: not in a table of properties
  for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
    next = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, next - at - 1);
    static const std::regex kMethodLine("^`([a-z]+)`.*:$");
    if (std::smatch match; std::regex_match(line, match, kMethodLine)) method = match[1];
    if (!line.starts_with('|')) {
      table.reset();
      continue;
    }
    if (line.starts_with("| property | type | allowed |")) table = "";
    if (line.starts_with("| property of `evaluator` | type | allowed |")) table = method;
    if (line.starts_with("| property of a group | type | allowed |")) table = "group";
    if (line.starts_with("| property of `proxyCharts` | type | allowed |")) table = "proxy";
    if (line.starts_with("| property of version 1 | type | allowed |")) table = "version 1";
    if (!table || !line.starts_with("| `")) continue;
    std::vector<std::pair<std::size_t, std::string>> cells;
    for (std::size_t begin = 1; begin < line.size();) {
      const std::size_t bar = std::min(line.find('|', begin), line.size());
      const std::size_t first = std::min(line.find_first_not_of(' ', begin), bar);
      const std::size_t last = line.find_last_not_of(' ', bar - 1) + 1;
      cells.emplace_back(at + first, last > first ? line.substr(first, last - first) : "");
      begin = bar + 1;
    }
    if (cells.size() != 4 || cells[0].second.back() != '`') {
      rows.push_back({*table, "a row that cannot be read: " + line, "", "", at, next, at, at});
      continue;
    }
    rows.push_back({*table, cells[0].second.substr(1, cells[0].second.size() - 2), cells[1].second,
                    cells[2].second, at, next, cells[1].first, cells[2].first});
  }
  return rows;
}

/// "1e-6", "0.5", "2^24", "2^63-1", "2^-10", "1 - 2^-24"; `whole` is exact where the number is a natural one.
struct DocumentNumber {
  double number = 0;
  std::uint64_t whole = 0;
};

std::optional<DocumentNumber> numberOf(const std::string& text) {
  std::smatch match;
  static const std::regex kPower("2\\^(\\d+)(?:-(\\d))?"), kSmall("2\\^-(\\d+)"), kNearOne("1 - 2\\^-(\\d+)");
  static const std::regex kPlain("-?\\d+(?:\\.\\d+)?(?:e-?\\d+)?");
  if (std::regex_match(text, match, kPower)) {
    const int power = std::stoi(match[1]);
    const std::uint64_t less = match[2].matched ? std::stoull(match[2]) : 0;
    if (power > 64 || (power == 64 && less == 0)) return std::nullopt;
    // 2^64 is 0 here, and taking 1 from it gives the largest.
    const std::uint64_t whole = (power == 64 ? 0 : std::uint64_t{1} << power) - less;
    return DocumentNumber{static_cast<double>(whole), whole};
  }
  if (std::regex_match(text, match, kSmall)) return DocumentNumber{std::ldexp(1.0, -std::stoi(match[1])), 0};
  if (std::regex_match(text, match, kNearOne))
    return DocumentNumber{1 - std::ldexp(1.0, -std::stoi(match[1])), 0};
  if (!std::regex_match(text, kPlain)) return std::nullopt;
  const double number = std::stod(text);
  return DocumentNumber{number, number >= 0 && number < 0x1p53 ? static_cast<std::uint64_t>(number) : 0};
}

struct DocumentRange {
  DocumentNumber low, high;
};

/// The "a..b" or "within [a, b]" of a cell.
std::optional<DocumentRange> rangeOf(const std::string& allowed) {
  static const std::regex kDots("(?:^|[ ,])([-0-9.e^]+?)\\.\\.([-0-9.e^]+)"),
      kWithin("within \\[([^,\\]]+), ([^\\]]+)\\]");
  std::smatch match;
  if (!std::regex_search(allowed, match, kDots) && !std::regex_search(allowed, match, kWithin))
    return std::nullopt;
  const auto low = numberOf(match[1]), high = numberOf(match[2]);
  if (!low || !high) return std::nullopt;
  return DocumentRange{*low, *high};
}

/// The number after words, as in "up to 256 bytes".
std::optional<std::size_t> numberAfter(const std::string& allowed, const std::string& words) {
  const std::size_t at = allowed.find(words);
  if (at == std::string::npos) return std::nullopt;
  std::smatch match;
  const std::string rest = allowed.substr(at + words.size());
  static const std::regex kNumber("^ ?(\\d+)");
  if (!std::regex_search(rest, match, kNumber)) return std::nullopt;
  return std::stoull(match[1]);
}

/// The `"names"` of a cell, in its order.
std::vector<std::string> choicesOf(const std::string& allowed) {
  std::vector<std::string> names;
  static const std::regex kName("`\"([^\"`]*)\"`");
  for (std::sregex_iterator it(allowed.begin(), allowed.end(), kName), end; it != end; ++it)
    names.push_back((*it)[1]);
  return names;
}

/// An extension with every property that its version and method can have.
Json completeExtension(Method method) {
  ProductExtension e;
  e.options = defaultOptions(method);
  e.kernels = 7;
  e.buffer_view = 3;
  e.triangles = 12;
  e.constant_materials.all = {0, 2};
  e.info = {"heatskin", "draft", 1, 200};
  e.info.filter = "auto";
  if (method == Method::kLocal) e.charts = {4, 100, 0, 0};
  return Json::parse(writeExtension(e));
}

/// With charts on a proxy.
Json proxyExtension() {
  ProductExtension e;
  e.kernels = 7;
  e.triangles = 100;
  e.charts = {4, 100, 0, 0, ProxyHeader{5, 6, 0, 100}};
  return Json::parse(writeExtension(e));
}

/// With a group of no known meaning after base_color.
Json channelExtension() {
  Json json = completeExtension(Method::kLocal);
  json.erase("constantMaterials");
  json["channels"].push_back(Json::parse(
      R"({"name": "height", "count": 1, "range": [-2, 6], "kind": "plain", "bits": 12, "mean": [0.5]})"));
  return json;
}

/// Version 1.
Json recordExtension() {
  ProductExtension e;
  e.kernels = e.triangles = 12;
  e.constant_materials.all = {0, 2};
  e.info = {"heatskin", "draft", 1, 200};
  e.info.filter = "auto";
  return Json::parse(testing::versionOneJson(e));
}

/// Paths of the properties in an object, "kernels.count"; objects themselves as well.
void collectPaths(const Json& json, const std::string& prefix, std::set<std::string>& paths) {
  for (const auto& [key, value] : json.items()) {
    paths.insert(prefix + key);
    if (value.is_object()) collectPaths(value, prefix + key + ".", paths);
  }
}

/// Tries values for the property of one row.
class RowChecker {
 public:
  RowChecker(const DocumentRow& row, std::vector<std::string>& problems) : row_(row), problems_(problems) {
    if (row.table.empty()) {
      base_ = completeExtension(Method::kLocal);
      pointer_ = "/" + std::regex_replace(row.name, std::regex("\\."), "/");
    } else if (row.table == "group") {
      base_ = channelExtension();
      pointer_ = "/channels/1/" + row.name;
      if (row.name == "constantMaterials") {
        // In a group that materials define.
        base_["version"] = "2.1";
        base_["channels"][1].update(Json::parse(R"({"name": "emissive", "count": 3, "mean": [0, 0, 0]})"));
        base_["channels"][1][row.name] = {0, 2};
      }
    } else if (row.table == "proxy") {
      base_ = proxyExtension();
      pointer_ = "/proxyCharts/" + row.name;
    } else if (row.table == "version 1") {
      base_ = recordExtension();
      pointer_ = "/" + row.name;
    } else {
      const auto method = methodNamed(row.table);
      if (!method) {
        complain("belongs to an unknown method");
        return;
      }
      base_ = completeExtension(*method);
      pointer_ = "/evaluator/" + row.name;
    }
    if (base_.contains(Json::json_pointer(pointer_))) {
      check();
    } else {
      complain("is no property");
    }
  }

 private:
  void complain(const std::string& what) {
    problems_.push_back((row_.table.empty() ? "" : row_.table + ": ") + row_.name + " " + what);
  }

  /// Why the reader refuses the value; empty if it does not.
  std::string refusal(const Json& value) const {
    Json json = base_;
    json[Json::json_pointer(pointer_)] = value;
    if (row_.table == "group" && row_.name == "count" && value.is_number_unsigned() &&
        value.get<std::size_t>() <= 64)
      json["channels"][1]["mean"] = std::vector<double>(value.get<std::size_t>(), 0.5);
    if (row_.table == "group" && value == "tangent")
      json["channels"][1].update({{"count", 2}, {"range", {-2, 2}}, {"mean", {0.5, 0.5}}});
    const auto read = readExtension(json.dump());
    return read ? "" : read.error().message;
  }
  void accepts(const Json& value) {
    if (const std::string why = refusal(value); !why.empty())
      complain("should take " + value.dump() + ": " + why);
  }
  void refuses(const Json& value) {
    if (refusal(value).empty()) complain("should not take " + value.dump());
  }

  void check() {
    const std::string& type = row_.type;
    static const std::regex kNumbers("(\\d+|`count`) numbers");
    std::smatch match;
    const Json odd[] = {nullptr, true, 1.5, -1, "x", Json::array(), Json::object()};
    for (const Json& value : odd) {
      const bool fits = (type == "boolean" && value.is_boolean()) ||
                        (type == "number" && value.is_number()) || (type == "string" && value.is_string()) ||
                        (type == "object" && value.is_object());
      if (!fits) refuses(value);
    }
    if (type == "boolean") {
      accepts(true);
      accepts(false);
    } else if (type == "integer") {
      checkIntegers();
    } else if (type == "number") {
      checkRange([](double x) { return Json(x); });
    } else if (type == "integers") {
      checkIndices();
    } else if (type == "string") {
      checkText();
    } else if (std::regex_match(type, match, kNumbers)) {
      const std::size_t count = match[1] == "`count`" ? 1 : std::stoull(match[1]);
      count == 2 ? checkPair() : checkNumbers(count);
    } else if (type != "object") {
      complain("has the unknown type '" + type + "'");
    }
  }

  std::optional<DocumentRange> statedRange() {
    const auto range = rangeOf(row_.allowed);
    if (!range) complain("has no range: '" + row_.allowed + "'");
    return range;
  }

  void checkIntegers() {
    const auto range = statedRange();
    if (!range) return;
    const auto [low, high] = *range;
    if (row_.table == "group" && row_.name == "count") {
      // More than 13 beside base_color are refused for their sum, not for themselves.
      const auto most = numberAfter(row_.allowed, "at most");
      if (!most) return complain("has no sum");
      accepts(*most - 3);
      refuses(*most - 2);
      const std::string sum = refusal(high.whole), beyond = refusal(high.whole + 1);
      if (sum.find("is not in") != std::string::npos || beyond.find("is not in") == std::string::npos)
        complain("has another largest value");
    } else {
      accepts(high.whole);
      refuses(high.whole < std::numeric_limits<std::uint64_t>::max() ? Json(high.whole + 1)
                                                                     : Json::parse("18446744073709551616"));
    }
    accepts(low.whole);
    refuses(low.number + 0.5);
    refuses(low.whole > 0 ? Json(low.whole - 1) : Json(-1));
  }

  /// Both ends are taken and the next numbers beyond are not.
  template <class Make>
  void checkRange(const Make& value) {
    const auto range = statedRange();
    if (!range) return;
    constexpr double kFar = std::numeric_limits<double>::max();
    accepts(value(range->low.number));
    accepts(value(range->high.number));
    accepts(value((range->low.number + range->high.number) / 2));
    refuses(value(std::nextafter(range->low.number, -kFar)));
    refuses(value(std::nextafter(range->high.number, kFar)));
  }

  void checkNumbers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      checkRange([&](double x) {
        Json values = std::vector<double>(count, 0.5);
        values[i] = x;
        return values;
      });
    }
    refuses(std::vector<double>(count + 1, 0.5));
    refuses(std::vector<double>(count - 1, 0.5));
    refuses(std::vector<std::string>(count, "0.5"));
  }

  void checkPair() {
    const auto range = statedRange();
    if (!range) return;
    constexpr double kFar = std::numeric_limits<double>::max();
    const double low = range->low.number, high = range->high.number, middle = low + (high - low) / 3;
    accepts(Json::array({low, high}));
    accepts(Json::array({low, middle}));
    accepts(Json::array({middle, high}));
    refuses(Json::array({std::nextafter(low, -kFar), high}));
    refuses(Json::array({low, std::nextafter(high, kFar)}));
    refuses(Json::array({low}));
    refuses(Json::array({low, middle, high}));
    if (row_.allowed.find("increasing") == std::string::npos)
      return complain("does not say that it increases");
    refuses(Json::array({high, low}));
    refuses(Json::array({middle, middle}));
    static const std::regex kApart("at least ([0-9.]+) of the larger magnitude apart");
    std::smatch match;
    if (row_.table != "group") return;
    if (!std::regex_search(row_.allowed, match, kApart)) return complain("does not say how far apart");
    const double apart = std::stod(match[1]);
    for (const double top : {100.0, -100 * (1 - apart)}) {
      accepts(Json::array({top - 101 * apart, top}));
      refuses(Json::array({top - 99 * apart, top}));
    }
  }

  void checkIndices() {
    const auto range = statedRange();
    if (!range) return;
    const auto [low, high] = *range;
    accepts(Json::array({low.whole, high.whole}));
    accepts(Json::array({high.whole}));
    refuses(Json::array({high.whole + 1}));
    refuses(low.whole > 0 ? Json::array({low.whole - 1}) : Json::array({-1}));
    if (row_.allowed.find("increasing, at least one") == std::string::npos)
      return complain("does not say what arrays are allowed");
    refuses(Json::array({high.whole, low.whole}));
    refuses(Json::array({low.whole, low.whole}));
  }

  void checkText() {
    const std::vector<std::string> choices = choicesOf(row_.allowed);
    if (row_.name == "version") return checkVersions(choices);
    if (!choices.empty()) {
      for (const std::string& name : choices) {
        if (row_.name != "evaluator.method") accepts(name);  // another method has other options
        refuses(name + "x");
      }
      if (choices != knownChoices()) complain("has other choices");
    } else if (const auto most = numberAfter(row_.allowed, "up to")) {
      accepts("");
      accepts(std::string(*most, 'a'));
      refuses(std::string(*most + 1, 'a'));
    } else if (const auto longest = numberAfter(row_.allowed, " to"); longest && row_.table == "group") {
      const auto shortest = numberAfter(row_.allowed, "");
      for (const char c : {'a', 'z', '0', '9', '_'}) {
        accepts(std::string(*shortest, c));
        accepts(std::string(*longest, c));
        refuses(std::string(*longest + 1, c));
        refuses(std::string(*shortest - 1, c));
      }
      for (const char* name : {"A", "a-b", "a b", "\xc3\xa4", "base_color"})
        refuses(name);
    } else {
      complain("has texts of unknown lengths");
    }
  }

  void checkVersions(const std::vector<std::string>& choices) {
    std::set<std::string> majors;
    for (const std::string& choice : choices) {
      if (choice.size() < 3 || !choice.ends_with(".x")) return complain("has the unknown choice " + choice);
      majors.insert(choice.substr(0, choice.size() - 2));
    }
    const Json columns = base_, records = recordExtension();
    for (int major = 0; major < 20; ++major) {
      bool taken = false;
      for (const Json& one : {columns, records}) {
        Json json = one;
        for (const char* minor : {".0", ".7"}) {
          json["version"] = std::to_string(major) + minor;
          taken = taken || readExtension(json.dump());
        }
      }
      if (taken != majors.contains(std::to_string(major)))
        complain("is wrong about major version " + std::to_string(major));
    }
  }

  /// What the code knows, as files spell it.
  std::vector<std::string> knownChoices() const {
    if (row_.name == "evaluator.method") return {std::begin(kMethodNames), std::end(kMethodNames)};
    if (row_.name == "info.filter") return {std::begin(kFilterNames), std::end(kFilterNames)};
    if (row_.table == "group") return {std::begin(kChannelKindNames), std::end(kChannelKindNames)};
    std::vector<std::string> names;
    const auto method = methodNamed(row_.table);
    if (!method) return names;
    for (const Option& option : traits(*method).options) {
      if (camelCase(option.key) != row_.name) continue;
      for (const std::string_view name : option.names)
        names.push_back(camelCase(name));
    }
    return names;
  }

  const DocumentRow& row_;
  std::vector<std::string>& problems_;
  Json base_;
  std::string pointer_;
};

/// What a document says that is not so, up to the first row with a problem. With `only`, of the rows'
/// contents just that of the row which begins there is checked.
std::vector<std::string> problemsOf(const std::string& text, std::optional<std::size_t> only = {}) {
  std::vector<std::string> problems;
  const std::vector<DocumentRow> rows = rowsOf(text);
  std::map<std::string, std::set<std::string>> stated;
  for (const DocumentRow& row : rows) {
    if (!stated[row.table].insert(row.name).second) problems.push_back(row.name + " is listed twice");
  }

  std::map<std::string, std::set<std::string>> real;
  for (const std::string_view name : kMethodNames) {
    const Json json = completeExtension(*methodNamed(name));
    collectPaths(json.at("evaluator"), "", real[std::string(name)]);
    real[std::string(name)].erase("method");
  }
  Json root = completeExtension(Method::kLocal);
  root["evaluator"] = {{"method", "local"}, {"*", 0}};
  collectPaths(root, "", real[""]);
  for (const char* object : {"kernels", "kernels.bits", "charts", "evaluator", "channels"})
    real[""].erase(object);  // only what is in them has rows
  collectPaths(channelExtension().at("channels").at(1), "", real["group"]);
  real["group"].insert("constantMaterials");
  collectPaths(proxyExtension().at("proxyCharts"), "", real["proxy"]);
  // What version 1 has and version 2 does not.
  collectPaths(recordExtension(), "", real["version 1"]);
  std::set<std::string> present;
  collectPaths(completeExtension(Method::kLocal), "", present);
  std::erase_if(real["version 1"], [&](const std::string& name) { return present.contains(name); });
  if (stated != real) {
    for (const auto& [table, names] : real) {
      for (const std::string& name : names) {
        if (!stated[table].contains(name)) problems.push_back("no row for " + table + " " + name);
      }
    }
    problems.emplace_back("the tables do not list what files have");
  }
  for (const DocumentRow& row : rows) {
    if (row.name == "evaluator.*" || !problems.empty() || (only && row.begin != *only)) continue;
    RowChecker(row, problems);
  }
  return problems;
}

TEST(FormatDocument, TablesSayWhatTheReaderEnforces) {
  const std::string text = documentText();
  const std::vector<DocumentRow> rows = rowsOf(text);
  EXPECT_GE(rows.size(), 40u);
  const std::vector<std::string> problems = problemsOf(text);
  EXPECT_TRUE(problems.empty()) << problems[0];
}

TEST(FormatDocument, ExamplesAreRead) {
  const std::string text = documentText();
  std::vector<std::string> examples;
  const std::string fence = "```json\n";
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    at += fence.size();
    examples.push_back(text.substr(at, text.find("```", at) - at));
  }
  ASSERT_EQ(examples.size(), 4u);
  Json json = Json::parse(examples[0]).at("extensions").at(kExtensionName);
  const auto read = readExtension(json.dump());
  ASSERT_TRUE(read) << read.error().message;
  // It claims to be a fit with preset default.
  const auto preset = presetConfig(read->info.preset);
  ASSERT_TRUE(preset) << preset.error().message;
  ProductExtension fitted = *read;
  fitted.options = preset->evaluator.options();
  fitted.info = {read->info.generator, "compact", preset->train.seed, preset->train.steps};
  fitted.info.filter = filterName(preset->train.filter);
  EXPECT_EQ(writeExtension(fitted), writeExtension(*read));
  json["version"] = "2.1";
  json.update(Json::parse("{" + examples[1] + "}"));
  const auto channels = readExtension(json.dump());
  EXPECT_TRUE(channels) << channels.error().message;
  json["version"] = "2.2";
  json.update(Json::parse("{" + examples[2] + "}"));
  const auto variants = readExtension(json.dump());
  ASSERT_TRUE(variants) << variants.error().message;
  EXPECT_EQ(variants->variants.at(0).names, (std::vector<std::string>{"midnight", "dusk"}));
  json["version"] = "2.3";
  json.erase("charts");
  json.update(Json::parse("{" + examples[3] + "}"));
  const auto proxied = readExtension(json.dump());
  ASSERT_TRUE(proxied) << proxied.error().message;
  EXPECT_TRUE(proxied->charts->proxy);
}

/// A number as a document may write it, and another one.
std::string otherNumber(const std::string& number) {
  const std::size_t power = number.find('^');
  std::size_t digit = power == std::string::npos ? number.find_first_of("123456789") : power + 1;
  if (digit == std::string::npos) digit = number.size() - 1;  // 0
  if (number[digit] == '-') ++digit;
  std::string other = number;
  other[digit] = other[digit] == '9' ? '8' : static_cast<char>(other[digit] + 1);
  return other;
}

TEST(FormatDocument, PlantedErrorsAreNoticed) {
  const std::string text = documentText();
  ASSERT_TRUE(problemsOf(text).empty());
  std::size_t planted = 0;
  const auto plant = [&](std::size_t at, std::size_t length, const std::string& other) {
    std::string changed = text;
    changed.replace(at, length, other);
    EXPECT_FALSE(problemsOf(changed, text.rfind('\n', at - 1) + 1).empty())
        << text.substr(at, length) << " -> " << other << " in "
        << text.substr(text.rfind('\n', at - 1) + 1, 60);
    ++planted;
  };
  static const std::regex kNumber("2\\^-?\\d+|\\d+(?:\\.\\d+)?(?:e-?\\d+)?"), kName("`\"([^\"`]*)\"`(?:, )?");
  for (const DocumentRow& row : rowsOf(text)) {
    plant(row.begin, row.end - row.begin, "");
    plant(row.begin + 3, 1, "x");  // the name
    for (const char* type : {"boolean", "integer", "number", "string"}) {
      if (row.type != type && row.name != "evaluator.*") plant(row.type_begin, row.type.size(), type);
    }
    if (row.type == "string" && (row.table != "group" || row.name == "kind")) {
      for (std::sregex_iterator it(row.allowed.begin(), row.allowed.end(), kName), end; it != end; ++it) {
        const auto at = row.allowed_begin + static_cast<std::size_t>(it->position());
        plant(at, static_cast<std::size_t>(it->length()), "");
        plant(at + 2, 1, "7");
      }
    }
    // Names of files and letters are no numbers.
    const std::string allowed = std::regex_replace(row.allowed, std::regex("`[^`]*`"), "");
    if (allowed != row.allowed && row.table != "group") continue;
    for (std::sregex_iterator it(row.allowed.begin(), row.allowed.end(), kNumber), end; it != end; ++it) {
      const auto at = static_cast<std::size_t>(it->position());
      if (at > 0 && row.allowed[at - 1] == '`') continue;
      plant(row.allowed_begin + at, static_cast<std::size_t>(it->length()), otherNumber(it->str()));
    }
  }
  EXPECT_GT(planted, 250u);
}

}  // namespace
}  // namespace heatskin
