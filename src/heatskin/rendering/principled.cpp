#include "heatskin/rendering/principled.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heatskin {
namespace {

/// Neither lobe is drawn more seldom: what it alone reaches would be found too rarely.
constexpr double kLeastShare = 0.1;

double square(double x) {
  return x * x;
}

/// Schlick's (1 - cosine)^5.
double schlick(double cosine) {
  const double m = std::clamp(1 - cosine, 0.0, 1.0);
  return square(square(m)) * m;
}

bool above(const Vec3& direction) {
  return direction.z() > 0;
}

/// A point of the unit disc, uniformly.
Vec2 discPoint(const Vec2& u) {
  const double r = std::sqrt(u.x()), turn = 2 * std::numbers::pi * u.y();
  return {r * std::cos(turn), r * std::sin(turn)};
}

}  // namespace

double fresnelReflectance(double cosine, double index) {
  const double c = std::clamp(cosine, 0.0, 1.0);
  const double t = std::sqrt(std::max(0.0, 1 - (1 - c * c) / square(index)));
  const double across = (c - index * t) / (c + index * t);
  const double along = (index * c - t) / (index * c + t);
  return 0.5 * (square(across) + square(along));
}

Vec3 cosineDirection(const Vec2& u) {
  const Vec2 p = discPoint(u);
  return {p.x(), p.y(), std::sqrt(std::max(0.0, 1 - p.squaredNorm()))};
}

PrincipledBsdf::PrincipledBsdf(const PrincipledOptions& options)
    : options_(options), alpha_(std::max(kMinAlpha, square(std::clamp(options.roughness, 0.0, 1.0)))) {}

/// D of the microfacets: how many of them point along `half`, per area and solid angle.
double PrincipledBsdf::normals(const Vec3& half) const {
  const double a2 = square(alpha_);
  // 1 - z^2 from x and y: no cancellation near the peak of a narrow lobe.
  const double d = a2 * square(half.z()) + square(half.x()) + square(half.y());
  return a2 / (std::numbers::pi * square(d));
}

/// Smith's G1: the part of the microfacets that is not masked.
double PrincipledBsdf::masking(const Vec3& direction) const {
  const double z2 = square(direction.z());
  const double slope2 = (square(direction.x()) + square(direction.y())) / z2;
  return 2 / (1 + std::sqrt(1 + square(alpha_) * slope2));
}

ByBaseColor PrincipledBsdf::value(const Vec3& out, const Vec3& in) const {
  if (!above(out) || !above(in)) return {};
  const Vec3 half = (out + in).normalized();
  const double cosine = half.dot(in);
  const double metal = options_.metallic, dielectric = 1 - metal;

  const double facets = normals(half) * masking(out) * masking(in) / (4 * out.z() * in.z());
  const double grazing = schlick(cosine);
  ByBaseColor result{facets * (dielectric * fresnelReflectance(cosine, options_.index) + metal * grazing),
                     facets * metal * (1 - grazing)};

  const double fo = schlick(out.z()), fi = schlick(in.z());
  const double retro = 2 * options_.roughness * square(cosine);
  const double diffuse = (1 - 0.5 * fo) * (1 - 0.5 * fi) + retro * (fo + fi + fo * fi * (retro - 1));
  result.tinted += dielectric * diffuse / std::numbers::pi;
  return result;
}

/// How often the specular lobe is drawn: about its part of the light from everywhere.
double PrincipledBsdf::specularShare(const Vec3& out) const {
  const double specular =
      (1 - options_.metallic) * fresnelReflectance(out.z(), options_.index) + options_.metallic;
  constexpr double kUsualColor = 0.5;
  const double diffuse = kUsualColor * (1 - options_.metallic);
  return diffuse > 0 ? std::clamp(specular / (specular + diffuse), kLeastShare, 1 - kLeastShare) : 1;
}

/// Density of the reflected direction when `half` is drawn among the visible normals.
double PrincipledBsdf::specularDensity(const Vec3& out, const Vec3& half) const {
  return masking(out) * normals(half) / (4 * out.z());
}

double PrincipledBsdf::density(const Vec3& out, const Vec3& in) const {
  if (!above(out) || !above(in)) return 0;
  const double share = specularShare(out);
  return share * specularDensity(out, (out + in).normalized()) + (1 - share) * in.z() / std::numbers::pi;
}

std::optional<PrincipledBsdf::Sample> PrincipledBsdf::sample(const Vec3& out, const Vec2& u,
                                                             double lobe) const {
  if (!above(out)) return std::nullopt;
  Sample result;
  if (lobe < specularShare(out)) {
    // Heitz 2018: stretched to roughness 1 the visible normals are a projected hemisphere.
    const Vec3 view = Vec3(alpha_ * out.x(), alpha_ * out.y(), out.z()).normalized();
    const Vec3 across = view.z() < 1 - 1e-12 ? Vec3(-view.y(), view.x(), 0).normalized() : Vec3(1, 0, 0);
    const Vec3 along = view.cross(across);
    Vec2 p = discPoint(u);
    const double s = 0.5 * (1 + view.z());
    p.y() = (1 - s) * std::sqrt(std::max(0.0, 1 - square(p.x()))) + s * p.y();
    const Vec3 normal = p.x() * across + p.y() * along + std::sqrt(std::max(0.0, 1 - p.squaredNorm())) * view;
    const Vec3 half =
        Vec3(alpha_ * normal.x(), alpha_ * normal.y(), std::max(1e-12, normal.z())).normalized();
    result.in = 2 * out.dot(half) * half - out;
  } else {
    result.in = cosineDirection(u);
  }
  result.density = density(out, result.in);
  if (!(result.density > 0)) return std::nullopt;
  result.weight = value(out, result.in) * (result.in.z() / result.density);
  return result;
}

}  // namespace heatskin
