#pragma once

// LocalHK behind the common interface: developed supports, analytic anisotropic kernels with a geodesic
// window (paper, route I).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/pair_response.h"
#include "heatskin/evaluators/local/support_proxy.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/evaluators/method.h"

namespace heatskin::local {

/// See the head of the file. The surface must outlive it.
class LocalEvaluator final : public Evaluator {
 public:
  /// With `stored`, rebuild() for as many kernels as it has does not search for supports, and the proxy is
  /// the one it has, or none: the kernels must be those it was made for.
  LocalEvaluator(const Surface& surface, const LocalOptions& options,
                 std::shared_ptr<const StoredSupports> stored = {});

  Result<void> check(const KernelSet& kernels, double share) const override;
  void rebuild(const KernelSet& kernels) override { rebuild(kernels, false); }
  void rebuildForSteps(const KernelSet& kernels) override { rebuild(kernels, true); }
  void refresh(const KernelSet& kernels, std::span<const Rigid2> motions) override;
  std::unique_ptr<EvaluatorBatch> begin(std::span<const SurfacePoint> points,
                                        std::unique_ptr<EvaluatorBatch> previous = {}) const override;
  void finish(std::uint32_t kernel, GeometryGradient& gradient) const override;
  void tablesOf(std::span<const SurfacePoint> points, std::span<std::uint32_t> out) const override;

  /// How many kernel-face pairs rebuild() would make, about: on the surface that supports live on, from a
  /// sample of the kernels where it matters.
  double estimatePairs(const KernelSet& kernels) const;

  const LocalOptions& options() const { return options_; }
  const SupportTable& supports() const { return supports_; }

  /// The surface that supports live on: the one given, or a proxy of it.
  const Surface& supportSurface() const { return proxy_ != nullptr ? proxy_->surface() : *surface_; }
  const SupportProxy* proxy() const { return proxy_.get(); }

  /// What supports were built with, and from where: of the last rebuild().
  const SupportBuilder& builder() const { return builder_; }
  std::span<const SupportSource> sources() const { return supports_.sources(); }

  /// What the inner loops read; for tests and benchmarks.
  PairTables tables() const;
  QueryRow queryRow(const SurfacePoint& p) const;

 private:
  class Batch;

  /// How steps and turns in a kernel's face appear in the coordinates of its proxy face.
  struct Projection {
    Eigen::Matrix2f reference_from_face;
    float turn;  ///< derivative of the angle there by the angle here
  };

  /// A kernel in reference coordinates, those of the face it had at the last rebuild.
  struct Appearing {
    Vec2 center, axis;
    Vec3 space;             ///< the centre
    Vec3 basis_x, basis_y;  ///< steps in space that belong to unit steps there
  };

  Appearing appearing(const SurfacePoint& p, double angle, const Rigid2& reference) const;
  Appearing projected(const SurfacePoint& p, double angle, const FaceFrame& reference, const Vec2& shift,
                      Projection& out) const;
  Turn<double> turnOf(std::size_t kernel) const;
  Turn<double> turnFromProxy(const SurfacePoint& p, std::uint32_t proxy_face) const;
  SupportProxy::Place placeOf(const KernelSet& kernels, std::size_t i, bool known) const;
  bool knows(const KernelSet& kernels, bool roughly) const;
  void prefetch(std::span<const SurfacePoint> points) const;
  double pairBytes(double pairs) const;
  void rebuild(const KernelSet& kernels, bool roughly);
  std::vector<std::uint32_t> orderOf(const KernelSet& kernels, bool roughly) const;
  SupportSource sourceOf(const KernelSet& kernels, std::size_t i, bool roughly) const;
  double radiusOf(const KernelSet& kernels, std::size_t i) const;
  void fillRows(const KernelSet& kernels);
  void keepNearestToCentroid();
  void refit();

  const Surface* surface_;
  LocalOptions options_;
  std::shared_ptr<const StoredSupports> stored_;  // or null
  std::shared_ptr<const SupportProxy> proxy_;     // or null
  SupportBuilder builder_;
  SupportTable supports_;
  LeafTable leaves_;
  std::vector<float> weights_;  // [N] of squared distances, with CandidateRule::kByReach
  std::vector<Rigid2>
      reference_from_face_;  // [N] coordinates of the face at the last rebuild from those of the present face
  std::vector<Projection> projections_;  // [N] with a proxy, instead of the above
  std::vector<Vec2f> shifts_;            // [N] with a proxy, of centres in the planes of their proxy faces
  std::vector<KernelRow> rows_;          // [N]
};

/// The distance on the long axis of a kernel of length 1 at which f falls to `tail`, at most `cap` (METHOD
/// section 8); others reach in proportion to their lengths.
double supportRadius(double sharpness, double threshold, const LocalOptions& options);

}  // namespace heatskin::local
