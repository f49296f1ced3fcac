#include "heatskin/io/gltf_extension.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "heatskin/io/reference.h"

namespace heatskin::gltf {
namespace {

constexpr std::string_view kWhite = " \t\r\n";

/// Index behind the JSON value that begins at `at`. The text is known to be valid, so brackets match and
/// strings end; on text that is not, the result is still inside.
std::size_t skipValue(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) {
          if (text[at] == '\\') ++at;
        }
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;
        --depth;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
  }
  return text.size();
}

std::size_t skipWhite(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kWhite, at), text.size());
}

/// A string literal's content; escapes are resolved by the JSON library.
std::string literalText(std::string_view literal) {
  if (literal.find('\\') == std::string_view::npos) return std::string(literal.substr(1, literal.size() - 2));
  const Json parsed = Json::parse(literal.begin(), literal.end(), nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string();
}

void collectViews(const Json& value, std::set<std::size_t>& indices, std::optional<Error>& error,
                  const std::string& where) {
  if (value.is_array()) {
    for (const Json& item : value)
      collectViews(item, indices, error, where);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      if (key != "bufferView") {
        collectViews(item, indices, error, where);
      } else if (item.is_number_unsigned()) {
        indices.insert(item.get<std::size_t>());
      } else if (!error) {
        error = inputError(where + ": a bufferView is not an index");
      }
    }
  }
}

/// Where `name` is among the extensions of something inside `value`; empty if nowhere. Extras are anybody's.
std::string findInside(const Json& value, const std::string& name, const std::string& where) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string found = findInside(value[i], name, fmt::format("{}[{}]", where, i));
      if (!found.empty()) return found;
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      if (key == "extras") continue;
      if (key == "extensions" && !where.empty() && item.is_object() && item.contains(name)) return where;
      std::string found = findInside(item, name, where.empty() ? key : where + "." + key);
      if (!found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

Result<std::optional<std::string_view>> memberText(std::string_view object, std::string_view name) {
  std::optional<std::string_view> found;
  std::size_t at = skipWhite(object, 0);
  if (at >= object.size() || object[at] != '{') return found;
  ++at;
  while (true) {
    at = skipWhite(object, at);
    if (at >= object.size() || object[at] != '"') return found;
    std::size_t end = at + 1;
    while (end < object.size() && object[end] != '"')
      end += object[end] == '\\' ? 2 : 1;
    if (end >= object.size()) return found;
    const std::string key = literalText(object.substr(at, end + 1 - at));
    at = skipWhite(object, end + 1);
    if (at >= object.size() || object[at] != ':') return found;
    at = skipWhite(object, at + 1);
    end = skipValue(object, at);
    if (key == name) {
      if (found) return inputError(std::string(name) + " is given twice");
      std::string_view value = object.substr(at, end - at);
      value.remove_suffix(value.size() - (value.find_last_not_of(kWhite) + 1));
      found = value;
    }
    if (end >= object.size() || object[end] != ',') return found;
    at = end + 1;
  }
}

Result<std::optional<RawExtension>> readRawExtension(const Document& document,
                                                     std::span<const std::uint8_t> text,
                                                     const std::string& name, Buffers& buffers,
                                                     MemoryBudget& budget) {
  if (const std::string where = findInside(document.root, name, ""); !where.empty()) {
    return inputError(
        fmt::format("{} belongs to the root of the document, not to {}", name, quoteForMessage(where)));
  }
  Fields root(document.root, "");
  const Json* parsed = root.extension(name.c_str());
  if (!root.ok()) return root.error();
  if (parsed == nullptr) return std::optional<RawExtension>();

  std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  if (all.starts_with("\xEF\xBB\xBF")) all.remove_prefix(3);
  Result<std::optional<std::string_view>> extensions = memberText(all, "extensions");
  if (!extensions) return extensions.error();
  if (!*extensions) return inputError(name + " cannot be found in the JSON text");
  Result<std::optional<std::string_view>> member = memberText(**extensions, name);
  if (!member) return member.error();
  if (!*member) return inputError(name + " cannot be found in the JSON text");

  RawExtension raw;
  raw.name = name;
  raw.json = std::string(**member);
  raw.listed = document.uses(name.c_str());
  std::set<std::size_t> indices;
  std::optional<Error> error;
  collectViews(*parsed, indices, error, name);
  if (error) return *error;
  // All sizes before the first copy: many views may show the same bytes.
  std::vector<std::pair<std::size_t, std::span<const std::uint8_t>>> spans;
  for (const std::size_t index : indices) {
    Result<BufferViewData> view = buffers.view(index);
    if (!view) return view.error().prefixed(name + ": ");
    // Both say that vertices or indices are in it.
    for (const char* property : {"byteStride", "target"}) {
      if (document.list("bufferViews")[index].contains(property)) {
        return inputError(fmt::format("{}: bufferView {} must not have a {}", name, index, property));
      }
    }
    if (!budget.take(view->bytes.size(), 1)) return inputError(name + ": its buffer views are too large");
    spans.emplace_back(index, view->bytes);
  }
  for (const auto& [index, bytes] : spans)
    raw.views.push_back({index, {bytes.begin(), bytes.end()}});
  return std::optional<RawExtension>(std::move(raw));
}

Result<std::optional<RawExtension>> readExtrasExtension(const Document& document, const std::string& name,
                                                        MemoryBudget& budget) {
  const Json* copy = nullptr;
  for (const Json& scene : document.list("scenes")) {
    if (!scene.is_object() || copy != nullptr) continue;
    const auto extras = scene.find("extras");
    if (extras == scene.end() || !extras->is_object()) continue;
    const auto found = extras->find(name);
    if (found != extras->end()) copy = &*found;
  }
  if (copy == nullptr) return std::optional<RawExtension>();
  const auto refuse = [&](const std::string& what) {
    return inputError(fmt::format("{} in the scene's extras: {}", name, what));
  };
  const auto member = [&](const char* key) {
    if (!copy->is_object()) return static_cast<const Json*>(nullptr);
    const auto found = copy->find(key);
    return found == copy->end() ? nullptr : &*found;
  };
  const Json *object = member("extension"), *views = member("views"), *geometry = member("geometry");
  if (object == nullptr || !object->is_object() || views == nullptr || !views->is_object() ||
      geometry == nullptr || !geometry->is_string()) {
    return refuse("'extension', 'views' and 'geometry' are needed");
  }
  RawExtension raw;
  raw.name = name;
  raw.json = object->dump();
  raw.listed = raw.from_extras = true;
  raw.geometry = geometry->get<std::string>();
  std::set<std::size_t> indices;
  std::optional<Error> error;
  collectViews(*object, indices, error, name);
  if (error) return *error;
  for (const std::size_t index : indices) {
    const auto text = views->find(std::to_string(index));
    if (text == views->end() || !text->is_string()) return refuse(fmt::format("there is no view {}", index));
    const auto& encoded = text->get_ref<const std::string&>();
    if (!budget.take(encoded.size() / 4 * 3, 1)) return refuse("its views are too large");
    auto bytes = decodeDataUri("data:;base64," + encoded);
    if (!bytes) return refuse(fmt::format("view {} is not base64", index));
    raw.views.push_back({index, std::move(*bytes)});
  }
  return std::optional<RawExtension>(std::move(raw));
}

}  // namespace heatskin::gltf
