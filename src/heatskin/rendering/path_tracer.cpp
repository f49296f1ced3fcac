#include "heatskin/rendering/path_tracer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "heatskin/base/parallel.h"
#include "heatskin/rendering/pixel_samples.h"
#include "heatskin/rendering/supersampling.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/rendering/visibility.h"
#include "heatskin/surface/ray_query.h"

namespace heatskin {
namespace {

/// Paths that advance together: enough to ask colour sources for many points at once; some 30 MB.
constexpr std::size_t kWave = std::size_t{1} << 17;
constexpr std::size_t kPathsPerBlock = 512;

/// Rays leave a surface from this far above it, in surface units (longest side 2): rounding moves points by
/// 1e-15, and no picture shows it.
constexpr double kLeave = 1e-7;

/// Shading normals are bent until the viewer sees them at least this steeply (a cosine).
constexpr double kLeastFacing = 0.02;

/// A ray that passed this many transparent faces ends at the next.
constexpr int kMaxPasses = kMaxLayers;

constexpr std::uint64_t kPathStream = 50;
constexpr std::uint64_t kAlphaStream = 51;

/// Pairs of random numbers of a path.
enum Dimension : std::uint32_t { kDirection, kLobe, kLampPlace, kLampChoice, kDimensionsPerBounce };
constexpr std::uint32_t kPixelPlace = 0, kFirstBounce = 1;

std::uint32_t dimension(int bounce, Dimension which) {
  return kFirstBounce + static_cast<std::uint32_t>(bounce) * kDimensionsPerBounce + which;
}

/// An orthonormal frame around a normal.
struct ShadingFrame {
  Vec3 x_axis, y_axis, normal;

  explicit ShadingFrame(const Vec3& n) : x_axis(n.unitOrthogonal()), y_axis(n.cross(x_axis)), normal(n) {}
  Vec3 local(const Vec3& v) const { return {x_axis.dot(v), y_axis.dot(v), normal.dot(v)}; }
  Vec3 world(const Vec3& v) const { return v.x() * x_axis + v.y() * y_axis + v.z() * normal; }
};

/// Where a path is.
struct PathState {
  Ray ray;
  std::uint32_t pixel = 0, sample = 0;
  double density = 0;          ///< that the ray's direction was drawn with; 0: from the camera
  bool catcher = false;        ///< the camera sees the floor there
  bool surface = false;        ///< the camera sees the surface there
  Vec3f open = Vec3f::Zero();  ///< catcher: what the same path gathers on an empty floor
};

/// What a ray meets.
struct Meeting {
  enum class Kind { kNothing, kSurface, kFloor } kind = Kind::kNothing;
  SurfacePoint point;
  double t = 0;
};

/// A ray towards a lamp and what arrives along it if nothing is in the way.
struct LampRay {
  Ray ray;
  std::uint32_t path = 0;
  std::array<Vec3f, kMaxPathSources> light = {Vec3f::Zero(), Vec3f::Zero()};
};

class Tracer {
 public:
  Tracer(const Surface& surface, const Camera& camera, int width, int height,
         std::span<const ColorSource> colors, const PathOptions& options)
      : surface_(surface),
        rays_(surface),
        projection_(camera, width, height),
        width_(width),
        height_(height),
        colors_(colors),
        options_(options),
        bsdf_(options.material),
        lamps_(options.environment),
        numbers_(options.seed, kPathStream),
        chances_(options.seed, kAlphaStream),
        samples_(std::clamp(options.samples, 1, kMaxPathSamples)),
        max_bounces_(std::max(options.max_bounces, 1)) {
    if (options.normals.empty() && options.crease_angle > 0)
      own_normals_ = creaseNormals(surface, options.crease_angle);
    normals_ = own_normals_.empty() ? options.normals : std::span<const std::array<Vec3f, 3>>(own_normals_);
    if (options.surroundings == Surroundings::kBackdrop) open_light_ = openFloorLight(options.environment);
  }

  std::vector<TracedPicture> run() {
    const std::size_t pixels = static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_);
    const bool backdrop = options_.surroundings == Surroundings::kBackdrop;
    std::vector<TracedPicture> pictures(colors_.size());
    for (TracedPicture& picture : pictures) {
      picture.width = width_;
      picture.height = height_;
      picture.light.assign(pixels, Vec3f::Zero());
      picture.coverage.assign(pixels, 0);
      if (backdrop) picture.backdrop.assign(pixels, Vec3f::Ones());
    }
    // Pixels with more samples than a wave holds are cut; sums go on in the order of samples.
    const auto samples = static_cast<std::size_t>(samples_);
    const std::size_t at_once = std::min(samples, kWave);
    const std::size_t pixels_at_once = std::max<std::size_t>(1, kWave / samples);
    for (std::size_t first = 0; first < pixels; first += pixels_at_once) {
      const std::size_t count = std::min(pixels_at_once, pixels - first);
      std::vector<PixelSums> sums(count);
      for (std::size_t sample = 0; sample < samples; sample += at_once)
        wave(first, count, sample, std::min(at_once, samples - sample), sums);
      for (std::size_t i = 0; i < count; ++i)
        resolve(sums[i], first + i, pictures);
      if (options_.progress)
        options_.progress(static_cast<double>(first + count) / static_cast<double>(pixels));
    }
    return pictures;
  }

 private:
  /// Sums over the samples of one pixel.
  struct PixelSums {
    std::array<Vec3, kMaxPathSources> light = {Vec3::Zero(), Vec3::Zero()};
    std::array<Vec3, kMaxPathSources> backdrop = {Vec3::Zero(), Vec3::Zero()};
    std::size_t covered = 0;
  };

  void resolve(const PixelSums& sums, std::size_t pixel, std::vector<TracedPicture>& pictures) const {
    const auto missed = static_cast<double>(static_cast<std::size_t>(samples_) - sums.covered);
    for (std::size_t s = 0; s < pictures.size(); ++s) {
      pictures[s].light[pixel] = (sums.light[s] / samples_).cast<float>();
      pictures[s].coverage[pixel] = static_cast<float>(sums.covered) / static_cast<float>(samples_);
      if (options_.surroundings == Surroundings::kBackdrop && missed > 0)
        pictures[s].backdrop[pixel] = (sums.backdrop[s] / missed).cast<float>();
    }
  }

  /// Traces some samples of some pixels and adds them to the sums.
  void wave(std::size_t first_pixel, std::size_t pixels, std::size_t first_sample, std::size_t samples,
            std::vector<PixelSums>& sums) {
    const std::size_t count = pixels * samples;
    paths_.assign(count, {});
    for (std::size_t s = 0; s < colors_.size(); ++s) {
      throughput_[s].assign(count, Vec3f::Ones());
      light_[s].assign(count, Vec3f::Zero());
    }
    active_.resize(count);
    parallelFor(count, kPathsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        active_[i] = static_cast<std::uint32_t>(i);
        startPath(paths_[i], first_pixel + i / samples, first_sample + i % samples);
      }
    });
    for (int bounce = 0; !active_.empty() && bounce <= max_bounces_; ++bounce)
      advance(bounce);
    const bool backdrop = options_.surroundings == Surroundings::kBackdrop;
    parallelFor(pixels, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        for (std::size_t i = p * samples; i < (p + 1) * samples; ++i) {
          const PathState& path = paths_[i];
          sums[p].covered += path.surface ? 1 : 0;
          for (std::size_t s = 0; s < colors_.size(); ++s) {
            if (path.surface || !backdrop) {
              sums[p].light[s] += light_[s][i].cast<double>();
            } else {
              // The difference to the same path without the object: an empty floor has no noise.
              const Vec3f lost =
                  path.catcher ? Vec3f((light_[s][i] - path.open).cwiseQuotient(open_light_.cwiseMax(1e-6f)))
                               : Vec3f::Zero();
              sums[p].backdrop[s] += (Vec3f::Ones() + lost).cast<double>();
            }
          }
        }
      }
    });
  }

  void startPath(PathState& path, std::size_t pixel, std::size_t sample) const {
    path.pixel = static_cast<std::uint32_t>(pixel);
    path.sample = static_cast<std::uint32_t>(sample);
    const Vec2 u = numbers_.pair(path.pixel, path.sample, kPixelPlace);
    const auto width = static_cast<std::size_t>(width_);
    const double x = static_cast<double>(pixel % width) + u.x();
    const double y = static_cast<double>(pixel / width) + u.y();
    const Vec3 direction = projection_.surfaceDirectionFromView(projection_.viewRay(x, y)).normalized();
    path.ray = {projection_.eye() + projection_.nearDistance() * direction, direction};
  }

  /// All active paths one step further.
  void advance(int bounce) {
    const std::size_t count = active_.size();
    meetings_.resize(count);
    parallelFor(count, kPathsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        meetings_[i] = meet(paths_[active_[i]].ray);
    });
    passThrough(bounce);
    queryColors();
    lamp_rays_.assign(count, {});
    goes_on_.assign(count, 0);
    parallelFor(count, kPathsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        goes_on_[i] = shade(i, bounce) ? 1 : 0;
    });
    addLamps(bounce);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (goes_on_[i] != 0) active_[kept++] = active_[i];
    }
    active_.resize(kept);
  }

  Meeting meet(const Ray& ray) const {
    Meeting result;
    const RayHit hit = rays_.nearest(ray);
    if (hit.any()) result = {Meeting::Kind::kSurface, hit.point, hit.t};
    if (const auto t = floorAt(ray); t && (!hit.any() || *t < hit.t))
      result = {Meeting::Kind::kFloor, {}, *t};
    return result;
  }

  std::optional<double> floorAt(const Ray& ray) const {
    if (!options_.has_floor) return std::nullopt;
    const Vec3& up = options_.environment.up;
    const double descent = up.dot(ray.direction), height = up.dot(ray.origin - options_.floor.center);
    // Backdrops have no underside: one can look up through the floor.
    if (options_.surroundings == Surroundings::kBackdrop && descent >= 0) return std::nullopt;
    const double t = -height / descent;
    if (!(t > 0) || !(t <= ray.reach)) return std::nullopt;
    if (std::isinf(options_.floor.half_side)) return t;
    const Vec3 offset = ray.origin + t * ray.direction - options_.floor.center;
    const Vec3 x_axis = std::abs(up.y()) > 0.9 ? Vec3(1, 0, 0) : up.unitOrthogonal();
    const Vec3 y_axis = up.cross(x_axis);
    if (std::max(std::abs(offset.dot(x_axis)), std::abs(offset.dot(y_axis))) > options_.floor.half_side)
      return std::nullopt;
    return t;
  }

  /// Lets rays through transparent faces, by chance, until all have met something that stops them.
  void passThrough(int bounce) {
    if (options_.transparency == nullptr || options_.transparency->opaque()) return;
    const auto rayOf = [&](std::size_t i) -> Ray& { return paths_[active_[i]].ray; };
    resolveAlpha(
        active_.size(), 2 * static_cast<std::uint64_t>(bounce), rayOf,
        [&](std::size_t i) { return active_[i]; }, meetings_);
  }

  /// See passThrough(); also for rays to lamps. Rays move on to behind the faces they pass.
  template <class RayOf, class PathOf>
  void resolveAlpha(std::size_t count, std::uint64_t use, const RayOf& rayOf, const PathOf& pathOf,
                    std::vector<Meeting>& meetings) {
    const Transparency& transparency = *options_.transparency;
    std::vector<std::size_t> waiting;
    std::vector<SurfacePoint> points;
    std::vector<float> alpha;
    for (std::size_t i = 0; i < count; ++i) {
      if (meetings[i].kind == Meeting::Kind::kSurface && transparency.maySeeThrough(meetings[i].point.face))
        waiting.push_back(i);
    }
    for (int pass = 0; pass < kMaxPasses && !waiting.empty(); ++pass) {
      points.clear();
      for (const std::size_t i : waiting)
        points.push_back(meetings[i].point);
      alpha.assign(points.size(), 1.0f);
      for (std::size_t begin = 0; begin < points.size(); begin += kColorBatch) {
        const std::size_t n = std::min(kColorBatch, points.size() - begin);
        transparency.alpha(std::span(points).subspan(begin, n), std::span(alpha).subspan(begin, n));
      }
      std::vector<std::uint8_t> again(waiting.size(), 0);
      parallelFor(waiting.size(), kPathsPerBlock, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          const std::size_t i = waiting[k];
          const PathState& path = paths_[pathOf(i)];
          const std::uint32_t face = meetings[i].point.face;
          Ray& ray = rayOf(i);
          const Vec3 normal = surface_.frames()[face].normal();
          const bool front = normal.dot(ray.direction) < 0;
          const bool hidden = !front && !transparency.one_sided.empty() && transparency.one_sided[face] != 0;
          const auto words = chances_.words((static_cast<std::uint64_t>(path.pixel) << 32) ^
                                            (static_cast<std::uint64_t>(path.sample) << 14) ^ (use << 7) ^
                                            static_cast<std::uint64_t>(pass));
          if (!hidden && unitFloat(words[0]) < alpha[k]) continue;
          const Vec3 at = surface_.position(meetings[i].point);
          ray.origin = at + (front ? -kLeave : kLeave) * normal;
          meetings[i] = meet(ray);
          again[k] = meetings[i].kind == Meeting::Kind::kSurface &&
                             transparency.maySeeThrough(meetings[i].point.face)
                         ? 1
                         : 0;
        }
      });
      std::size_t kept = 0;
      for (std::size_t k = 0; k < waiting.size(); ++k) {
        if (again[k] != 0) waiting[kept++] = waiting[k];
      }
      waiting.resize(kept);
    }
  }

  /// Base colours and materials where the active paths meet the surface.
  void queryColors() {
    points_.clear();
    point_of_.assign(active_.size(), 0);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (meetings_[i].kind != Meeting::Kind::kSurface) continue;
      point_of_[i] = static_cast<std::uint32_t>(points_.size());
      points_.push_back(meetings_[i].point);
    }
    if (options_.materials) {
      found_.assign(points_.size(), {});
      for (std::size_t begin = 0; begin < points_.size(); begin += kColorBatch) {
        const std::size_t n = std::min(kColorBatch, points_.size() - begin);
        options_.materials(std::span(points_).subspan(begin, n), std::span(found_).subspan(begin, n));
      }
    }
    for (std::size_t s = 0; s < colors_.size(); ++s) {
      base_[s].resize(points_.size());
      for (std::size_t begin = 0; begin < points_.size(); begin += kColorBatch) {
        const std::size_t n = std::min(kColorBatch, points_.size() - begin);
        colors_[s](std::span(points_).subspan(begin, n), std::span(base_[s]).subspan(begin, n));
      }
      if (options_.colors_are_linear) continue;
      parallelFor(base_[s].size(), 4096, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          base_[s][i] = raster::linearColor(base_[s][i]);
      });
    }
  }

  /// Gathers light where a path is and draws where it goes; false: it ends. `i` counts active paths.
  bool shade(std::size_t i, int bounce) {
    const std::uint32_t p = active_[i];
    PathState& path = paths_[p];
    const Meeting& meeting = meetings_[i];
    switch (meeting.kind) {
      case Meeting::Kind::kNothing:
        if (bounce > 0 || options_.surroundings == Surroundings::kScene) {
          const Vec3f arriving = arrivingFrom(path.ray.direction, path.density);
          for (std::size_t s = 0; s < colors_.size(); ++s)
            light_[s][p] += throughput_[s][p].cwiseProduct(arriving);
        }
        return false;
      case Meeting::Kind::kFloor:
        return shadeFloor(i, bounce);
      case Meeting::Kind::kSurface:
        return shadeSurface(i, bounce);
    }
    return false;
  }

  /// The environment's light along a direction that was drawn with this density, without the part of lamps
  /// that drawing lamps stands for.
  Vec3f arrivingFrom(const Vec3& direction, double density) const {
    Vec3f light = options_.environment.dome(direction);
    if (lamps_.empty()) return light;
    const double lamp = density > 0 ? lamps_.density(direction) : 0;
    const double weight = lamp > 0 ? density / (density + lamp) : 1;
    return light + static_cast<float>(weight) * options_.environment.lamps(direction);
  }

  /// A direction towards a lamp, its light, and the density it was drawn with.
  struct LampSample {
    Vec3 direction;
    Vec3f radiance;
    double density = 0;
  };
  LampSample drawLamp(const PathState& path, int bounce) const {
    const Vec2 u = numbers_.pair(path.pixel, path.sample, dimension(bounce, kLampPlace));
    const Vec2 which = numbers_.pair(path.pixel, path.sample, dimension(bounce, kLampChoice));
    LampSample result{lamps_.sample(u, which.x()), Vec3f::Zero(), 0};
    result.density = lamps_.density(result.direction);
    result.radiance = options_.environment.lamps(result.direction);
    return result;
  }

  bool shadeFloor(std::size_t i, int bounce) {
    const std::uint32_t p = active_[i];
    PathState& path = paths_[p];
    const Vec3& up = options_.environment.up;
    if (path.ray.direction.dot(up) >= 0 || bounce == max_bounces_) return false;  // its underside is black
    const bool caught = bounce == 0 && options_.surroundings == Surroundings::kBackdrop;
    const float albedo = caught ? 1.0f : options_.floor.albedo;
    path.catcher = path.catcher || caught;
    const Vec3 origin = path.ray.origin + meetings_[i].t * path.ray.direction + kLeave * up;
    const ShadingFrame frame(up);

    if (!lamps_.empty()) {
      const LampSample lamp = drawLamp(path, bounce);
      const double cosine = lamp.direction.dot(up);
      if (cosine > 0 && lamp.density > 0) {
        const double own = cosine / std::numbers::pi;
        const Vec3f light =
            static_cast<float>(own / (lamp.density + own)) * lamp.radiance;  // balance heuristic
        LampRay& ray = lamp_rays_[i];
        ray.path = p;
        ray.ray = {origin, lamp.direction};
        for (std::size_t s = 0; s < colors_.size(); ++s)
          ray.light[s] = albedo * throughput_[s][p].cwiseProduct(light);
        if (caught) path.open += light;
      }
    }
    const Vec3 local = cosineDirection(numbers_.pair(path.pixel, path.sample, dimension(bounce, kDirection)));
    if (!(local.z() > 0)) return false;
    path.ray = {origin, frame.world(local)};
    path.density = local.z() / std::numbers::pi;
    for (std::size_t s = 0; s < colors_.size(); ++s)
      throughput_[s][p] *= albedo;
    if (caught) path.open += arrivingFrom(path.ray.direction, path.density);
    return true;
  }

  bool shadeSurface(std::size_t i, int bounce) {
    const std::uint32_t p = active_[i];
    PathState& path = paths_[p];
    const SurfacePoint& point = meetings_[i].point;
    if (bounce == 0) path.surface = true;
    const std::uint32_t color = point_of_[i];
    const SurfaceMaterial* material = options_.materials ? &found_[color] : nullptr;
    if (material != nullptr && material->emissive.maxCoeff() > 0) {
      for (std::size_t s = 0; s < colors_.size(); ++s)
        light_[s][p] += throughput_[s][p].cwiseProduct(material->emissive);
    }
    if (bounce == max_bounces_) return false;
    const PrincipledBsdf own_bsdf = material != nullptr ? PrincipledBsdf(optionsOf(*material)) : bsdf_;
    const Vec3 to_viewer = -path.ray.direction;
    Vec3 face_normal = surface_.frames()[point.face].normal();
    const bool back = face_normal.dot(to_viewer) < 0;
    if (back && options_.one_sided) return false;
    if (back) face_normal = -face_normal;
    const Vec3 position = surface_.position(point);
    Vec3 normal = face_normal, origin = position;
    if (!normals_.empty()) {
      normal = smoothNormal(point, back, face_normal, to_viewer);
      if (material != nullptr)
        normal = bent((back ? -1.0 : 1.0) * material->normal.cast<double>(), to_viewer);
      origin = smoothPosition(point, back, position);
    }
    origin += kLeave * face_normal;
    const ShadingFrame frame(normal);
    const Vec3 out = frame.local(to_viewer);

    if (!lamps_.empty()) {
      const LampSample lamp = drawLamp(path, bounce);
      const Vec3 in = frame.local(lamp.direction);
      if (in.z() > 0 && lamp.density > 0 && lamp.direction.dot(face_normal) > 0) {
        const double own = own_bsdf.density(out, in);
        const ByBaseColor value = own_bsdf.value(out, in) * (in.z() / (lamp.density + own));
        LampRay& ray = lamp_rays_[i];
        ray.path = p;
        ray.ray = {origin, lamp.direction};
        for (std::size_t s = 0; s < colors_.size(); ++s) {
          ray.light[s] = throughput_[s][p].cwiseProduct(value(base_[s][color])).cwiseProduct(lamp.radiance);
        }
      }
    }
    const Vec2 u = numbers_.pair(path.pixel, path.sample, dimension(bounce, kDirection));
    const Vec2 lobe = numbers_.pair(path.pixel, path.sample, dimension(bounce, kLobe));
    const auto drawn = own_bsdf.sample(out, u, lobe.x());
    if (!drawn) return false;
    const Vec3 direction = frame.world(drawn->in).normalized();
    if (!(direction.dot(face_normal) > 0)) return false;  // below the face, though above the smooth surface
    path.ray = {origin, direction};
    path.density = drawn->density;
    for (std::size_t s = 0; s < colors_.size(); ++s)
      throughput_[s][p] = throughput_[s][p].cwiseProduct(drawn->weight(base_[s][color]));
    return true;
  }

  Vec3 smoothNormal(const SurfacePoint& point, bool back, const Vec3& face_normal,
                    const Vec3& to_viewer) const {
    Vec3 normal = Vec3::Zero();
    for (std::size_t c = 0; c < 3; ++c)
      normal += point.barycentric[static_cast<Eigen::Index>(c)] * normals_[point.face][c].cast<double>();
    if (back) normal = -normal;
    return bent(normal.norm() > 0 ? Vec3(normal.normalized()) : face_normal, to_viewer);
  }

  /// A shading normal that the viewer can see.
  static Vec3 bent(const Vec3& normal, const Vec3& to_viewer) {
    const double facing = normal.dot(to_viewer);
    if (facing >= kLeastFacing) return normal;
    return (normal + (kLeastFacing - facing) * to_viewer).normalized();
  }

  static PrincipledOptions optionsOf(const SurfaceMaterial& material) {
    return {static_cast<double>(material.roughness), static_cast<double>(material.metallic), 1.5};
  }

  /// Where rays leave a face that is shaded smoothly: on the curved surface its normals stand for, so that
  /// the flat face does not hide lamps from the round shape (Hanika, "Hacking the shadow terminator", Ray
  /// Tracing Gems II, 2021).
  Vec3 smoothPosition(const SurfacePoint& point, bool back, const Vec3& position) const {
    Vec3 result = Vec3::Zero();
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3& corner = surface_.positions()[surface_.faces()[point.face][c]];
      const Vec3 normal = (back ? -1.0 : 1.0) * normals_[point.face][c].cast<double>();
      const double below = std::min(0.0, (position - corner).dot(normal));
      result += point.barycentric[static_cast<Eigen::Index>(c)] * (position - below * normal);
    }
    return result;
  }

  /// Light of the lamps that nothing hides.
  void addLamps(int bounce) {
    if (lamps_.empty()) return;
    const auto wanted = [](const LampRay& ray) {
      return ray.light[0].maxCoeff() > 0 || ray.light[1].maxCoeff() > 0;
    };
    std::erase_if(lamp_rays_, [&](const LampRay& ray) { return !wanted(ray); });
    const bool transparent = options_.transparency != nullptr && !options_.transparency->opaque();
    std::vector<Meeting> meetings(transparent ? lamp_rays_.size() : 0);
    const auto floorHides = [&](const Ray& ray) { return floorAt(ray).has_value(); };
    parallelFor(lamp_rays_.size(), kPathsPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        LampRay& lamp = lamp_rays_[i];
        if (transparent) {
          meetings[i] = meet(lamp.ray);
        } else if (!rays_.blocked(lamp.ray) && !floorHides(lamp.ray)) {
          for (std::size_t s = 0; s < colors_.size(); ++s)
            light_[s][lamp.path] += lamp.light[s];
        }
      }
    });
    if (!transparent) return;
    resolveAlpha(
        lamp_rays_.size(), 2 * static_cast<std::uint64_t>(bounce) + 1,
        [&](std::size_t i) -> Ray& { return lamp_rays_[i].ray; },
        [&](std::size_t i) { return lamp_rays_[i].path; }, meetings);
    for (std::size_t i = 0; i < lamp_rays_.size(); ++i) {
      if (meetings[i].kind != Meeting::Kind::kNothing) continue;
      for (std::size_t s = 0; s < colors_.size(); ++s)
        light_[s][lamp_rays_[i].path] += lamp_rays_[i].light[s];
    }
  }

  const Surface& surface_;
  RayQuery rays_;
  Projection projection_;
  int width_, height_;
  std::span<const ColorSource> colors_;
  const PathOptions& options_;
  PrincipledBsdf bsdf_;
  SoftboxSampler lamps_;
  PixelSamples numbers_;
  RandomStream chances_;
  int samples_, max_bounces_;
  std::vector<std::array<Vec3f, 3>> own_normals_;
  std::span<const std::array<Vec3f, 3>> normals_;  // [F] or empty: faces are flat
  Vec3f open_light_ = Vec3f::Ones();

  // Of the wave that is under way.
  std::vector<PathState> paths_;                                        // [paths]
  std::array<std::vector<Vec3f>, kMaxPathSources> throughput_, light_;  // [paths]
  std::vector<std::uint32_t> active_;                                   // [active] into paths
  std::vector<Meeting> meetings_;                                       // [active]
  std::vector<SurfacePoint> points_;                                    // [on the surface]
  std::vector<std::uint32_t> point_of_;                                 // [active] into points
  std::array<std::vector<Vec3f>, kMaxPathSources> base_;                // [on the surface] linear
  std::vector<SurfaceMaterial> found_;  // [on the surface], or empty: options_.material
  std::vector<LampRay> lamp_rays_;
  std::vector<std::uint8_t> goes_on_;  // [active]
};

}  // namespace

std::vector<TracedPicture> tracePaths(const Surface& surface, const Camera& camera, int width, int height,
                                      std::span<const ColorSource> colors, const PathOptions& options) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide) return {};
  if (colors.empty() || colors.size() > kMaxPathSources) return {};
  return Tracer(surface, camera, width, height, colors, options).run();
}

}  // namespace heatskin
