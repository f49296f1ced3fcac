#include "heatskin/rendering/environment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heatskin {
namespace {

double solidAngle(const Softbox& box) {
  return 2 * std::numbers::pi * (1 - std::cos(box.half_angle));
}

bool inside(const Softbox& box, const Vec3& direction) {
  return direction.dot(box.direction) >= std::cos(box.half_angle);
}

}  // namespace

Vec3f Environment::dome(const Vec3& direction) const {
  const auto height = static_cast<float>(std::clamp(direction.dot(up), -1.0, 1.0));
  return height >= 0 ? Vec3f(horizon + height * (zenith - horizon))
                     : Vec3f(horizon - height * (nadir - horizon));
}

Vec3f Environment::lamps(const Vec3& direction) const {
  Vec3f sum = Vec3f::Zero();
  for (const Softbox& box : softboxes) {
    if (inside(box, direction)) sum += box.radiance;
  }
  return sum;
}

SoftboxSampler::SoftboxSampler(const Environment& environment) {
  double total = 0;
  for (const Softbox& box : environment.softboxes)
    total += solidAngle(box) * static_cast<double>(box.radiance.sum());
  double until = 0;
  for (const Softbox& box : environment.softboxes) {
    const double angle = solidAngle(box);
    const double share = total > 0 ? angle * static_cast<double>(box.radiance.sum()) / total : 0;
    if (!(share > 0)) continue;
    until += share;
    const Vec3 x_axis = box.direction.unitOrthogonal();
    boxes_.push_back(
        {box.direction, x_axis, box.direction.cross(x_axis), std::cos(box.half_angle), until, share / angle});
  }
  if (!boxes_.empty()) boxes_.back().until = 1;
}

Vec3 SoftboxSampler::sample(const Vec2& u, double which) const {
  const auto chosen =
      std::find_if(boxes_.begin(), boxes_.end() - 1, [&](const Box& box) { return which < box.until; });
  const double z = 1 - u.x() * (1 - chosen->least_cosine), turn = 2 * std::numbers::pi * u.y();
  const double r = std::sqrt(std::max(0.0, 1 - z * z));
  return r * std::cos(turn) * chosen->x_axis + r * std::sin(turn) * chosen->y_axis + z * chosen->direction;
}

double SoftboxSampler::density(const Vec3& direction) const {
  double sum = 0;
  for (const Box& box : boxes_) {
    if (direction.dot(box.direction) >= box.least_cosine) sum += box.density;
  }
  return sum;
}

Vec3f openFloorLight(const Environment& environment) {
  // Equal steps of the squared cosine and of the turn have equal shares of cosine-weighted solid angle.
  constexpr int kRings = 256, kTurns = 1024;
  const Vec3 x_axis = environment.up.unitOrthogonal(), y_axis = environment.up.cross(x_axis);
  Vec3 sum = Vec3::Zero();
  for (int i = 0; i < kRings; ++i) {
    const double z2 = (i + 0.5) / kRings, r = std::sqrt(1 - z2);
    for (int j = 0; j < kTurns; ++j) {
      const double turn = 2 * std::numbers::pi * (j + 0.5) / kTurns;
      const Vec3 direction =
          r * std::cos(turn) * x_axis + r * std::sin(turn) * y_axis + std::sqrt(z2) * environment.up;
      sum += (environment.dome(direction) + environment.lamps(direction)).cast<double>();
    }
  }
  return (sum / (kRings * kTurns)).cast<float>();
}

Environment studioEnvironment(const Vec3& up, const Vec3& towards_viewer, const Vec3& right) {
  Environment studio;
  studio.up = up;
  studio.zenith = Vec3f(0.40f, 0.42f, 0.45f);
  studio.horizon = Vec3f(0.26f, 0.27f, 0.28f);
  studio.nadir = Vec3f(0.12f, 0.12f, 0.12f);
  const auto lamp = [&](double to_right, double upwards, double to_viewer, double half_angle,
                        const Vec3f& radiance) {
    const Vec3 direction = to_right * right + upwards * up + to_viewer * towards_viewer;
    studio.softboxes.push_back({direction.normalized(), half_angle * std::numbers::pi / 180, radiance});
  };
  lamp(-0.80, 1.05, 0.65, 13, Vec3f(13.6f, 13.0f, 12.2f));  // key, slightly warm
  lamp(1.0, 0.40, 0.55, 22, Vec3f(0.80f, 0.86f, 0.96f));    // fill, slightly cool
  lamp(0.45, 0.75, -1.0, 14, Vec3f(4.2f, 4.3f, 4.5f));      // rim
  return studio;
}

}  // namespace heatskin
