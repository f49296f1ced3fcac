#include "heatskin/io/gltf_json.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

/// Deeper than any glTF, shallow enough for every recursive consumer of the tree.
constexpr int kMaxDepth = 64;

/// A value costs up to about 100 bytes in the tree, so this keeps a hostile text below half a gigabyte.
constexpr std::size_t kMaxValues = std::size_t{4} << 20;

/// Text with embedded base64 is held together with its tree and the decoded bytes.
constexpr std::size_t kMaxTextBytes = std::size_t{512} << 20;

/// Integers up to here are exact in a double, which is what JSON numbers are.
constexpr double kMaxInteger = 9007199254740992.0;

std::optional<Error> checkLimits(std::string_view text) {
  int depth = 0;
  std::size_t values = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      case '{':
      case '[':
        if (++depth > kMaxDepth) {
          return inputError("the JSON is nested too deep (more than " + std::to_string(kMaxDepth) +
                            " levels)");
        }
        ++values;
        break;
      case '}':
      case ']':
        --depth;
        break;
      case ',':
        ++values;
        break;
      default:
        break;
    }
    if (values > kMaxValues) {
      return inputError("the JSON has more than " + std::to_string(kMaxValues) + " values");
    }
  }
  return std::nullopt;
}

/// "line 3, column 7" of a byte offset (from 1, as the parser counts).
std::string describePosition(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

Result<Json> parseText(std::string_view text) {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& e) {
    return inputError("invalid JSON at " + describePosition(text, e.byte));
  } catch (const Json::exception&) {
    return inputError("invalid JSON: a number is out of range");
  }
}

}  // namespace

Result<ParsedJson> parseJson(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // GLB pads its JSON with spaces; some writers use zeros.
  text.remove_suffix(text.size() - (text.find_last_not_of('\0') + 1));
  if (text.size() > kMaxTextBytes) {
    return inputError("the JSON text is larger than " + std::to_string(kMaxTextBytes >> 20) +
                      " MiB; store the data as .glb");
  }
  if (text.empty()) return inputError("the JSON text is empty");
  if (auto refusal = checkLimits(text)) return *refusal;
  Result<Json> root = parseText(text);
  if (root) return ParsedJson{std::move(*root), false};
  // The parser also refuses strings that are not UTF-8. Names must not decide about geometry: mend and retry.
  const std::string repaired = repairUtf8(text);
  if (repaired == text) return root.error();
  Result<Json> again = parseText(repaired);
  if (!again) return root.error();
  return ParsedJson{std::move(*again), true};
}

Fields::Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) fail("must be a JSON object");
}

void Fields::fail(const std::string& message) {
  if (!error_) error_ = inputError(where_.empty() ? message : where_ + ": " + message);
}

const Json* Fields::find(const char* key) const {
  if (!object_->is_object()) return nullptr;
  const auto it = object_->find(key);
  return it == object_->end() ? nullptr : &*it;
}

std::optional<std::size_t> Fields::asSize(const Json& value, const std::string& what) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (static_cast<double>(number) <= kMaxInteger) return static_cast<std::size_t>(number);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (number >= 0 && number <= kMaxInteger && number == std::floor(number)) {
      return static_cast<std::size_t>(number);
    }
  }
  fail("invalid " + what + (value.is_number() ? " " + value.dump() : ", a non-negative integer is expected"));
  return std::nullopt;
}

std::size_t Fields::size(const char* key, std::size_t fallback) {
  const Json* value = find(key);
  return value == nullptr ? fallback : asSize(*value, key).value_or(fallback);
}

std::size_t Fields::requiredSize(const char* key) {
  if (!has(key)) fail(std::string("has no ") + key);
  return size(key, 0);
}

std::optional<std::size_t> Fields::index(const char* key, std::size_t count, const char* what) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<std::size_t> index = asSize(*value, std::string(what) + " index");
  if (index && *index >= count) {
    fail(std::string(what) + " " + std::to_string(*index) + " does not exist (the file has " +
         std::to_string(count) + ")");
    return std::nullopt;
  }
  return index;
}

double Fields::number(const char* key, double fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_number()) {
    fail(std::string(key) + " must be a number");
    return fallback;
  }
  return value->get<double>();
}

bool Fields::numbers(const char* key, std::span<double> out) {
  const Json* value = find(key);
  if (value == nullptr) return false;
  if (!value->is_array() || value->size() != out.size()) {
    fail(std::string(key) + " must be an array of " + std::to_string(out.size()) + " numbers");
    return false;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Json& item = (*value)[i];
    if (!item.is_number()) {
      fail(std::string(key) + " must be an array of " + std::to_string(out.size()) + " numbers");
      return false;
    }
    out[i] = item.get<double>();
  }
  return true;
}

bool Fields::boolean(const char* key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    fail(std::string(key) + " must be true or false");
    return fallback;
  }
  return value->get<bool>();
}

const std::string& Fields::text(const char* key) {
  static const std::string kEmpty;
  const Json* value = find(key);
  if (value == nullptr) return kEmpty;
  if (!value->is_string()) {
    fail(std::string(key) + " must be a string");
    return kEmpty;
  }
  return value->get_ref<const std::string&>();
}

const std::string& Fields::requiredText(const char* key) {
  if (!has(key)) fail(std::string("has no ") + key);
  return text(key);
}

const Json* Fields::object(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    fail(std::string(key) + " must be a JSON object");
    return nullptr;
  }
  return value;
}

const Json::array_t* Fields::array(const char* key) {
  const Json* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    fail(std::string(key) + " must be an array");
    return nullptr;
  }
  return value->get_ptr<const Json::array_t*>();
}

const Json* Fields::extension(const char* name) {
  const Json* extensions = object("extensions");
  if (extensions == nullptr) return nullptr;
  const auto it = extensions->find(name);
  if (it == extensions->end()) return nullptr;
  if (!it->is_object()) {
    fail(std::string(name) + " must be a JSON object");
    return nullptr;
  }
  return &*it;
}

std::vector<std::size_t> Fields::indices(const char* key, std::size_t count, const char* what) {
  std::vector<std::size_t> result;
  const Json::array_t* list = array(key);
  if (list == nullptr) return result;
  result.reserve(list->size());
  for (const Json& item : *list) {
    const std::optional<std::size_t> index = asSize(item, std::string(what) + " index");
    if (!index) return {};
    if (*index >= count) {
      fail(std::string(what) + " " + std::to_string(*index) + " does not exist (the file has " +
           std::to_string(count) + ")");
      return {};
    }
    result.push_back(*index);
  }
  return result;
}

std::vector<std::string> Fields::texts(const char* key) {
  std::vector<std::string> result;
  const Json::array_t* list = array(key);
  if (list == nullptr) return result;
  for (const Json& item : *list) {
    if (!item.is_string()) {
      fail(std::string(key) + " must be an array of strings");
      return {};
    }
    result.push_back(item.get_ref<const std::string&>());
  }
  return result;
}

bool Document::uses(const char* extension) const {
  return std::find(extensions_used.begin(), extensions_used.end(), extension) != extensions_used.end() ||
         std::find(extensions_required.begin(), extensions_required.end(), extension) !=
             extensions_required.end();
}

const Json::array_t& Document::list(const char* name) const {
  static const Json::array_t kEmpty;
  const auto it = root.find(name);
  return it == root.end() ? kEmpty : it->get_ref<const Json::array_t&>();
}

Result<Document> makeDocument(Json root) {
  Document document;
  document.root = std::move(root);
  if (!document.root.is_object()) return inputError("not a glTF file: the JSON is not an object");
  Fields fields(document.root, "");
  const Json* asset = fields.object("asset");
  if (!fields.ok()) return fields.error();
  if (asset == nullptr) return inputError("not a glTF 2.0 file: it has no asset.version");
  Fields asset_fields(*asset, "asset");
  const std::string version = asset_fields.text("version");
  const std::string min_version = asset_fields.text("minVersion");
  if (!asset_fields.ok()) return asset_fields.error();
  if (version.empty()) return inputError("not a glTF 2.0 file: it has no asset.version");
  if (!version.starts_with("2.")) {
    return inputError("glTF version " + quoteForMessage(version) + " is not supported, only 2.0");
  }
  if (!min_version.empty() && min_version != "2.0") {
    return inputError("the file asks for glTF version " + quoteForMessage(min_version) +
                      ", only 2.0 is supported");
  }
  document.extensions_used = fields.texts("extensionsUsed");
  document.extensions_required = fields.texts("extensionsRequired");
  for (const char* name : {"accessors", "animations", "buffers", "bufferViews", "images", "materials",
                           "meshes", "nodes", "samplers", "scenes", "skins", "textures"}) {
    const Json::array_t* list = fields.array(name);
    if (list == nullptr) continue;
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!(*list)[i].is_object()) {
        fields.fail(std::string(name) + "[" + std::to_string(i) + "] must be a JSON object");
      }
    }
  }
  if (!fields.ok()) return fields.error();
  return document;
}

void NoticeList::add(const char* code, const std::string& message, bool warning) {
  const auto it =
      std::find_if(notices_.begin(), notices_.end(), [&](const Notice& n) { return n.code == code; });
  if (it != notices_.end()) {
    ++it->count;
  } else {
    notices_.push_back({code, message, 1, warning});
  }
}

std::vector<Notice> NoticeList::take() {
  for (Notice& notice : notices_) {
    if (notice.count > 1) {
      const std::size_t more = notice.count - 1;
      notice.message += " (and " + std::to_string(more) + " more such " + (more == 1 ? "case)" : "cases)");
    }
  }
  return std::move(notices_);
}

}  // namespace heatskin::gltf
