#include "heatskin/product/fallback_colors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heatskin/appearance/appearance.h"
#include "heatskin/io/color_space.h"

namespace heatskin {
namespace {

/// Where a face is asked for the colour of its corner 0: the part of the face that a linear interpolation
/// gives mostly to that corner. A single point would be as noisy as the texture.
const std::array<Vec3, 4> kAround = {Vec3(0.94, 0.03, 0.03), Vec3(0.75, 0.15, 0.10), Vec3(0.75, 0.10, 0.15),
                                     Vec3(0.60, 0.20, 0.20)};

/// Faces evaluated together; bounds the memory for points and colours.
constexpr std::size_t kFaceBlock = 16384;

/// A weighted mean in linear light.
struct Mean {
  Vec3 sum = Vec3::Zero();
  double weight = 0;

  void add(const Vec3& color, double w) {
    sum += w * color;
    weight += w;
  }
  Vec3 value() const { return sum / weight; }
};

/// In place of the visibility of a point that nobody sees: it counts where there is nothing else.
constexpr float kInvisible = 1e-6f;

/// Mean colours around corners, one for each face and corner, by visibility.
std::vector<Mean> cornerColors(const KernelTexture& texture, const Appearance& appearance) {
  const std::size_t faces = texture.surface().faceCount();
  std::vector<Mean> out(3 * faces);
  std::vector<SurfacePoint> points;
  std::vector<Vec3f> colors;
  std::vector<float> visible;
  for (std::size_t first = 0; first < faces; first += kFaceBlock) {
    const std::size_t last = std::min(first + kFaceBlock, faces);
    points.clear();
    for (std::size_t f = first; f < last; ++f) {
      for (int c = 0; c < 3; ++c) {
        for (const Vec3& b : kAround) {
          SurfacePoint& p = points.emplace_back(SurfacePoint{static_cast<std::uint32_t>(f), Vec3::Zero()});
          for (int k = 0; k < 3; ++k)
            p.barycentric[(c + k) % 3] = b[k];
        }
      }
    }
    colors.resize(points.size());
    visible.resize(points.size());
    texture.colors(points, colors);
    appearance.visibilities(points, visible);
    for (std::size_t corner = 0; corner < 3 * (last - first); ++corner) {
      for (std::size_t k = 0; k < kAround.size(); ++k) {
        const Vec3f& srgb = colors[corner * kAround.size() + k];
        Vec3 linear;
        for (int channel = 0; channel < 3; ++channel)
          linear[channel] = static_cast<double>(linearFromSrgb(srgb[channel]));
        const float seen = std::max(visible[corner * kAround.size() + k], kInvisible);
        out[3 * first + corner].add(linear, static_cast<double>(seen) / static_cast<double>(kAround.size()));
      }
    }
  }
  return out;
}

}  // namespace

void setFallbackColors(const KernelTexture& texture, Asset& asset) {
  const Surface& surface = texture.surface();
  const std::vector<Mean> corners = cornerColors(texture, Appearance(asset, surface));

  // Vertices of the surface, separately for each primitive of each instance.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> parts;
  std::vector<std::uint32_t> part_of_face(surface.faceCount());
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const auto number = static_cast<std::uint32_t>(parts.size());
    part_of_face[f] = parts.try_emplace({source.instance, source.primitive}, number).first->second;
  }
  const auto key = [&](std::uint32_t face, std::size_t corner) {
    return std::uint64_t{part_of_face[face]} << 32 | surface.faces()[face][corner];
  };
  std::unordered_map<std::uint64_t, Mean> around;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    for (std::size_t c = 0; c < 3; ++c)
      around[key(f, c)].add(corners[3 * std::size_t{f} + c].value(),
                            corners[3 * std::size_t{f} + c].weight * surface.areas()[f]);
  }

  // From there to the vertices of the file.
  std::vector<std::vector<std::vector<Mean>>> means(asset.meshes.size());
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    for (const Primitive& primitive : asset.meshes[m].primitives)
      means[m].emplace_back(primitive.positions.size());
  }
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
    const Primitive& primitive = asset.meshes[mesh].primitives[source.primitive];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t vertex = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
      means[mesh][source.primitive][vertex].add(around[key(f, c)].value(), 1);
    }
  }

  // Triangles the surface dropped because they repeat others (a second side) look like the ones they repeat.
  struct Less {
    bool operator()(const Vec3& a, const Vec3& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };
  const Vec3f mean_srgb(texture.kernels().mean.data() + texture.layout().find("base_color")->first);
  const Vec3 plain(linearFromSrgb(mean_srgb[0]), linearFromSrgb(mean_srgb[1]), linearFromSrgb(mean_srgb[2]));
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    std::map<Vec3, Vec3, Less> by_place;
    bool complete = true;
    for (const auto& primitive : means[m]) {
      for (const Mean& mean : primitive)
        complete = complete && mean.weight > 0;
    }
    for (std::size_t p = 0; p < means[m].size() && !complete; ++p) {
      for (std::size_t v = 0; v < means[m][p].size(); ++v) {
        if (means[m][p][v].weight > 0)
          by_place.try_emplace(asset.meshes[m].primitives[p].positions[v], means[m][p][v].value());
      }
    }
    for (std::size_t p = 0; p < means[m].size(); ++p) {
      Primitive& primitive = asset.meshes[m].primitives[p];
      if (primitive.colors.empty()) continue;
      for (std::size_t v = 0; v < primitive.positions.size(); ++v) {
        Vec3 color = plain;
        if (means[m][p][v].weight > 0) {
          color = means[m][p][v].value();
        } else if (const auto twin = by_place.find(primitive.positions[v]); twin != by_place.end()) {
          color = twin->second;
        }
        primitive.colors[v].head<3>() = color.cast<float>();
      }
    }
  }
}

}  // namespace heatskin
