#include "heatskin/pipeline/hktex_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/metrics/tensor_file.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/npz_writer.h"
#include "heatskin/product/product.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

constexpr double kQuarterTurn = std::numbers::pi / 2;

/// Largest rounding of a half, relative.
constexpr float kHalfRounding = 0x1.0p-11f;

/// Positions that were rounded to halves leave their faces by about this much, in barycentric coordinates: a
/// thousandth of an object against faces of a hundredth.
constexpr float kOutsideByRounding = 0.1f;

/// A length of 1 as products hold it.
constexpr float kUnitLengthTolerance = 1e-3f;

/// One array of floats with the wanted shape after the first side; the first is the number of kernels.
class ModelArrays {
 public:
  explicit ModelArrays(const TensorFile& file) : file_(file) {}

  /// `columns` 0: the shape is [G].
  Result<std::vector<float>> floats(const std::string& name, std::size_t rows, std::size_t columns) const {
    if (auto bounded = check(name); !bounded) return bounded.error();
    const auto tensor = file_.read(name);
    if (!tensor) return tensor.error();
    if (auto fits = checkShape(name, tensor->shape, rows, columns); !fits) return fits.error();
    const auto wrong = std::find_if(tensor->values.begin(), tensor->values.end(),
                                    [](float value) { return !std::isfinite(value); });
    if (wrong != tensor->values.end())
      return refuse(fmt::format("array '{}' has a value that is not finite", name));
    return tensor->values;
  }

  Result<std::vector<std::int64_t>> integers(const std::string& name) const {
    if (auto bounded = check(name); !bounded) return bounded.error();
    auto tensor = file_.readIntegers(name);
    if (!tensor) return tensor.error();
    if (tensor->shape.size() != 1)
      return refuse(fmt::format("array '{}' must have one dimension, one number per kernel", name));
    if (tensor->values.size() > kMaxHktexKernels) return tooMany();
    return std::move(tensor->values);
  }

  Error refuse(const std::string& cause) const {
    return inputError(fmt::format("{}: {}", file_.name(), cause));
  }

 private:
  Error tooMany() const {
    return refuse(fmt::format("has more than {} kernels: no model of this kind has", kMaxHktexKernels));
  }

  /// Before an array is unpacked.
  Result<void> check(const std::string& name) const {
    if (!file_.contains(name))
      return refuse(fmt::format("has no array '{}': it is not a model of the HKTex authors", name));
    constexpr std::size_t kHeader = 4096, kBytesPerKernel = 24;  // three doubles
    if (file_.unpackedBytes(name) > kHeader + kBytesPerKernel * kMaxHktexKernels) return tooMany();
    return {};
  }

  Result<void> checkShape(const std::string& name, const std::vector<std::size_t>& shape, std::size_t rows,
                          std::size_t columns) const {
    const bool fits = columns == 0 ? shape.size() == 1 && shape[0] == rows
                                   : shape.size() == 2 && shape[0] == rows && shape[1] == columns;
    if (fits) return {};
    return refuse(columns == 0 ? fmt::format("array '{}' must have the shape ({},)", name, rows)
                               : fmt::format("array '{}' must have the shape ({}, {})", name, rows, columns));
  }

  const TensorFile& file_;
};

/// `value` in the range; counts what rounding to a half does not explain.
float within(float value, float low, float high, std::size_t& clamped) {
  const float slack = kHalfRounding * std::max(std::abs(low), std::abs(high));
  if (value < low - slack || value > high + slack) ++clamped;
  return std::clamp(value, low, high);
}

/// An axis turned into [0, pi).
float halfTurn(double angle) {
  const double turns = angle / std::numbers::pi;
  const auto result = static_cast<float>((turns - std::floor(turns)) * std::numbers::pi);
  return result < KernelRanges::kMaxAngle ? result : 0.0f;
}

/// True if the face's corners run the other way round than those of its triangle in the file: then its normal
/// points the other way and angles grow the other way.
bool turnedOver(const Surface& surface, std::uint32_t face) {
  const auto& c = surface.sources()[face].corners;
  return (c[0] + 1) % 3 != c[1];
}

/// Their angle from ours, and ours from theirs: it is its own inverse but for the quarter turn's sign, which
/// does not matter to an axis.
float otherConvention(const Surface& surface, std::uint32_t face, float angle) {
  const double turned = static_cast<double>(angle) + kQuarterTurn;
  return halfTurn(turnedOver(surface, face) ? -turned : turned);
}

}  // namespace

Result<HktexModel> readHktexModel(const std::filesystem::path& path) {
  // Of a model with the most kernels, not even compressed.
  constexpr std::size_t kMaxFile = 128 * kMaxHktexKernels;
  auto bytes = readFile(path, kMaxFile);
  if (!bytes) return bytes.error();
  return parseHktexModel(std::move(*bytes), displayPath(path));
}

Result<HktexModel> parseHktexModel(std::vector<std::uint8_t> bytes, const std::string& name) {
  const auto file = TensorFile::parse(std::move(bytes), name);
  if (!file) return file.error();
  const ModelArrays arrays(*file);
  HktexModel model;
  model.name = name;

  const auto faces = arrays.integers("_kernel_face_ids");
  if (!faces) return faces.error();
  const std::size_t count = faces->size();
  if (count == 0) return arrays.refuse("has no kernels");
  for (const std::int64_t face : *faces) {
    if (face < 0 || face > std::numeric_limits<std::int32_t>::max())
      return arrays.refuse(fmt::format("array '_kernel_face_ids' has the face {}, which cannot exist", face));
    model.faces.push_back(static_cast<std::uint32_t>(face));
  }
  const auto mean = arrays.floats("_mean_colour", 1, 3);
  if (!mean) return mean.error();
  model.mean = Vec3f((*mean)[0], (*mean)[1], (*mean)[2]);
  const auto colors = arrays.floats("_kernel_colours", count, 3);
  if (!colors) return colors.error();
  const auto places = arrays.floats("_kernel_bary_coords", count, 2);
  if (!places) return places.error();
  for (std::size_t i = 0; i < count; ++i) {
    model.colors.emplace_back((*colors)[3 * i], (*colors)[3 * i + 1], (*colors)[3 * i + 2]);
    model.barycentric.emplace_back((*places)[2 * i], (*places)[2 * i + 1]);
  }
  const std::array<std::pair<const char*, std::vector<float>*>, 4> columns = {
      {{"_angles", &model.angles},
       {"_anisotropies", &model.anisotropies},
       {"_thresholds", &model.thresholds},
       {"_sharpnesses", &model.sharpnesses}}};
  for (const auto& [array, values] : columns) {
    auto read = arrays.floats(array, count, 0);
    if (!read) return read.error();
    *values = std::move(*read);
  }
  return model;
}

std::vector<std::uint8_t> encodeHktexModel(const HktexModel& model) {
  const std::size_t count = model.size();
  std::vector<float> colors, places;
  for (const Vec3f& color : model.colors)
    colors.insert(colors.end(), color.data(), color.data() + 3);
  for (const Vec2f& place : model.barycentric)
    places.insert(places.end(), place.data(), place.data() + 2);
  NpzWriter writer;
  writer.addHalves("_mean_colour", {1, 3}, std::span(model.mean.data(), 3));
  writer.addHalves("_kernel_colours", {count, 3}, colors);
  writer.addHalves("_angles", {count}, model.angles);
  writer.addHalves("_anisotropies", {count}, model.anisotropies);
  writer.addHalves("_thresholds", {count}, model.thresholds);
  writer.addHalves("_sharpnesses", {count}, model.sharpnesses);
  const std::uint32_t last = count > 0 ? *std::max_element(model.faces.begin(), model.faces.end()) : 0;
  if (last <= static_cast<std::uint32_t>(std::numeric_limits<std::int16_t>::max())) {
    writer.addInt16s("_kernel_face_ids", {count},
                     std::vector<std::int16_t>(model.faces.begin(), model.faces.end()));
  } else {
    writer.addInt32s("_kernel_face_ids", {count},
                     std::vector<std::int32_t>(model.faces.begin(), model.faces.end()));
  }
  writer.addFloats("_kernel_bary_coords", {count, 2}, places);
  return writer.bytes();
}

Result<HktexKernels> kernelsFromHktex(const HktexModel& model, const Asset& asset, const Surface& surface) {
  HktexKernels result;
  std::vector<TrianglePoint> points;
  points.reserve(model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    const auto b0 = static_cast<double>(model.barycentric[i].x()),
               b1 = static_cast<double>(model.barycentric[i].y());
    Vec3 weights(b0, b1, 1 - b0 - b1);
    if (weights.minCoeff() < -static_cast<double>(kOutsideByRounding)) ++result.moved_positions;
    weights = weights.cwiseMax(0.0);
    points.push_back({model.faces[i], weights / weights.sum()});
  }
  SurfacePointFinder finder(asset, surface);
  finder.name_of = [](std::size_t i) { return fmt::format("kernel {}", i); };
  auto found = finder.fromTriangles(points);
  if (!found) return model.name.empty() ? found.error() : found.error().prefixed(model.name + ": ");

  KernelSet& kernels = result.kernels;
  std::size_t& clamped = result.clamped_values;
  kernels.mean = Vec3f(within(model.mean.x(), 0, 1, clamped), within(model.mean.y(), 0, 1, clamped),
                       within(model.mean.z(), 0, 1, clamped));
  kernels.resize(model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    kernels.positions[i] = found->points[i];
    kernels.angles[i] =
        otherConvention(surface, found->points[i].face,
                        within(model.angles[i], KernelRanges::kMinAngle, KernelRanges::kMaxAngle, clamped));
    kernels.anisotropies[i] =
        within(model.anisotropies[i], KernelRanges::kMinAnisotropy, KernelRanges::kMaxAnisotropy, clamped);
    kernels.thresholds[i] =
        within(model.thresholds[i], KernelRanges::kMinThreshold, KernelRanges::kMaxThreshold, clamped);
    kernels.sharpnesses[i] =
        within(model.sharpnesses[i], KernelRanges::kMinSharpness, KernelRanges::kMaxSharpness, clamped);
    for (Eigen::Index c = 0; c < 3; ++c) {
      kernels.channels.row(i)[c] =
          within(model.colors[i][c], -KernelRanges::kMaxResidual, KernelRanges::kMaxResidual, clamped);
    }
  }
  return result;
}

Result<HktexModel> hktexFromKernels(const KernelSet& kernels, const Asset& asset, const Surface& surface) {
  const ChannelGroup* color = kernels.layout.find("base_color");
  if (color == nullptr)
    return inputError("the texture has no base_color, and an HKTex model holds nothing else");
  const auto other = std::find_if(kernels.lengths.begin(), kernels.lengths.end(),
                                  [](float h) { return std::abs(h - 1) > kUnitLengthTolerance; });
  if (other != kernels.lengths.end()) {
    return inputError(
        "the kernels have lengths of their own, which an HKTex model cannot hold: only textures fitted with "
        "the preset 'paper' can become one");
  }
  const SurfacePointFinder finder(asset, surface);
  const std::vector<TrianglePoint> places = finder.toTriangles(kernels.positions);
  HktexModel model;
  for (std::size_t c = 0; c < 3; ++c)
    model.mean[static_cast<Eigen::Index>(c)] = kernels.mean[static_cast<Eigen::Index>(color->first + c)];
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const float* channels = kernels.channels.row(i) + color->first;
    model.colors.emplace_back(channels[0], channels[1], channels[2]);
    model.angles.push_back(otherConvention(surface, kernels.positions[i].face, kernels.angles[i]));
    model.faces.push_back(places[i].triangle);
    model.barycentric.push_back(places[i].barycentric.head<2>().cast<float>());
  }
  model.anisotropies = kernels.anisotropies;
  model.thresholds = kernels.thresholds;
  model.sharpnesses = kernels.sharpnesses;
  return model;
}

Result<HktexImport> importHktex(const HktexModel& model, Asset mesh, Method method,
                                const OpenOptions& options) {
  // A spectral fit's surface has the principal directions that angles count from; products of every method
  // are encoded relative to triangles.
  const auto loaded = openAssetToFit(std::move(mesh), Method::kSpectral, options);
  if (!loaded) return loaded.error();
  auto placed = kernelsFromHktex(model, loaded->asset, *loaded->surface);
  if (!placed) return placed.error();
  std::optional<PreprocessingCache> own;
  if (options.cache == nullptr) own = PreprocessingCache::fromEnvironment();
  const Preparation preparation{options.progress, own ? &*own : options.cache, {}};
  const ProductInfo info{fmt::format("heatskin {}", kVersion), "", 0, 0, ""};
  auto bytes = encodeProduct(loaded->asset, *loaded->surface, placed->kernels, defaultOptions(method), info,
                             preparation);
  if (own && options.notify) {
    for (const Notice& notice : own->notices())
      options.notify(notice);
  }
  if (!bytes) return bytes.error();
  return HktexImport{std::move(*bytes), placed->kernels.size(), placed->clamped_values,
                     placed->moved_positions, loaded->notices};
}

}  // namespace heatskin
