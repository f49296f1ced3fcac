#pragma once

// Which parts of an Environment a surface hides from points of it and of the floor it stands on. Private to
// rendering.

#include <optional>
#include <vector>

#include "heatskin/base/vec.h"
#include "heatskin/rendering/environment.h"
#include "heatskin/rendering/image_based_light.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/shadow_lights.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

struct StudioShadowOptions {
  int dome_directions = 96, lamp_directions = 16;
  int map_size = 384;
  bool floor = true;
  const Transparency* transparency = nullptr;
  PartDone progress;
};

/// See the head of the file.
class StudioShadows {
 public:
  StudioShadows(const Surface& surface, const Environment& environment,
                const StudioShadowOptions& options = {});

  /// One of the passes that the directions are dealt out to; the mean over all of them sees all.
  struct Pass {
    int index = 0, count = 1;
  };

  /// At a point of the surface; both normals on the viewer's side. Directions below the horizon of the face
  /// are no matter of shadows but of the normals, which a normal map may have tilted: they count as seen.
  SeenLight at(const Pass& pass, const Vec3& x, const Vec3& normal, const Vec3& face_normal) const;

  /// Part of the light an open floor would get where a line of sight meets it; 1 where there is no floor.
  double onFloor(const Pass& pass, const Vec3& eye, const Vec3& direction) const;

 private:
  std::vector<ShadowLight> dome_;
  std::vector<std::vector<ShadowLight>> lamps_;
  std::vector<double> dome_light_;  // [dome_] radiance
  std::vector<double> lamp_light_;  // [lamps_] radiance times the part of the sphere that the lamp takes
  std::optional<ShadowFloor> floor_;
};

}  // namespace heatskin
