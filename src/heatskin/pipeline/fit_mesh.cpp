#include "heatskin/pipeline/fit_mesh.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/pipeline/fit_files.h"
#include "heatskin/pipeline/rewrite_product.h"
#include "heatskin/product/stored_kernels.h"
#include "heatskin/version.h"

namespace heatskin {
namespace {

Result<MeshFitOutcome> fitted(const MeshToFit& mesh, const FitTarget& target, const FitJob& job) {
  MeshFitOutcome outcome;
  outcome.config = job.config;
  if (target.layout().find("base_color") == nullptr)
    return usageError("a product needs the channels base_color");
  if (auto something = checkSomethingToFit(*mesh.surface, target); !something) return something.error();
  const BudgetReport budget = settleBudget(outcome.config, *mesh.surface, job.keep_budget);
  if (budget.too_small()) {
    outcome.notices.push_back(budgetNotice(mesh.asset, *mesh.surface, budget));
    if (job.control.notify) job.control.notify(outcome.notices.back());
  }
  if (!job.output.empty()) {
    if (auto writable = checkWritable(job.output); !writable) return writable.error();
  }
  std::optional<PreprocessingCache> own;
  FitControl control = job.control;
  if (control.cache == nullptr) control.cache = &own.emplace(PreprocessingCache::fromEnvironment());
  if (control.progress == nullptr) control.progress = &silentProgress();
  const EvaluatorOptions evaluator = outcome.config.evaluator.options();
  if (!control.bytes_of) {
    control.bytes_of = [&](const KernelSet& kernels) {
      return packKernels(kernels, mesh.asset, *mesh.surface, mesh.asset, *mesh.surface, evaluator)
          .bytes.size();
    };
  }
  auto result = fit(*mesh.surface, target, outcome.config, control);
  if (!result) return result.error();
  outcome.fit = std::move(*result);
  outcome.fit.evaluator = nullptr;
  outcome.notices.insert(outcome.notices.end(), outcome.fit.notices.begin(), outcome.fit.notices.end());
  if (!outcome.fit.complete) return outcome;

  const ProductInfo info{fmt::format("heatskin {}", kVersion), outcome.config.preset,
                         outcome.config.train.seed, stepsOf(outcome.config),
                         std::string(filterName(outcome.config.train.filter))};
  // The target decides everywhere, whatever the material says.
  std::vector<std::vector<std::uint32_t>> constants;
  for (const Mesh& part : mesh.asset.meshes)
    constants.emplace_back(part.primitives.size(), 0u);
  ProductFile file(job.fallback);
  file.extras = job.extras;
  file.charts = job.charts;
  file.constants = &constants;
  OpenOptions open;
  open.cache = control.cache;
  auto written = rewriteProduct(mesh.asset, mesh.surface, outcome.fit.kernels, evaluator, info, file, open);
  if (!written) return written.error();
  outcome.bytes = std::move(written->bytes);
  // With the supports of the file, as readers have them.
  auto opened = openProduct(std::move(written->stored.product), open);
  if (!opened) return opened.error();
  outcome.stored.emplace(std::move(*opened));
  if (auto saved = saveProduct(job, outcome.config, outcome.bytes, outcome.fit.stopped_by); !saved)
    return saved.error();
  if (job.evaluate) {
    outcome.surface_psnr =
        texturePsnr(outcome.stored->texture, target, job.evaluation.surface_samples, job.evaluation.seed);
  }
  return outcome;
}

}  // namespace

Result<MeshToFit> openMeshToFit(Asset mesh, Method method) {
  auto gltf = meshForKernels(std::move(mesh));
  if (!gltf) return gltf.error();
  if (const auto moved = useStoredGeometry(*gltf); !moved) return moved.error();
  auto surface = buildSurface(*gltf, productSurfaceOptions(method));
  if (!surface) return surface.error();
  std::vector<Notice> notices = surface->notices();
  return MeshToFit{std::move(*gltf), std::make_shared<const Surface>(std::move(*surface)),
                   std::move(notices)};
}

Result<MeshFitOutcome> fitMesh(const MeshToFit& mesh, const FitTarget& target, const FitJob& job) {
  try {
    return fitted(mesh, target, job);
  } catch (const std::bad_alloc&) {
    return failure("not enough memory for the fit");
  }
}

}  // namespace heatskin
