#include "heatskin/pipeline/edit_patch.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "heatskin/io/reference.h"
#include "heatskin/io/variants.h"
#include "heatskin/training/trainer_state.h"

namespace heatskin {
namespace {

using PatchJson = nlohmann::ordered_json;

/// Far more than people paint by hand; files are not trusted.
constexpr std::size_t kMostOperations = 10'000, kMostPlaces = 100'000, kMostTable = 4096;

/// Reads strictly; the first problem is kept, with where it is.
class EditReader {
 public:
  EditReader(std::string source, const LoadedProduct& product)
      : source_(std::move(source)), product_(&product) {}

  bool failed() const { return !problem_.empty(); }
  Error error() const { return inputError(source_ + ": " + problem_); }

  void refuse(const std::string& where, const std::string& what) {
    if (problem_.empty()) problem_ = where.empty() ? what : where + ": " + what;
  }

  /// An object with no other keys than these.
  bool object(const PatchJson& json, const std::string& where, std::initializer_list<std::string_view> keys) {
    if (!json.is_object()) return refuse(where, "is not an object"), false;
    for (const auto& [key, value] : json.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        return refuse(where, fmt::format("has an unknown key '{}'", key.substr(0, 64))), false;
    }
    return true;
  }

  double number(const PatchJson& json, const std::string& where, double low, double high) {
    if (!json.is_number()) return refuse(where, "is not a number"), low;
    const auto value = json.get<double>();
    if (!std::isfinite(value) || value < low || value > high)
      return refuse(where, fmt::format("is not within [{:g}, {:g}]", low, high)), low;
    return value;
  }

  double member(const PatchJson& json, const char* key, const std::string& where, double low, double high,
                double standard) {
    return json.contains(key) ? number(json[key], where + "." + key, low, high) : standard;
  }

  Vec3 place(const PatchJson& json, const std::string& where) {
    if (!json.is_array() || json.size() != 3)
      return refuse(where, "is not a list of 3 numbers"), Vec3::Zero();
    Vec3 out;
    for (std::size_t i = 0; i < 3; ++i)
      out[static_cast<Eigen::Index>(i)] = number(json[i], where, -kFarthestPlace, kFarthestPlace);
    return out;
  }

  std::vector<float> numbers(const PatchJson& json, const std::string& where, double low, double high,
                             std::size_t most) {
    std::vector<float> out;
    if (json.is_number()) return {static_cast<float>(number(json, where, low, high))};
    if (!json.is_array() || json.empty() || json.size() > most)
      return refuse(where, fmt::format("is not a list of 1 to {} numbers", most)), out;
    for (const PatchJson& value : json)
      out.push_back(static_cast<float>(number(value, where, low, high)));
    return out;
  }

  EditRegion region(const PatchJson& json, const std::string& where) {
    EditRegion out;
    const int given =
        (json.contains("at") ? 1 : 0) + (json.contains("path") ? 1 : 0) + (json.contains("triangle") ? 1 : 0);
    if (given != 1) return refuse(where, "needs one of 'at', 'path' and 'triangle'"), out;
    if (json.contains("at")) out.path.push_back(place(json["at"], where + ".at"));
    if (json.contains("path")) {
      const PatchJson& path = json["path"];
      if (!path.is_array() || path.empty() || path.size() > kMostPlaces)
        return refuse(where + ".path", "is not a list of places"), out;
      for (const PatchJson& p : path)
        out.path.push_back(place(p, where + ".path"));
    }
    if (json.contains("triangle")) {
      const double triangle = number(json["triangle"], where + ".triangle", 0, 4e9);
      TrianglePoint point{static_cast<std::uint32_t>(triangle)};
      if (json.contains("barycentric"))
        point.barycentric = place(json["barycentric"], where + ".barycentric");
      if (failed()) return out;
      SurfacePointFinder finder(product_->product.asset, *product_->product.surface);
      finder.name_of = [&](std::size_t) { return where; };
      const auto found = finder.fromTriangles({&point, 1});
      if (!found) return refuse("", found.error().message), out;
      out.path = finder.toPositions(found->points);
    }
    if (!json.contains("radius")) return refuse(where, "has no radius"), out;
    out.radius = number(json["radius"], where + ".radius", 1e-12, kFarthestPlace);
    out.hardness = member(json, "hardness", where, 0, 1, out.hardness);
    // What is hard all over still needs a rim that numbers can tell from a jump.
    out.hardness = std::min(out.hardness, 0.999);
    return out;
  }

  std::vector<EditRegion> regions(const PatchJson& json, const char* key, const std::string& where) {
    std::vector<EditRegion> out;
    if (!json.contains(key)) return out;
    const PatchJson& list = json[key];
    if (!list.is_array() || list.size() > kMostOperations)
      return refuse(where + "." + key, "is not a list of regions"), out;
    for (std::size_t i = 0; i < list.size() && !failed(); ++i) {
      const std::string name = fmt::format("{}{}[{}]", where.empty() ? "" : where + ".", key, i);
      if (!object(list[i], name, {"at", "path", "triangle", "barycentric", "radius", "hardness"})) break;
      out.push_back(region(list[i], name));
    }
    return out;
  }

  /// The names of material variants, null for the default materials.
  void looks(const PatchJson& json, const std::string& where, EditOperation& out) {
    if (!json.contains("variants")) return;
    const PatchJson& list = json["variants"];
    const std::string name = (where.empty() ? "" : where + ".") + "variants";
    if (!list.is_array() || list.empty() || list.size() > kMaxVariants + 1)
      return refuse(name, "is not a list of names of material variants");
    out.variants.emplace();
    const std::vector<std::string>& known = product_->product.asset.variants;
    for (const PatchJson& entry : list) {
      if (entry.is_null()) {
        out.variants->emplace_back();
      } else if (!entry.is_string()) {
        return refuse(name, "is not a list of names of material variants");
      } else if (std::find(known.begin(), known.end(), entry.get<std::string>()) == known.end()) {
        return refuse(name,
                      "the product has no material variant " + quoteForMessage(entry.get<std::string>()));
      } else {
        out.variants->push_back(entry.get<std::string>());
      }
    }
  }

  void paint(const PatchJson& json, const std::string& where, EditOperation& out) {
    out.kind = EditOperation::Kind::kPaint;
    looks(json, where, out);
    out.opacity = member(json, "opacity", where, 0, 1, 1);
    if (json.contains("blend")) {
      const auto found = json["blend"].is_string()
                             ? std::find(std::begin(kEditBlendNames), std::end(kEditBlendNames),
                                         json["blend"].get<std::string>())
                             : std::end(kEditBlendNames);
      if (found == std::end(kEditBlendNames))
        return refuse(where + ".blend", "is none of replace, multiply, add");
      out.blend = static_cast<EditBlend>(found - std::begin(kEditBlendNames));
    }
    if (!json.contains("values") || !json["values"].is_object() || json["values"].empty())
      return refuse(where, "has no values");
    for (const auto& [name, values] : json["values"].items())
      out.values[name] = numbers(values, where + ".values." + name.substr(0, 64), -kFarthestValue,
                                 kFarthestValue, kMaxChannels);
  }

  void recolor(const PatchJson& json, const std::string& where, EditOperation& out) {
    out.kind = EditOperation::Kind::kRecolor;
    looks(json, where, out);
    out.opacity = member(json, "opacity", where, 0, 1, 1);
    out.hue = member(json, "hue", where, -360, 360, 0);
    out.saturation = member(json, "saturation", where, 0, 100, 1);
    out.gamma = member(json, "gamma", where, 0.01, 100, 1);
    if (json.contains("levels")) {
      const std::vector<float> levels = numbers(json["levels"], where + ".levels", -10, 10, 2);
      if (levels.size() != 2 || !(levels[0] < levels[1]))
        return refuse(where + ".levels", "is not two increasing numbers");
      out.levels = {static_cast<double>(levels[0]), static_cast<double>(levels[1])};
    }
    if (!json.contains("table")) return;
    constexpr const char* kColors[] = {"red", "green", "blue"};
    if (!object(json["table"], where + ".table", {"red", "green", "blue"})) return;
    for (std::size_t c = 0; c < 3; ++c) {
      if (!json["table"].contains(kColors[c])) continue;
      const std::string name = where + ".table." + kColors[c];
      out.table[c] = numbers(json["table"][kColors[c]], name, 0, 1, kMostTable);
      if (out.table[c].size() < 2) return refuse(name, "needs two numbers at least");
    }
  }

  static constexpr double kFarthestPlace = 1e9;
  static constexpr double kFarthestValue = 1e6;

 private:
  std::string source_, problem_;
  const LoadedProduct* product_;
};

PatchJson regionJson(const EditRegion& region) {
  PatchJson path = PatchJson::array();
  for (const Vec3& p : region.path)
    path.push_back({p.x(), p.y(), p.z()});
  return {{"path", std::move(path)}, {"radius", region.radius}, {"hardness", region.hardness}};
}

PatchJson operationJson(const EditOperation& operation) {
  const bool paint = operation.kind == EditOperation::Kind::kPaint;
  PatchJson json = {{"kind", paint ? "paint" : "recolor"}, {"opacity", operation.opacity}};
  const auto add = [&](const char* key, const std::vector<EditRegion>& regions) {
    if (regions.empty()) return;
    for (const EditRegion& region : regions)
      json[key].push_back(regionJson(region));
  };
  add("regions", operation.regions);
  for (const std::vector<EditRegion>& list : operation.within) {
    PatchJson regions = PatchJson::array();
    for (const EditRegion& region : list)
      regions.push_back(regionJson(region));
    json["within"].push_back(std::move(regions));
  }
  add("without", operation.without);
  if (operation.variants) {
    for (const std::string& name : *operation.variants)
      json["variants"].push_back(name.empty() ? PatchJson(nullptr) : PatchJson(name));
  }
  if (paint) {
    json["blend"] = std::string(kEditBlendNames[static_cast<std::size_t>(operation.blend)]);
    json["values"] = PatchJson::object();
    for (const auto& [name, values] : operation.values)
      json["values"][name] = values;
    return json;
  }
  json["hue"] = operation.hue;
  json["saturation"] = operation.saturation;
  json["levels"] = operation.levels;
  json["gamma"] = operation.gamma;
  constexpr const char* kColors[] = {"red", "green", "blue"};
  for (std::size_t c = 0; c < 3; ++c) {
    if (!operation.table[c].empty()) json["table"][kColors[c]] = operation.table[c];
  }
  return json;
}

constexpr std::size_t kKernelNumbers = 9;  // face, barycentric coordinates, five parameters

/// What restored kernels look like in material variants.
void readLooks(const PatchJson& json, EditReader& reader, EditPatch& patch) {
  const std::string where = "undo.variants";
  const std::size_t channels = patch.restored.layout.size();
  if (!json.is_array() || json.size() > kMaxVariants) return reader.refuse(where, "is not a list of looks");
  for (const PatchJson& item : json) {
    if (!reader.object(item, where, {"names", "mean", "restored"})) return;
    EditPatch::Look& look = patch.looks.emplace_back();
    look.channels = {channels, {}};
    look.channels.resize(patch.restored.size());
    look.mean.resize(static_cast<Eigen::Index>(channels));
    if (!item.contains("names") || !item["names"].is_array() || item["names"].empty() ||
        !item.contains("mean") || !item["mean"].is_array() || item["mean"].size() != channels ||
        !item.contains("restored") || !item["restored"].is_array() ||
        item["restored"].size() != patch.restored.size())
      return reader.refuse(where, "has not the names, the mean and the values of the kernels that come back");
    for (const PatchJson& name : item["names"]) {
      if (!name.is_string()) return reader.refuse(where + ".names", "is not a list of names");
      look.names.push_back(name.get<std::string>());
    }
    for (std::size_t c = 0; c < channels; ++c)
      look.mean[static_cast<Eigen::Index>(c)] =
          static_cast<float>(reader.number(item["mean"][c], where + ".mean", 0, 1));
    for (std::size_t i = 0; i < patch.restored.size(); ++i) {
      const PatchJson& row = item["restored"][i];
      if (!row.is_array() || row.size() != channels)
        return reader.refuse(where + ".restored",
                             "a kernel has another number of values than this texture's");
      for (std::size_t c = 0; c < channels; ++c)
        look.channels.row(i)[c] = static_cast<float>(reader.number(row[c], where + ".restored", -1, 1));
    }
  }
}

}  // namespace

Result<std::vector<EditOperation>> parseEdits(std::string_view text, EditFile kind, const std::string& source,
                                              const LoadedProduct& product) {
  const PatchJson json = PatchJson::parse(text, nullptr, false);
  if (json.is_discarded()) return inputError(source + ": is no JSON");
  EditReader reader(source, product);
  std::vector<EditOperation> operations;
  if (kind == EditFile::kStrokes) {
    if (reader.object(json, "", {"strokes"})) {
      if (!json.contains("strokes") || !json["strokes"].is_array() || json["strokes"].empty() ||
          json["strokes"].size() > kMostOperations) {
        reader.refuse("", "has no list of strokes");
      } else {
        for (std::size_t i = 0; i < json["strokes"].size() && !reader.failed(); ++i) {
          const PatchJson& stroke = json["strokes"][i];
          const std::string where = fmt::format("strokes[{}]", i);
          if (!reader.object(stroke, where,
                             {"at", "path", "triangle", "barycentric", "radius", "hardness", "opacity",
                              "blend", "values", "variants"}))
            break;
          EditOperation& operation = operations.emplace_back();
          operation.regions.push_back(reader.region(stroke, where));
          if (!reader.failed()) reader.paint(stroke, where, operation);
        }
      }
    }
  } else if (kind == EditFile::kMask) {
    if (reader.object(json, "", {"include", "exclude"})) {
      EditOperation& operation = operations.emplace_back();
      if (auto within = reader.regions(json, "include", ""); !within.empty())
        operation.within.push_back(std::move(within));
      operation.without = reader.regions(json, "exclude", "");
      if (!reader.failed() && operation.within.empty() && operation.without.empty())
        reader.refuse("", "includes and excludes nothing");
    }
  } else if (reader.object(json, "",
                           {"hue", "saturation", "levels", "gamma", "table", "opacity", "variants", "include",
                            "exclude"})) {
    EditOperation& operation = operations.emplace_back();
    reader.recolor(json, "recolor", operation);
    if (auto within = reader.regions(json, "include", ""); !within.empty())
      operation.within.push_back(std::move(within));
    operation.without = reader.regions(json, "exclude", "");
  }
  if (reader.failed()) return reader.error();
  return operations;
}

std::string patchJson(const EditPatch& patch) {
  PatchJson json = {{"heatskin_patch", 1}, {"operations", PatchJson::array()}};
  for (const EditOperation& operation : patch.operations)
    json["operations"].push_back(operationJson(operation));
  if (!patch.after.empty()) {
    PatchJson restored = PatchJson::array();
    const KernelSet& k = patch.restored;
    for (std::size_t i = 0; i < k.size(); ++i) {
      const SurfacePoint& p = k.positions[i];
      PatchJson row = {p.face,           p.barycentric[0], p.barycentric[1],
                       p.barycentric[2], k.angles[i],      k.anisotropies[i],
                       k.thresholds[i],  k.sharpnesses[i], k.lengths[i]};
      for (std::size_t c = 0; c < k.layout.size(); ++c)
        row.push_back(k.channels.row(i)[c]);
      restored.push_back(std::move(row));
    }
    json["undo"] = {{"before", patch.before},
                    {"after", patch.after},
                    {"replaced", patch.replaced},
                    {"restored", std::move(restored)}};
    for (const EditPatch::Look& look : patch.looks) {
      PatchJson rows = PatchJson::array();
      for (std::size_t i = 0; i < k.size(); ++i)
        rows.push_back(std::vector<float>(look.channels.row(i), look.channels.row(i) + k.layout.size()));
      json["undo"]["variants"].push_back(
          {{"names", look.names},
           {"mean", std::vector<float>(look.mean.data(), look.mean.data() + look.mean.size())},
           {"restored", std::move(rows)}});
    }
  }
  return json.dump(1) + "\n";
}

Result<EditPatch> parsePatch(std::string_view text, const std::string& source, const LoadedProduct& product,
                             bool with_undo) {
  const PatchJson json = PatchJson::parse(text, nullptr, false);
  if (json.is_discarded()) return inputError(source + ": is no JSON");
  if (!json.is_object() || !json.contains("heatskin_patch"))
    return inputError(source + ": is no patch (heatskin_patch)");
  if (json["heatskin_patch"] != 1)
    return inputError(source + ": is a patch of a version this program does not know");
  EditReader reader(source, product);
  EditPatch patch;
  patch.restored = KernelSet(product.product.kernels.layout);
  if (!reader.object(json, "", {"heatskin_patch", "operations", "undo"})) return reader.error();
  if (!json.contains("operations") || !json["operations"].is_array() || json["operations"].empty() ||
      json["operations"].size() > kMostOperations) {
    return inputError(source + ": has no list of operations");
  }
  for (std::size_t i = 0; i < json["operations"].size() && !reader.failed(); ++i) {
    const PatchJson& item = json["operations"][i];
    const std::string where = fmt::format("operations[{}]", i);
    if (!reader.object(item, where,
                       {"kind", "opacity", "regions", "within", "without", "blend", "values", "hue",
                        "saturation", "levels", "gamma", "table", "variants"}))
      break;
    EditOperation& operation = patch.operations.emplace_back();
    operation.regions = reader.regions(item, "regions", where);
    if (item.contains("within") && (!item["within"].is_array() || item["within"].size() > kMostOperations))
      reader.refuse(where + ".within", "is not a list of lists of regions");
    for (std::size_t w = 0; item.contains("within") && !reader.failed() && w < item["within"].size(); ++w)
      operation.within.push_back(reader.regions({{"within", item["within"][w]}}, "within", where));
    operation.without = reader.regions(item, "without", where);
    if (reader.failed()) break;
    if (item.contains("kind") && item["kind"] == "paint") {
      reader.paint(item, where, operation);
      if (operation.regions.empty()) reader.refuse(where, "has no regions");
    } else if (item.contains("kind") && item["kind"] == "recolor") {
      reader.recolor(item, where, operation);
    } else {
      reader.refuse(where, "its kind is neither paint nor recolor");
    }
  }
  if (!reader.failed() && with_undo && json.contains("undo")) {
    const PatchJson& undo = json["undo"];
    const auto text_of = [&](const char* key) {
      if (undo.contains(key) && undo[key].is_string()) return undo[key].get<std::string>();
      reader.refuse("undo", fmt::format("has no {}", key));
      return std::string();
    };
    if (reader.object(undo, "undo", {"before", "after", "replaced", "restored", "variants"})) {
      patch.before = text_of("before");
      patch.after = text_of("after");
      if (!undo.contains("replaced") || !undo["replaced"].is_array() || !undo.contains("restored") ||
          !undo["restored"].is_array()) {
        reader.refuse("undo", "has no lists of kernels");
      } else {
        for (const PatchJson& index : undo["replaced"]) {
          const double value = reader.number(index, "undo.replaced", 0, 4e9);
          if (!patch.replaced.empty() && !(value > patch.replaced.back()))
            reader.refuse("undo.replaced", "is not increasing");
          if (reader.failed()) break;
          patch.replaced.push_back(static_cast<std::uint32_t>(value));
        }
        const std::size_t channels = patch.restored.layout.size();
        for (const PatchJson& row : undo["restored"]) {
          if (!row.is_array() || row.size() != kKernelNumbers + channels)
            reader.refuse("undo.restored", "a kernel has another number of numbers than this texture's");
          if (reader.failed()) break;
          std::vector<double> v;
          for (const PatchJson& x : row)
            v.push_back(reader.number(x, "undo.restored", -4e9, 4e9));
          const std::size_t at = patch.restored.size();
          patch.restored.resize(at + 1);
          patch.restored.positions[at] = {static_cast<std::uint32_t>(std::max(v[0], 0.0)),
                                          {v[1], v[2], v[3]}};
          patch.restored.angles[at] = static_cast<float>(v[4]);
          patch.restored.anisotropies[at] = static_cast<float>(v[5]);
          patch.restored.thresholds[at] = static_cast<float>(v[6]);
          patch.restored.sharpnesses[at] = static_cast<float>(v[7]);
          patch.restored.lengths[at] = static_cast<float>(v[8]);
          for (std::size_t c = 0; c < channels; ++c)
            patch.restored.channels.row(at)[c] = static_cast<float>(v[kKernelNumbers + c]);
        }
        if (!reader.failed() && !isConsistent(patch.restored, *product.product.surface) &&
            patch.restored.size() > 0)
          reader.refuse("undo.restored", "holds kernels that cannot be on this mesh");
        if (undo.contains("variants")) readLooks(undo["variants"], reader, patch);
      }
    }
  }
  if (reader.failed()) return reader.error();
  return patch;
}

}  // namespace heatskin
