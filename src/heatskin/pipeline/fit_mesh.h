#pragma once

// A fit of a mesh to any target (surface/fit_target.h): values at vertices or corners, a formula.
// fitProduct() is the same for the appearance of an asset.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/io/asset.h"
#include "heatskin/pipeline/pipeline.h"
#include "heatskin/surface/fit_target.h"

namespace heatskin {

/// A mesh as its product will hold it: glTF, single precision, with the surface that readers build.
struct MeshToFit {
  Asset asset;
  std::shared_ptr<const Surface> surface;
  std::vector<Notice> notices;  ///< of the surface
};
Result<MeshToFit> openMeshToFit(Asset mesh, Method method);

/// What came of it; as FitOutcome.
struct MeshFitOutcome {
  FitResult fit;  ///< incomplete: cancelled, and there is nothing of what follows
  FitConfig config;
  std::vector<std::uint8_t> bytes;      ///< of the product, a GLB
  std::optional<LoadedProduct> stored;  ///< as it reads
  std::optional<double> surface_psnr;   ///< of the stored base colour against the target
  std::vector<Notice> notices;          ///< of budget and fit
};

/// Settles the kernel budget, fits, makes the product, writes it with its configuration and removes the
/// checkpoint. Of the job, `layout` (the target's counts), `guard` and of `evaluation` all but samples and
/// seed do not count. The target is one of the mesh's surface; its layout has base_color.
Result<MeshFitOutcome> fitMesh(const MeshToFit& mesh, const FitTarget& target, const FitJob& job);

}  // namespace heatskin
