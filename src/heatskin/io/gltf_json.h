#pragma once

// JSON with limits, and typed reading of its objects without exceptions. Private to the glTF reader.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "heatskin/base/result.h"

namespace heatskin::gltf {

using Json = nlohmann::json;

struct ParsedJson {
  Json root;
  bool repaired_utf8 = false;  ///< broken UTF-8 was replaced by U+FFFD
};

/// Parses JSON text (a UTF-8 byte order mark is tolerated). Nesting, number of values and size are bounded
/// before anything is built from the text; a syntax error is reported with line and column.
Result<ParsedJson> parseJson(std::span<const std::uint8_t> text);

/// Reads the fields of one JSON object. The first problem is kept and every later read yields its fallback,
/// so a caller reads all fields and then looks at ok() once.
class Fields {
 public:
  /// `where` begins every message: "accessor 3".
  Fields(const Json& object, std::string where);

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }
  const std::string& where() const { return where_; }

  /// Records a problem unless there already is one.
  void fail(const std::string& message);

  bool has(const char* key) const { return find(key) != nullptr; }

  /// A non-negative integer below 2^53; 3.0 counts as an integer, 1.5 and -4 do not.
  std::size_t size(const char* key, std::size_t fallback);
  std::size_t requiredSize(const char* key);

  /// An index into an array of `count` things called `what`; nothing when the field is absent.
  std::optional<std::size_t> index(const char* key, std::size_t count, const char* what);

  double number(const char* key, double fallback);

  /// Fills `out` when the field is there; it must then have exactly out.size() finite numbers.
  bool numbers(const char* key, std::span<double> out);

  bool boolean(const char* key, bool fallback);

  /// Empty when absent.
  const std::string& text(const char* key);
  const std::string& requiredText(const char* key);

  /// Null when absent.
  const Json* object(const char* key);
  const Json::array_t* array(const char* key);

  /// The extension's object inside "extensions"; null when absent.
  const Json* extension(const char* name);

  /// Indices below `count`; empty when absent.
  std::vector<std::size_t> indices(const char* key, std::size_t count, const char* what);

  /// Strings; empty when absent.
  std::vector<std::string> texts(const char* key);

 private:
  const Json* find(const char* key) const;
  std::optional<std::size_t> asSize(const Json& value, const std::string& what);

  const Json* object_;
  std::string where_;
  std::optional<Error> error_;
};

/// The checked top level of a glTF document; the pointers lead into `root`, so it is not copied.
struct Document {
  Document() = default;
  Document(Document&&) = default;
  Document& operator=(Document&&) = default;

  Json root;
  std::vector<std::string> extensions_used;
  std::vector<std::string> extensions_required;

  bool uses(const char* extension) const;

  /// A top-level array by name; empty when the document has none.
  const Json::array_t& list(const char* name) const;
};

/// Checks asset.version, that top-level lists are arrays of objects, and the extension lists.
Result<Document> makeDocument(Json root);

/// Notices of one load, one per code: the first message, with the number of times it happened.
class NoticeList {
 public:
  void add(const char* code, const std::string& message, bool warning = true);

  /// The notices in the order in which they first came up; repeated ones say so.
  std::vector<Notice> take();

 private:
  std::vector<Notice> notices_;
};

}  // namespace heatskin::gltf
