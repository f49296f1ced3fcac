#pragma once

// What kernels are fitted to, whatever it comes from: a formula or an array (below), an asset's textures
// (appearance/appearance_target.h), a class of your own.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class Fingerprint;

/// Values of channels, and how much of them is seen, at points of one surface. Everything but values() has an
/// answer for colours that are opaque and worth fitting everywhere. Calls may come from several threads at
/// once.
class FitTarget {
 public:
  virtual ~FitTarget() = default;

  /// What the channels are; base_color unless told otherwise. The same at every call.
  virtual const ChannelLayout& layout() const;

  /// Values within the ranges of the layout (base_color: sRGB in [0, 1]); those of tangent groups in face
  /// coordinates of the point's face, up to a length of R. `out` is [points, C].
  virtual void values(std::span<const SurfacePoint> points, std::span<float> out) const = 0;

  /// How much of each point is seen: 0 for what nobody sees, 1 for what hides everything behind it; `out` is
  /// [points]. All 1 unless hasAlpha().
  virtual void visibilities(std::span<const SurfacePoint> points, std::span<float> out) const;

  /// True when some point may have a visibility below 1.
  virtual bool hasAlpha() const { return false; }

  /// True when the face has one value in every channel that is known without kernels: none are placed on it.
  virtual bool faceConstant(std::uint32_t /*face*/) const { return false; }

  /// Groups of the layout (one bit each, the first one lowest) that have one value on the face which is known
  /// without kernels: they are neither fitted nor compared there. All or none unless a target says otherwise.
  virtual std::uint32_t constantGroups(std::uint32_t face) const { return faceConstant(face) ? ~0u : 0u; }

  /// True when some face has some groups so and others not.
  virtual bool partlyConstant() const { return false; }

  /// False when every face has one value in every channel: there is nothing to fit.
  virtual bool hasColor() const { return true; }

  /// Adds what tells this target from others with the same layout, for checkpoints. Here: values and
  /// visibilities at three points of every face.
  virtual void identify(const Surface& surface, Fingerprint& fingerprint) const;
};

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

/// Values at the vertices or at the corners of a mesh, linear over its triangles.
class VertexTarget final : public FitTarget {
 public:
  /// `triangles` are those the surface was built from (Surface::build() from plain arrays), `values` is
  /// [positions, C]. Fails when the two do not go together, and for tangent groups: a vertex has no face
  /// coordinates.
  static Result<VertexTarget> make(const Surface& surface,
                                   std::span<const std::array<std::uint32_t, 3>> triangles,
                                   std::span<const float> values, ChannelLayout layout = {});

  /// The same with values of their own for the corners of every triangle, which may then jump across edges:
  /// `values` is [triangles, 3, C].
  static Result<VertexTarget> ofCorners(const Surface& surface, std::span<const float> values,
                                        ChannelLayout layout = {});

  const ChannelLayout& layout() const override { return layout_; }
  void values(std::span<const SurfacePoint> points, std::span<float> out) const override;

 private:
  explicit VertexTarget(ChannelLayout layout);

  ChannelLayout layout_;
  std::vector<float> corners_;  // [F, 3, C]
};

/// How the textures of an asset are read between texels, for a fit and for comparing with it.
enum class Filter : std::uint8_t {
  kAuto,      ///< kNearest or kBilinear, as each texture's sampler says
  kNearest,   ///< glTF: wrap first, then texel floor(u W); texel i covers [i / W, (i + 1) / W)
  kBilinear,  ///< glTF: wrap first, texel centres at (i + 0.5) / W, blended in linear light
  kPaper,     ///< METHOD section 1: x = round(u (W - 1)), then wrapped. Right for coordinates in [0, 1] only:
              ///< a repeated texture shifts by about a texel per repeat. The paper's tables use it.
};

/// Names of the filters, in the order of the enum; as on the command line and in configurations.
inline constexpr std::string_view kFilterNames[] = {"auto", "nearest", "bilinear", "paper"};

constexpr std::string_view filterName(Filter filter) {
  return kFilterNames[static_cast<std::size_t>(filter)];
}

/// Values as kernels know them: parts of the layout's ranges. `out` is [points, C].
void unitValues(const FitTarget& target, std::span<const SurfacePoint> points, std::span<float> out);

/// Channels of the groups that are constant on a face, one bit each.
std::uint32_t constantChannels(const FitTarget& target, std::uint32_t face);

/// Adds a layout, with what training makes of it.
void identifyLayout(const ChannelLayout& layout, Fingerprint& fingerprint);

/// The part of a surface's area that is seen: the mean visibility, estimated from area-uniform points.
/// Exactly 1 without alpha; 0 means that no point was found that anybody could see.
double visibleShare(const Surface& surface, const FitTarget& target);

}  // namespace heatskin
