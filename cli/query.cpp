// heatskin query: colours of a product at given points.

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/io/table_file.h"
#include "heatskin/io/variants.h"
#include "heatskin/pipeline/channel_columns.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/product/levels.h"
#include "heatskin/product/product.h"
#include "heatskin/texture/kernel_texture.h"

#include "cli/inputs.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr std::size_t kPointColumns = 3, kFaceColumns = 4;

bool isNamed(const Table& table, std::initializer_list<std::string_view> names) {
  return std::equal(table.header.begin(), table.header.end(), names.begin(), names.end(),
                    [](const std::string& given, std::string_view name) {
                      std::string lower = given;
                      std::transform(lower.begin(), lower.end(), lower.begin(),
                                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
                      return lower == name;
                    });
}

Result<void> checkColumns(const Table& table) {
  if (!table.header.empty()) {
    if (isNamed(table, {"x", "y", "z"}) || isNamed(table, {"face", "b0", "b1", "b2"})) return {};
    return inputError("line 1: the columns must be called x,y,z or face,b0,b1,b2");
  }
  if (table.columns == 0 || table.columns == kPointColumns || table.columns == kFaceColumns) return {};
  return inputError(fmt::format("{} has {}; x,y,z or face,b0,b1,b2 are expected", table.where(0),
                                counted(table.columns, "column", "columns")));
}

Result<Table> readStandardInput() {
  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 65536> part;
  while (true) {
    const ssize_t n = ::read(0, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return inputError(fmt::format("standard input cannot be read: {}", std::strerror(errno)));
    if (n == 0) break;
    if (bytes.size() + static_cast<std::size_t>(n) > kMaxFileBytes)
      return inputError("standard input: is longer than 4 GiB");
    bytes.insert(bytes.end(), part.begin(), part.begin() + n);
  }
  auto table = parseTable(bytes);
  if (!table) return table.error().prefixed("standard input: ");
  return table;
}

/// True for a device or a pipe.
bool special(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return !error && type != std::filesystem::file_type::regular &&
         type != std::filesystem::file_type::directory && type != std::filesystem::file_type::not_found;
}

/// The points of the product's surface that a table asks for.
Result<FoundPoints> findPoints(const Product& product, const Table& table) {
  SurfacePointFinder finder(product.asset, *product.surface);
  finder.name_of = [&](std::size_t i) { return table.where(i); };
  if (table.columns == kPointColumns) {
    std::vector<Vec3> positions;
    for (std::size_t i = 0; i < table.rows(); ++i)
      positions.emplace_back(table.values[3 * i], table.values[3 * i + 1], table.values[3 * i + 2]);
    return finder.fromPositions(positions);
  }
  std::vector<TrianglePoint> points;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const double* row = table.values.data() + kFaceColumns * i;
    if (row[0] != std::floor(row[0]) || row[0] < 0 || row[0] >= static_cast<double>(finder.triangleCount())) {
      return inputError(fmt::format("{}: face {} does not exist, the file has faces 0 to {}", table.where(i),
                                    row[0], finder.triangleCount() - 1));
    }
    points.push_back({static_cast<std::uint32_t>(row[0]), Vec3(row[1], row[2], row[3])});
  }
  return finder.fromTriangles(points);
}

class Query : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("FILE", file_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_option("--points", points_,
                   "The points, one per line: x,y,z or face,b0,b1,b2 (a header line is allowed); .csv or "
                   ".npy; - is stdin")
        ->required()
        ->type_name("FILE");
    app.add_option("-o,--output", output_,
                   "File for the colours r,g,b (sRGB, 0..1): .csv or .npy (default: stdout)")
        ->type_name("FILE");
    app.add_flag("--no-header", no_header_, "Write no header line (the column names) into a .csv");
    app.add_flag(
        "--coverage", coverage_,
        "Add a fourth column, the coverage (sum of kernel weights); below 1 the mean colour shows through");
    app.add_flag("--channels", channels_,
                 "All channels of the product instead of r,g,b alone; the header has their names");
    addVariantOption(app, variant_);
    addLevelOption(app, level_);
    app_ = &app;
    app.footer(
        "x,y,z are in the coordinates of the file; the colour is that of the nearest surface point.\n"
        "face is the number of a triangle: counted from 0 through the file's instances, their primitives and "
        "the\n"
        "triangles of these. b0,b1,b2 are barycentric coordinates for its corners, in the order of the "
        "file.\n"
        "With --channels the columns are r,g,b (base_color, sRGB), alpha, metallic, emissive_r, ... as far "
        "as "
        "the\n"
        "product has them: final values, with factors; emissive is linear light, normal_x, normal_y, "
        "normal_z is the\n"
        "shading normal.\n\n"
        "Example:\n"
        "  heatskin query spot.glb --points points.csv\n"
        "  echo 0.1,0.2,0.3 | heatskin query spot.glb --points - --no-header\n"
        "  heatskin query spot.glb --points points.npy -o colors.npy --coverage");
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    if (app_->count("-o") > 0 && output_.empty())
      return usageError("-o: the name of the file is empty; see 'heatskin query --help'");
    if (points_.empty())
      return usageError("--points: the name of the file is empty; see 'heatskin query --help'");
    npy_ = output_.ends_with(".npy");
    if (!output_.empty() && !npy_ && !output_.ends_with(".csv") && !special(output_))
      return usageError(fmt::format("'{}' is neither a .csv nor a .npy file", output_));
    if (no_header_ && npy_) return usageError("--no-header has no effect on a .npy file; leave it out");
    session.files.reads(file_, "FILE");
    session.files.reads(points_, "--points");
    session.files.writes(output_.empty() ? "-" : output_, "the colours");
    return {};
  }

  Result<void> run(Session& session) override {
    auto table = points_ == "-" ? readStandardInput() : readTable(points_);
    if (!table) return table.error();
    const auto named = [&](const Error& error) {
      return error.prefixed((points_ == "-" ? "standard input" : points_) + ": ");
    };
    if (table->columns == 0) {
      return inputError(
          fmt::format("--points {}: is empty; x,y,z or face,b0,b1,b2 are expected on every line", points_));
    }
    if (table->rows() == 0)
      session.console.warning(fmt::format("--points {}: has no points, only names of columns", points_));
    if (auto checked = checkColumns(*table); !checked) return named(checked.error());
    auto asset = readAsset(session, file_);
    if (!asset) return asset.error();
    if (level_ > 0) {
      asset = selectLevel(std::move(*asset), level_);
      if (!asset) return asset.error();
    }
    if (!variant_.empty()) {
      if (auto selected = selectVariant(*asset, variant_); !selected) return selected.error();
    }
    auto product = decodeProduct(std::move(*asset));
    if (!product) return product.error();
    // Points that make no sense are refused before the kernels are prepared.
    const auto found = findPoints(*product, *table);
    if (!found) return named(found.error());

    Stopwatch stopwatch;
    const auto opened = heatskin::openProduct(std::move(*product), openOptions(session));
    if (!opened) return opened.error();
    const KernelTexture& texture = opened->texture;
    const double preprocess_s = stopwatch.lap();
    const std::size_t count = found->points.size();
    std::vector<std::string> names = {"r", "g", "b"};
    std::vector<float> values, weights(count);
    stopwatch.lap();
    if (channels_) {
      ChannelColumns columns = channelColumns(*opened, found->points);
      names = std::move(columns.names);
      values = std::move(columns.values);
      weights = std::move(columns.weights);
    } else {
      std::vector<Vec3f> colors(count);
      texture.colors(found->points, colors, weights);
      values.reserve(3 * count);
      for (const Vec3f& color : colors)
        values.insert(values.end(), {color.x(), color.y(), color.z()});
    }
    const double query_s = stopwatch.lap();

    if (auto written = write(session, names, values, weights); !written) return written;
    Json json;
    json["columns"] = names;
    json["file"] = file_;
    json["variant"] = variant_.empty() ? Json() : Json(variant_);
    json["points"] = count;
    json["method"] = methodName(texture.options());
    json["kernels"] = texture.kernels().size();
    json["model_bytes"] = opened->product.model_bytes;
    json["chart_bytes"] = opened->product.chart_bytes;
    json["preprocess_s"] = jsonNumber(preprocess_s);
    json["query_s"] = jsonNumber(query_s);
    json["query_mpoints_s"] = jsonNumber(query_s > 0 ? 1e-6 * static_cast<double>(count) / query_s : 0);
    json["max_distance"] = jsonNumber(found->max_distance);
    json["covered_below_half"] =
        std::count_if(weights.begin(), weights.end(), [](float weight) { return weight < 0.5f; });
    json["vertices"] = texture.surface().vertexCount();
    json["faces"] = texture.surface().faceCount();
    json["threads"] = threadCount();
    return saveJson(session.console, session.common.json, json);
  }

 private:
  Result<void> write(Session& session, std::vector<std::string> names, std::span<const float> found,
                     std::span<const float> weights) {
    const std::size_t channels = names.size(), columns = channels + (coverage_ ? 1 : 0);
    if (coverage_) names.emplace_back("coverage");
    std::vector<float> values;
    values.reserve(columns * weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto row = found.subspan(i * channels, channels);
      values.insert(values.end(), row.begin(), row.end());
      if (coverage_) values.push_back(weights[i]);
    }
    if (npy_) return saveBytes(output_, encodeNpy(values, columns));
    std::string text = no_header_ ? std::string() : fmt::format("{}\n", fmt::join(names, ","));
    text += encodeCsv(values, columns);
    return output_.empty() ? session.console.writeStdout(text) : saveText(output_, text);
  }

  std::string file_, points_, output_, variant_;
  std::size_t level_ = 0;
  bool coverage_ = false, channels_ = false, no_header_ = false, npy_ = false;
  const CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Verb> makeQuery() {
  return std::make_unique<Query>();
}

}  // namespace heatskin::cli
