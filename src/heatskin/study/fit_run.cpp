#include "heatskin/study/fit_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/plural.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/io/gltf_reader.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/study/admission.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/kept_fits.h"
#include "heatskin/training/fit.h"

namespace heatskin::study {
namespace {

/// Of quick studies: enough to see that everything works.
constexpr int kQuickSteps = 50, kQuickResolution = 500, kQuickTexture = 256;
constexpr std::size_t kQuickKernels = 200, kQuickSamples = 5000;

/// Seconds of a fit on one thread, roughly; only for the order of magnitude of the remaining time.
double costOf(const MethodSpec& method, bool quick) {
  if (quick) return 2;
  const auto config = configOf(method, {}, 0);
  if (!config) return 60;
  switch (config->evaluator.method) {
    case Method::kLocal:
      return 60;
    case Method::kThermal:
      return 300;
    case Method::kSpectral:
      break;
  }
  return 350;
}

std::string fileName(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  return name;
}

void addPicture(Json& values, const std::string& prefix, const PictureQuality& quality) {
  values[prefix + "_psnr"] = jsonNumber(quality.psnr);
  values[prefix + "_ssim"] = jsonNumber(quality.ssim);
  values[prefix + "_flip"] = quality.flip ? jsonNumber(*quality.flip) : Json(nullptr);
  values[prefix + "_lpips"] = quality.lpips ? jsonNumber(*quality.lpips) : Json(nullptr);
}

void addEvaluation(Json& values, Json& timing, const Evaluation& e) {
  values["surface_psnr"] = jsonNumber(e.surface_psnr_nearest);
  values["surface_psnr_filtered"] = jsonNumber(e.surface_psnr_filtered);
  if (!e.views.empty()) addPicture(values, "view", e.view_mean);
  if (e.atlas) addPicture(values, "atlas", *e.atlas);
  if (e.five_frame) {
    values["five_frame_psnr"] = jsonNumber(e.five_frame->psnr);
    values["five_frame_ssim"] = jsonNumber(e.five_frame->ssim);
    values["five_frame_ms_ssim"] = jsonNumber(e.five_frame->ms_ssim);
    if (e.five_frame->lpips) values["five_frame_lpips"] = jsonNumber(*e.five_frame->lpips);
  }
  values["coverage_below_half"] = jsonNumber(e.coverage_below_half);
  values["coverage_defect"] = jsonNumber(e.coverage_defect);
  values["coverage_mean"] = jsonNumber(e.coverage_mean);
  values["seam_jump_p99"] = e.seam ? jsonNumber(e.seam->p99) : Json(nullptr);
  values["seam_jump_max"] = e.seam ? jsonNumber(e.seam->maximum) : Json(nullptr);
  timing["query_mpoints_s"] = jsonNumber(e.query_mpoints_s);
}

bool isOfSet(const StudyRow& row, std::string_view set) {
  return set.empty() || row.text("mesh/set") == set;
}

/// What decides about a fit, whatever study asks for it and whatever is measured afterwards.
Json fitIdentity(const Json& work) {
  const Json& method = work.at("method");
  Json mesh = work.at("mesh");
  for (const char* name : {"name", "set"})
    mesh.erase(name);
  return {{"mesh", std::move(mesh)},
          {"preset", method.value("preset", "")},
          {"changes", method.value("options", Json::array())},
          {"options", work.value("options", Json::array())},
          {"seed", work.value("seed", std::uint64_t{0})}};
}

Result<KeptFit> fitAnew(const LoadedAsset& asset, const FitConfig& config, bool fresh, Progress& progress) {
  FitJob job;
  job.config = config;
  job.keep_budget = true;
  job.evaluate = false;
  job.control.progress = &progress;
  PreprocessingCache no_cache;
  if (fresh) job.control.cache = &no_cache;
  const double before = cpuSeconds();
  auto fitted = fitProduct(asset, job);
  if (!fitted) return fitted.error();
  if (!fitted->fit.complete) return failure("interrupted", error_code::kCancelled);
  KeptFit fit;
  fit.product = std::move(fitted->bytes);
  const double optimise = fitted->fit.history.optimise_seconds;
  fit.timing = {{"init_s", jsonNumber(fitted->init_seconds)},
                {"preprocess_s", jsonNumber(fitted->fit.preprocess_seconds)},
                {"optimise_s", jsonNumber(optimise)},
                {"end_to_end_s", jsonNumber(fitted->init_seconds + optimise)},
                {"fit_cpu_s", jsonNumber(cpuSeconds() - before)},
                {"median_step_ms", jsonNumber(1e3 * fitted->fit.median_step_seconds)},
                {"threads", threadCount()}};
  return fit;
}

Result<Evaluation> measure(const Json& work, const LoadedProduct& stored, const LoadedAsset& asset,
                           Filter filter, Progress& progress) {
  EvaluationOptions options;
  options.surface_samples = work.value("samples", options.surface_samples);
  options.seam_samples = std::min(options.seam_samples, options.surface_samples);
  options.atlas_size = work.value("atlas_size", options.atlas_size);
  options.view_size = work.value("view_size", options.view_size);
  options.five_frame_samples = work.value("five_frame_samples", options.five_frame_samples);
  options.flip = true;
  std::optional<LpipsModel> lpips;
  if (work.contains("lpips")) {
    auto model = LpipsModel::load(work["lpips"].get<std::string>());
    if (!model) return model.error();
    options.lpips = &lpips.emplace(std::move(*model));
  }
  return evaluateProduct(stored, asset, options, filter, progress);
}

}  // namespace

std::vector<MeshSpec> meshesFor(const StudySettings& settings, std::vector<MeshSpec> own) {
  std::vector<MeshSpec> meshes = settings.subjects.meshes.empty() ? std::move(own) : settings.subjects.meshes;
  if (!settings.quick) return meshes;
  std::vector<MeshSpec> quick;
  for (const MeshSpec& mesh : meshes) {
    if (std::any_of(quick.begin(), quick.end(), [&](const MeshSpec& m) { return m.set == mesh.set; }))
      continue;
    MeshSpec tiny;
    tiny.set = mesh.set;
    tiny.resolution = kQuickResolution;
    tiny.texture_size = kQuickTexture;
    // Small enough for dense eigensolvers to take no time.
    tiny.vertices = mesh.vertices > 0 ? 150 : 200;
    tiny.name = fmt::format("tiny_{}", mesh.set);
    quick.push_back(std::move(tiny));
  }
  return quick;
}

std::vector<MethodSpec> methodsFor(const StudySettings& settings, std::vector<MethodSpec> own) {
  return settings.subjects.methods.empty() ? std::move(own) : settings.subjects.methods;
}

std::vector<std::uint64_t> seedsFor(const StudySettings& settings, std::vector<std::uint64_t> own) {
  if (!settings.subjects.seeds.empty()) return settings.subjects.seeds;
  return settings.quick ? std::vector<std::uint64_t>{0} : std::move(own);
}

std::vector<MeshSpec> standardMeshes(const StudySettings& settings) {
  std::vector<MeshSpec> meshes = settings.found;
  for (auto&& more : {pumpkins(), lowPolyMeshes(settings.found)})
    meshes.insert(meshes.end(), more.begin(), more.end());
  return meshes;
}

MeshSpec subjectNamed(const StudySettings& settings, std::string_view name) {
  for (const auto* list : {&settings.subjects.meshes, &settings.found}) {
    for (const MeshSpec& mesh : *list) {
      if (mesh.name == name && mesh.vertices == 0) return mesh;
    }
  }
  if (!settings.subjects.meshes.empty()) return settings.subjects.meshes.front();
  MeshSpec pumpkin;
  pumpkin.name = "pumpkin_3000";
  return pumpkin;
}

Result<StudyRun> planFit(const MeshSpec& mesh, const MethodSpec& method, std::uint64_t seed,
                         const FitPlan& plan, const StudySettings& settings) {
  auto mesh_json = toJson(mesh);
  if (!mesh_json) return mesh_json.error();
  std::vector<std::string> options = settings.subjects.options;
  if (settings.quick) {
    options.push_back(fmt::format("steps={}", kQuickSteps));
    options.push_back(fmt::format("density.max_kernels={}", kQuickKernels));
    options.push_back(fmt::format("start.kernels={}", kQuickKernels / 2));
    for (const char* option : {"batch=512", "sampling.pool=20000", "density.min_kernels=50",
                               "spectral.modes=32", "thermal.rank=32", "thermal.oversampling=8"})
      options.emplace_back(option);
  }
  if (auto config = configOf(method, options, seed); !config) return config.error();
  StudyRun run;
  run.name = fmt::format("{}_{}_s{}", fileName(mesh.name), fileName(method.name), seed);
  run.cost = costOf(method, settings.quick);
  run.work = {{"mesh", *mesh_json}, {"method", toJson(method)}, {"seed", seed}, {"options", options}};
  run.work["samples"] = settings.quick ? kQuickSamples : std::size_t{200'000};
  run.work["atlas_size"] = !plan.views ? 0 : settings.quick ? 128 : 1024;
  run.work["view_size"] = !plan.views ? 0 : settings.quick ? 64 : 512;
  const int five_frames = settings.subjects.five_frame_samples.value_or(!plan.five_frames ? 0
                                                                        : settings.quick  ? 1
                                                                                         : kFiveFrameSamples);
  run.work["five_frame_samples"] = plan.views ? five_frames : 0;
  if (plan.fresh) run.work["fresh"] = true;
  if (!settings.subjects.lpips.empty() && plan.views) run.work["lpips"] = settings.subjects.lpips.string();
  return run;
}

Result<std::vector<StudyRun>> planFits(const FitPlan& plan, const StudySettings& settings) {
  std::vector<StudyRun> runs;
  for (const MeshSpec& mesh : plan.meshes) {
    for (const MethodSpec& method : plan.methods) {
      for (const std::uint64_t seed : plan.seeds) {
        auto run = planFit(mesh, method, seed, plan, settings);
        if (!run) return run.error();
        runs.push_back(std::move(*run));
      }
    }
  }
  return runs;
}

Result<std::optional<FittedRun>> fitRun(const Json& work, const RunContext& context, StudyOutcome& outcome) {
  const MeshSpec mesh = meshFromJson(work.at("mesh"));
  const MethodSpec method = methodFromJson(work.at("method"));
  auto config = configOf(method, work.value("options", std::vector<std::string>()),
                         work.value("seed", std::uint64_t{0}));
  if (!config) return config.error();
  auto made = makeAsset(mesh);
  if (!made) return made.error();

  const Method kind = config->evaluator.method;
  if (kind != Method::kLocal) {
    SurfaceOptions plain;
    plain.principal_axes = false;
    const auto surface = buildSurface(*made, plain);
    if (!surface) return surface.error();
    const Admission admission = checkAdmission(*made, *surface);
    if (!admission.admitted()) {
      outcome.values["vertices"] = surface->report().vertices;
      outcome.values["faces"] = surface->report().faces;
      outcome.values["refused"] = admission.text();
      return std::optional<FittedRun>();
    }
  }
  auto asset = openAssetToFit(std::move(*made), kind);
  if (!asset) return asset.error();
  outcome.values["vertices"] = asset->surface->report().vertices;
  outcome.values["faces"] = asset->surface->report().faces;

  const bool fresh = work.value("fresh", false);
  const KeptFits kept(context, fitIdentity(work));
  std::optional<KeptFit> fit;
  if (!fresh) fit = kept.find();
  if (!fit) {
    auto fitted = fitAnew(*asset, *config, fresh, *context.progress);
    if (!fitted) {
      // What a method cannot take is a finding; anything else is a failure.
      if (fitted.error().kind != ErrorKind::kInput) return fitted.error();
      outcome.values["refused"] = fitted.error().message;
      return std::optional<FittedRun>();
    }
    kept.keep(*fitted);
    fit = std::move(*fitted);
  }
  // Also where it was fitted just now: one way to the figures, whoever made the fit.
  auto product = readGltfBytes(fit->product, "product.glb");
  if (!product) return product.error();
  OpenOptions open;
  open.progress = context.progress;
  auto stored = openProduct(std::move(*product), open);
  if (!stored) return stored.error();
  const auto evaluation = measure(work, *stored, *asset, config->train.filter, *context.progress);
  if (!evaluation) return evaluation.error();
  outcome.values["kernels"] = stored->product.kernels.size();
  outcome.values["model_bytes"] = stored->product.model_bytes;
  addEvaluation(outcome.values, outcome.timing, *evaluation);
  outcome.timing.update(fit->timing);
  settleBudget(*config, *asset->surface, true);
  return std::optional<FittedRun>(FittedRun{std::move(*asset), std::move(*config), std::move(*stored)});
}

Result<StudyOutcome> FitStudy::execute(const Json& work, const RunContext& context) const {
  StudyOutcome outcome;
  const auto fitted = fitRun(work, context, outcome);
  if (!fitted) return fitted.error();
  return outcome;
}

std::vector<std::pair<std::string, std::string>> methodsIn(std::span<const StudyRow> rows) {
  std::vector<std::pair<std::string, std::string>> methods;
  for (const StudyRow& row : rows) {
    const std::string name = row.text("method/name");
    if (std::none_of(methods.begin(), methods.end(), [&](const auto& known) { return known.first == name; }))
      methods.emplace_back(name, row.text("method/title"));
  }
  return methods;
}

ReportTable perMeshTable(std::span<const StudyRow> rows, std::string_view set, std::string_view figure,
                         int decimals, std::string caption) {
  const MeshTable table = tabulate(rows, figure, [&](const StudyRow& row) { return isOfSet(row, set); });
  ReportTable out{std::move(caption), {"mesh", "vertices"}, {}};
  for (const auto& [name, title] : methodsIn(rows))
    out.header.push_back(title);
  std::map<std::string, std::size_t> vertices;
  for (const StudyRow& row : rows) {
    const double count = row.number("vertices");
    if (std::isfinite(count)) vertices[row.text("mesh/name")] = static_cast<std::size_t>(count);
  }
  for (std::size_t m = 0; m < table.meshes.size(); ++m) {
    const auto found = vertices.find(table.meshes[m]);
    std::vector<std::string> line = {table.meshes[m], found == vertices.end() ? "-" : grouped(found->second)};
    for (const auto& [name, title] : methodsIn(rows)) {
      const auto& values = table.of(name);
      line.push_back(m < values.size() && values[m] ? fmt::format("{:.{}f}", *values[m], decimals) : "-");
    }
    out.rows.push_back(std::move(line));
  }
  std::vector<std::string> means = {"mean over meshes, 95 %", ""};
  for (const auto& [name, title] : methodsIn(rows))
    means.push_back(intervalText(meanInterval(table.values(name)), decimals));
  out.rows.push_back(std::move(means));
  return out;
}

ReportTable refusals(std::span<const StudyRow> rows) {
  ReportTable table{"Refused", {"mesh", "method", "reason"}, {}};
  for (const StudyRow& row : rows) {
    const std::string reason = row.values.value("refused", "");
    if (reason.empty()) continue;
    const std::vector<std::string> line = {row.text("mesh/name"), row.text("method/title"), reason};
    if (std::find(table.rows.begin(), table.rows.end(), line) == table.rows.end()) table.rows.push_back(line);
  }
  return table;
}

}  // namespace heatskin::study
