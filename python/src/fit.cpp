// Fits: of assets and of arrays. And assets themselves.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "heatskin/base/files.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/glb_writer.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/pipeline/fit_mesh.h"
#include "heatskin/pipeline/mesh_tools.h"
#include "heatskin/product/product.h"
#include "heatskin/training/config.h"

#include "convert.h"
#include "handles.h"
#include "progress.h"

namespace heatskin::python {
namespace {

FitConfig configOf(const py::dict& options) {
  const auto preset = options["preset"].cast<std::string>();
  FitConfig config = preset.ends_with(".toml") ? take(loadConfig(preset)) : take(presetConfig(preset));
  for (const py::handle assignment : options["assignments"].cast<py::list>())
    take(setOption(config, assignment.cast<std::string>()));
  BudgetOptions& budget = config.train.budget;
  if (const auto kernels = options["kernels"].cast<std::int64_t>(); kernels > 0) {
    budget.automatic = false;
    setKernelBudget(config, static_cast<std::size_t>(kernels));
  } else if (kernels == 0) {
    budget.automatic = true;
  }
  if (const auto most = options["max_kernels"].cast<std::int64_t>(); most > 0)
    setKernelBudget(config, static_cast<std::size_t>(most));
  if (const auto target = options["target_psnr"].cast<double>(); target > 0) budget.target_psnr = target;
  if (const auto seconds = options["max_seconds"].cast<double>(); seconds > 0) budget.max_seconds = seconds;
  if (const auto bytes = options["max_bytes"].cast<std::int64_t>(); bytes > 0)
    budget.max_bytes = static_cast<std::size_t>(bytes);
  take(checkConfig(config));
  return config;
}

FitJob jobOf(const py::dict& options, const FitConfig& config, PythonProgress& progress) {
  FitJob job;
  job.config = config;
  job.output = options["output"].cast<std::string>();
  job.control.checkpoint = options["checkpoint"].cast<std::string>();
  job.control.checkpoint_interval_s = options["checkpoint_interval"].cast<double>();
  const auto resume = options["resume"].cast<std::string>();
  job.control.resume = resume == "auto"  ? Resume::kIfThere
                       : resume == "yes" ? Resume::kMustBeThere
                                         : Resume::kNo;
  job.control.progress = &progress;
  job.control.notify = [&](const Notice& notice) { progress.note(notice); };
  job.fallback = named<Fallback>(kFallbackNames, options["fallback"].cast<std::string>());
  job.keep_budget = options["keep_budget"].cast<bool>();
  job.evaluate = options["evaluate"].cast<bool>();
  // What is quick; evaluate() measures the rest.
  job.evaluation.view_size = 0;
  job.evaluation.atlas_size = 0;
  job.evaluation.query_runs = 0;
  job.evaluation.seam_samples = 0;
  return job;
}

py::dict fitReport(const FitResult& fit, const FitConfig& config) {
  py::dict out;
  out["complete"] = fit.complete;
  out["steps"] = fit.steps_done;
  out["resumed_at"] = fit.resumed_at;
  out["stopped_by"] = std::string(kStoppedByNames[static_cast<std::size_t>(fit.stopped_by)]);
  out["optimise_seconds"] = fit.history.optimise_seconds;
  out["init_seconds"] = fit.init_seconds;
  out["median_step_seconds"] = fit.median_step_seconds;
  out["losses"] = arrayOf(std::vector<float>(fit.history.losses));
  py::list stages;
  for (const GrowthStage& stage : fit.history.stages) {
    py::dict entry;
    entry["kernels"] = stage.kernels;
    entry["psnr"] = stage.psnr;
    entry["seconds"] = stage.seconds;
    stages.append(entry);
  }
  out["stages"] = stages;
  out["preset"] = config.preset;
  out["config"] = configToml(config);
  return out;
}

/// What a cancelled fit raises unless Python has something to raise itself.
Failure cancelled(const FitResult& fit, const FitJob& job) {
  std::string message = "the fit was stopped after " + std::to_string(fit.steps_done) + " steps";
  if (!job.control.checkpoint.empty())
    message += "; they are saved in " + displayPath(job.control.checkpoint);
  return Failure(failure(message, error_code::kCancelled));
}

/// (texture, report).
py::tuple fitAsset(const AssetHandle& asset, const std::vector<std::string>& channels,
                   const py::dict& options, const py::object& handler, int threads) {
  PythonProgress progress(handler);
  FitJob job = jobOf(options, configOf(options), progress);
  std::optional<std::size_t> faces;
  auto outcome = released(threads, [&]() -> Result<FitOutcome> {
    OpenOptions open;
    open.progress = &progress;
    const auto loaded = openAssetToFit(Asset(asset.asset()), job.config.evaluator.method, open);
    if (!loaded) return loaded.error();
    auto layout = fitChannels(*loaded, channels, job.config.train.filter, job.config.evaluator.method);
    if (!layout) return layout.error();
    job.layout = std::move(*layout);
    return fitProduct(*loaded, job);
  });
  progress.finish();
  FitOutcome done = take(std::move(outcome));
  if (!done.fit.complete || !done.stored) throw cancelled(done.fit, job);
  py::dict report = fitReport(done.fit, done.config);
  if (done.evaluation) {
    report["evaluation"] = evaluationOf(*done.evaluation);
    report["psnr"] = done.evaluation->surface_psnr_filtered;
  }
  report["notices"] = noticesOf(done.notices);
  return py::make_tuple(TextureHandle(std::move(*done.stored)), report);
}

/// Values that a function of Python has at positions in space. Called by many threads; one at a time gets the
/// GIL.
class PythonTarget final : public FitTarget {
 public:
  PythonTarget(const Surface& surface, py::object function, ChannelLayout layout,
               const PythonProgress& progress)
      : surface_(&surface),
        function_(std::move(function)),
        layout_(std::move(layout)),
        progress_(&progress) {}

  const ChannelLayout& layout() const override { return layout_; }

  void values(std::span<const SurfacePoint> points, std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0f);
    if (progress_->stopped() || interpreterEnds()) return;  // an earlier call has failed
    const Similarity place = surface_->assetFromSurface();
    std::vector<Vec3> positions(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      positions[i] = place(surface_->position(points[i]));
    const py::gil_scoped_acquire acquire;
    try {
      // Python has made sure that it is [points, C] of numbers in range.
      const auto answer = function_(arrayOf(std::move(positions))).cast<Array<float>>();
      std::copy_n(answer.data(), out.size(), out.data());
    } catch (py::error_already_set& error) {
      progress_->fail(std::move(error));
    }
  }

 private:
  const Surface* surface_;
  py::object function_;
  ChannelLayout layout_;
  const PythonProgress* progress_;
};

/// `appearance` is [F, 3, C] or a function of positions.
py::tuple fitArrays(const Array<double>& positions, const Array<std::int64_t>& triangles,
                    const py::list& groups, const py::object& appearance, const py::dict& options,
                    const py::object& handler, int threads) {
  PythonProgress progress(handler);
  FitJob job = jobOf(options, configOf(options), progress);
  std::vector<ChannelGroup> wanted;
  for (const py::handle item : groups) {
    const auto [name, count, low, high] = item.cast<std::tuple<std::string, std::size_t, float, float>>();
    ChannelGroup group;
    group.name = name;
    group.count = count;
    group.range = {low, high};
    wanted.push_back(group);
  }
  const ChannelLayout layout = take(ChannelLayout::make(std::move(wanted)));
  const bool formula = PyCallable_Check(appearance.ptr()) != 0;
  const Array<float> corners = formula ? Array<float>() : appearance.cast<Array<float>>();
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(triangles.size()));
  std::copy_n(triangles.data(), indices.size(), indices.data());
  const py::object function = appearance;
  std::unique_ptr<FitTarget> target;  // destroyed with the GIL
  std::optional<MeshToFit> mesh;
  auto outcome = released(threads, [&]() -> Result<MeshFitOutcome> {
    auto opened = openMeshToFit(assetOfArrays(vectorsOf(positions), indices), job.config.evaluator.method);
    if (!opened) return opened.error();
    mesh = std::move(*opened);
    for (const Notice& notice : mesh->notices)
      progress.note(notice);
    if (formula) {
      const py::gil_scoped_acquire acquire;
      target = std::make_unique<PythonTarget>(*mesh->surface, function, layout, progress);
    } else {
      auto made = VertexTarget::ofCorners(*mesh->surface, spanOf(corners), layout);
      if (!made) return made.error();
      target = std::make_unique<VertexTarget>(std::move(*made));
    }
    return fitMesh(*mesh, *target, job);
  });
  progress.finish();
  MeshFitOutcome done = take(std::move(outcome));
  if (!done.fit.complete || !done.stored) throw cancelled(done.fit, job);
  py::dict report = fitReport(done.fit, done.config);
  if (done.surface_psnr) report["psnr"] = *done.surface_psnr;
  report["notices"] = noticesOf(done.notices);
  return py::make_tuple(TextureHandle(std::move(*done.stored)), report);
}

AssetHandle openFileAsAsset(const std::string& path, int threads) {
  return AssetHandle(released(threads, [&] { return take(loadAsset(path)); }));
}

AssetHandle assetFromArrays(const Array<double>& positions, const Array<std::int64_t>& triangles) {
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(triangles.size()));
  std::copy_n(triangles.data(), indices.size(), indices.data());
  return AssetHandle(assetOfArrays(vectorsOf(positions), indices));
}

AssetHandle pumpkin(int resolution, int texture_size, std::uint64_t seed, int threads) {
  return AssetHandle(released(threads, [&] { return makePumpkin({resolution, texture_size, seed}); }));
}

void saveAsset(const AssetHandle& asset, const std::string& path, int threads) {
  released(threads, [&] {
    take(writeGlb(path, asset.asset()));
    return 0;
  });
}

py::dict assetInfo(const AssetHandle& handle) {
  const Asset& asset = handle.asset();
  py::dict out;
  out["path"] = asset.path.string();
  out["format"] = asset.format;
  out["product"] = isProduct(asset);
  std::size_t triangles = 0, vertices = 0;
  bool colors = false;
  for (const Instance& instance : asset.instances) {
    if (instance.mesh < 0) continue;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      triangles += primitive.triangleCount();
      vertices += primitive.positions.size();
      colors = colors || !primitive.colors.empty();
    }
  }
  out["vertices"] = vertices;
  out["faces"] = triangles;
  out["vertex_colors"] = colors;
  py::list meshes, materials, images;
  for (const heatskin::Mesh& mesh : asset.meshes)
    meshes.append(mesh.name);
  for (const Material& material : asset.materials)
    materials.append(material.name);
  for (const auto& image : asset.images) {
    py::dict entry;
    entry["name"] = image->name;
    entry["width"] = image->width;
    entry["height"] = image->height;
    entry["format"] = image->format;
    images.append(entry);
  }
  out["meshes"] = meshes;
  out["materials"] = materials;
  out["images"] = images;
  out["instances"] = asset.instances.size();
  out["variants"] = asset.variants;
  out["extensions"] = asset.extensions;
  out["input_bytes"] = asset.input_bytes;
  out["notices"] = noticesOf(asset.notices);
  return out;
}

py::dict surfaceInfo(const AssetHandle& handle, int threads) {
  const LoadedAsset* loaded = nullptr;
  released(threads, [&] {
    loaded = &handle.loaded();
    return 0;
  });
  const SurfaceReport& report = loaded->surface->report();
  py::dict out;
  out["vertices"] = report.vertices;
  out["faces"] = report.faces;
  addCounts(out, report);
  const double scale = loaded->surface->surfaceFromAsset().scale;
  out["area"] = loaded->surface->totalArea() / (scale * scale);
  out["notices"] = noticesOf(loaded->notices);
  return out;
}

py::list options() {
  py::list list;
  const FitConfig config = take(presetConfig("default"));
  for (const OptionInfo& option : fitOptions())
    list.append(
        py::make_tuple(option.key, option.type, option.range, option.help, optionText(config, option.key)));
  return list;
}

}  // namespace

void bindFit(py::module_& module) {
  py::class_<AssetHandle>(module, "Asset");
  module.def("asset_open", &openFileAsAsset);
  module.def("asset_from_arrays", &assetFromArrays);
  module.def("asset_pumpkin", &pumpkin);
  module.def("asset_info", &assetInfo);
  module.def("asset_surface_info", &surfaceInfo);
  module.def("asset_save", &saveAsset);
  module.def("fit_asset", &fitAsset);
  module.def("fit_arrays", &fitArrays);
  module.def("fit_options", &options);
  module.def("preset_names", &presetNames);
}

}  // namespace heatskin::python
