#include "heatskin/rendering/image_based_light.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heatskin/base/parallel.h"

namespace heatskin {
namespace {

constexpr double kPi = std::numbers::pi;

/// Points of a quadrature over a lobe's polar angle, and over turns around it.
constexpr int kLobePolar = 48, kLobeTurns = 32;

/// Cosines of the viewer's angle and roughnesses of the tables of reflectance.
constexpr int kReflectanceSteps = 33;

/// The dome's radiance is linear in this on either side of the horizon.
double heightAbove(double cosine) {
  return std::max(0.0, cosine);
}
double heightBelow(double cosine) {
  return std::max(0.0, -cosine);
}

/// A lobe as angles from its axis and their weights, sum 1.
struct Lobe {
  std::array<double, kLobePolar> angle, weight;
};

/// Mirror directions of GGX facets seen along the normal, weighted by the cosine (Karis 2013).
Lobe ggxLobe(double roughness) {
  Lobe lobe;
  const double alpha = roughness * roughness;
  double sum = 0;
  for (std::size_t i = 0; i < kLobePolar; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / kLobePolar;
    lobe.angle[i] = 2 * std::atan(alpha * std::sqrt(u / (1 - u)));
    lobe.weight[i] = std::max(0.0, std::cos(lobe.angle[i]));
    sum += lobe.weight[i];
  }
  for (double& weight : lobe.weight)
    weight /= sum;
  return lobe;
}

/// Cosine-weighted directions.
Lobe lambertLobe() {
  Lobe lobe;
  for (std::size_t i = 0; i < kLobePolar; ++i) {
    lobe.angle[i] = std::asin(std::sqrt((static_cast<double>(i) + 0.5) / kLobePolar));
    lobe.weight[i] = 1.0 / kLobePolar;
  }
  return lobe;
}

/// Mean over the lobe of a function of the cosine to an axis that is `angle` away from the lobe's.
template <class Value>
double meanOver(const Lobe& lobe, double angle, const Value& value) {
  double sum = 0;
  for (std::size_t i = 0; i < kLobePolar; ++i) {
    const double along = std::cos(angle) * std::cos(lobe.angle[i]);
    const double across = std::sin(angle) * std::sin(lobe.angle[i]);
    double ring = 0;
    for (int j = 0; j < kLobeTurns; ++j)
      ring += value(along + across * std::cos(kPi * (j + 0.5) / kLobeTurns));
    sum += lobe.weight[i] * ring / kLobeTurns;
  }
  return sum;
}

/// Part of the lobe inside a disc whose centre is `angle` away; the part of each ring in closed form.
double partInside(const Lobe& lobe, double angle, double half_angle) {
  double sum = 0;
  for (std::size_t i = 0; i < kLobePolar; ++i) {
    const double along = std::cos(angle) * std::cos(lobe.angle[i]);
    const double across = std::sin(angle) * std::sin(lobe.angle[i]);
    const double needed = std::cos(half_angle) - along;
    double part = needed <= 0 ? 1 : 0;
    if (across > 1e-12) part = std::acos(std::clamp(needed / across, -1.0, 1.0)) / kPi;
    sum += lobe.weight[i] * part;
  }
  return sum;
}

float fromAngles(const std::array<float, AngleTable::kAngles>& values, double cosine) {
  const double x = std::acos(std::clamp(cosine, -1.0, 1.0)) / kPi * (AngleTable::kAngles - 1);
  const auto first = std::min(static_cast<std::size_t>(x), values.size() - 2);
  const auto t = static_cast<float>(x - static_cast<double>(first));
  return values[first] + t * (values[first + 1] - values[first]);
}

/// A function of cosine and roughness, both 0 .. 1, tabulated.
template <class Value>
class UnitTable {
 public:
  template <class Compute>
  explicit UnitTable(const Compute& compute) {
    for (int r = 0; r < kReflectanceSteps; ++r) {
      for (int c = 0; c < kReflectanceSteps; ++c)
        values_[index(c, r)] = compute(static_cast<double>(c) / (kReflectanceSteps - 1),
                                       static_cast<double>(r) / (kReflectanceSteps - 1));
    }
  }

  Value operator()(double cosine, double roughness) const {
    const double x = std::clamp(cosine, 0.0, 1.0) * (kReflectanceSteps - 1);
    const double y = std::clamp(roughness, 0.0, 1.0) * (kReflectanceSteps - 1);
    const int c = std::min(static_cast<int>(x), kReflectanceSteps - 2);
    const int r = std::min(static_cast<int>(y), kReflectanceSteps - 2);
    const auto s = static_cast<float>(x - c), t = static_cast<float>(y - r);
    return (1 - t) * ((1 - s) * values_[index(c, r)] + s * values_[index(c + 1, r)]) +
           t * ((1 - s) * values_[index(c, r + 1)] + s * values_[index(c + 1, r + 1)]);
  }

 private:
  static std::size_t index(int cosine, int roughness) {
    return static_cast<std::size_t>(roughness * kReflectanceSteps + cosine);
  }
  std::array<Value, static_cast<std::size_t>(kReflectanceSteps) * kReflectanceSteps> values_;
};

/// Karis' integral over visible facets by GGX quantiles; x: scale, y: offset.
Vec2f integrateFacets(double cosine, double roughness) {
  constexpr int kPolar = 32, kTurns = 32;
  const double c = std::max(cosine, 1e-3);
  const double alpha = std::max(roughness * roughness, 1e-4);
  const Vec3 out(std::sqrt(1 - c * c), 0, c);
  const auto masking = [&](double z) {
    return 2 * z / (z + std::sqrt(alpha * alpha + (1 - alpha * alpha) * z * z));
  };
  double scale = 0, offset = 0;
  for (int i = 0; i < kPolar; ++i) {
    const double u = (i + 0.5) / kPolar;
    const double z = std::sqrt((1 - u) / (1 + (alpha * alpha - 1) * u)), r = std::sqrt(1 - z * z);
    for (int j = 0; j < kTurns; ++j) {
      const double turn = kPi * (j + 0.5) / kTurns;
      const Vec3 half(r * std::cos(turn), r * std::sin(turn), z);
      const double facing = out.dot(half);
      const Vec3 in = 2 * facing * half - out;
      if (!(in.z() > 0) || !(facing > 0)) continue;
      const double visible = masking(out.z()) * masking(in.z()) * facing / (z * out.z());
      const double m = 1 - facing, grazing = m * m * m * m * m;
      scale += (1 - grazing) * visible;
      offset += grazing * visible;
    }
  }
  return Vec2f(static_cast<float>(scale), static_cast<float>(offset)) / (kPolar * kTurns);
}

float integrateSheen(double cosine, double roughness) {
  constexpr int kPolar = 32, kTurns = 32;
  const double c = std::max(cosine, 0.02);
  const double inverse = 1 / std::max(roughness * roughness, 0.01);
  const Vec3 out(std::sqrt(1 - c * c), 0, c);
  double sum = 0;
  for (int i = 0; i < kPolar; ++i) {
    const double z = (i + 0.5) / kPolar, r = std::sqrt(1 - z * z);
    for (int j = 0; j < kTurns; ++j) {
      const double turn = kPi * (j + 0.5) / kTurns;
      const Vec3 in(r * std::cos(turn), r * std::sin(turn), z);
      const double h = std::min(1.0, (in + out).normalized().z());
      const double distribution = (2 + inverse) * std::pow(std::sqrt(1 - h * h), inverse) / (2 * kPi);
      sum += distribution / (4 * (z + c - z * c)) * z;
    }
  }
  return static_cast<float>(std::min(1.0, 2 * kPi * sum / (kPolar * kTurns)));
}

Vec3 facingViewer(const Vec3& normal, const Vec3& to_viewer) {
  constexpr double kLeast = 0.02;  // a cosine, as in path_tracer.cpp
  const double facing = normal.dot(to_viewer);
  return facing < kLeast ? Vec3((normal + (kLeast - facing) * to_viewer).normalized()) : normal;
}

float partOfLamp(const SeenLight& seen, std::size_t lamp) {
  return lamp < SeenLight::kLamps ? seen.lamps[lamp] : 1;
}

}  // namespace

double AngleTable::angleOf(int angle) {
  return kPi * angle / (kAngles - 1);
}

float AngleTable::operator()(double cosine, double roughness) const {
  const double x = std::acos(std::clamp(cosine, -1.0, 1.0)) / kPi * (kAngles - 1);
  const double y = std::clamp(roughness, 0.0, 1.0) * (kRoughnesses - 1);
  const int a = std::min(static_cast<int>(x), kAngles - 2),
            r = std::min(static_cast<int>(y), kRoughnesses - 2);
  const auto s = static_cast<float>(x - a), t = static_cast<float>(y - r);
  const auto along = [&](int row) {
    return (1 - s) * values_[index(a, row)] + s * values_[index(a + 1, row)];
  };
  return (1 - t) * along(r) + t * along(r + 1);
}

ImageBasedLight::ImageBasedLight(const Environment& environment) : environment_(environment) {
  const std::vector<Softbox>& boxes = environment.softboxes;
  lamps_.resize(boxes.size());
  lamp_diffuse_.resize(boxes.size());
  parallelFor(AngleTable::kRoughnesses, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const int r = static_cast<int>(i);
      const Lobe lobe = ggxLobe(AngleTable::roughnessOf(r));
      for (int a = 0; a < AngleTable::kAngles; ++a) {
        const double angle = AngleTable::angleOf(a);
        above_.at(a, r) = static_cast<float>(meanOver(lobe, angle, heightAbove));
        below_.at(a, r) = static_cast<float>(meanOver(lobe, angle, heightBelow));
        for (std::size_t b = 0; b < boxes.size(); ++b)
          lamps_[b].at(a, r) = static_cast<float>(partInside(lobe, angle, boxes[b].half_angle));
      }
    }
  });
  const Lobe lambert = lambertLobe();
  for (int a = 0; a < AngleTable::kAngles; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const double angle = AngleTable::angleOf(a);
    above_diffuse_[i] = static_cast<float>(meanOver(lambert, angle, heightAbove));
    below_diffuse_[i] = static_cast<float>(meanOver(lambert, angle, heightBelow));
    for (std::size_t b = 0; b < boxes.size(); ++b)
      lamp_diffuse_[b][i] = static_cast<float>(partInside(lambert, angle, boxes[b].half_angle));
  }
}

Vec3f ImageBasedLight::diffuse(const Vec3& normal, const SeenLight& seen) const {
  const Environment& e = environment_;
  const double height = normal.dot(e.up);
  Vec3f light = seen.around * (e.horizon + fromAngles(above_diffuse_, height) * (e.zenith - e.horizon) +
                               fromAngles(below_diffuse_, height) * (e.nadir - e.horizon));
  for (std::size_t b = 0; b < lamps_.size(); ++b) {
    const float arrives = fromAngles(lamp_diffuse_[b], normal.dot(e.softboxes[b].direction));
    light += partOfLamp(seen, b) * arrives * e.softboxes[b].radiance;
  }
  return light;
}

Vec3f ImageBasedLight::specular(const Vec3& reflected, double roughness, const SeenLight& seen) const {
  const Environment& e = environment_;
  const double height = reflected.dot(e.up);
  Vec3f light = seen.around * (e.horizon + above_(height, roughness) * (e.zenith - e.horizon) +
                               below_(height, roughness) * (e.nadir - e.horizon));
  for (std::size_t b = 0; b < lamps_.size(); ++b) {
    const float arrives = lamps_[b](reflected.dot(e.softboxes[b].direction), roughness);
    light += partOfLamp(seen, b) * arrives * e.softboxes[b].radiance;
  }
  return light;
}

Vec3f ImageBasedLight::leaving(const SurfaceMaterial& m, const Vec3& face_normal, const Vec3& to_viewer,
                               const SeenLight& seen) const {
  const double side = face_normal.dot(to_viewer) < 0 ? -1.0 : 1.0;
  const Vec3 normal = facingViewer(side * m.normal.cast<double>(), to_viewer);
  const double facing = std::clamp(normal.dot(to_viewer), 0.0, 1.0);
  // Occlusion is of light from all around; a mirror shows one direction, and less of it the rougher it is.
  // Lamps are in the shadow of what is there, and darker where the material says so.
  const auto shut = [&](float roughness) {
    const float by_material = 1 - roughness * (1 - m.occlusion);
    SeenLight part;
    part.around = std::min(by_material, 1 - roughness * (1 - seen.around));
    for (std::size_t b = 0; b < SeenLight::kLamps; ++b)
      part.lamps[b] = by_material * seen.lamps[b];
    return part;
  };
  const auto mirrored = [&](const Vec3& n, float roughness) {
    return specular(2 * n.dot(to_viewer) * n - to_viewer, roughness, shut(roughness));
  };

  const Vec3f f0 = Vec3f::Constant(0.04f) + m.metallic * (m.base_color - Vec3f::Constant(0.04f));
  const FacetReflectance facets = facetReflectance(facing, m.roughness);
  const Vec3f once = facets.scale * f0 + Vec3f::Constant(facets.offset);
  const float returned = 1 / std::max(facets.scale + facets.offset, 0.05f) - 1;
  const Vec3f reflected = once.cwiseProduct(Vec3f::Ones() + returned * f0);
  const Vec3f body =
      (1 - m.metallic) *
      m.base_color.cwiseProduct(Vec3f::Ones() - Vec3f::Constant(0.04f * facets.scale + facets.offset));
  const Vec3f around = diffuse(normal, shut(1));
  Vec3f light = body.cwiseProduct(around) + reflected.cwiseProduct(mirrored(normal, m.roughness));
  if (const float strength = m.sheen_color.maxCoeff(); strength > 0) {
    const float sheen = sheenReflectance(facing, m.sheen_roughness);
    light = (1 - strength * sheen) * light + sheen * m.sheen_color.cwiseProduct(around);
  }
  light += m.emissive;
  if (m.clearcoat > 0) {
    const Vec3 coat = facingViewer(side * m.coat_normal.cast<double>(), to_viewer);
    const FacetReflectance layer =
        facetReflectance(std::clamp(coat.dot(to_viewer), 0.0, 1.0), m.clearcoat_roughness);
    const float part = m.clearcoat * (0.04f * layer.scale + layer.offset);
    light = (1 - part) * light + part * mirrored(coat, m.clearcoat_roughness);
  }
  return light;
}

FacetReflectance facetReflectance(double cosine, double roughness) {
  static const UnitTable<Vec2f> table(integrateFacets);
  const Vec2f found = table(cosine, roughness);
  return {found.x(), found.y()};
}

float sheenReflectance(double cosine, double roughness) {
  static const UnitTable<float> table(integrateSheen);
  return table(cosine, roughness);
}

}  // namespace heatskin
