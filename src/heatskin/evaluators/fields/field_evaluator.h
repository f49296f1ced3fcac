#pragma once

// HKTex and ThermalRF behind the common interface. Both give a kernel a heat that is linear in the query's
// barycentric coordinates, and both measure nearness in an embedding of the vertices. What a kernel needs is
// therefore worked out once per step at the vertices near it, and a query mixes three of those.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "heatskin/base/per_thread.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/fields/field_response.h"
#include "heatskin/evaluators/fields/heat_source.h"
#include "heatskin/evaluators/fields/near_lists.h"

namespace heatskin::fields {

struct FieldOptions {
  double window_sigma = 0.05;  ///< of the Gaussian window over embedding distance
  std::size_t candidates = 50;
};

/// A kernel counts until its weight f falls to this; farther away its response is zero. Thirty such weights
/// change a colour by less than an 8-bit level.
inline constexpr double kFieldTail = 1e-4;

/// Normalised heat is taken to be at most this (METHOD section 3 saw 1.34; more on coarse meshes).
inline constexpr double kMostHeat = 2;

/// See the head of the file. Right after rebuild() the candidates are exactly the nearest; later, a kernel
/// that moved by more than a twentieth of the distance to a query's last candidate may be missing where it is
/// new.
class FieldEvaluator final : public Evaluator {
 public:
  /// The surface must outlive it. `coordinates` of the embedding are [V, dimensions].
  FieldEvaluator(const Surface& surface, std::span<const float> coordinates, std::size_t dimensions,
                 std::unique_ptr<HeatSource> source, const FieldOptions& options);

  /// Lists hold little more than the candidates, whatever the kernels are: makeEvaluator() has looked.
  Result<void> check(const KernelSet&, double) const override { return {}; }
  void rebuild(const KernelSet& kernels) override { update(kernels, true); }
  void refresh(const KernelSet& kernels, std::span<const Rigid2> motions) override;
  void complete() override;
  std::unique_ptr<EvaluatorBatch> begin(std::span<const SurfacePoint> points,
                                        std::unique_ptr<EvaluatorBatch> previous = {}) const override;
  void finish(std::uint32_t, GeometryGradient&) const override {
  }  // positions are in the kernel's face already

  /// What the inner loops read; for tests and benchmarks.
  FieldTables tables() const;
  FieldQuery query(const SurfacePoint& p) const;
  const Embedding& embedding() const { return embedding_; }
  const NearLists& lists() const { return lists_; }

 private:
  class Batch;
  struct QueryScratch;

  /// Whether heat is known at a place, since the last update().
  enum HeatState : std::uint8_t { kUnknown, kWanted, kKnown };

  /// A thread's memory for updateHeat().
  struct HeatScratch {
    std::vector<std::uint32_t> pairs, vertices;
    std::vector<float> rows;
  };

  void update(const KernelSet& kernels, bool fresh);
  void makeLists(const KernelSet& kernels);
  void updateDistances(std::uint32_t kernel);
  void updateHeat(std::uint32_t kernel, bool only_wanted, HeatScratch& scratch) const;

  const Surface* surface_;
  FieldOptions options_;
  Embedding embedding_;
  std::unique_ptr<HeatSource> source_;
  NearListBuilder builder_;
  NearLists lists_, old_lists_;
  std::size_t listed_count_ = 0;  // kernels at the last makeLists()

  std::vector<Pose> poses_;                // [N]
  std::vector<std::uint32_t> faces_;       // [N]
  Embedding::Rows centers_;                // [N, dimensions] kernels in the embedding
  std::vector<float> cutoffs_;             // [N] squared
  std::vector<std::uint32_t> squares_of_;  // [N] face whose corners squares_ belong to
  std::array<std::vector<float>, 3> squares_,
      old_squares_;                  // [P] |Z_v - Z_c|^2 for corner c of the kernel's face, by kernel
  std::vector<std::uint32_t> from_;  // [P] where a pair was in the old lists
  std::vector<float> distances_;     // [P] by place

  // Heat is worked out where a batch needs it, or everywhere by complete(). A batch reads only what was known
  // when it was made, so that the next one may add to it.
  bool complete_ = false;
  mutable std::mutex heating_;                    // batches of a changing evaluator are made one by one
  mutable std::vector<std::uint8_t> heat_state_;  // [P] by place, a HeatState
  mutable std::vector<PairHeat> heats_;           // [P] by place
  PerThread<HeatScratch> heat_scratch_;
  PerThread<std::vector<std::uint32_t>> places_scratch_;
};

}  // namespace heatskin::fields
