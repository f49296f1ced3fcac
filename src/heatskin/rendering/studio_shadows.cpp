#include "heatskin/rendering/studio_shadows.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heatskin {

StudioShadows::StudioShadows(const Surface& surface, const Environment& environment,
                             const StudioShadowOptions& options) {
  const BoundingSphere sphere = boundingSphere(surface);
  const std::size_t lamps = std::min(environment.softboxes.size(), SeenLight::kLamps);
  const auto total = static_cast<double>(options.dome_directions) +
                     static_cast<double>(lamps) * static_cast<double>(options.lamp_directions);
  std::size_t done = 0;
  const auto lights = [&](const Vec3& axis, int count, double half_angle) {
    return shadowLights(surface, sphere, capDirections(count, axis, half_angle), options.map_size,
                        options.transparency, [&] {
                          ++done;
                          if (options.progress) options.progress(static_cast<double>(done) / total);
                        });
  };
  dome_ = lights(environment.up, options.dome_directions, std::numbers::pi);
  for (const ShadowLight& light : dome_)
    dome_light_.push_back(static_cast<double>(environment.dome(light.direction).sum()));
  for (std::size_t b = 0; b < lamps; ++b) {
    const Softbox& box = environment.softboxes[b];
    lamps_.push_back(lights(box.direction, options.lamp_directions, box.half_angle));
    const double of_sphere = (1 - std::cos(box.half_angle)) / 2;
    lamp_light_.push_back(of_sphere * static_cast<double>(box.radiance.sum()));
  }
  if (options.floor) floor_ = ShadowFloor(surface, sphere, environment.up);
}

SeenLight StudioShadows::at(const Pass& pass, const Vec3& x, const Vec3& normal,
                            const Vec3& face_normal) const {
  const auto hidden = [&](const ShadowLight& light) {
    return light.direction.dot(face_normal) > 0 && !light.reaches(x, face_normal);
  };
  SeenLight seen;
  double dark = 0;
  forLightsOfPass(dome_.size(), pass.index, pass.count, [&](std::size_t i, double weight) {
    const double cosine = dome_[i].direction.dot(normal);
    if (cosine > 0 && hidden(dome_[i])) dark += 4 * weight * cosine;  // the mean over the sphere is 1
  });
  seen.around = static_cast<float>(std::max(0.0, 1 - dark));
  for (std::size_t b = 0; b < lamps_.size(); ++b) {
    double away = 0;
    forLightsOfPass(lamps_[b].size(), pass.index, pass.count, [&](std::size_t i, double weight) {
      if (hidden(lamps_[b][i])) away += weight;
    });
    seen.lamps[b] = static_cast<float>(std::max(0.0, 1 - away));
  }
  return seen;
}

double StudioShadows::onFloor(const Pass& pass, const Vec3& eye, const Vec3& direction) const {
  const auto place = floor_ ? floor_->seen(eye, direction) : std::nullopt;
  if (!place) return 1;
  double open = 0, lost = 0;
  const auto add = [&](const ShadowLight& light, double amount) {
    amount *= std::max(0.0, light.direction.dot(floor_->up));
    open += amount;
    if (!light.reaches(place->position)) lost += amount;
  };
  forLightsOfPass(dome_.size(), pass.index, pass.count,
                  [&](std::size_t i, double weight) { add(dome_[i], weight * dome_light_[i]); });
  for (std::size_t b = 0; b < lamps_.size(); ++b) {
    forLightsOfPass(lamps_[b].size(), pass.index, pass.count,
                    [&](std::size_t i, double weight) { add(lamps_[b][i], weight * lamp_light_[b]); });
  }
  return open > 0 ? 1 - place->strength * lost / open : 1;
}

}  // namespace heatskin
