#include "heatskin/product/product_extension.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/appearance/appearance.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/io/variants.h"
#include "heatskin/product/kernel_records.h"

namespace heatskin {
namespace {

using Json = nlohmann::ordered_json;

/// Far above what a writer needs; text beyond it is not looked at.
constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxInfoBytes = 256;

/// Bytes that are not UTF-8 become three-byte replacement characters; after that, too, the text is short
/// enough.
constexpr std::size_t kWrittenInfoBytes = kMaxInfoBytes / 3;

/// Several gigabytes of them in memory. How many a file may have also depends on its bytes (kMostInflation).
constexpr std::size_t kMaxKernels = std::size_t{50} << 20;

static_assert(kMaxVariantName <= kMaxInfoBytes);

/// No scene has as many.
constexpr std::size_t kMaxMaterials = std::size_t{1} << 24;

/// Takes the properties of one object, all of them required. The first problem is kept; afterwards nothing
/// changes.
class Reader {
 public:
  Reader(const Json* object, std::string where, std::optional<Error>& error)
      : object_(object), where_(std::move(where)), error_(error) {
    if (object_ != nullptr && !object_->is_object()) {
      refuse("must be an object");
      object_ = nullptr;
    }
  }

  void refuse(const std::string& what) {
    if (!error_) error_ = inputError(where_ + (where_.empty() ? "" : " ") + what);
  }

  const Json* property(const char* name) {
    if (error_ || object_ == nullptr) return nullptr;
    known_.insert(name);
    const auto it = object_->find(name);
    if (it == object_->end()) {
      refuse(fmt::format("has no {}", name));
      return nullptr;
    }
    return &*it;
  }

  bool has(const char* name) const { return object_ != nullptr && object_->contains(name); }

  /// Indices below `limit`, each larger than the one before.
  std::vector<std::size_t> increasing(const char* name, std::size_t limit) {
    std::vector<std::size_t> values;
    const Json* json = property(name);
    if (json == nullptr) return values;
    const auto wrong = [&] {
      refuse(fmt::format("{} must be an array of increasing indices", name));
      return std::vector<std::size_t>();
    };
    if (!json->is_array() || json->empty()) return wrong();
    for (const Json& entry : *json) {
      if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() >= limit) return wrong();
      const auto value = static_cast<std::size_t>(entry.get<std::uint64_t>());
      if (!values.empty() && value <= values.back()) return wrong();
      values.push_back(value);
    }
    return values;
  }

  Reader object(const char* name) {
    const Json* value = property(name);
    return Reader(value, where_.empty() ? name : where_ + "." + name, error_);
  }

  void number(const char* name, double& value, double low, double high) {
    if (const Json* json = property(name)) toNumber(*json, name, value, low, high);
  }

  void size(const char* name, std::size_t& value, std::size_t low, std::size_t high) {
    const Json* json = property(name);
    if (json == nullptr) return;
    if (!json->is_number_unsigned()) return refuse(fmt::format("{} must be a non-negative integer", name));
    const auto given = json->get<std::uint64_t>();
    if (given < low || given > high)
      return refuse(fmt::format("{} {} is not in [{}, {}]", name, given, low, high));
    value = static_cast<std::size_t>(given);
  }

  void boolean(const char* name, bool& value) {
    const Json* json = property(name);
    if (json == nullptr) return;
    if (!json->is_boolean()) return refuse(fmt::format("{} must be true or false", name));
    value = json->get<bool>();
  }

  std::string text(const char* name) {
    const Json* json = property(name);
    if (json == nullptr) return {};
    if (!json->is_string()) return refuse(fmt::format("{} must be a string", name)), std::string();
    const std::string& given = json->get_ref<const std::string&>();
    if (given.size() > kMaxInfoBytes)
      return refuse(fmt::format("{} is longer than {} bytes", name, kMaxInfoBytes)), std::string();
    return given;
  }

  /// 1 to `most` texts.
  std::vector<std::string> texts(const char* name, std::size_t most) {
    std::vector<std::string> values;
    const Json* json = property(name);
    if (json == nullptr) return values;
    const auto wrong = [&] {
      refuse(fmt::format("{} must be an array of 1 to {} strings of at most {} bytes", name, most,
                         kMaxInfoBytes));
      return std::vector<std::string>();
    };
    if (!json->is_array() || json->empty() || json->size() > most) return wrong();
    for (const Json& entry : *json) {
      if (!entry.is_string() || entry.get_ref<const std::string&>().size() > kMaxInfoBytes) return wrong();
      values.push_back(entry.get<std::string>());
    }
    return values;
  }

  /// The value of a method's option, spelt as files spell it.
  void option(const Option& option, void* options) {
    const std::string name = camelCase(option.key);
    switch (option.type) {
      case OptionType::kBool: {
        bool value = false;
        boolean(name.c_str(), value);
        if (!error_) option.set(options, value);
        return;
      }
      case OptionType::kInteger: {
        std::size_t value = 0;
        constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
        size(name.c_str(), value, static_cast<std::size_t>(option.low),
             option.high < 0x1p63 ? static_cast<std::size_t>(option.high) : kMost);
        if (!error_) option.set(options, static_cast<std::int64_t>(value));
        return;
      }
      case OptionType::kNumber: {
        double value = 0;
        number(name.c_str(), value, option.low, option.high);
        if (!error_) option.set(options, value);
        return;
      }
      case OptionType::kChoice: {
        const std::string given = text(name.c_str());
        if (error_) return;
        for (const std::string_view known : option.names) {
          if (camelCase(known) == given) return option.set(options, known);
        }
        return refuse(fmt::format("{} '{}' is not known", name, given));
      }
    }
  }

  template <class Enum, std::size_t N>
  void choice(const char* name, Enum& value, const std::string_view (&names)[N]) {
    const std::string given = text(name);
    if (error_) return;
    const auto found = std::find(std::begin(names), std::end(names), given);
    if (found == std::end(names)) return refuse(fmt::format("{} '{}' is not known", name, given));
    value = static_cast<Enum>(found - std::begin(names));
  }

  /// `count` numbers in [low, high].
  std::vector<double> numbers(const char* name, std::size_t count, double low, double high) {
    std::vector<double> values(count, low);
    const Json* json = property(name);
    if (json == nullptr) return values;
    if (!json->is_array() || json->size() != count) {
      refuse(fmt::format("{} must be an array of {} numbers", name, count));
      return values;
    }
    for (std::size_t i = 0; i < count; ++i)
      toNumber((*json)[i], name, values[i], low, high);
    return values;
  }

  /// The ends of a scale, within [low, high].
  void range(const char* name, std::array<double, 2>& value, double low, double high) {
    const std::vector<double> ends = numbers(name, 2, low, high);
    if (error_) return;
    if (!(ends[0] < ends[1])) return refuse(fmt::format("{} must be increasing", name));
    value = {ends[0], ends[1]};
  }

  /// Refuses properties nobody asked for.
  void finish() {
    if (error_ || object_ == nullptr) return;
    for (const auto& [key, value] : object_->items()) {
      if (!known_.contains(key) && key != "extras")
        return refuse(fmt::format("has an unknown property '{}'", key));
    }
  }

 private:
  void toNumber(const Json& json, const char* name, double& value, double low, double high) {
    if (!json.is_number()) return refuse(fmt::format("{} must be a number", name));
    const double given = json.get<double>();
    if (!(given >= low && given <= high)) {
      return refuse(fmt::format("{} {} is not in [{}, {}]", name, given, low, high));
    }
    value = given;
  }

  const Json* object_;
  std::string where_;
  std::optional<Error>& error_;
  std::set<std::string, std::less<>> known_;
};

/// The document, or why not. Doubled properties are refused: two readers could take different ones.
Result<Json> parseStrictly(const std::string& text) {
  if (text.size() > kMaxJsonBytes) return inputError(fmt::format("is longer than {} bytes", kMaxJsonBytes));
  std::vector<std::set<std::string>> objects;
  std::optional<std::string> doubled;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) objects.emplace_back();
    if (event == Json::parse_event_t::object_end) objects.pop_back();
    if (event == Json::parse_event_t::key && !objects.back().insert(parsed.get<std::string>()).second) {
      doubled = parsed.get<std::string>();
    }
    return true;
  };
  Json json = Json::parse(text, watch, false);
  if (json.is_discarded()) return inputError("is not valid JSON");
  if (doubled) return inputError(fmt::format("has the property '{}' twice", *doubled));
  return json;
}

/// "major.minor" as two numbers.
std::optional<std::array<int, 2>> parseVersion(const std::string& text) {
  std::array<int, 2> version{};
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [next, problem] = std::from_chars(at, end, version[i]);
    if (problem != std::errc() || *at == '-') return std::nullopt;
    at = next;
    if (i == 0 && (at == end || *at++ != '.')) return std::nullopt;
  }
  if (at != end) return std::nullopt;
  return version;
}

Json valueJson(const OptionValue& value) {
  if (const auto* name = std::get_if<std::string_view>(&value)) return camelCase(*name);
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<std::uint64_t>(*i);
  return std::get<double>(value);
}

Json rangeJson(const std::array<double, 2>& range) {
  return Json::array({range[0], range[1]});
}

/// Bits of codes are 1 to this; those of channels at least 2, because the middle is 0.
constexpr std::size_t kMostBits = 16;

/// The columns with bits of their own, but for channels, as files spell them.
struct BitsProperty {
  const char* name;
  int KernelBits::*bits;
  std::size_t most;
};
constexpr BitsProperty kBitsProperties[] = {
    {"triangle", &KernelBits::triangle, 32},          {"barycentric", &KernelBits::barycentric, kMostBits},
    {"angle", &KernelBits::angle, kMostBits},         {"anisotropy", &KernelBits::anisotropy, kMostBits},
    {"threshold", &KernelBits::threshold, kMostBits}, {"sharpness", &KernelBits::sharpness, kMostBits},
    {"length", &KernelBits::length, kMostBits},
};

Json channelsJson(const ProductExtension& extension) {
  Json json = Json::array();
  const auto& constant = extension.constant_materials.of_group;
  for (std::size_t g = 0; g < extension.layout.groups().size(); ++g) {
    const ChannelGroup& group = extension.layout.groups()[g];
    const auto first = extension.mean.begin() + static_cast<std::ptrdiff_t>(group.first);
    Json& written = json.emplace_back();
    written = {{"name", group.name},
               {"count", group.count},
               {"range", group.range},
               {"bits", extension.scales.channel_bits[group.first]},
               {"mean", std::vector<float>(first, first + static_cast<std::ptrdiff_t>(group.count))}};
    if (group.isTangent()) written["kind"] = kChannelKindNames[static_cast<std::size_t>(group.kind)];
    if (g < constant.size() && !constant[g].empty()) written["constantMaterials"] = constant[g];
  }
  return json;
}

/// The groups of a file of version 2.`minor`. `strict`: unknown properties are refused.
void readChannels(Reader& root, int minor, bool strict, std::optional<Error>& error,
                  ProductExtension& extension) {
  const Json* list = root.property("channels");
  if (list == nullptr) return;
  if (!list->is_array() || list->empty() || list->size() > kMaxChannels) {
    return root.refuse(fmt::format("channels must be an array of 1 to {} groups", kMaxChannels));
  }
  std::vector<ChannelGroup> groups;
  std::vector<double> mean;
  std::vector<int>& all_bits = extension.scales.channel_bits;
  all_bits.clear();
  for (std::size_t g = 0; g < list->size() && !error; ++g) {
    Reader reader(&(*list)[g], fmt::format("channels[{}]", g), error);
    ChannelGroup& group = groups.emplace_back();
    group.name = reader.text("name");
    reader.size("count", group.count, 1, kMaxChannels);
    std::array<double, 2> range{0, 1};
    const auto most = static_cast<double>(kMaxChannelValue);
    reader.range("range", range, -most, most);
    group.range = {static_cast<float>(range[0]), static_cast<float>(range[1])};
    if (reader.has("kind")) reader.choice("kind", group.kind, kChannelKindNames);
    std::size_t bits = 0;
    reader.size("bits", bits, 2, kMostBits);
    all_bits.insert(all_bits.end(), group.count, static_cast<int>(bits));
    if (error) return;
    const std::vector<double> values = reader.numbers("mean", group.count, 0, 1);
    mean.insert(mean.end(), values.begin(), values.end());
    if (group.isTangent() && std::any_of(values.begin(), values.end(), [](double v) { return v != 0.5; }))
      return reader.refuse("of tangent vectors has a mean other than 0.5");
    if (minor >= 1 && reader.has("constantMaterials")) {
      extension.constant_materials.of_group.resize(list->size());
      extension.constant_materials.of_group[g] = reader.increasing("constantMaterials", kMaxMaterials);
    }
    if (strict) reader.finish();
  }
  if (error) return;
  auto layout = ChannelLayout::make(std::move(groups));
  if (!layout) return root.refuse("channels: " + layout.error().message);
  if (layout->groups()[0].name != "base_color") return root.refuse("channels must begin with base_color");
  extension.mean.resize(static_cast<Eigen::Index>(mean.size()));
  for (std::size_t c = 0; c < mean.size(); ++c)
    extension.mean[static_cast<Eigen::Index>(c)] = static_cast<float>(mean[c]);
  extension.layout = std::move(*layout);
}

/// Charts came with this minor version.
constexpr int kChartsMinor = 1;

void readCharts(Reader& reader, Method method, ChartsHeader& header) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  reader.size("bufferView", header.buffer_view, 0, kMost);
  reader.size("steps", header.steps, 1, kMostSteps);
  reader.size("orders", header.orders, 0, 2 * kMostSteps);
  reader.size("neighbours", header.neighbours, 0, kMostSteps);
  if (header.proxy) {
    reader.size("vertices", header.proxy->vertices, 3, kMostSteps);
    reader.size("faces", header.proxy->faces, 1, kMostSteps);
    reader.size("faceNeighbours", header.proxy->face_neighbours, 0, kMostSteps);
    reader.size("listed", header.proxy->listed, 1, kMost);
  }
  if (method != Method::kLocal)
    reader.refuse(fmt::format("belongs to the method local, not to {}", methodName(method)));
}

/// Variants came with this minor version, and charts on a proxy with this one.
constexpr int kVariantsMinor = 2, kProxyMinor = 3;

Json variantsJson(const ProductExtension& extension) {
  Json json = Json::array();
  for (const StoredValues& variant : extension.variants) {
    Json groups = Json::array();
    for (const std::size_t g : variant.groups) {
      const ChannelGroup& group = extension.layout.groups()[g];
      const auto first = variant.mean.begin() + static_cast<std::ptrdiff_t>(group.first);
      groups.push_back(
          {{"name", group.name},
           {"mean", std::vector<float>(first, first + static_cast<std::ptrdiff_t>(group.count))}});
    }
    json.push_back({{"names", variant.names},
                    {"bufferView", variant.buffer_view},
                    {"differences", variant.differences},
                    {"channels", std::move(groups)}});
  }
  return json;
}

/// `strict`: unknown properties are refused.
void readVariants(Reader& root, bool strict, std::optional<Error>& error, ProductExtension& extension) {
  const Json* list = root.property("variants");
  if (list == nullptr) return;
  if (!list->is_array() || list->empty() || list->size() > kMaxVariants)
    return root.refuse(fmt::format("variants must be an array of 1 to {} objects", kMaxVariants));
  std::set<std::string> known;
  for (std::size_t v = 0; v < list->size() && !error; ++v) {
    const std::string where = fmt::format("variants[{}]", v);
    Reader reader(&(*list)[v], where, error);
    StoredValues& variant = extension.variants.emplace_back();
    variant.mean = extension.mean;
    variant.names = reader.texts("names", kMaxVariants);
    for (const std::string& name : variant.names) {
      if (!known.insert(name).second) return reader.refuse("has a name that is there already");
    }
    reader.size("bufferView", variant.buffer_view, 0, std::numeric_limits<std::uint32_t>::max());
    reader.boolean("differences", variant.differences);
    const Json* groups = reader.property("channels");
    if (error) return;
    const auto all = extension.layout.groups();
    if (!groups->is_array() || groups->empty() || groups->size() > all.size())
      return reader.refuse(fmt::format("channels must be an array of 1 to {} groups", all.size()));
    for (std::size_t i = 0; i < groups->size(); ++i) {
      Reader group_reader(&(*groups)[i], fmt::format("{}.channels[{}]", where, i), error);
      const std::string name = group_reader.text("name");
      if (error) return;
      std::size_t g = 0;
      while (g < all.size() && all[g].name != name)
        ++g;
      if (g == all.size()) return group_reader.refuse("has a name that no group of channels has");
      if (!variant.groups.empty() && g <= variant.groups.back())
        return group_reader.refuse("is not in the order of the groups");
      variant.groups.push_back(g);
      const std::vector<double> mean = group_reader.numbers("mean", all[g].count, 0, 1);
      if (all[g].isTangent() && std::any_of(mean.begin(), mean.end(), [](double m) { return m != 0.5; }))
        return group_reader.refuse("of tangent vectors has a mean other than 0.5");
      for (std::size_t c = 0; c < mean.size(); ++c)
        variant.mean[static_cast<Eigen::Index>(all[g].first + c)] = static_cast<float>(mean[c]);
      if (strict) group_reader.finish();
    }
    if (strict) reader.finish();
  }
}

/// `strict`: unknown properties are refused.
void readLevels(Reader& root, bool strict, std::optional<Error>& error, ProductExtension& extension) {
  const Json* list = root.property("levels");
  if (list == nullptr) return;
  if (!list->is_array() || list->empty() || list->size() > kMaxLevels)
    return root.refuse(fmt::format("levels must be an array of 1 to {} objects", kMaxLevels));
  for (std::size_t l = 0; l < list->size() && !error; ++l) {
    Reader reader(&(*list)[l], fmt::format("levels[{}]", l), error);
    ProductExtension::Level& level = extension.levels.emplace_back();
    reader.size("node", level.node, 0, std::numeric_limits<std::uint32_t>::max());
    const Json* own = reader.property("extension");
    if (error) return;
    if (!own->is_object() || own->contains("levels"))
      return reader.refuse("extension must be an object without levels");
    level.json = own->dump();
    if (const auto read = readExtension(level.json); !read)
      return reader.refuse("extension: " + read.error().message);
    if (strict) reader.finish();
  }
}

}  // namespace

std::string writeExtension(const ProductExtension& extension) {
  Json json;
  // What 2.0 can say is written as 2.0: older readers refuse what they need not.
  const bool by_group =
      std::any_of(extension.constant_materials.of_group.begin(), extension.constant_materials.of_group.end(),
                  [](const auto& materials) { return !materials.empty(); });
  int minor = extension.layout.hasTangents() || extension.charts || by_group ? kChartsMinor : 0;
  if (!extension.variants.empty()) minor = kVariantsMinor;
  if (extension.charts && extension.charts->proxy) minor = kProxyMinor;
  json["version"] = fmt::format("{}.{}", kFormatMajor, minor);
  json["triangles"] = extension.triangles;
  json["channels"] = channelsJson(extension);
  Json& kernels = json["kernels"];
  kernels["bufferView"] = extension.buffer_view;
  kernels["count"] = extension.kernels;
  for (const BitsProperty& property : kBitsProperties)
    kernels["bits"][property.name] = extension.scales.bits.*property.bits;
  const QuantizeRanges& ranges = extension.scales.ranges;
  kernels["anisotropy"] = rangeJson(ranges.anisotropy);
  kernels["threshold"] = rangeJson(ranges.threshold);
  kernels["sharpness"] = rangeJson(ranges.sharpness);
  kernels["length"] = rangeJson(ranges.length);
  if (extension.charts) {
    // Readers of 2.2 must not follow steps on a proxy they do not know: another name.
    const std::optional<ProxyHeader>& proxy = extension.charts->proxy;
    Json& charts = json[proxy ? "proxyCharts" : "charts"];
    charts = {{"bufferView", extension.charts->buffer_view},
              {"steps", extension.charts->steps},
              {"orders", extension.charts->orders},
              {"neighbours", extension.charts->neighbours}};
    if (proxy) {
      charts["vertices"] = proxy->vertices;
      charts["faces"] = proxy->faces;
      charts["faceNeighbours"] = proxy->face_neighbours;
      charts["listed"] = proxy->listed;
    }
  }
  if (!extension.variants.empty()) json["variants"] = variantsJson(extension);
  Json& evaluator = json["evaluator"];
  evaluator["method"] = methodName(extension.options);
  for (const Option& option : traits(methodOf(extension.options)).options) {
    if (option.stored)
      evaluator[camelCase(option.key)] = valueJson(option.get(optionsStruct(extension.options)));
  }
  if (!extension.constant_materials.all.empty()) json["constantMaterials"] = extension.constant_materials.all;
  const ProductInfo& info = extension.info;
  json["info"] = {{"generator", info.generator.substr(0, kWrittenInfoBytes)},
                  {"preset", info.preset.substr(0, kWrittenInfoBytes)},
                  {"seed", info.seed},
                  {"steps", std::max(info.steps, 0)}};
  if (!info.filter.empty()) json["info"]["filter"] = info.filter.substr(0, kWrittenInfoBytes);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ProductExtension> readExtension(const std::string& text) {
  Result<Json> json = parseStrictly(text);
  if (!json) return json.error();
  ProductExtension extension;
  std::optional<Error> error;
  Reader root(&*json, "", error);

  const std::string version_text = root.text("version");
  if (error) return *error;
  const auto version = parseVersion(version_text);
  if (!version) return inputError(fmt::format("version '{}' is not of the form major.minor", version_text));
  extension.records = (*version)[0] == kRecordsMajor;
  if (!extension.records && (*version)[0] != kFormatMajor) {
    return inputError(fmt::format("version {} is not supported, only {}.x and {}.x; use a newer heatskin",
                                  version_text, kRecordsMajor, kFormatMajor));
  }
  const bool newer = (*version)[1] > (extension.records ? kRecordsMinor : kFormatMinor);

  root.size("triangles", extension.triangles, 1, std::numeric_limits<std::uint32_t>::max() - 1);
  if (extension.records) {
    const std::vector<double> mean = root.numbers("meanColor", 3, 0, 1);
    extension.mean = Vec3(mean[0], mean[1], mean[2]).cast<float>();
  } else {
    readChannels(root, (*version)[1], !newer, error, extension);
  }

  Reader kernels = root.object("kernels");
  kernels.size("bufferView", extension.buffer_view, 0, std::numeric_limits<std::uint32_t>::max());
  kernels.size("count", extension.kernels, 1, kMaxKernels);
  QuantizeRanges ranges;
  using Limits = KernelRanges;
  kernels.range("anisotropy", ranges.anisotropy, Limits::kMinAnisotropy, Limits::kMaxAnisotropy);
  // 0.3 itself, which is a little below the nearest float.
  constexpr double kLowestThreshold = 0.3;
  static_assert(static_cast<float>(kLowestThreshold) == Limits::kMinThreshold);
  kernels.range("threshold", ranges.threshold, kLowestThreshold, Limits::kMaxThreshold);
  kernels.range("sharpness", ranges.sharpness, Limits::kMinSharpness, Limits::kMaxSharpness);
  std::optional<Reader> bits;
  if (extension.records) {
    extension.scales = recordScales(ranges);
  } else {
    kernels.range("length", ranges.length, Limits::kMinLength, Limits::kMaxLength);
    extension.scales.ranges = ranges;
    bits.emplace(kernels.object("bits"));
    for (const BitsProperty& property : kBitsProperties) {
      std::size_t value = 1;
      bits->size(property.name, value, 1, property.most);
      extension.scales.bits.*property.bits = static_cast<int>(value);
    }
  }

  Reader evaluator = root.object("evaluator");
  Method method = Method::kLocal;
  evaluator.choice("method", method, kMethodNames);
  extension.options = defaultOptions(method);
  for (const Option& option : traits(method).options) {
    if (option.stored) evaluator.option(option, optionsStruct(extension.options));
  }

  std::optional<Reader> charts;
  if (!extension.records && (*version)[1] >= kChartsMinor && root.has("charts")) {
    charts.emplace(root.object("charts"));
    readCharts(*charts, method, extension.charts.emplace());
  }
  if (!extension.records && (*version)[1] >= kProxyMinor && root.has("proxyCharts")) {
    if (charts) root.refuse("has charts and proxyCharts");
    charts.emplace(root.object("proxyCharts"));
    extension.charts.emplace().proxy.emplace();
    readCharts(*charts, method, *extension.charts);
    const auto* local = std::get_if<local::LocalOptions>(&extension.options);
    if (local != nullptr && local->euclidean) root.refuse("has proxyCharts, which euclidean does not use");
  }
  if (!extension.records && (*version)[1] >= kVariantsMinor && root.has("variants"))
    readVariants(root, !newer, error, extension);
  if (!extension.records && (*version)[1] >= kLevelsMinor && root.has("levels"))
    readLevels(root, !newer, error, extension);
  if (auto suits = checkChannels(method, extension.layout); !error && !suits)
    root.refuse("channels: " + suits.error().message);

  Reader info = root.object("info");
  extension.info.generator = info.text("generator");
  extension.info.preset = info.text("preset");
  std::size_t seed = 0, steps = 0;
  info.size("seed", seed, 0, std::numeric_limits<std::size_t>::max());
  info.size("steps", steps, 0, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  if (info.has("filter")) {
    std::size_t filter = 0;
    info.choice("filter", filter, kFilterNames);
    extension.info.filter = kFilterNames[filter];
  }
  if (root.has("constantMaterials"))
    extension.constant_materials.all = root.increasing("constantMaterials", kMaxMaterials);
  if (!extension.constant_materials.empty() && !Appearance::knows(extension.layout))
    root.refuse("has constantMaterials together with channels that materials do not define");
  extension.info.seed = seed;
  extension.info.steps = static_cast<int>(steps);

  if (!newer) {
    for (Reader* reader : {&root, &kernels, &evaluator, &info})
      reader->finish();
    if (bits) bits->finish();
    if (charts) charts->finish();
  }
  if (error) return *error;
  return extension;
}

}  // namespace heatskin
