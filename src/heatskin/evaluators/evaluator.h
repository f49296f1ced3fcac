#pragma once

// The one interface behind which LocalHK, ThermalRF and HKTex stand (DESIGN: "one interface for three
// evaluators"). An evaluator turns a batch of surface points into at most `capacity` pairs (kernel, x) each,
// x already windowed (METHOD section 3), and later dL/dx into dL/d(position, angle, anisotropy). Soft
// threshold, selection, colour, loss and optimisers know nothing of which evaluator runs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "heatskin/kernels/gradient_sums.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/kernels/response_block.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// See the head of the file. respond() and respondVjp() may run concurrently; the other calls may not.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// "local", "thermal" or "spectral".
  virtual std::string_view name() const = 0;

  /// Candidates per query at most.
  virtual std::size_t capacity() const = 0;

  /// Kernels were added, removed or reordered, or it is time to renew what depends on their positions.
  virtual void rebuild(const KernelSet& kernels) = 0;

  /// Parameters changed a little since the last rebuild() or refresh(), the kernels are the same ones.
  /// `motions` has for each kernel the face coordinates of its new face from those of its old one (identity
  /// if it stayed), or is empty when no kernel changed its face.
  virtual void refresh(const KernelSet& kernels, std::span<const Rigid2> motions) = 0;

  /// Steps between rebuilds during a fit whose learning rates have come down to `pace` times the first ones;
  /// 0: only when kernels are added or removed.
  virtual int rebuildInterval(double pace) const = 0;

  /// With true, respond() is only asked about points that prepare() named since the last rebuild() or
  /// refresh(), and these two may leave out what only queries need. At first false.
  virtual void expectBatches(bool) {}

  /// The points respond() will be asked about; they stay where they are until then. Asking with parts of this
  /// very array is fastest.
  virtual void prepare(std::span<const SurfacePoint>) {}

  /// Candidates and responses of a block of queries. `out` is resized.
  virtual void respond(std::span<const SurfacePoint> queries, ResponseBlock& out) const = 0;

  /// Adds sum over candidates of dx[i] * dx_i/d(position, angle, anisotropy) to `sums`. `responses` is what
  /// respond() returned for the same queries; `dx` is [Q, stride], entries of unused candidates are not
  /// read, zeros are skipped.
  virtual void respondVjp(std::span<const SurfacePoint> queries, const ResponseBlock& responses,
                          std::span<const float> dx, GradientSums& sums) const = 0;

  /// Turns the position in a finished gradient (all parts of the batch added up) into face coordinates of the
  /// kernel's face.
  virtual void finish(std::uint32_t kernel, GeometryGradient& gradient) const = 0;
};

}  // namespace heatskin
