#include "heatskin/evaluation/reference.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "heatskin/appearance/shading_normals.h"
#include "heatskin/base/parallel.h"
#include "heatskin/base/plural.h"
#include "heatskin/surface/closest_point.h"
#include "heatskin/surface/sampling.h"

namespace heatskin {
namespace {

constexpr std::size_t kDistanceSamples = 20'000;  // the mean distance then is known to about 1 %
constexpr std::uint64_t kDistanceStream = 41;
constexpr std::size_t kPointsPerBlock = 4096;

/// Points of `from` carried to the nearest ones of `to`, through asset coordinates.
void nearestPoints(const Surface& from, const Surface& to, const ClosestPointQuery& query,
                   std::span<const SurfacePoint> points, std::span<ClosestPoint> out) {
  const Similarity asset_from_surface = from.assetFromSurface();
  std::vector<Vec3> places(points.size());
  parallelFor(points.size(), kPointsPerBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      places[i] = to.surfaceFromAsset()(asset_from_surface(from.position(points[i])));
  });
  query.find(places, out);
}

struct Distances {
  double mean = 0;  ///< in units of `from`'s surface, whose longest side is 2
  double maximum = 0;
};

Distances distances(const Surface& from, const Surface& to, const ClosestPointQuery& query) {
  const auto points = sampleSurface(from, kDistanceSamples, 0, kDistanceStream);
  std::vector<ClosestPoint> nearest(points.size());
  nearestPoints(from, to, query, points, nearest);
  Distances result;
  for (const ClosestPoint& n : nearest) {
    result.mean += n.distance;
    result.maximum = std::max(result.maximum, n.distance);
  }
  const double unit = from.surfaceFromAsset().scale / to.surfaceFromAsset().scale;
  result.mean *= unit / static_cast<double>(points.size());
  result.maximum *= unit;
  return result;
}

constexpr double kLongestSide = 2;  // of every surface

/// Two digits, but never an exponent: "0.0012", "1021".
std::string percentText(double percent) {
  if (!(percent < 1e6)) return "over 1000000";
  if (percent >= 10) return fmt::format("{:.0f}", percent);
  if (percent < 1e-4) return percent > 0 ? "less than 0.0001" : "0";
  const int decimals = 1 - static_cast<int>(std::floor(std::log10(percent)));
  return fmt::format("{:.{}f}", percent, decimals);
}

}  // namespace

bool sameFaces(const Surface& a, const Surface& b) {
  if (a.faceCount() != b.faceCount()) return false;
  const Similarity a_from_b = [&] {
    const Similarity& from_asset = a.surfaceFromAsset();
    const Similarity to_asset = b.assetFromSurface();
    return Similarity{from_asset.scale * to_asset.scale, from_asset(to_asset.translation)};
  }();
  for (std::uint32_t f = 0; f < a.faceCount(); ++f) {
    for (std::size_t c = 0; c < 3; ++c) {
      const Vec3 there = a_from_b(b.positions()[b.faces()[f][c]]);
      // Not-a-number is not the same.
      if (!((a.positions()[a.faces()[f][c]] - there).norm() <= kSameCornerTolerance * kLongestSide))
        return false;
    }
  }
  return true;
}

Reference::Reference(const Surface& texture_surface, const Appearance& appearance)
    : texture_surface_(&texture_surface), reference_surface_(&texture_surface), appearance_(&appearance) {}

Result<Reference> Reference::match(const Surface& texture_surface, const Surface& reference_surface,
                                   const Appearance& appearance, const std::string& name) {
  Reference reference;
  reference.texture_surface_ = &texture_surface;
  reference.reference_surface_ = &reference_surface;
  reference.appearance_ = &appearance;
  if (sameFaces(texture_surface, reference_surface)) return reference;

  reference.to_reference_ = std::make_shared<const ClosestPointQuery>(reference_surface);
  reference.to_texture_ = std::make_shared<const ClosestPointQuery>(texture_surface);
  const Distances there = distances(texture_surface, reference_surface, *reference.to_reference_);
  const Distances back = distances(reference_surface, texture_surface, *reference.to_texture_);
  const double apart = std::max(there.mean, back.mean) / kLongestSide;
  if (!(apart <= kOtherObjectDistance)) {
    return inputError(
        fmt::format("{}: is not the object that the texture was fitted to (the surfaces are {} % of its size "
                    "apart on average); give the asset it was fitted to, in the same coordinates",
                    name, percentText(100 * apart)));
  }
  reference.notices_.push_back(
      {"mapped_reference",
       fmt::format(
           "the reference is another mesh ({}): colours are compared at the nearest points, at most {} % of "
           "the object's size apart",
           reference_surface.faceCount() == texture_surface.faceCount()
               ? fmt::format("also {}, but different ones",
                             plural(texture_surface.faceCount(), "face", "faces"))
               : fmt::format("{}, the texture has {}", plural(reference_surface.faceCount(), "face", "faces"),
                             texture_surface.faceCount()),
           percentText(100 * std::max(there.maximum, back.maximum) / kLongestSide)),
       1, true});
  return reference;
}

std::span<const SurfacePoint> Reference::toReference(std::span<const SurfacePoint> points,
                                                     std::vector<SurfacePoint>& storage) const {
  if (!mapped()) return points;
  std::vector<ClosestPoint> nearest(points.size());
  nearestPoints(*texture_surface_, *reference_surface_, *to_reference_, points, nearest);
  storage.resize(points.size());
  std::transform(nearest.begin(), nearest.end(), storage.begin(),
                 [](const ClosestPoint& n) { return n.point; });
  return storage;
}

void Reference::colors(std::span<const SurfacePoint> points, std::span<Vec3f> colors, Filter filter) const {
  std::vector<SurfacePoint> storage;
  appearance_->colors(toReference(points, storage), colors, filter);
}

void Reference::look(std::span<const SurfacePoint> points, std::span<Vec3f> colors,
                     std::span<float> visibilities, std::span<int> materials, Filter filter) const {
  std::vector<SurfacePoint> storage;
  const std::span<const SurfacePoint> there = toReference(points, storage);
  appearance_->colors(there, colors, visibilities, filter);
  std::transform(there.begin(), there.end(), materials.begin(),
                 [&](const SurfacePoint& p) { return appearance_->faceMaterial(p.face); });
}

void Reference::directions(std::span<const SurfacePoint> points, std::size_t slot,
                           std::span<Vec3> vertex_normals, std::span<Vec3> directions,
                           std::span<std::uint8_t> mapped, Filter filter) const {
  std::vector<SurfacePoint> storage;
  const auto there = toReference(points, storage);
  const ShadingNormals& truth = *appearance_->directions(slot);
  const SlotAppearance& slots = appearance_->slots();
  parallelFor(there.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      vertex_normals[i] = truth.vertexNormal(there[i]);
      directions[i] = slot == kAnisotropySlot ? truth.anisotropy(there[i], slots, filter)
                                              : truth.normal(there[i], slots, filter);
      mapped[i] = truth.faceMapped(there[i].face, slots) ? 1 : 0;
    }
  });
}

void Reference::values(std::span<const SurfacePoint> points, const ChannelLayout& layout,
                       std::span<float> out, Filter filter) const {
  std::vector<SurfacePoint> storage;
  appearance_->values(toReference(points, storage), layout, out, filter);
}

void Reference::visibilities(std::span<const SurfacePoint> points, std::span<float> visibilities,
                             Filter filter) const {
  std::vector<SurfacePoint> storage;
  appearance_->visibilities(toReference(points, storage), visibilities, filter);
}

void Reference::toTexture(std::span<const SurfacePoint> points, std::span<SurfacePoint> out) const {
  if (!mapped()) {
    std::copy(points.begin(), points.end(), out.begin());
    return;
  }
  std::vector<ClosestPoint> nearest(points.size());
  nearestPoints(*reference_surface_, *texture_surface_, *to_texture_, points, nearest);
  std::transform(nearest.begin(), nearest.end(), out.begin(), [](const ClosestPoint& n) { return n.point; });
}

Transparency Reference::transparency(Filter filter) const {
  Transparency result;
  if (!appearance_->hasAlpha()) return result;
  result.alpha = [this, filter](std::span<const SurfacePoint> points, std::span<float> alpha) {
    visibilities(points, alpha, filter);
  };
  if (!mapped()) result.see_through = facesSeenThrough(*appearance_);
  return result;
}

ColorSource Reference::colorSource(Filter filter) const {
  return [this, filter](std::span<const SurfacePoint> points, std::span<Vec3f> out) {
    colors(points, out, filter);
  };
}

}  // namespace heatskin
