// Every good asset against its row in the asset manifest, and every variant against the file it was made
// from.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/surface/surface.h"

#include "support/assets.h"
#include "support/run_process.h"
#include "support/temporary_folder.h"

namespace heatskin::testing {
namespace {

using nlohmann::json;

struct ManifestTexture {
  int width = 0;
  int height = 0;
  std::string mode;    // RGB, RGBA, L or P
  std::string format;  // png, jpeg or webp
  auto operator<=>(const ManifestTexture&) const = default;
};

struct ManifestRow {
  std::string file;
  std::size_t vertices = 0;
  std::optional<std::size_t> stored_vertices;
  std::size_t faces = 0;
  std::size_t components = 0;
  // Not every manifest has these columns.
  std::optional<std::size_t> boundary_edges, nonmanifold_edges, materials;
  std::optional<std::vector<ManifestTexture>> textures;
};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = std::min(text.find(separator), text.size());
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.size()) return parts;
    text.remove_prefix(at + 1);
  }
}

std::size_t numberAt(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) ADD_FAILURE() << "no number in '" << text << "'";
  return value;
}

/// "1024×512 RGBA PNG; ..." or "none".
std::vector<ManifestTexture> texturesIn(const std::string& cell) {
  std::vector<ManifestTexture> textures;
  if (cell == "none") return textures;
  for (const std::string& part : split(cell, ';')) {
    std::istringstream words(part);
    std::string size, mode, format;
    words >> size >> mode >> format;
    const std::string times = "×";
    const std::size_t at = size.find(times);
    if (at == std::string::npos) {
      ADD_FAILURE() << "no size in '" << part << "'";
      continue;
    }
    std::transform(format.begin(), format.end(), format.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    textures.push_back({static_cast<int>(numberAt(size)),
                        static_cast<int>(numberAt(size.substr(at + times.size()))), mode, format});
  }
  std::sort(textures.begin(), textures.end());
  return textures;
}

/// Rows of all tables whose head names the columns we know; file names are relative to `folder`.
std::vector<ManifestRow> manifestRows(std::istream& stream, const std::string& folder = "") {
  std::vector<ManifestRow> rows;
  std::map<std::string, std::size_t> columns;
  std::string line;
  while (std::getline(stream, line)) {
    if (line.empty() || line[0] != '|') {
      columns.clear();
      continue;
    }
    std::vector<std::string> cells = split(line, '|');
    if (columns.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i)
        columns[cells[i]] = i;
      continue;
    }
    const char* const vertices_column =
        columns.contains("vertices") ? "vertices" : "vertices welded (as stored)";
    if (!columns.contains(vertices_column) || cells.at(1).find('`') == std::string::npos) continue;
    const auto cell = [&](const char* name) { return cells.at(columns.at(name)); };
    ManifestRow row;
    row.file = folder + cell("file");
    std::erase(row.file, '`');
    const std::string vertices = cell(vertices_column);
    row.vertices = numberAt(vertices);
    const std::size_t bracket = vertices.find('(');
    if (bracket != std::string::npos &&
        std::isdigit(static_cast<unsigned char>(vertices[bracket + 1])) != 0) {
      row.stored_vertices = numberAt(std::string_view(vertices).substr(bracket + 1));
    }
    row.faces = numberAt(cell("faces"));
    row.components = numberAt(cell("components"));
    const auto optionalNumber = [&](const char* name) {
      return columns.contains(name) ? std::optional(numberAt(cell(name))) : std::nullopt;
    };
    row.boundary_edges = optionalNumber("boundary edges");
    row.nonmanifold_edges = optionalNumber("non-manifold edges");
    row.materials = optionalNumber("materials");
    if (columns.contains("base colour texture")) row.textures = texturesIn(cell("base colour texture"));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// How a report differs from its row; empty when it does not.
std::vector<std::string> differences(const ManifestRow& row, const json& report) {
  std::vector<std::string> found;
  const auto compare = [&](const char* key, std::optional<std::size_t> expected) {
    if (!expected) return;
    const json value = report.value(key, json());
    if (value != *expected) {
      found.push_back(std::string(key) + ": " + value.dump() + " instead of " + std::to_string(*expected));
    }
  };
  compare("vertices", row.vertices);
  compare("stored_vertices", row.stored_vertices);
  compare("materials", row.materials);
  compare("faces", row.faces);
  compare("components", row.components);
  compare("boundary_edges", row.boundary_edges);
  compare("nonmanifold_edges", row.nonmanifold_edges);

  if (!row.textures) return found;
  std::vector<ManifestTexture> textures;
  for (const json& image : report.value("images", json::array())) {
    const int channels = image.value("channels", 0);
    const std::array<const char*, 5> kModes = {"?", "L", "LA", "RGB", "RGBA"};
    textures.push_back({image.value("width", 0), image.value("height", 0),
                        kModes[static_cast<std::size_t>(std::clamp(channels, 0, 4))],
                        image.value("format", "")});
  }
  std::sort(textures.begin(), textures.end());
  std::vector<ManifestTexture> expected = *row.textures;
  // A palette's entries are colours; the report counts their channels.
  for (ManifestTexture& texture : expected) {
    if (texture.mode == "P") texture.mode = "RGB";
  }
  if (textures != expected) found.push_back("textures: " + report.value("images", json()).dump());
  return found;
}

TEST(Manifest, EveryGoodFileYieldsItsRow) {
  HEATSKIN_REQUIRE_ASSETS();
  std::ifstream stream(assetsFolder() / "MANIFEST.md"), materials(assetsFolder() / "pbr" / "MANIFEST.md");
  std::vector<ManifestRow> rows = manifestRows(stream);
  for (ManifestRow& row : manifestRows(materials, "pbr/"))
    rows.push_back(std::move(row));
  std::set<std::string> listed;
  for (const ManifestRow& row : rows) {
    SCOPED_TRACE(row.file);
    listed.insert(row.file);
    const TemporaryFolder folder;
    const ProcessOutcome outcome = runHeatskin(
        {"inspect", (assetsFolder() / row.file).string(), "--json", folder / "report.json", "--quiet"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const std::string& difference : differences(row, json::parse(folder.read("report.json")))) {
      ADD_FAILURE() << difference;
    }
  }
  // No file is forgotten.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(assetsFolder())) {
    const std::filesystem::path relative = entry.path().lexically_relative(assetsFolder());
    const std::string extension = relative.extension().string();
    if (*relative.begin() == "bad" || (extension != ".glb" && extension != ".gltf" && extension != ".obj"))
      continue;
    EXPECT_TRUE(listed.contains(relative.generic_string())) << relative << " has no row";
  }
}

TEST(Manifest, TheComparisonReportsPlantedErrors) {
  std::istringstream text(
      "intro\n\n| file | vertices welded (as stored) | faces | components | boundary edges | non-manifold "
      "edges | base "
      "colour texture | licence |\n|---|---|---|---|---|---|---|---|\n"
      "| `a/b.glb` | 10 (12) | 16 | 2 | 3 | 1 | 64×32 RGB PNG; 8×8 P PNG | x |\n"
      "| `c.obj` | 7 (OBJ) | 5 | 1 | 0 | 0 | none | y |\n\n| file | class |\n|---|---|\n| `d` | OK |\n\n"
      "| file | vertices | faces | components | materials |\n|---|---|---|---|---|\n| `e.glb` | 4 | 2 | 1 | "
      "3 |\n");
  const std::vector<ManifestRow> rows = manifestRows(text);
  ASSERT_EQ(rows.size(), 3u);
  json few = {{"vertices", 4}, {"faces", 2}, {"components", 1}, {"materials", 3}};
  EXPECT_TRUE(differences(rows[2], few).empty());
  few["materials"] = 2;
  EXPECT_EQ(differences(rows[2], few).size(), 1u);
  EXPECT_EQ(rows[0].file, "a/b.glb");
  EXPECT_EQ(rows[0].stored_vertices, 12u);
  EXPECT_EQ(rows[1].stored_vertices, std::nullopt);
  const json report = {{"vertices", 10},
                       {"stored_vertices", 12},
                       {"faces", 16},
                       {"components", 2},
                       {"boundary_edges", 3},
                       {"nonmanifold_edges", 1},
                       {"images",
                        {{{"width", 8}, {"height", 8}, {"channels", 3}, {"format", "png"}},
                         {{"width", 64}, {"height", 32}, {"channels", 3}, {"format", "png"}}}}};
  EXPECT_TRUE(differences(rows[0], report).empty());
  for (const char* key :
       {"vertices", "stored_vertices", "faces", "components", "boundary_edges", "nonmanifold_edges"}) {
    json wrong = report;
    wrong[key] = wrong[key].get<int>() + 1;
    EXPECT_EQ(differences(rows[0], wrong).size(), 1u) << key;
    wrong.erase(key);
    EXPECT_EQ(differences(rows[0], wrong).size(), 1u) << key;
  }
  for (const char* key : {"width", "height", "channels"}) {
    json wrong = report;
    wrong["images"][0][key] = 1;
    EXPECT_EQ(differences(rows[0], wrong).size(), 1u) << key;
  }
  json fewer = report;
  fewer["images"].erase(0);
  EXPECT_EQ(differences(rows[0], fewer).size(), 1u);
}

/// An asset with everything that a colour needs.
struct Look {
  explicit Look(Asset loaded)
      : asset(std::move(loaded)),
        surface(*buildSurface(asset, {.principal_axes = false})),
        appearance(asset, surface) {}

  Asset asset;
  Surface surface;
  Appearance appearance;
};

std::unique_ptr<Look> load(const std::string& file) {
  Result<Asset> asset = loadAsset(assetsFolder() / file);
  if (!asset) {
    ADD_FAILURE() << asset.error().message;
    return nullptr;
  }
  return std::make_unique<Look>(std::move(*asset));
}

/// How two assets differ at the same places.
struct Deviation {
  double largest_distance = 0;  // normalised space
  double mean_color = 0;        // sRGB, over points and channels
  double changed = 0;           // share of points with a channel off by more than two 8-bit levels
};

Deviation deviation(const Look& base, const Look& variant, bool grey) {
  constexpr std::size_t kPoints = 2000;
  const std::vector<SurfacePoint> points = sampleSurface(base.surface, kPoints, 1);
  const ClosestPointQuery closest(variant.surface);
  Deviation result;
  for (const SurfacePoint& p : points) {
    const Vec3 place = base.surface.assetFromSurface()(base.surface.position(p));
    const ClosestPoint there = closest(variant.surface.surfaceFromAsset()(place));
    result.largest_distance = std::max(result.largest_distance, there.distance);
    Vec3f expected = base.appearance.color(p, Filter::kPaper);
    // ITU-R 601 luma, which is what a grey copy of an image holds.
    if (grey) expected.setConstant(expected.dot(Vec3f(0.299f, 0.587f, 0.114f)));
    const Vec3f difference = (variant.appearance.color(there.point, Filter::kPaper) - expected).cwiseAbs();
    result.mean_color += static_cast<double>(difference.mean()) / kPoints;
    if (difference.maxCoeff() > 2.0f / 255) result.changed += 1.0 / kPoints;
  }
  return result;
}

struct Variant {
  const char* file;
  const char* base;
  double distance;    // allowed, normalised space
  double mean_color;  // allowed
  double changed;     // allowed share
  bool grey = false;
};

// Distances: files that keep the coordinates agree to the rounding of double, text and single precision to
// that of single (the object is 2 wide). The quantised file states a box error below 0.01 of 155
// units, 1.3e-4 here, and Draco's grid is of the same size. Quads that are not plane may be cut along the
// other diagonal. Colours: a copied texture agrees except where a point lies on the border of two texels or
// triangles; with quantised texture coordinates this happens more often. A re-encoded image differs by its
// codec: half a level of rounding for grey, 64 colours, half the resolution, lossy compression.
constexpr double kSameNumbers = 1e-12, kSinglePrecision = 1e-7, kQuantised = 1.3e-4, kOtherDiagonal = 0.02;
constexpr Variant kVariants[] = {
    {"variants/fox_static.glb", "fox.glb", kSameNumbers, 1e-4, 0.001},
    {"variants/fox_separate/fox.gltf", "variants/fox_static.glb", kSameNumbers, 1e-4, 0.001},
    {"variants/fox_embedded.gltf", "variants/fox_static.glb", kSameNumbers, 1e-4, 0.001},
    {"variants/fox_quantized.glb", "variants/fox_static.glb", kQuantised, 0.002, 0.005},
    {"variants/fox_draco.glb", "variants/fox_static.glb", kQuantised, 0.002, 0.005},
    {"variants/fox_meshopt.glb", "variants/fox_static.glb", kQuantised, 0.002, 0.005},
    {"spot/spot_quadrangulated.obj", "spot/spot_triangulated.obj", kOtherDiagonal, 0.005, 0.03},
    {"variants/spot.glb", "spot/spot_triangulated.obj", kSinglePrecision, 1e-4, 0.001},
    {"variants/spot_interleaved_palette_png.glb", "variants/spot.glb", kSameNumbers, 0.002, 0.05},
    {"variants/spot_png16.glb", "variants/spot.glb", kSameNumbers, 0.01, 0.15},
    {"variants/spot_grey_png.glb", "variants/spot.glb", kSameNumbers, 0.002, 0.001, true},
    {"variants/spot_progressive_jpeg.glb", "variants/spot.glb", kSameNumbers, 0.003, 0.15},
    {"variants/spot_webp.glb", "variants/spot.glb", kSameNumbers, 0.004, 0.2},
};

bool within(const Deviation& d, const Variant& v) {
  return d.largest_distance <= v.distance && d.mean_color <= v.mean_color && d.changed <= v.changed;
}

TEST(Manifest, VariantsLookLikeTheirBase) {
  HEATSKIN_REQUIRE_ASSETS();
  std::map<std::string, std::unique_ptr<Look>> bases;
  for (const Variant& v : kVariants) {
    std::unique_ptr<Look>& base = bases[v.base];
    if (base == nullptr) base = load(v.base);
    const std::unique_ptr<Look> variant = load(v.file);
    ASSERT_TRUE(base && variant) << v.file;
    const Deviation d = deviation(*base, *variant, v.grey);
    EXPECT_TRUE(within(d, v)) << v.file << ": distance " << d.largest_distance << ", mean colour difference "
                              << d.mean_color << ", changed " << d.changed;
  }
}

TEST(Manifest, TheDeviationReportsPlantedErrors) {
  HEATSKIN_REQUIRE_ASSETS();
  const Variant& exact = kVariants[7];
  ASSERT_STREQ(exact.file, "variants/spot.glb");
  const std::unique_ptr<Look> base = load(exact.base);
  ASSERT_TRUE(base);
  EXPECT_TRUE(within(deviation(*base, Look(base->asset), false), exact));

  Asset flipped = base->asset;  // a forgotten v flip
  for (Vec2f& uv : flipped.meshes[0].primitives[0].uv_sets[0])
    uv.y() = 1 - uv.y();
  EXPECT_FALSE(within(deviation(*base, Look(flipped), false), exact));

  Asset moved = base->asset;  // a transform that was not applied
  for (Vec3& p : moved.meshes[0].primitives[0].positions)
    p.x() += 1e-5;
  EXPECT_FALSE(within(deviation(*base, Look(moved), false), exact));

  Asset brighter = base->asset;  // a wrong transfer function
  Image lifted = *brighter.images[0];
  for (std::uint8_t& channel : lifted.rgba)
    channel = static_cast<std::uint8_t>(255 - (255 - channel) / 2);
  brighter.images[0] = std::make_shared<const Image>(std::move(lifted));
  EXPECT_FALSE(within(deviation(*base, Look(brighter), false), exact));
}

}  // namespace
}  // namespace heatskin::testing
