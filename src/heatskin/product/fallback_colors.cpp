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

/// Colours of faces and corners, in linear light.
struct CornerColors {
  std::vector<Mean> around;  // [3 F] means around corners, by visibility
  std::vector<Vec3>
      linear;  // [3 F] corners of the linear interpolation that is nearest to the face's colours
};

/// The three colours whose interpolation is nearest to `samples` at the points around all three corners, in
/// the sense of least squares; clamped to [0, 1]. `colors` and `weights`: corner 0's points first.
std::array<Vec3, 3> bestCorners(std::span<const Vec3> colors, std::span<const double> weights) {
  Mat3 normal = Mat3::Zero(), right = Mat3::Zero();
  for (std::size_t i = 0; i < colors.size(); ++i) {
    const auto corner = static_cast<Eigen::Index>(i / kAround.size());
    Vec3 b;
    for (Eigen::Index k = 0; k < 3; ++k)
      b[(corner + k) % 3] = kAround[i % kAround.size()][k];
    normal += weights[i] * b * b.transpose();
    right += weights[i] * b * colors[i].transpose();
  }
  // Points around three corners span the plane, whatever their (positive) weights.
  const Mat3 solved = normal.ldlt().solve(right);
  std::array<Vec3, 3> out;
  for (Eigen::Index c = 0; c < 3; ++c)
    out[static_cast<std::size_t>(c)] = solved.row(c).transpose().cwiseMax(0.0).cwiseMin(1.0);
  return out;
}

CornerColors cornerColors(const KernelTexture& texture, const Appearance& appearance) {
  const std::size_t faces = texture.surface().faceCount();
  CornerColors out{std::vector<Mean>(3 * faces), std::vector<Vec3>(3 * faces)};
  constexpr std::size_t kOfFace = 3 * kAround.size();
  std::array<Vec3, kOfFace> of_face;
  std::array<double, kOfFace> weights{};
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
    for (std::size_t f = first; f < last; ++f) {
      for (std::size_t i = 0; i < kOfFace; ++i) {
        const Vec3f& srgb = colors[(f - first) * kOfFace + i];
        for (int channel = 0; channel < 3; ++channel)
          of_face[i][channel] = static_cast<double>(linearFromSrgb(srgb[channel]));
        weights[i] = static_cast<double>(std::max(visible[(f - first) * kOfFace + i], kInvisible));
        out.around[3 * f + i / kAround.size()].add(of_face[i],
                                                   weights[i] / static_cast<double>(kAround.size()));
      }
      std::ranges::copy(bestCorners(of_face, weights),
                        out.linear.begin() + 3 * static_cast<std::ptrdiff_t>(f));
    }
  }
  return out;
}

}  // namespace

void setFallbackColors(const KernelTexture& texture, Asset& asset) {
  const Surface& surface = texture.surface();
  const CornerColors corners = cornerColors(texture, Appearance(asset, surface));

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
  // How many triangles have a vertex of the file.
  std::vector<std::vector<std::vector<std::uint32_t>>> uses(asset.meshes.size());
  for (std::size_t m = 0; m < asset.meshes.size(); ++m) {
    for (const Primitive& primitive : asset.meshes[m].primitives) {
      auto& counts = uses[m].emplace_back(primitive.positions.size());
      for (const std::uint32_t vertex : primitive.triangles)
        ++counts[vertex];
    }
  }
  struct Place {
    Mean mean;
    bool shared = false;  ///< by two triangles that have one vertex of the file here
  };
  std::unordered_map<std::uint64_t, Place> around;
  for (std::uint32_t f = 0; f < surface.faceCount(); ++f) {
    const FaceSource& source = surface.sources()[f];
    const auto mesh = static_cast<std::size_t>(asset.instances[source.instance].mesh);
    const Primitive& primitive = asset.meshes[mesh].primitives[source.primitive];
    for (std::size_t c = 0; c < 3; ++c) {
      const Mean& mean = corners.around[3 * std::size_t{f} + c];
      Place& place = around[key(f, c)];
      place.mean.add(mean.value(), mean.weight * surface.areas()[f]);
      const std::uint32_t vertex = primitive.triangles[3 * std::size_t{source.triangle} + source.corners[c]];
      place.shared = place.shared || uses[mesh][source.primitive][vertex] > 1;
    }
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
      const Place& place = around[key(f, c)];
      means[mesh][source.primitive][vertex].add(
          place.shared ? place.mean.value() : corners.linear[3 * std::size_t{f} + c], 1);
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
