#include "heatskin/batch/manifest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/base/edit_distance.h"
#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/io/reference.h"
#include "heatskin/training/config.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using SortedJson = nlohmann::json;  // keys in order: equal options have equal texts

/// Longest name of a file, and of all folders with it, that we make products of: the file systems' own limits
/// less what we put behind it.
constexpr std::size_t kMaxComponent = 200, kMaxName = 1000;

enum class Kind { kText, kTextOrNumber, kNumber, kInteger, kFlag, kList, kFile };

/// Options that a line may have besides those of the fit itself.
struct VerbOption {
  std::string_view key;
  Kind kind;
};

constexpr VerbOption kVerbOptions[] = {
    {"preset", Kind::kText},
    {"config", Kind::kFile},
    {"channels", Kind::kList},
    {"kernels", Kind::kTextOrNumber},
    {"target_psnr", Kind::kNumber},
    {"max_kernels", Kind::kInteger},
    {"max_bytes", Kind::kTextOrNumber},
    {"max_seconds", Kind::kNumber},
    {"fallback", Kind::kText},
    {"no_charts", Kind::kFlag},
    {"keep_textures", Kind::kFlag},
    {"no_variants", Kind::kFlag},
    {"extras", Kind::kFlag},
    {"no_eval", Kind::kFlag},
};

struct OptionKeys {
  std::set<std::string, std::less<>> fit;  // of --set
};

const OptionKeys& optionKeys() {
  static const OptionKeys keys = [] {
    OptionKeys made;
    for (const OptionInfo& option : fitOptions())
      made.fit.insert(option.key);
    return made;
  }();
  return keys;
}

std::string nearestKey(std::string_view given) {
  std::string best;
  std::size_t distance = 3;
  const auto consider = [&](std::string_view key) {
    if (const std::size_t d = editDistance(given.substr(0, 64), key); d < distance) {
      distance = d;
      best = key;
    }
  };
  for (const VerbOption& option : kVerbOptions)
    consider(option.key);
  for (const std::string& key : optionKeys().fit)
    consider(key);
  return best;
}

bool hasControl(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
}

/// A value as one word; nothing if it is none.
std::optional<std::string> wordOf(const SortedJson& value, Kind kind) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (kind == Kind::kNumber || kind == Kind::kInteger || text.empty() || hasControl(text)) return {};
    return text;
  }
  if (value.is_boolean())
    return kind == Kind::kText ? std::optional<std::string>(value.dump()) : std::nullopt;
  if (value.is_number_integer()) return kind == Kind::kFile ? std::nullopt : std::optional(value.dump());
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number) || kind == Kind::kInteger || kind == Kind::kFile) return {};
    return value.dump();
  }
  return {};
}

std::string wrongValue(const std::string& key, const char* wanted) {
  return fmt::format("option '{}' needs {}", key, wanted);
}

/// The options of an object. Texts of errors, because they become rows.
std::variant<LineOptions, std::string> optionsOf(const SortedJson& options, const fs::path& folder) {
  LineOptions out;
  for (const auto& [given, value] : options.items()) {
    std::string key = given;
    const auto of_fit = optionKeys().fit.find(key);
    if (of_fit == optionKeys().fit.end()) std::replace(key.begin(), key.end(), '-', '_');
    const auto* verb = std::find_if(std::begin(kVerbOptions), std::end(kVerbOptions),
                                    [&](const VerbOption& option) { return option.key == key; });
    if (verb == std::end(kVerbOptions)) {
      if (!optionKeys().fit.contains(key)) {
        const std::string nearest = nearestKey(given);
        return fmt::format("there is no option {}{}", quoteForMessage(given),
                           nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
      }
      const auto word = wordOf(value, Kind::kText);
      if (!word) return wrongValue(key, "a number, a text, true or false");
      out.options.push_back({key, *word, true});
      continue;
    }
    switch (verb->kind) {
      case Kind::kFlag:
        if (!value.is_boolean()) return wrongValue(key, "true or false");
        if (value.get<bool>()) out.options.push_back({key, {}, false});
        continue;
      case Kind::kList: {
        std::string list;
        const SortedJson items = value.is_string() ? SortedJson::array({value}) : value;
        for (const SortedJson& item : items.is_array() ? items : SortedJson::array()) {
          const auto word = item.is_string() ? wordOf(item, Kind::kText) : std::nullopt;
          if (!word) return wrongValue(key, "a list of names");
          list += (list.empty() ? "" : ",") + *word;
        }
        if (list.empty()) return wrongValue(key, "a list of names");
        out.options.push_back({key, list, false});
        continue;
      }
      case Kind::kFile: {
        const auto word = wordOf(value, Kind::kFile);
        if (!word) return wrongValue(key, "the name of a file");
        out.files.push_back((folder / *word).lexically_normal());
        out.options.push_back({key, out.files.back().string(), false});
        continue;
      }
      default:
        break;
    }
    const auto word = wordOf(value, verb->kind);
    if (!word) {
      return wrongValue(key, verb->kind == Kind::kText      ? "a text"
                             : verb->kind == Kind::kInteger ? "a whole number"
                             : verb->kind == Kind::kNumber  ? "a number"
                                                            : "a number or a text");
    }
    out.options.push_back({key, *word, false});
  }
  return out;
}

/// "a/./b.glb" as the name of a product without its ending.
std::string outputName(std::string text) {
  if (text.size() > 4 && text.ends_with(".glb")) text.resize(text.size() - 4);
  return text;
}

/// Reads lines; keeps what lines share.
class Reader {
 public:
  Reader(Manifest& manifest, const fs::path& folder, SortedJson defaults)
      : manifest_(manifest),
        from_(manifest.path.parent_path()),
        folder_(folder.lexically_normal()),
        defaults_(std::move(defaults)) {}

  void line(std::size_t number, std::string_view text) {
    BatchAsset asset;
    asset.line = number;
    if (std::string error = parse(text, asset); !error.empty()) {
      manifest_.bad.push_back({number, std::move(asset.input), std::move(asset.output), std::move(error)});
      return;
    }
    lines_.emplace(asset.output, number);
    manifest_.assets.push_back(std::move(asset));
  }

  /// What can only be said when all lines are known: an input that another line would overwrite, a name that
  /// is a file here and a folder there.
  void settle() {
    std::vector<BatchAsset> kept;
    kept.reserve(manifest_.assets.size());
    for (BatchAsset& asset : manifest_.assets) {
      std::string error;
      const fs::path inside = asset.file.lexically_relative(folder_);
      const std::string name = inside.empty() || *inside.begin() == ".." ? "" : inside.generic_string();
      if (name.ends_with(".glb")) {
        if (const auto writer = lines_.find(outputName(name)); writer != lines_.end())
          error = fmt::format("the input would be overwritten by the output of line {}", writer->second);
      }
      if (error.empty()) {
        kept.push_back(std::move(asset));
      } else {
        manifest_.bad.push_back({asset.line, std::move(asset.input), std::move(asset.output), error});
      }
    }
    manifest_.assets = std::move(kept);
    std::sort(manifest_.bad.begin(), manifest_.bad.end(),
              [](const BadLine& a, const BadLine& b) { return a.line < b.line; });
  }

 private:
  std::string parse(std::string_view text, BatchAsset& asset) {
    if (text.size() > kMaxLineBytes)
      return fmt::format("the line is longer than {} kB", kMaxLineBytes / 1000);
    const SortedJson json = SortedJson::parse(text, nullptr, false);
    if (!json.is_object()) return "the line is not a JSON object such as {\"input\": \"a.glb\"}";
    if (json.contains("input") && json["input"].is_string()) asset.input = json["input"];
    if (json.contains("output") && json["output"].is_string()) asset.output = json["output"];
    for (const auto& [key, value] : json.items()) {
      if (key != "input" && key != "output" && key != "options" && key != "cost" && key != "memory") {
        return fmt::format("there is no key {}; known are input, output, options, cost and memory",
                           quoteForMessage(key));
      }
    }
    if (asset.input.empty()) return "the line has no \"input\", the name of a file";
    if (hasControl(asset.input)) return "\"input\" has control characters";
    asset.file = (from_ / asset.input).lexically_normal();
    if (!json.contains("output")) {
      asset.output = fs::path(asset.input).stem().string();
    } else if (asset.output.empty()) {
      return "\"output\" is not a name";
    }
    asset.output = outputName(std::move(asset.output));
    if (std::string why = whyNoOutputName(asset.output); !why.empty())
      return fmt::format("\"output\" {}: {}", quoteForMessage(asset.output), why);
    if (const auto same = lines_.find(asset.output); same != lines_.end())
      return fmt::format("\"output\" is the same as in line {}", same->second);
    for (const auto& [key, into] : {std::pair("cost", &asset.cost), std::pair("memory", &asset.memory)}) {
      if (!json.contains(key)) continue;
      if (!json[key].is_number() || !(json[key].get<double>() > 0) || !(json[key].get<double>() < 1e15))
        return fmt::format("\"{}\" is not a positive number", key);
      *into = json[key];
    }
    return options(json, asset);
  }

  std::string options(const SortedJson& json, BatchAsset& asset) {
    SortedJson options = defaults_;
    if (json.contains("options")) {
      if (!json["options"].is_object()) return "\"options\" is not an object";
      for (const auto& [key, value] : json["options"].items())
        options[key] = value;
    }
    const auto [known, added] = options_.try_emplace(options.dump(), nullptr);
    if (added) {
      auto made = optionsOf(options, from_);
      if (std::string* error = std::get_if<std::string>(&made)) {
        options_.erase(known);
        return std::move(*error);
      }
      known->second = std::make_shared<const LineOptions>(std::move(std::get<LineOptions>(made)));
    }
    asset.options = known->second;
    return {};
  }

  Manifest& manifest_;
  fs::path from_, folder_;
  SortedJson defaults_;
  std::map<std::string, std::shared_ptr<const LineOptions>> options_;
  std::unordered_map<std::string, std::size_t> lines_;  // of outputs
};

}  // namespace

std::string LineOptions::identity() const {
  std::string text;
  for (const LineOption& option : options) {
    // Of a file counts what is in it, not where it lies.
    if (!option.of_fit && option.key == "config") continue;
    text += fmt::format("{}{}={}\n", option.of_fit ? "" : "@", option.key, option.value);
  }
  return text;
}

const std::string* LineOptions::find(std::string_view key) const {
  for (const LineOption& option : options) {
    if (!option.of_fit && option.key == key) return &option.value;
  }
  return nullptr;
}

std::string whyNoOutputName(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.size() > kMaxName) return "it is too long";
  if (hasControl(name) || name.find('\\') != std::string_view::npos)
    return "it has control characters or backslashes";
  if (name.front() == '/') return "it is absolute; products stay in the folder of the batch";
  bool first = true;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    const bool last = end == name.size();
    if (part.empty()) return "a part of it is empty";
    if (part == "..") return "it leads out of the folder of the batch";
    if (part.front() == '.') return "a part of it begins with a dot";
    if (part.size() > kMaxComponent) return "a part of it is too long";
    if (first && !last && part == "rows") return "the folder 'rows' is for the rows of results";
    if (!last && (part.ends_with(".glb") || part.ends_with(".toml") || part.ends_with(".json")))
      return "a folder in it has the ending of a file that a batch writes";
    first = false;
    at = end + 1;
  }
  return {};
}

Result<Manifest> readManifest(const fs::path& path, const fs::path& folder, std::string_view defaults) {
  SortedJson shared = SortedJson::object();
  if (!defaults.empty()) {
    shared = SortedJson::parse(defaults, nullptr, false);
    if (!shared.is_object())
      return usageError("the options for all assets are not a JSON object such as {\"preset\": \"draft\"}");
    auto checked = optionsOf(shared, fs::current_path());
    if (const std::string* error = std::get_if<std::string>(&checked))
      return usageError("the options for all assets: " + *error);
  }
  const auto bytes = readFile(path, kMaxManifestBytes);
  if (!bytes) return bytes.error();
  std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  Manifest manifest;
  std::error_code problem;
  manifest.path = fs::absolute(path, problem).lexically_normal();
  if (problem) return failure(fmt::format("{}: {}", displayPath(path), problem.message()));
  Fingerprint fingerprint;
  fingerprint.add(std::span<const char>(text));
  fingerprint.add(std::span<const char>(shared.dump()));
  manifest.fingerprint = hexadecimal(fingerprint);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Reader reader(manifest, fs::absolute(folder, problem), std::move(shared));
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    reader.line(number, line);
  }
  reader.settle();
  if (manifest.size() == 0) return inputError(fmt::format("{}: has no assets", displayPath(path)));
  return manifest;
}

}  // namespace heatskin::batch
