#include "heatskin/surface/surface.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/manifold.h"
#include "heatskin/surface/normals.h"
#include "heatskin/surface/principal_directions.h"
#include "heatskin/surface/surface_memory.h"
#include "heatskin/surface/weld.h"

namespace heatskin {
namespace {

using Triangle = std::array<std::uint32_t, 3>;
constexpr std::size_t kFacesPerBlock = 4096;

}  // namespace

/// Fills a Surface step by step.
class SurfaceBuilder {
 public:
  explicit SurfaceBuilder(const SurfaceOptions& options) : options_(options) {}

  Result<Surface> build(TriangleSoup soup) {
    const auto refuse = [&](const std::string& cause) {
      return inputError(soup.name.empty() ? cause : soup.name + ": " + cause);
    };
    if (soup.triangles.empty()) return refuse("mesh has no triangles");
    for (std::size_t f = 0; f < soup.triangles.size(); ++f) {
      for (const std::uint32_t v : soup.triangles[f]) {
        if (v >= soup.positions.size())
          return refuse(fmt::format("face {} refers to vertex {} of {}", f, v, soup.positions.size()));
      }
    }
    for (const Vec3& x : soup.positions) {
      if (!x.allFinite()) return refuse("a position is not finite");
    }
    if (soup.sources.empty()) {
      soup.sources.resize(soup.triangles.size());
      for (std::size_t f = 0; f < soup.triangles.size(); ++f)
        soup.sources[f].triangle = static_cast<std::uint32_t>(f);
    }
    Welding welding;
    if (options_.weld) {
      welding = weldPositions(soup.positions);
      for (Triangle& t : soup.triangles) {
        for (std::uint32_t& v : t)
          v = welding.vertex_of_input[v];
      }
      std::vector<std::uint32_t>().swap(welding.vertex_of_input);
      std::vector<Vec3>().swap(soup.positions);
    } else {
      welding.positions = std::move(soup.positions);
    }
    const Similarity moderate = moderateFromAsset(welding.positions, soup.triangles);
    if (!(moderate.scale > 0) || !std::isfinite(moderate.scale))
      return refuse("mesh has no area: all points coincide");
    for (Vec3& x : welding.positions)
      x = moderate.scale * (x - moderate_center_);

    Manifold manifold = makeManifold(welding.positions, soup.triangles, surface_.report_);
    surface_.report_.unused_vertices = welding.positions.size() - surface_.report_.vertices;
    if (manifold.faces.empty()) return refuse("mesh has no area: every face is degenerate");
    takeManifold(std::move(manifold), welding.positions, soup.sources);
    normalise();
    computeAreas();
    computeNormals();
    if (options_.principal_axes) {
      surface_.principal_directions_ =
          principalDirections({surface_.positions_, surface_.vertex_normals_, surface_.faces_,
                               surface_.twins_, surface_.vertex_half_edge_},
                              options_.curvature_rings);
    }
    computeFrames();
    findComponents();
    findBoundaries();
    return std::move(surface_);
  }

 private:
  /// Scale that brings the used part of the asset to size 1, so that squares and cross products neither
  /// overflow nor underflow whatever the asset's unit is. Also sets moderate_center_.
  Similarity moderateFromAsset(std::span<const Vec3> positions, std::span<const Triangle> triangles) {
    Vec3 low = positions[triangles[0][0]], high = low;
    for (const Triangle& t : triangles) {
      for (const std::uint32_t v : t) {
        low = low.cwiseMin(positions[v]);
        high = high.cwiseMax(positions[v]);
      }
    }
    moderate_center_ = 0.5 * low + 0.5 * high;
    moderate_scale_ = 0.5 / (0.5 * high - 0.5 * low).maxCoeff();
    return {moderate_scale_, -moderate_scale_ * moderate_center_};
  }

  void takeManifold(Manifold manifold, std::span<const Vec3> positions, std::span<const FaceSource> sources) {
    surface_.faces_ = std::move(manifold.faces);
    surface_.twins_ = std::move(manifold.twins);
    surface_.vertex_half_edge_ = std::move(manifold.vertex_half_edge);
    surface_.positions_.reserve(manifold.input_vertex.size());
    for (const std::uint32_t v : manifold.input_vertex)
      surface_.positions_.push_back(positions[v]);
    surface_.sources_.reserve(manifold.input_face.size());
    for (std::size_t f = 0; f < manifold.input_face.size(); ++f) {
      FaceSource source = sources[manifold.input_face[f]];
      if (manifold.flipped[f] != 0) std::swap(source.corners[1], source.corners[2]);
      surface_.sources_.push_back(source);
    }
  }

  /// METHOD section 1: area-weighted centroid to the origin, longest side of the bounding box to 2.
  void normalise() {
    Vec3 low = surface_.positions_[0], high = low, centroid = Vec3::Zero();
    double area = 0;
    for (const Vec3& x : surface_.positions_) {
      low = low.cwiseMin(x);
      high = high.cwiseMax(x);
    }
    for (const Triangle& t : surface_.faces_) {
      const Vec3 &a = surface_.positions_[t[0]], &b = surface_.positions_[t[1]],
                 &c = surface_.positions_[t[2]];
      const double twice = (b - a).cross(c - a).norm();
      area += twice;
      centroid += twice / 3 * (a + b + c);
    }
    centroid /= area;
    double scale = 2 / (high - low).maxCoeff();
    if (!options_.normalise) {
      scale = 1 / moderate_scale_;
      centroid = -moderate_scale_ * moderate_center_;
    }
    for (Vec3& x : surface_.positions_)
      x = scale * (x - centroid);
    Similarity& total = surface_.surface_from_asset_;
    total.scale = scale * moderate_scale_;
    total.translation = -total.scale * moderate_center_ - scale * centroid;
  }

  void computeAreas() {
    const auto faces = surface_.faces_.size();
    surface_.areas_.resize(faces);
    double edge_sum = 0;
    for (std::size_t f = 0; f < faces; ++f) {
      const auto [a, b, c] = cornersOf(f);
      surface_.areas_[f] = 0.5 * (b - a).cross(c - a).norm();
      surface_.total_area_ += surface_.areas_[f];
      edge_sum += (b - a).norm() + (c - b).norm() + (a - c).norm();
    }
    surface_.mean_edge_length_ = edge_sum / (3 * static_cast<double>(faces));
  }

  std::array<Vec3, 3> cornersOf(std::size_t f) const {
    const Triangle& t = surface_.faces_[f];
    return {surface_.positions_[t[0]], surface_.positions_[t[1]], surface_.positions_[t[2]]};
  }

  void computeNormals() {
    surface_.vertex_normals_.resize(surface_.positions_.size());
    parallelFor(surface_.positions_.size(), kFacesPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v)
        surface_.vertex_normals_[v] = vertexNormal(v);
    });
  }

  /// Angle-weighted: independent of how the fan is triangulated.
  Vec3 vertexNormal(std::size_t v) const {
    NormalSum sum;
    Vec3 largest = Vec3::UnitZ();
    double largest_area = -1;
    const std::uint32_t first = surface_.vertex_half_edge_[v];
    for (std::uint32_t h = first;;) {
      const std::size_t f = h / 3, c = h % 3;
      const auto corners = cornersOf(f);
      const Vec3 a = corners[(c + 1) % 3] - corners[c], b = corners[(c + 2) % 3] - corners[c];
      const Vec3 normal = a.cross(b);
      const double length = normal.norm();
      sum.add(normal / length, std::atan2(length, a.dot(b)));
      if (length > largest_area) {
        largest_area = length;
        largest = normal / length;
      }
      h = surface_.twins_[f][(c + 2) % 3];
      if (h == kNone || h == first) break;
    }
    return sum.unit(largest);
  }

  void computeFrames() {
    const std::size_t faces = surface_.faces_.size();
    surface_.frames_.resize(faces);
    surface_.corners_.resize(faces);
    parallelFor(faces, kFacesPerBlock, [&](std::size_t begin, std::size_t end) {
      for (std::size_t f = begin; f < end; ++f) {
        const auto corners = cornersOf(f);
        FaceFrame& frame = surface_.frames_[f];
        const Vec3 normal = faceNormal(corners);
        frame.origin = (corners[0] + corners[1] + corners[2]) / 3;
        frame.x_axis = firstAxis(f, corners, normal);
        frame.y_axis = normal.cross(frame.x_axis);
        for (std::size_t c = 0; c < 3; ++c)
          surface_.corners_[f][c] = frame.toFace(corners[c]);
      }
    });
  }

  /// The cross product of the two edges at the corner opposite to the longest edge: the best conditioned
  /// pair.
  static Vec3 faceNormal(const std::array<Vec3, 3>& x) {
    std::size_t apex = 0;
    double longest = -1;
    for (std::size_t c = 0; c < 3; ++c) {
      const double length = (x[(c + 2) % 3] - x[(c + 1) % 3]).squaredNorm();
      if (length > longest) longest = length, apex = c;
    }
    return (x[(apex + 1) % 3] - x[apex]).cross(x[(apex + 2) % 3] - x[apex]).normalized();
  }

  /// METHOD section 6: the mean of the corners' principal directions, signs aligned with the first corner,
  /// projected into the plane; an edge direction where that degenerates.
  Vec3 firstAxis(std::size_t f, const std::array<Vec3, 3>& corners, const Vec3& normal) const {
    // A unit vector closer than about 0.06 degrees to the normal has no meaningful projection.
    constexpr double kMinProjection = 1e-3;
    const auto project = [&](const Vec3& v) -> Vec3 { return v - normal * normal.dot(v); };
    if (!surface_.principal_directions_.empty()) {
      const Triangle& t = surface_.faces_[f];
      const Vec3& reference = surface_.principal_directions_[t[0]];
      Vec3 sum = reference;
      for (std::size_t c = 1; c < 3; ++c) {
        const Vec3& d = surface_.principal_directions_[t[c]];
        sum += d.dot(reference) < 0 ? Vec3(-d) : d;
      }
      const Vec3 axis = project(sum);
      if (axis.norm() > kMinProjection) return project(axis.normalized()).normalized();
    }
    std::size_t longest = 0;
    for (std::size_t e = 1; e < 3; ++e) {
      if ((corners[(e + 1) % 3] - corners[e]).squaredNorm() >
          (corners[(longest + 1) % 3] - corners[longest]).squaredNorm()) {
        longest = e;
      }
    }
    return project((corners[(longest + 1) % 3] - corners[longest]).normalized()).normalized();
  }

  /// Faces joined through edges; numbered by their first face.
  void findComponents() {
    surface_.components_.assign(surface_.faces_.size(), kNone);
    std::vector<std::uint32_t> stack;
    for (std::uint32_t seed = 0; seed < surface_.faceCount(); ++seed) {
      if (surface_.components_[seed] != kNone) continue;
      const std::uint32_t component = surface_.component_count_++;
      surface_.components_[seed] = component;
      stack.assign(1, seed);
      while (!stack.empty()) {
        const std::uint32_t f = stack.back();
        stack.pop_back();
        for (const std::uint32_t twin : surface_.twins_[f]) {
          if (twin == kNone || surface_.components_[twin / 3] != kNone) continue;
          surface_.components_[twin / 3] = component;
          stack.push_back(twin / 3);
        }
      }
    }
  }

  void findBoundaries() {
    surface_.boundary_vertex_.assign(surface_.positions_.size(), 0);
    std::vector<std::uint8_t> seen(3 * surface_.faces_.size(), 0);
    for (std::uint32_t h = 0; h < seen.size(); ++h) {
      if (seen[h] != 0 || surface_.twins_[h / 3][h % 3] != kNone) continue;
      auto& loop = surface_.boundary_loops_.emplace_back();
      // A vertex has one fan, hence one boundary half-edge leaves it: following the heads closes the loop.
      for (std::uint32_t g = h; seen[g] == 0;) {
        seen[g] = 1;
        loop.push_back(g);
        surface_.boundary_vertex_[surface_.faces_[g / 3][g % 3]] = 1;
        g = surface_.vertex_half_edge_[surface_.faces_[g / 3][(g % 3 + 1) % 3]];
      }
    }
  }

  SurfaceOptions options_;
  Surface surface_;
  Vec3 moderate_center_ = Vec3::Zero();
  double moderate_scale_ = 1;
};

double surfaceBytes(double triangles, double vertices) {
  // Measured (surface_memory_test.cpp): the arrays of the finished surface, and those of welding and edges
  // beside them.
  return 300 * triangles + 40 * vertices;
}

Result<Surface> Surface::build(TriangleSoup soup, const SurfaceOptions& options) {
  return SurfaceBuilder(options).build(std::move(soup));
}

Result<Surface> Surface::build(std::span<const Vec3> positions, std::span<const Triangle> faces,
                               const SurfaceOptions& options) {
  return build({{positions.begin(), positions.end()}, {faces.begin(), faces.end()}, {}, {}}, options);
}

Vec3 Surface::barycentric(std::uint32_t face, const Vec2& p) const {
  const auto& c = corners_[face];
  const double twice_area = cross2(c[1] - c[0], c[2] - c[0]);
  const double b1 = cross2(p - c[0], c[2] - c[0]) / twice_area;
  const double b2 = cross2(c[1] - c[0], p - c[0]) / twice_area;
  return {1 - b1 - b2, b1, b2};
}

std::vector<Notice> Surface::notices() const {
  std::vector<Notice> notices;
  const auto plural = [](std::size_t n, const char* one, const char* many) { return n == 1 ? one : many; };
  const auto add = [&](const char* code, std::size_t count, std::string message) {
    if (count > 0) notices.push_back({code, std::move(message), count, true});
  };
  const SurfaceReport& r = report_;
  add("degenerate_faces", r.degenerate_faces,
      fmt::format("{} degenerate {} dropped (no area)", r.degenerate_faces,
                  plural(r.degenerate_faces, "face", "faces")));
  add("duplicate_faces", r.duplicate_faces,
      fmt::format("{} duplicate {} dropped", r.duplicate_faces, plural(r.duplicate_faces, "face", "faces")));
  add("nonmanifold_edges", r.nonmanifold_edges,
      fmt::format(
          "{} non-manifold {} (three or more faces) cut: the faces that continue each other best stay joined",
          r.nonmanifold_edges, plural(r.nonmanifold_edges, "edge", "edges")));
  add("nonmanifold_vertices", r.nonmanifold_vertices,
      fmt::format("{} non-manifold {} split, one copy for each fan of faces", r.nonmanifold_vertices,
                  plural(r.nonmanifold_vertices, "vertex", "vertices")));
  add("nonorientable_components", r.nonorientable_components,
      fmt::format("{} {} not orientable and cut open", r.nonorientable_components,
                  plural(r.nonorientable_components, "piece is", "pieces are")));
  add("flipped_faces", r.flipped_faces,
      fmt::format("orientation was inconsistent: {} {} flipped", r.flipped_faces,
                  plural(r.flipped_faces, "face", "faces")));
  add("sliver_faces", r.sliver_faces,
      fmt::format("{} sliver {} kept (height below a millionth of the longest edge)", r.sliver_faces,
                  plural(r.sliver_faces, "face", "faces")));
  add("unused_vertices", r.unused_vertices,
      fmt::format("{} unused {} dropped", r.unused_vertices,
                  plural(r.unused_vertices, "vertex", "vertices")));
  return notices;
}

}  // namespace heatskin
