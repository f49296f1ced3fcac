#pragma once

// A short fit of some kernels of a texture while all others stay as they are, to the bit: what a transfer or
// an edit leaves to be put right.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"
#include "heatskin/training/config.h"

namespace heatskin {

/// A target that counts on some faces alone, or on parts of these: samples are drawn there and nowhere else.
/// The target must outlive it.
class RegionTarget final : public FitTarget {
 public:
  using Inside = std::function<bool(const SurfacePoint&)>;

  /// `inside` is [F], nonzero for faces that count; one at least must. `within`, if given, says which of
  /// their points do.
  RegionTarget(const FitTarget& target, std::vector<std::uint8_t> inside, Inside within = {})
      : target_(&target), inside_(std::move(inside)), within_(std::move(within)) {}

  const ChannelLayout& layout() const override { return target_->layout(); }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override {
    target_->values(points, out);
  }
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const override {
    target_->visibilities(points, out);
    for (std::size_t i = 0; within_ && i < points.size(); ++i)
      out[i] = within_(points[i]) ? out[i] : 0.0f;
  }
  bool hasAlpha() const override { return within_ || target_->hasAlpha(); }
  bool faceConstant(std::uint32_t face) const override {
    return inside_[face] == 0 || target_->faceConstant(face);
  }
  std::uint32_t constantGroups(std::uint32_t face) const override {
    return inside_[face] == 0 ? ~0u : target_->constantGroups(face);
  }
  bool partlyConstant() const override { return target_->partlyConstant(); }

 private:
  const FitTarget* target_;
  std::vector<std::uint8_t> inside_;
  Inside within_;
};

/// Options of a fit with the evaluator options of a product, for refits and for fits to another target.
FitConfig configFor(const EvaluatorOptions& evaluator, std::size_t kernels, std::uint64_t seed);

struct RefitOptions {
  int steps = 300;    ///< of all parameters; 0: the values alone, by least squares
  double pace = 0.6;  ///< learning rates of the first of them, as a part of those that begin a fit
};

/// What it took; counts do not depend on the machine.
struct RefitReport {
  std::size_t free_kernels = 0;
  int steps = 0;
  std::size_t samples = 0;  ///< looked up, in steps and in solves
  double psnr_before = 0, psnr_after = 0;
};

/// Fits the kernels that `free` (nonzero, [N]) names to the target, where that counts. The mean stays.
/// Nothing changes if it would only become worse. The evaluator is one of the surface; afterwards it has to
/// be rebuilt before it is asked. Deterministic for any number of threads.
RefitReport refitKernels(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
                         std::span<const std::uint8_t> free, const FitConfig& config,
                         const RefitOptions& options, KernelSet& kernels);

/// Root mean square errors of the texture around each kernel: at samples, weighted by the kernel's part of
/// the value there. [N], negative where no sample meets a kernel.
std::vector<double> errorsAround(const Surface& surface, const FitTarget& target, Evaluator& evaluator,
                                 const KernelSet& kernels, const FitConfig& config);

/// Kernels with a part in the value of some sample on faces that count, nonzero; [N]. `part`: the least one.
std::vector<std::uint8_t> kernelsInReach(const Surface& surface, const FitTarget& target,
                                         Evaluator& evaluator, const KernelSet& kernels,
                                         const FitConfig& config, float part = 1e-3f);

/// Faces that one of the kernels that `which` names (nonzero, [N]) may reach, nonzero; [F].
std::vector<std::uint8_t> facesInReach(const Surface& surface, const KernelSet& kernels,
                                       std::span<const std::uint8_t> which, const EvaluatorOptions& options);

/// Appends `count` kernels as a fit begins with, where the target counts, half of them where it changes;
/// their lengths follow from the distances between them. Says how many there are.
std::size_t addKernels(const Surface& surface, const FitTarget& target, const FitConfig& config,
                       std::size_t count, KernelSet& kernels);

}  // namespace heatskin
