#pragma once

// What kernels are fitted to, made from a formula or an array in one line.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/fit_target.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// A formula that writes the C values of a point. Called by several threads at once.
class FunctionTarget final : public FitTarget {
 public:
  using OfPoint = std::function<void(const SurfacePoint& point, std::span<float> values)>;
  using OfPosition = std::function<void(const Vec3& position, std::span<float> values)>;

  explicit FunctionTarget(OfPoint function, ChannelLayout layout = {});

  /// A formula of the place in space, in the coordinates the surface was built from. The surface must outlive
  /// the target.
  FunctionTarget(const Surface& surface, OfPosition function, ChannelLayout layout = {});

  const ChannelLayout& layout() const override { return layout_; }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;

 private:
  OfPoint function_;
  ChannelLayout layout_;
};

/// Values at the vertices of a mesh, linear over its triangles.
class VertexTarget final : public FitTarget {
 public:
  /// `triangles` are those the surface was built from (Surface::build() from plain arrays), `values` is
  /// [positions, C]. Fails when the two do not go together.
  static Result<VertexTarget> make(const Surface& surface,
                                   std::span<const std::array<std::uint32_t, 3>> triangles,
                                   std::span<const float> values, ChannelLayout layout = {});

  const ChannelLayout& layout() const override { return layout_; }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;

 private:
  explicit VertexTarget(ChannelLayout layout);

  ChannelLayout layout_;
  std::vector<float> corners_;  // [F, 3, C]
};

}  // namespace heatskin
