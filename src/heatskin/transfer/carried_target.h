#pragma once

// The look of one surface as a target for kernels on another one.

#include <cstdint>
#include <span>
#include <vector>

#include "heatskin/surface/fit_target.h"
#include "heatskin/texture/kernel_texture.h"
#include "heatskin/transfer/correspondence.h"

namespace heatskin {

/// A texture as a target of its own surface. The texture must outlive it.
class TextureTarget final : public FitTarget {
 public:
  explicit TextureTarget(const KernelTexture& texture) : texture_(&texture) {}
  const ChannelLayout& layout() const override { return texture_->layout(); }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override {
    texture_->values(points, out);
  }

 private:
  const KernelTexture* texture_;
};

/// Values of `look`, a target of `there.to()`, at points of `there.from()`. Points without a counterpart have
/// what is around them: values of the vertices at the border, spread over the part as evenly as they go. Look
/// and correspondence must outlive it.
class CarriedTarget final : public FitTarget {
 public:
  CarriedTarget(const FitTarget& look, const Correspondence& there);

  const ChannelLayout& layout() const override { return look_->layout(); }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;
  void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const override;
  bool hasAlpha() const override { return look_->hasAlpha(); }

  /// The part of the area without a counterpart, and the faces that have some of it.
  double unmatchedArea() const { return unmatched_; }
  const std::vector<std::uint8_t>& unmatchedFaces() const { return unmatched_faces_; }  // [F]

 private:
  void lookUp(std::span<const SurfacePoint> points, std::span<const Counterpart> found,
              std::span<float> out) const;
  void fillUnmatched();

  const FitTarget* look_;
  const Correspondence* there_;
  double unmatched_ = 0;
  std::vector<std::uint8_t> unmatched_faces_;
  std::vector<float> filled_;  // [V, C], or empty: everything has a counterpart
};

}  // namespace heatskin
