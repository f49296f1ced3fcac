#include "heatskin/study/subjects.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/study/fold_shapes.h"
#include "heatskin/study/low_poly.h"
#include "heatskin/study/study.h"

namespace heatskin::study {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::array kExtensions = {".glb", ".gltf", ".obj", ".ply"};

constexpr int kMostFiveFrameSamples = 4096;

bool isMesh(const fs::path& file) {
  return std::find(kExtensions.begin(), kExtensions.end(), file.extension()) != kExtensions.end();
}

/// An error about a place in the manifest.
Error manifestError(const fs::path& source, const toml::node& where, std::string_view what) {
  return inputError(fmt::format("{}, line {}: {}", displayPath(source), where.source().begin.line, what));
}

/// Reads the keys of a table one by one; what nobody asked for is an error.
class TableReader {
 public:
  TableReader(const toml::table& table, const fs::path& source) : table_(table), source_(source) {}

  Result<void> text(std::string_view key, std::string& out) {
    return read<std::string>(key, "a text", [&](const std::string& value) { out = value; });
  }
  Result<void> integer(std::string_view key, int low, int high, int& out) {
    bool within = true;
    auto done = read<std::int64_t>(key, "a whole number", [&](std::int64_t value) {
      within = value >= low && value <= high;
      if (within) out = static_cast<int>(value);
    });
    if (!done || within) return done;
    return manifestError(source_, *table_.get(key), fmt::format("'{}' is {} .. {}", key, low, high));
  }
  Result<void> texts(std::string_view key, std::vector<std::string>& out) {
    return list<std::string>(key, "texts", [&](const std::string& value) { out.push_back(value); });
  }
  Result<void> seeds(std::string_view key, std::vector<std::uint64_t>& out) {
    return list<std::int64_t>(key, "whole numbers, not negative",
                              [&](std::int64_t value) { out.push_back(static_cast<std::uint64_t>(value)); });
  }
  void skip(std::string_view key) { known_.emplace_back(key); }

  /// Fails on a key that was not asked for.
  Result<void> finish() const {
    for (const auto& [key, node] : table_) {
      if (std::find(known_.begin(), known_.end(), key.str()) == known_.end())
        return manifestError(source_, node, fmt::format("there is no key '{}'", key.str()));
    }
    return {};
  }

 private:
  template <class T, class Take>
  Result<void> read(std::string_view key, std::string_view type, const Take& take) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const auto value = node->value_exact<T>();
    if (!value) return manifestError(source_, *node, fmt::format("'{}' is {}", key, type));
    take(*value);
    return {};
  }

  template <class T, class Take>
  Result<void> list(std::string_view key, std::string_view type, const Take& take) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr)
      return manifestError(source_, *node, fmt::format("'{}' is a list of {}", key, type));
    for (const toml::node& entry : *array) {
      const auto value = entry.value_exact<T>();
      bool usable = value.has_value();
      if constexpr (std::is_same_v<T, std::int64_t>) usable = usable && *value >= 0;
      if (!usable) return manifestError(source_, entry, fmt::format("'{}' is a list of {}", key, type));
      take(*value);
    }
    return {};
  }

  const toml::table& table_;
  const fs::path& source_;
  std::vector<std::string> known_;
};

/// Calls read(table) for every [[key]] of a document.
template <class Read>
Result<void> eachTable(const toml::table& document, std::string_view key, const fs::path& source,
                       const Read& read) {
  const toml::node* node = document.get(key);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) return manifestError(source, *node, fmt::format("write [[{}]]", key));
  for (const toml::node& entry : *array) {
    const toml::table* table = entry.as_table();
    if (table == nullptr) return manifestError(source, entry, fmt::format("write [[{}]]", key));
    if (auto done = read(*table); !done) return done;
  }
  return {};
}

Result<MeshSpec> readMesh(const toml::table& table, const fs::path& source) {
  MeshSpec mesh;
  std::string file;
  TableReader reader(table, source);
  for (auto done :
       {reader.text("name", mesh.name), reader.text("set", mesh.set), reader.text("file", file),
        reader.text("shape", mesh.shape), reader.integer("resolution", 500, 1'000'000, mesh.resolution),
        reader.integer("texture_size", 256, 4096, mesh.texture_size),
        reader.integer("vertices", 0, 1'000'000, mesh.vertices), reader.finish()}) {
    if (!done) return done.error();
  }
  if (!file.empty()) {
    mesh.file = source.parent_path() / file;
    std::error_code ignored;
    if (!fs::is_regular_file(mesh.file, ignored))
      return manifestError(source, table, fmt::format("there is no file {}", displayPath(mesh.file)));
    if (table.contains("resolution"))
      return manifestError(source, table, "'resolution' is the pumpkin's; leave out 'file'");
  }
  if (!mesh.shape.empty()) {
    if (!file.empty() || table.contains("resolution") || table.contains("texture_size"))
      return manifestError(source, table, "'shape' stands alone: no 'file', 'resolution' or 'texture_size'");
    if (auto made = makeFoldShape(mesh.shape); !made)
      return manifestError(source, table, made.error().message);
    if (mesh.name.empty()) mesh.name = mesh.shape;
  }
  if (mesh.name.empty())
    mesh.name = file.empty() ? fmt::format("pumpkin {}", mesh.resolution) : mesh.file.stem().string();
  return mesh;
}

Result<MethodSpec> readMethod(const toml::table& table, const fs::path& source) {
  MethodSpec method;
  TableReader reader(table, source);
  for (auto done :
       {reader.text("name", method.name), reader.text("title", method.title),
        reader.text("preset", method.preset), reader.texts("options", method.options), reader.finish()}) {
    if (!done) return done.error();
  }
  if (method.name.empty()) return manifestError(source, table, "a method needs a 'name'");
  if (method.title.empty()) method.title = method.name;
  if (auto config = configOf(method, {}, 0); !config)
    return manifestError(source, table, config.error().message);
  return method;
}

/// Two of one name would share their rows.
template <class Spec>
Result<void> checkNames(const std::vector<Spec>& specs, std::string_view what, const fs::path& source) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (specs[i].name == specs[j].name)
        return inputError(
            fmt::format("{}: two {} are called '{}'", displayPath(source), what, specs[i].name));
    }
  }
  return {};
}

/// 128 bits of all files the asset consists of, as hexadecimal digits.
Result<std::string> contentOf(const fs::path& file) {
  LoadOptions options;
  options.load_images = false;
  std::vector<fs::path> files = {file};
  options.references = &files;
  if (auto asset = loadAsset(file, options); !asset) return asset.error();
  std::sort(files.begin() + 1, files.end());
  Fingerprint fingerprint;
  for (const fs::path& part : files) {
    std::error_code ignored;
    if (!fs::is_regular_file(part, ignored)) continue;  // the reader has said so
    const auto bytes = readFile(part);
    if (!bytes) return bytes.error();
    fingerprint.add(std::span<const std::uint8_t>(*bytes));
  }
  return hexadecimal(fingerprint);
}

}  // namespace

Result<Subjects> parseManifest(std::string_view text, const fs::path& source) {
  Subjects subjects;
  try {
    const toml::table document = toml::parse(text, displayPath(source));
    std::string lpips;
    int five_frames = -1;
    TableReader reader(document, source);
    reader.skip("mesh");
    reader.skip("method");
    for (auto done :
         {reader.seeds("seeds", subjects.seeds), reader.texts("options", subjects.options),
          reader.text("lpips", lpips),
          reader.integer("five_frame_samples", 0, kMostFiveFrameSamples, five_frames), reader.finish()}) {
      if (!done) return done.error();
    }
    if (five_frames >= 0) subjects.five_frame_samples = five_frames;
    if (!lpips.empty()) subjects.lpips = source.parent_path() / lpips;
    auto meshes = eachTable(document, "mesh", source, [&](const toml::table& table) -> Result<void> {
      auto mesh = readMesh(table, source);
      if (!mesh) return mesh.error();
      subjects.meshes.push_back(std::move(*mesh));
      return {};
    });
    if (!meshes) return meshes.error();
    auto methods = eachTable(document, "method", source, [&](const toml::table& table) -> Result<void> {
      auto method = readMethod(table, source);
      if (!method) return method.error();
      subjects.methods.push_back(std::move(*method));
      return {};
    });
    if (!methods) return methods.error();
  } catch (const toml::parse_error& problem) {
    return inputError(fmt::format("{}, line {}: {}", displayPath(source), problem.source().begin.line,
                                  problem.description()));
  }
  if (auto names = checkNames(subjects.meshes, "meshes", source); !names) return names.error();
  if (auto names = checkNames(subjects.methods, "methods", source); !names) return names.error();
  return subjects;
}

Result<Subjects> loadManifest(const fs::path& file) {
  const auto bytes = readFile(file);
  if (!bytes) return bytes.error();
  return parseManifest({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, file);
}

std::vector<MeshSpec> meshesIn(const fs::path& folder) {
  std::vector<MeshSpec> meshes;
  std::error_code ignored;
  const auto add = [&](const fs::path& file, const std::string& name) {
    for (const MeshSpec& known : meshes) {
      if (known.name == name) return;
    }
    MeshSpec mesh;
    mesh.name = name;
    mesh.file = file;
    meshes.push_back(std::move(mesh));
  };
  if (folder.empty()) return meshes;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file(ignored) && isMesh(entry.path()))
      add(entry.path(), entry.path().stem().string());
    if (!entry.is_directory(ignored)) continue;
    const std::string name = entry.path().filename().string();
    for (const char* suffix : {"", "_triangulated"}) {
      for (const char* extension : kExtensions) {
        const fs::path file = entry.path() / (name + suffix + extension);
        if (fs::is_regular_file(file, ignored)) add(file, name);
      }
    }
  }
  std::sort(meshes.begin(), meshes.end(),
            [](const MeshSpec& a, const MeshSpec& b) { return a.name < b.name; });
  return meshes;
}

std::vector<MeshSpec> pumpkins() {
  std::vector<MeshSpec> meshes;
  for (const int resolution : {1000, 3000, 12000, 50000}) {
    MeshSpec mesh;
    mesh.name = fmt::format("pumpkin_{}", resolution);
    mesh.resolution = resolution;
    meshes.push_back(std::move(mesh));
  }
  return meshes;
}

std::vector<MeshSpec> lowPolyMeshes(const std::vector<MeshSpec>& from) {
  // Numbers of vertices like those of the paper's coarse meshes; each object is there in a few of them.
  struct Wanted {
    const char* name;
    std::array<int, 3> vertices;
  };
  constexpr std::array kWanted = {Wanted{"spot", {121, 330, 1060}}, Wanted{"abalone", {162, 609, 1477}},
                                  Wanted{"fox", {130, 0, 0}}};
  std::vector<MeshSpec> meshes;
  const auto add = [&](MeshSpec mesh, int vertices) {
    if (vertices == 0) return;
    mesh.vertices = vertices;
    mesh.set = "low";
    mesh.name = fmt::format("{}_low{}", mesh.name, vertices);
    meshes.push_back(std::move(mesh));
  };
  for (const Wanted& wanted : kWanted) {
    for (const MeshSpec& mesh : from) {
      if (mesh.name != wanted.name || mesh.vertices != 0) continue;
      for (const int vertices : wanted.vertices)
        add(mesh, vertices);
    }
  }
  MeshSpec pumpkin;
  pumpkin.name = "pumpkin";
  for (const int vertices : {121, 330, 809})
    add(pumpkin, vertices);
  return meshes;
}

std::vector<MethodSpec> paperMethods() {
  return {{"hktex", "HKTex", "paper", {"method=spectral"}},
          {"pf", "LocalHK PF", "paper", {"local.candidate_rule=per_face"}},
          {"pq", "LocalHK PQ", "paper", {}},
          {"thermal", "ThermalRF", "paper", {"method=thermal"}},
          // Measured against the same colours as the others; otherwise its figures could not be compared.
          {"compact", "our preset compact", "compact", {"filter=paper"}}};
}

Result<Json> toJson(const MeshSpec& mesh) {
  Json json = {{"name", mesh.name}, {"set", mesh.set}};
  if (!mesh.shape.empty()) {
    json["shape"] = mesh.shape;
  } else if (mesh.file.empty()) {
    json["resolution"] = mesh.resolution;
    json["texture_size"] = mesh.texture_size;
  } else {
    auto content = contentOf(mesh.file);
    if (!content) return content.error();
    json["file"] = displayPath(fs::absolute(mesh.file));
    json["content"] = std::move(*content);
  }
  if (mesh.vertices > 0) {
    json["vertices"] = mesh.vertices;
    json["texture_size"] = mesh.texture_size;
  }
  return json;
}

Json toJson(const MethodSpec& method) {
  return {
      {"name", method.name}, {"title", method.title}, {"preset", method.preset}, {"options", method.options}};
}

MeshSpec meshFromJson(const Json& json) {
  MeshSpec mesh;
  mesh.name = json.value("name", "");
  mesh.set = json.value("set", mesh.set);
  mesh.file = json.value("file", "");
  mesh.shape = json.value("shape", "");
  mesh.resolution = json.value("resolution", mesh.resolution);
  mesh.texture_size = json.value("texture_size", mesh.texture_size);
  mesh.vertices = json.value("vertices", 0);
  return mesh;
}

MethodSpec methodFromJson(const Json& json) {
  return {json.value("name", ""), json.value("title", ""), json.value("preset", "paper"),
          json.value("options", std::vector<std::string>())};
}

Result<Asset> makeAsset(const MeshSpec& mesh) {
  Asset asset;
  if (!mesh.shape.empty()) {
    auto made = makeFoldShape(mesh.shape);
    if (!made) return made.error();
    asset = std::move(*made);
  } else if (mesh.file.empty()) {
    PumpkinOptions pumpkin;
    pumpkin.resolution = mesh.resolution;
    pumpkin.texture_size = mesh.texture_size;
    asset = makePumpkin(pumpkin);
  } else {
    auto loaded = loadAsset(mesh.file);
    if (!loaded) return loaded.error();
    asset = std::move(*loaded);
  }
  if (mesh.vertices == 0) return asset;
  LowPolyOptions options;
  options.vertices = static_cast<std::size_t>(mesh.vertices);
  options.texture_size = mesh.texture_size;
  return lowPoly(asset, options);
}

Result<FitConfig> configOf(const MethodSpec& method, const std::vector<std::string>& options,
                           std::uint64_t seed) {
  auto config = presetConfig(method.preset);
  if (!config) return config.error();
  for (const auto* list : {&method.options, &options}) {
    for (const std::string& assignment : *list) {
      if (auto set = setOption(*config, assignment); !set) return set.error();
    }
  }
  config->train.seed = seed;
  if (auto sound = checkConfig(*config); !sound) return sound.error();
  return config;
}

}  // namespace heatskin::study
