// Textures: values, kernels, gradients, files, and what is made of them.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "heatskin/base/files.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/bake_product.h"
#include "heatskin/pipeline/mesh_tools.h"
#include "heatskin/pipeline/transfer_product.h"
#include "heatskin/texture/texture_gradients.h"

#include "convert.h"
#include "handles.h"
#include "progress.h"

namespace heatskin::python {
namespace {

OpenOptions openOptions(const std::string& method, const std::string& variant, PythonProgress& progress) {
  OpenOptions options;
  if (!method.empty()) options.method = named<Method>(kMethodNames, method);
  options.variant = variant;
  options.progress = &progress;
  options.notify = [&](const Notice& notice) { progress.note(notice); };
  return options;
}

TextureHandle open(const std::string& path, const std::string& method, const std::string& variant,
                   const py::object& handler, int threads) {
  PythonProgress progress(handler);
  auto product = released(threads, [&] {
    return openProduct(std::filesystem::path(path), openOptions(method, variant, progress));
  });
  progress.finish();
  return TextureHandle(take(std::move(product)));
}

TextureHandle fromBytes(const py::bytes& bytes, const std::string& method, const std::string& variant,
                        int threads) {
  PythonProgress progress{py::none()};
  const std::string_view text = bytes;
  auto product = released(threads, [&] {
    auto asset =
        take(readGltfBytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "product.glb"));
    return openProduct(std::move(asset), openOptions(method, variant, progress));
  });
  progress.finish();
  return TextureHandle(take(std::move(product)));
}

py::list layoutOf(const TextureHandle& texture) {
  py::list groups;
  for (const ChannelGroup& group : texture.texture().layout().groups()) {
    groups.append(py::make_tuple(group.name, group.count, group.first, group.range[0], group.range[1],
                                 group.isTangent()));
  }
  return groups;
}

py::dict infoOf(const TextureHandle& handle) {
  const Product& product = handle.product();
  py::dict out;
  out["method"] = std::string(methodName(handle.texture().options()));
  out["fitted_method"] = std::string(methodName(product.options));
  out["kernels"] = handle.texture().kernels().size();
  out["faces"] = handle.points().triangleCount();
  out["generator"] = product.info.generator;
  out["preset"] = product.info.preset;
  out["seed"] = product.info.seed;
  out["steps"] = product.info.steps;
  out["model_bytes"] = product.model_bytes;
  out["chart_bytes"] = product.chart_bytes;
  out["variants"] = product.variants;
  out["variant"] = product.asset.variant;
  out["path"] = product.asset.path.string();
  out["edited"] = handle.isEdited();
  out["notices"] = noticesOf(product.notices);
  return out;
}

py::tuple values(const TextureHandle& handle, const Array<std::int64_t>& faces, const Array<double>& bary,
                 bool in_space, int threads) {
  const auto points = trianglePoints(faces, bary);
  const KernelTexture& texture = handle.texture();
  const std::size_t channels = in_space ? texture.layout().spaceSize() : texture.layout().size();
  std::vector<float> out(points.size() * channels), weights(points.size());
  released(threads, [&] {
    const auto on_surface = handle.surfacePoints(points);
    if (in_space) {
      texture.valuesInSpace(on_surface, out, weights);
    } else {
      texture.values(on_surface, out, weights);
    }
    return 0;
  });
  const auto rows = static_cast<py::ssize_t>(points.size());
  return py::make_tuple(arrayOf<float, float>(std::move(out), {rows, static_cast<py::ssize_t>(channels)}),
                        arrayOf(std::move(weights)));
}

/// Nearest points of the surface: (faces, barycentric, largest distance).
template <class Handle>
py::tuple nearest(const Handle& handle, const Array<double>& positions, int threads) {
  FoundPoints found;
  auto triangles = released(threads, [&] {
    found = take(handle.points().fromPositions(vectorsOf(positions)));
    return handle.points().toTriangles(found.points);
  });
  const py::tuple points = arraysOfPoints(triangles);
  return py::make_tuple(points[0], points[1], found.max_distance);
}

py::dict kernelsOf(const TextureHandle& handle) {
  KernelSet kernels = handle.texture().kernels();
  const auto count = static_cast<py::ssize_t>(kernels.size());
  const auto channels = static_cast<py::ssize_t>(kernels.layout.size());
  py::dict out;
  const py::tuple points = arraysOfPoints(handle.points().toTriangles(kernels.positions));
  out["face"] = points[0];
  out["barycentric"] = points[1];
  out["angle"] = arrayOf(std::move(kernels.angles));
  out["anisotropy"] = arrayOf(std::move(kernels.anisotropies));
  out["threshold"] = arrayOf(std::move(kernels.thresholds));
  out["sharpness"] = arrayOf(std::move(kernels.sharpnesses));
  out["length"] = arrayOf(std::move(kernels.lengths));
  out["values"] = arrayOf<float, float>(std::move(kernels.channels.values), {count, channels});
  out["mean"] = arrayOf(std::vector<float>(kernels.mean.data(), kernels.mean.data() + kernels.mean.size()));
  return out;
}

/// Where kernels are in space, and their long axes.
py::tuple kernelGeometry(const TextureHandle& handle) {
  const KernelTexture& texture = handle.texture();
  std::vector<Vec3> axes(texture.kernels().size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double angle = texture.kernels().angles[i];
    axes[i] = texture.surface().frames()[texture.kernels().positions[i].face].directionFromFace(
        {std::cos(angle), std::sin(angle)});
  }
  return py::make_tuple(arrayOf(handle.points().toPositions(texture.kernels().positions)),
                        arrayOf(std::move(axes)));
}

std::vector<float> copied(const Array<float>& values) {
  return {values.data(), values.data() + values.size()};
}

/// Shapes and ranges are right; Python has looked. `faces` empty: kernels stay where they are. `shapes`: more
/// than values and mean may differ.
TextureHandle withKernels(const TextureHandle& handle, const py::dict& arrays, bool moved, bool shapes,
                          int threads) {
  const KernelTexture& texture = handle.texture();
  KernelSet kernels = texture.kernels();
  const auto floats = [&](const char* name) { return copied(arrays[name].cast<Array<float>>()); };
  kernels.channels.values = floats("values");
  const auto mean = floats("mean");
  std::copy(mean.begin(), mean.end(), kernels.mean.data());
  std::vector<TrianglePoint> points;
  if (moved) {
    points = trianglePoints(arrays["face"].cast<Array<std::int64_t>>(),
                            arrays["barycentric"].cast<Array<double>>());
  }
  if (shapes) {
    kernels.angles = floats("angle");
    kernels.anisotropies = floats("anisotropy");
    kernels.thresholds = floats("threshold");
    kernels.sharpnesses = floats("sharpness");
    kernels.lengths = floats("length");
  }
  return released(threads, [&] {
    if (moved) kernels.positions = handle.surfacePoints(points);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      kernels.clampChannels(i);
    if (!moved && !shapes)
      return handle.edited(texture.withValues(std::move(kernels), texture.constants()), false);
    auto cache = PreprocessingCache::fromEnvironment();
    Preparation preparation;
    preparation.cache = &cache;
    auto edited = KernelTexture::create(handle.product().surface, std::move(kernels), texture.options(),
                                        preparation, texture.constants());
    return handle.edited(take(std::move(edited)), moved);
  });
}

py::dict gradients(const TextureHandle& handle, const Array<std::int64_t>& faces, const Array<double>& bary,
                   const Array<float>& d_values, int threads) {
  const auto points = trianglePoints(faces, bary);
  const KernelTexture& texture = handle.texture();
  KernelGradients result = released(
      threads, [&] { return kernelGradients(texture, handle.surfacePoints(points), spanOf(d_values)); });
  // Positions per unit of the asset, as vectors in space.
  std::vector<Vec3> positions(result.positions.size());
  const double scale = texture.surface().surfaceFromAsset().scale;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const FaceFrame& frame = texture.surface().frames()[texture.kernels().positions[i].face];
    positions[i] = scale * frame.directionFromFace(result.positions[i]);
  }
  const auto count = static_cast<py::ssize_t>(result.channels.size());
  const auto channels = static_cast<py::ssize_t>(result.channels.channels);
  py::dict out;
  out["position"] = arrayOf(std::move(positions));
  out["angle"] = arrayOf(std::move(result.angles));
  out["anisotropy"] = arrayOf(std::move(result.anisotropies));
  out["threshold"] = arrayOf(std::move(result.thresholds));
  out["sharpness"] = arrayOf(std::move(result.sharpnesses));
  out["values"] = arrayOf<float, float>(std::move(result.channels.values), {count, channels});
  out["mean"] = arrayOf(std::move(result.mean));
  return out;
}

py::tuple arraysOfAsset(const Asset& asset) {
  PlainArrays arrays = arraysOf(asset);
  std::vector<std::int64_t> faces(arrays.triangles.begin(), arrays.triangles.end());
  const auto count = static_cast<py::ssize_t>(faces.size() / 3);
  return py::make_tuple(arrayOf(std::move(arrays.positions)),
                        arrayOf<std::int64_t, std::int64_t>(std::move(faces), {count, 3}));
}

py::bytes bytesOfTexture(const TextureHandle& handle, int threads) {
  PythonProgress progress{py::none()};
  const auto bytes = released(threads, [&] { return handle.bytes(progress); });
  progress.finish();
  return bytesOf(*bytes);
}

void save(const TextureHandle& handle, const std::string& path, const py::object& handler, int threads) {
  PythonProgress progress(handler);
  auto saved = released(threads, [&] { return writeFileAtomically(path, *handle.bytes(progress)); });
  progress.finish();
  take(std::move(saved));
}

py::tuple bake(const TextureHandle& handle, const std::string& to, const py::dict& options,
               const py::object& handler, int threads) {
  PythonProgress progress(handler);
  BakeJob job;
  if (!to.empty()) job.to = named<BakeTo>(kBakeToNames, to);
  job.size = options["size"].cast<int>();
  job.supersampling = options["supersampling"].cast<int>();
  job.format = named<BakeFormat>(kBakeFormatNames, options["format"].cast<std::string>());
  job.quality = options["quality"].cast<int>();
  job.max_error = options["max_error"].cast<double>();
  job.evaluate = options["evaluate"].cast<bool>();
  job.progress = &progress;
  auto outcome = released(threads, [&] { return bakeProduct(handle.whole(), job); });
  progress.finish();
  const BakeOutcome baked = take(std::move(outcome));
  py::dict report;
  report["to"] = std::string(kBakeToNames[static_cast<std::size_t>(baked.to)]);
  report["width"] = baked.width;
  report["height"] = baked.height;
  report["charts"] = baked.charts;
  report["area_used"] = baked.area_used;
  report["vertices"] = baked.vertices;
  report["faces"] = baked.faces;
  py::list images;
  for (const BakedFileImage& image : baked.images) {
    py::dict entry;
    entry["name"] = image.name;
    entry["mime_type"] = image.mime_type;
    entry["width"] = image.width;
    entry["height"] = image.height;
    entry["bytes"] = image.bytes;
    images.append(entry);
  }
  report["images"] = images;
  report["psnr"] =
      baked.evaluation ? py::object(py::float_(baked.evaluation->surface_psnr)) : py::object(py::none());
  report["notices"] = noticesOf(baked.notices);
  return py::make_tuple(bytesOf(baked.bytes), report);
}

py::tuple transfer(const TextureHandle& handle, const AssetHandle& mesh, bool refit, std::uint64_t seed,
                   const py::object& handler, int threads) {
  PythonProgress progress(handler);
  TransferOptions options;
  options.refit = refit;
  options.seed = seed;
  options.open.progress = &progress;
  auto outcome =
      released(threads, [&] { return transferProduct(handle.whole(), Asset(mesh.asset()), options); });
  progress.finish();
  TransferOutcome carried = take(std::move(outcome));
  py::dict report;
  report["surface_psnr_source"] = carried.surface_psnr_source;
  report["kernels_kept"] = carried.kernels_kept;
  report["kernels_changed"] = carried.kernels_changed;
  report["kernels_dropped"] = carried.kernels_dropped;
  report["kernels_added"] = carried.kernels_added;
  report["unmatched_area"] = carried.unmatched_area;
  report["notices"] = noticesOf(carried.notices);
  return py::make_tuple(TextureHandle(std::move(*carried.stored)), report);
}

py::dict evaluateTexture(const TextureHandle& handle, const AssetHandle& asset, const py::dict& options,
                         const py::object& handler, int threads) {
  PythonProgress progress(handler);
  EvaluationOptions wanted;
  wanted.surface_samples = options["samples"].cast<std::size_t>();
  wanted.view_size = options["view_size"].cast<int>();
  wanted.atlas_size = options["atlas_size"].cast<int>();
  wanted.flip = options["flip"].cast<bool>();
  wanted.seed = options["seed"].cast<std::uint64_t>();
  wanted.query_runs = 0;
  std::optional<Filter> filter;
  if (const auto name = options["filter"].cast<std::string>(); !name.empty())
    filter = named<Filter>(kFilterNames, name);
  auto outcome = released(
      threads, [&] { return evaluateProduct(handle.whole(), asset.loaded(), wanted, filter, progress); });
  progress.finish();
  return evaluationOf(take(std::move(outcome)));
}

Array<float> assetColors(const AssetHandle& asset, const Array<std::int64_t>& faces,
                         const Array<double>& bary, const std::string& filter, int threads) {
  const auto points = trianglePoints(faces, bary);
  const Filter as = named<Filter>(kFilterNames, filter);
  std::vector<Vec3f> colors(points.size());
  released(threads, [&] {
    const auto on_surface = take(asset.points().fromTriangles(points)).points;
    asset.loaded().appearance.colors(on_surface, colors, as);
    return 0;
  });
  const auto rows = static_cast<py::ssize_t>(colors.size());
  return arrayOf<float, Vec3f>(std::move(colors), {rows, 3});
}

}  // namespace

void bindTexture(py::module_& module) {
  py::class_<TextureHandle>(module, "Texture");
  module.def("texture_open", &open);
  module.def("texture_from_bytes", &fromBytes);
  module.def("texture_layout", &layoutOf);
  module.def("texture_info", &infoOf);
  module.def("texture_values", &values);
  module.def("texture_nearest", &nearest<TextureHandle>);
  module.def("texture_kernels", &kernelsOf);
  module.def("texture_kernel_geometry", &kernelGeometry);
  module.def("texture_with_kernels", &withKernels);
  module.def("texture_gradients", &gradients);
  module.def("texture_arrays",
             [](const TextureHandle& handle) { return arraysOfAsset(handle.product().asset); });
  module.def("texture_bytes", &bytesOfTexture);
  module.def("texture_save", &save);
  module.def("texture_bake", &bake);
  module.def("texture_transfer", &transfer);
  module.def("texture_evaluate", &evaluateTexture);
  module.def("asset_arrays", [](const AssetHandle& handle) { return arraysOfAsset(handle.asset()); });
  module.def("asset_nearest", &nearest<AssetHandle>);
  module.def("asset_colors", &assetColors);
}

}  // namespace heatskin::python
