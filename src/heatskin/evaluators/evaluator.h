#pragma once

// The one interface behind which LocalHK, ThermalRF and HKTex stand (DESIGN: "one interface for three
// evaluators"). An evaluator turns surface points into pairs (kernel, x), x already windowed (METHOD section
// 3), and later dL/dx into dL/d(position, angle, anisotropy). Soft threshold, selection, colour, loss and
// optimisers know nothing of which evaluator runs.
//
//   evaluator.rebuild(kernels);
//   const auto batch = evaluator.begin(points);
//   batch->respond(0, 64, workspace);               // workspace.responses: candidates and their x
//   batch->respondVjp(0, 64, workspace, dx, sums);  // and back

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "heatskin/base/result.h"
#include "heatskin/kernels/gradient_sums.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/kernels/response_block.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Points and what an evaluator worked out about them. Valid until the evaluator's next rebuild() or
/// refresh(); points and evaluator must live as long. Ranges may be asked about concurrently, each with a
/// workspace of its own.
class EvaluatorBatch {
 public:
  virtual ~EvaluatorBatch() = default;

  /// Candidates and responses of the points [begin, end), into `workspace.responses`.
  virtual void respond(std::size_t begin, std::size_t end, Workspace& workspace) const = 0;

  /// For kernels with tangent groups: the rotations of the candidates that are left in `workspace`, which is
  /// otherwise as respond() left it for the same range. They are constants between two rebuilds, but for the
  /// motions that refresh() was told of.
  virtual void turns(std::size_t begin, std::size_t end, Workspace& workspace) const;

  /// Adds sum over candidates of dx[i] * dx_i/d(position, angle, anisotropy) to `sums`. The workspace is as
  /// respond() left it for the same range, but candidates may have been removed from it; `dx` is [points of
  /// the range, stride], entries of unused candidates are not read, zeros are skipped.
  virtual void respondVjp(std::size_t begin, std::size_t end, Workspace& workspace, std::span<const float> dx,
                          GradientSums& sums) const = 0;
};

/// No rotations: of methods that take no tangent groups (MethodTraits::tangents).
inline void EvaluatorBatch::turns(std::size_t, std::size_t, Workspace& workspace) const {
  workspace.responses.resizeTurns();
  std::fill(workspace.responses.cosines.begin(), workspace.responses.cosines.end(), 1.0f);
  std::fill(workspace.responses.sines.begin(), workspace.responses.sines.end(), 0.0f);
}

/// See the head of the file. begin() and finish() may run concurrently; what changes the evaluator may not.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// Refuses kernels that ask for more work than their number and that of the faces justifies, by `share` of
  /// what is allowed (a fit leaves room for its kernels to change; ErrorKind::kUsage), or for more memory
  /// than there is (kInput).
  virtual Result<void> check(const KernelSet& kernels, double share) const = 0;

  /// Kernels were added, removed or reordered, or it is time to renew what depends on their positions.
  virtual void rebuild(const KernelSet& kernels) = 0;

  /// rebuild() for the steps of a fit: what hardly depends on the exact place and size of a kernel may be
  /// that of a place nearby and a slightly larger kernel, so that it need not be made anew whenever a kernel
  /// moves a little. It depends on the kernels alone, not on what was there before.
  virtual void rebuildForSteps(const KernelSet& kernels) { rebuild(kernels); }

  /// Parameters changed a little since the last rebuild() or refresh(), the kernels are the same ones.
  /// `motions` has for each kernel the face coordinates of its new face from those of its old one (identity
  /// if it stayed), or is empty when no kernel changed its face.
  virtual void refresh(const KernelSet& kernels, std::span<const Rigid2> motions) = 0;

  /// Works out now what any point may need, until the next rebuild() or refresh(): for textures that do not
  /// change. Otherwise begin() works out what its points need.
  virtual void complete() {}

  /// A batch of points, which must stay where they are. `previous`, if given, is a batch of this evaluator
  /// that is done with: its memory is used again.
  virtual std::unique_ptr<EvaluatorBatch> begin(std::span<const SurfacePoint> points,
                                                std::unique_ptr<EvaluatorBatch> previous = {}) const = 0;

  /// For each point a number of what evaluating it reads: points with equal numbers read the same, and many
  /// points are answered faster in the order of these. `out` is [points].
  virtual void tablesOf(std::span<const SurfacePoint> points, std::span<std::uint32_t> out) const {
    for (std::size_t i = 0; i < points.size(); ++i)
      out[i] = points[i].face;
  }

  /// Turns the position in a finished gradient (all parts of the batch added up) into face coordinates of the
  /// kernel's face.
  virtual void finish(std::uint32_t kernel, GeometryGradient& gradient) const = 0;
};

}  // namespace heatskin
