#pragma once

// LocalHK behind the common interface: developed supports, analytic anisotropic kernels with a geodesic
// window (paper, route I).

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/options.h"
#include "heatskin/evaluators/local/pair_response.h"
#include "heatskin/evaluators/local/supports.h"

namespace heatskin::local {

/// See the head of the file. The surface must outlive it.
class LocalEvaluator final : public Evaluator {
 public:
  LocalEvaluator(const Surface& surface, const LocalOptions& options);

  std::string_view name() const override { return "local"; }
  std::size_t capacity() const override { return options_.candidates; }
  void rebuild(const KernelSet& kernels) override;
  void refresh(const KernelSet& kernels, std::span<const Rigid2> motions) override;
  int rebuildInterval(double) const override { return options_.rebuild_interval; }
  void respond(std::span<const SurfacePoint> queries, ResponseBlock& out) const override;
  void respondVjp(std::span<const SurfacePoint> queries, const ResponseBlock& responses,
                  std::span<const float> dx, GradientSums& sums) const override;
  void finish(std::uint32_t kernel, float* row) const override;

  const LocalOptions& options() const { return options_; }
  const SupportTable& supports() const { return supports_; }

  /// What the inner loops read; for tests and benchmarks.
  PairTables tables() const;
  QueryRow queryRow(const SurfacePoint& p) const;

 private:
  void fillRows(const KernelSet& kernels);
  void keepNearestToCentroid();
  void buildGrids();

  const Surface* surface_;
  LocalOptions options_;
  SupportBuilder builder_;
  SupportTable supports_;
  FaceGrids grids_;
  std::vector<SupportSource> sources_;
  std::vector<Rigid2>
      reference_from_face_;  // [N] coordinates of the face at the last rebuild from those of the present face
  std::vector<Vec2> rebuilt_centers_;  // [N] reference coordinates at the last rebuild, for the grids' drift
  std::vector<KernelRow> rows_;        // [N]
};

/// The distance on the long axis at which f falls to `tail`, at most `cap` (METHOD section 8).
double supportRadius(double sharpness, double threshold, const LocalOptions& options);

}  // namespace heatskin::local
