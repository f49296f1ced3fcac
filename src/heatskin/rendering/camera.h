#pragma once

// The pinhole camera and the views we look from.
//
// Surface coordinates have y up (glTF). Azimuth is measured around y from +z towards +x: azimuth 0 sees the
// front of a glTF asset. Elevation is positive above the horizon. View coordinates are x right, y up, z
// forward (depth); pixel coordinates have the origin at the upper left corner of the image and y down, so
// the centre of pixel (i, j) is (i + 0.5, j + 0.5).

#include <numbers>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

inline constexpr double kDegree = std::numbers::pi / 180;

/// A perspective camera. Every value is usable: a fov outside 0.1..170 degrees is clamped, an eye at the
/// target looks along -z, an up direction along the line of sight is replaced.
struct Camera {
  Vec3 eye = {0, 0, 4};
  Vec3 target = Vec3::Zero();
  Vec3 up = {0, 1, 0};
  double vertical_fov = 40 * kDegree;  ///< radians
  double near_distance = 1e-3;         ///< depth below which geometry is clipped; surface units
};

/// A camera together with an image size: world to view to pixel and back, in double.
class Projection {
 public:
  Projection(const Camera& camera, int width, int height);

  Vec3 viewFromSurface(const Vec3& x) const {
    const Vec3 offset = x - eye_;
    return {right_.dot(offset), up_.dot(offset), forward_.dot(offset)};
  }
  Vec3 surfaceFromView(const Vec3& v) const { return eye_ + v.x() * right_ + v.y() * up_ + v.z() * forward_; }
  Vec3 surfaceDirectionFromView(const Vec3& v) const {
    return v.x() * right_ + v.y() * up_ + v.z() * forward_;
  }

  /// (x w, y w, w) with pixel coordinates (x, y) and w = depth; linear in the view coordinates.
  Vec3 homogeneousPixelFromView(const Vec3& v) const {
    return {center_.x() * v.z() + focal_ * v.x(), center_.y() * v.z() - focal_ * v.y(), v.z()};
  }
  /// Pixel coordinates; the depth must be positive.
  Vec2 pixelFromView(const Vec3& v) const { return homogeneousPixelFromView(v).hnormalized(); }
  Vec2 pixelFromSurface(const Vec3& x) const { return pixelFromView(viewFromSurface(x)); }

  /// The view ray through pixel coordinates, with depth component 1: depth times this is the point.
  Vec3 viewRay(double x, double y) const {
    return {(x - center_.x()) / focal_, (center_.y() - y) / focal_, 1.0};
  }

  const Vec3& eye() const { return eye_; }
  const Vec3& right() const { return right_; }
  const Vec3& up() const { return up_; }
  const Vec3& forward() const { return forward_; }
  double focalLength() const { return focal_; }  ///< pixels
  double nearDistance() const { return near_; }

 private:
  Vec3 eye_, right_, up_, forward_;
  Vec2 center_;
  double focal_ = 1;
  double near_ = 1e-3;
};

/// A sphere that holds all vertices, centred in their bounding box.
struct BoundingSphere {
  Vec3 center = Vec3::Zero();
  double radius = 1;
};
BoundingSphere boundingSphere(const Surface& surface);

/// A camera on a circle around the sphere, far enough for the whole sphere to be in an image of the given
/// aspect (width / height), with `margin` of the sphere's radius to spare. Angles in radians.
Camera orbitCamera(const BoundingSphere& sphere, double azimuth, double elevation, double aspect = 1,
                   double vertical_fov = 40 * kDegree, double margin = 0.04);

/// The 8 standard views of the evaluation (METHOD section 10; the paper does not say which, so these are
/// ours): azimuth 45 k degrees, elevation +20 degrees for even k and -20 for odd k, vertical fov 40 degrees,
/// y up, aimed at the centre of the bounding sphere at the distance where the sphere just fits a square
/// image with a margin of 4 % of its radius. They depend on the vertex positions only.
std::vector<Camera> standardViews(const Surface& surface);

/// Where a picture looks from, radians; at first where the default picture does.
struct ViewAngles {
  double azimuth = 35 * kDegree;
  double elevation = 20 * kDegree;
};

/// Where standardViews()[k] looks from.
ViewAngles standardViewAngles(std::size_t k);

/// Field of view of pictures for people: flatter than the evaluation's, as a photographer would choose.
inline constexpr double kPictureFov = 30 * kDegree;

/// Room around the object in pictures for people, on each side, as part of half the image's side.
inline constexpr double kPictureMargin = 0.08;

/// A camera that looks along the given direction and stands as close as all vertices allow: their projections
/// lie inside of the image without `margin` (part of half its side) and touch it on two opposite sides. Exact
/// for the perspective camera. Angles in radians.
Camera framedCamera(const Surface& surface, double azimuth, double elevation, double aspect = 1,
                    double vertical_fov = kPictureFov, double margin = kPictureMargin);

/// `count` cameras once around the vertical axis through the bounding box's centre at equal angles, starting
/// at azimuth 0, all at the same distance and height: the nearest ones from which every picture holds the
/// object. `elevation` in radians.
std::vector<Camera> turntable(const Surface& surface, int count, double elevation = 20 * kDegree,
                              double aspect = 1);

/// Where the front of an asset is.
enum class Front {
  kPlusZ,    ///< glTF says so
  kUnknown,  ///< OBJ and PLY do not say. Towards +z, unless the object is longer than wide and its upper part
             ///< leans clearly to -z: most things like that are animals, and there is the head.
};

/// Three quarters from the front; a nearly flat asset is seen along its thin axis, 10 degrees off.
ViewAngles defaultAngles(const Surface& surface, Front front = Front::kPlusZ);

/// The one view that shows most: framed from defaultAngles().
Camera defaultView(const Surface& surface, double aspect = 1, Front front = Front::kPlusZ);

}  // namespace heatskin
