#pragma once

// The ground truth, asked at points of a texture's surface. A product keeps the geometry of the asset it was
// fitted to, so both surfaces have the same faces and points carry over as they are; against another mesh of
// the same object (remeshed, requantised, re-exported) points are mapped to the nearest ones in space.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/base/result.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class ClosestPointQuery;

/// Corners further apart than this fraction of the longest side belong to different meshes: a float32 GLB
/// keeps seven digits of an OBJ's positions.
inline constexpr double kSameCornerTolerance = 1e-5;

/// Mean distance between the surfaces, as a fraction of the longest side, above which they are different
/// objects. A coarse simplification stays below a third of it.
inline constexpr double kOtherObjectDistance = 0.01;

/// See the head of the file. Immutable; calls may run concurrently. The appearance and both surfaces must
/// outlive it.
class Reference {
 public:
  /// The appearance of the texture's own surface: points pass unchanged.
  Reference(const Surface& texture_surface, const Appearance& appearance);

  /// The appearance of another surface, compared in asset coordinates. Refuses surfaces that do not lie on
  /// each other (kOtherObjectDistance, both ways). `name` is used in the message.
  static Result<Reference> match(const Surface& texture_surface, const Surface& reference_surface,
                                 const Appearance& appearance, const std::string& name);

  const Appearance& appearance() const { return *appearance_; }
  const Surface& surface() const { return *reference_surface_; }  ///< the appearance's

  /// True when points are mapped to the nearest ones; notices() then says so.
  bool mapped() const { return to_reference_ != nullptr; }
  const std::vector<Notice>& notices() const { return notices_; }

  /// Ground-truth colours at points of the texture's surface; spans of one length.
  void colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors, Filter filter) const;

  /// The same with the reference's visibility and the number of its material; spans of one length.
  void look(std::span<const SurfacePoint> points, std::span<Vec3f> colors, std::span<float> visibilities,
            std::span<int> materials, Filter filter) const;

  /// Ground-truth values of channels that Appearance::knows(); `out` is [points, C].
  void values(std::span<const SurfacePoint> points, const ChannelLayout& layout, std::span<float> out,
              Filter filter) const;

  /// Ground truth of maps of directions in a slot: the interpolated vertex normal n0; the mapped normal n, or
  /// the direction of anisotropy, as long as it is strong; and nonzero where there is a map; spans of one
  /// length. The appearance has directions() of the slot.
  void directions(std::span<const SurfacePoint> points, std::size_t slot, std::span<Vec3> vertex_normals,
                  std::span<Vec3> directions, std::span<std::uint8_t> mapped, Filter filter) const;

  /// How much of the reference is seen at points of the texture's surface; spans of one length.
  void visibilities(std::span<const SurfacePoint> points, std::span<float> visibilities, Filter filter) const;

  /// Points of the texture's surface for points of the reference's; spans of one length.
  void toTexture(std::span<const SurfacePoint> points, std::span<SurfacePoint> out) const;

  /// What of the texture's surface is visible, by the ground truth's alpha. Given to pictures of the ground
  /// truth and of the texture alike, so that both show the same. The reference must outlive it.
  Transparency transparency(Filter filter) const;

  /// For the renderer. The reference must outlive the source.
  ColorSource colorSource(Filter filter) const;

 private:
  Reference() = default;

  /// Points of the reference's surface for points of the texture's, in `storage` unless they are the same.
  std::span<const SurfacePoint> toReference(std::span<const SurfacePoint> points,
                                            std::vector<SurfacePoint>& storage) const;

  const Surface* texture_surface_ = nullptr;
  const Surface* reference_surface_ = nullptr;
  const Appearance* appearance_ = nullptr;
  std::shared_ptr<const ClosestPointQuery> to_reference_, to_texture_;  ///< null: points pass unchanged
  std::vector<Notice> notices_;
};

/// True if both surfaces have the same faces in the same order, corner by corner, in asset coordinates.
bool sameFaces(const Surface& a, const Surface& b);

}  // namespace heatskin
