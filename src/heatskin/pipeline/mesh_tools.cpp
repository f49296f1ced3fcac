#include "heatskin/pipeline/mesh_tools.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/base/plural.h"
#include "heatskin/evaluators/local/log_map.h"
#include "heatskin/geodesic/exact_geodesic.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/eigenpairs.h"
#include "heatskin/operators/heat_action.h"
#include "heatskin/product/source_triangles.h"

namespace heatskin {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// How far inside of its triangle a point at a vertex lies, as part of the way to the centroid: less than the
/// rounding of a distance in float, but on the right side of every edge.
constexpr double kJustInside = 1e-5;

}  // namespace

Asset assetOfArrays(std::span<const Vec3> positions, std::span<const std::uint32_t> triangles) {
  Asset asset;
  asset.format = "arrays";
  Primitive primitive;
  primitive.positions.assign(positions.begin(), positions.end());
  primitive.triangles.assign(triangles.begin(), triangles.end());
  asset.stored_vertices = positions.size();
  asset.meshes.resize(1);
  asset.meshes[0].primitives.push_back(std::move(primitive));
  asset.instances.resize(1);
  asset.instances[0].mesh = 0;
  return asset;
}

PlainArrays arraysOf(const Asset& asset) {
  PlainArrays arrays;
  for (const Instance& instance : asset.instances) {
    if (instance.mesh < 0) continue;
    for (const Primitive& primitive : asset.meshes[static_cast<std::size_t>(instance.mesh)].primitives) {
      const auto offset = static_cast<std::uint32_t>(arrays.positions.size());
      for (const Vec3& x : primitive.positions)
        arrays.positions.push_back(instance.asset_from_mesh * x);
      for (const std::uint32_t vertex : primitive.triangles)
        arrays.triangles.push_back(offset + vertex);
    }
  }
  return arrays;
}

PlainMesh::~PlainMesh() = default;

Result<std::shared_ptr<const PlainMesh>> PlainMesh::build(std::span<const Vec3> positions,
                                                          std::span<const std::uint32_t> triangles,
                                                          const PlainMeshOptions& options) {
  for (std::size_t i = 0; i < triangles.size(); ++i) {
    if (triangles[i] >= positions.size()) {
      return inputError(fmt::format("triangle {} uses vertex {}, there are {} vertices", i / 3, triangles[i],
                                    positions.size()));
    }
  }
  std::shared_ptr<PlainMesh> mesh(new PlainMesh);
  mesh->asset_ = assetOfArrays(positions, triangles);
  SurfaceOptions surface_options;
  surface_options.weld = options.weld;
  surface_options.principal_axes = options.principal_axes;
  auto surface = buildSurface(mesh->asset_, surface_options);
  if (!surface) return surface.error();
  mesh->surface_ = std::make_shared<const Surface>(std::move(*surface));
  mesh->finder_ = std::make_unique<const SurfacePointFinder>(mesh->asset_, *mesh->surface_);
  mesh->log_map_ = std::make_unique<const local::LogMap>(*mesh->surface_);
  mesh->surface_of_vertex_.assign(positions.size(), kNone);
  mesh->vertex_of_surface_.assign(mesh->surface_->vertexCount(), kNone);
  for (std::uint32_t f = 0; f < mesh->surface_->faceCount(); ++f) {
    const FaceSource& source = mesh->surface_->sources()[f];
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint32_t ours = triangles[3 * std::size_t{source.triangle} + source.corners[c]];
      const std::uint32_t theirs = mesh->surface_->faces()[f][c];
      mesh->surface_of_vertex_[ours] = std::min(mesh->surface_of_vertex_[ours], theirs);
      mesh->vertex_of_surface_[theirs] = std::min(mesh->vertex_of_surface_[theirs], ours);
    }
  }
  return std::shared_ptr<const PlainMesh>(std::move(mesh));
}

Result<SurfacePoint> PlainMesh::pointAtVertex(std::uint32_t vertex) const {
  if (vertex >= vertexCount())
    return inputError(fmt::format("vertex {} does not exist, there are {}", vertex, vertexCount()));
  const std::uint32_t v = surface_of_vertex_[vertex];
  if (v == kNone) return inputError(fmt::format("vertex {} belongs to no triangle with area", vertex));
  const std::uint32_t half_edge = surface_->vertexHalfEdge()[v];
  SurfacePoint point{half_edge / 3, Vec3::Constant(kJustInside / 3)};
  point.barycentric[half_edge % 3] += 1 - kJustInside;
  return point;
}

Result<std::vector<double>> PlainMesh::distances(const SurfacePoint& source, double radius,
                                                 const Progress* progress) const {
  const double scale = surface_->surfaceFromAsset().scale;
  ExactGeodesicOptions options;
  options.radius = radius * scale;
  options.progress = progress;
  const ExactGeodesicOutcome outcome = exactGeodesics(*surface_, source, options);
  if (outcome.cancelled) return failure("interrupted", error_code::kCancelled);
  if (!outcome.complete)
    return failure("the exact distances take far more work than on other meshes; a smaller radius may help");
  std::vector<double> out(vertexCount(), kInfinite);
  for (std::size_t v = 0; v < outcome.distances.size(); ++v) {
    double& nearest = out[vertex_of_surface_[v]];
    nearest = std::min(nearest, outcome.distances[v] / scale);
  }
  // Vertices that were welded to another have its distance.
  for (std::size_t v = 0; v < out.size(); ++v) {
    if (surface_of_vertex_[v] != kNone)
      out[v] = std::min(out[v], out[vertex_of_surface_[surface_of_vertex_[v]]]);
  }
  return out;
}

Result<std::vector<double>> PlainMesh::distancesFromVertex(std::uint32_t vertex, double radius,
                                                           const Progress* progress) const {
  if (const auto used = pointAtVertex(vertex); !used) return used.error();
  // Where a mesh was cut at the vertex, all its copies are at distance 0.
  std::vector<double> out(vertexCount(), kInfinite);
  const std::uint32_t chosen = vertex_of_surface_[surface_of_vertex_[vertex]];
  for (std::uint32_t v = 0; v < surface_->vertexCount(); ++v) {
    if (vertex_of_surface_[v] != chosen) continue;
    const std::uint32_t half_edge = surface_->vertexHalfEdge()[v];
    SurfacePoint point{half_edge / 3, Vec3::Zero()};
    point.barycentric[half_edge % 3] = 1;
    const auto from = distances(point, radius, progress);
    if (!from) return from.error();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::min(out[i], (*from)[i]);
  }
  return out;
}

std::vector<PlainWalk> PlainMesh::walk(std::span<const SurfacePoint> starts, std::span<const Vec3> directions,
                                       BoundaryRule boundary) const {
  const double scale = surface_->surfaceFromAsset().scale;
  std::vector<Vec2> flat(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i)
    flat[i] = scale * surface_->frames()[starts[i].face].directionToFace(directions[i]);
  std::vector<WalkOutcome> outcomes(starts.size());
  WalkOptions options;
  options.boundary = boundary;
  heatskin::walk(*surface_, starts, flat, outcomes, options);
  std::vector<SurfacePoint> ends(starts.size());
  for (std::size_t i = 0; i < ends.size(); ++i)
    ends[i] = outcomes[i].end;
  const auto triangles = finder_->toTriangles(ends);
  const auto positions = finder_->toPositions(ends);
  std::vector<PlainWalk> out(starts.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Vec2 carried = outcomes[i].end_from_start.rotate(flat[i]) / scale;
    out[i] = {triangles[i], positions[i], surface_->frames()[ends[i].face].directionFromFace(carried),
              outcomes[i].length / scale, outcomes[i].stop};
  }
  return out;
}

PlainLogMap PlainMesh::logMap(const SurfacePoint& source, double radius) const {
  const double scale = surface_->surfaceFromAsset().scale;
  const FaceFrame& frame = surface_->frames()[source.face];
  PlainLogMap out{std::vector<Vec2>(vertexCount(), Vec2::Constant(kNotANumber)), frame.x_axis, frame.y_axis};
  for (const local::UnfoldedFace& face : log_map_->unfold(source, radius * scale)) {
    for (std::size_t c = 0; c < 3; ++c) {
      Vec2& place = out.vertices[vertex_of_surface_[surface_->faces()[face.face][c]]];
      // The face that is reached first sees the vertex on the shortest way.
      if (std::isnan(place.x())) place = face.corners[c] / scale;
    }
  }
  for (std::size_t v = 0; v < out.vertices.size(); ++v) {
    if (surface_of_vertex_[v] == kNone) continue;
    out.vertices[v] = out.vertices[vertex_of_surface_[surface_of_vertex_[v]]];
    if (out.vertices[v].norm() > radius) out.vertices[v].setConstant(kNotANumber);
  }
  return out;
}

PlainMatrix PlainMesh::stiffness(double angle, double anisotropy) const {
  const SingleOperator single = assembleOperator(*surface_, angle, anisotropy);
  const Operators& operators = single.operators;
  struct Entry {
    std::uint32_t row, column;
    double value;
  };
  std::vector<Entry> entries;
  entries.reserve(operators.entryCount());
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    for (std::uint32_t k = operators.begin[v]; k < operators.begin[v + 1]; ++k)
      entries.push_back(
          {vertex_of_surface_[v], vertex_of_surface_[operators.columns[k]], single.stiffness()[k]});
  }
  // Stable: sums do not depend on how a library sorts.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  PlainMatrix matrix;
  matrix.begin.assign(vertexCount() + 1, 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries[i - 1].row == entries[i].row && entries[i - 1].column == entries[i].column) {
      matrix.values.back() += entries[i].value;
      continue;
    }
    matrix.columns.push_back(entries[i].column);
    matrix.values.push_back(entries[i].value);
    ++matrix.begin[entries[i].row + 1];
  }
  for (std::size_t v = 0; v < vertexCount(); ++v)
    matrix.begin[v + 1] += matrix.begin[v];
  return matrix;
}

std::vector<double> PlainMesh::mass() const {
  const double scale = surface_->surfaceFromAsset().scale;
  std::vector<double> mass(vertexCount(), 0);
  for (std::uint32_t f = 0; f < surface_->faceCount(); ++f) {
    for (const std::uint32_t v : surface_->faces()[f])
      mass[vertex_of_surface_[v]] += surface_->areas()[f] / (3 * scale * scale);
  }
  return mass;
}

Result<std::vector<float>> PlainMesh::heat(std::span<const float> x, std::size_t width, double time,
                                           double angle, double anisotropy) const {
  std::vector<float> out(x.begin(), x.end());
  if (time == 0 || width == 0) return out;
  const double scale = surface_->surfaceFromAsset().scale;
  const SingleOperator single = assembleOperator(*surface_, angle, anisotropy);
  const std::size_t count = single.operators.vertex_count;
  if (auto fits = askMemory(fmt::format("heat on {} vertices", grouped(count)),
                            12.0 * static_cast<double>(count * width));
      !fits) {
    return fits.error();
  }
  const double times[] = {time * scale * scale};
  HeatOptions options;
  options.columns = width;
  const HeatPlan plan(single.operators);
  const HeatAction action(single.operators, plan, single.index, times, options);
  // exp(-t M^-1 L) = M^-1/2 exp(-t A) M^1/2.
  std::vector<float> columns(count * width);
  for (std::size_t v = 0; v < count; ++v) {
    const auto root = static_cast<float>(std::sqrt(single.operators.mass[v]));
    for (std::size_t c = 0; c < width; ++c)
      columns[v * width + c] = root * x[vertex_of_surface_[v] * width + c];
  }
  action.apply(0, width, columns.data(), columns.data());
  for (std::size_t v = 0; v < vertexCount(); ++v) {
    const std::uint32_t s = surface_of_vertex_[v];
    if (s == kNone) continue;
    const auto inverse = static_cast<float>(1 / std::sqrt(single.operators.mass[s]));
    for (std::size_t c = 0; c < width; ++c)
      out[v * width + c] = inverse * columns[s * width + c];
  }
  return out;
}

Result<PlainEigenpairs> PlainMesh::eigenpairs(std::size_t count, double angle, double anisotropy) const {
  const double scale = surface_->surfaceFromAsset().scale;
  const SingleOperator single = assembleOperator(*surface_, angle, anisotropy);
  EigenOptions options;
  options.count = count;
  if (count == 0 || count >= single.operators.vertex_count) {
    return usageError(fmt::format("{} eigenpairs of a surface with {} vertices: there are 1 to {}", count,
                                  grouped(single.operators.vertex_count),
                                  grouped(single.operators.vertex_count - 1)));
  }
  const EigenSolver solver(single.operators, options);
  const auto pairs = solver.solve(single.index);
  if (!pairs) return pairs.error();
  PlainEigenpairs out;
  out.values = pairs->values;
  for (double& value : out.values)
    value *= scale * scale;
  out.vectors.assign(vertexCount() * count, 0);
  for (std::size_t v = 0; v < vertexCount(); ++v) {
    if (surface_of_vertex_[v] == kNone) continue;
    for (std::size_t k = 0; k < count; ++k)
      out.vectors[v * count + k] =
          scale * static_cast<double>(pairs->vectors[surface_of_vertex_[v] * count + k]);
  }
  return out;
}

std::vector<PlainMesh::Frame> PlainMesh::frames() const {
  const Vec3 none = Vec3::Constant(kNotANumber);
  std::vector<Frame> frames(triangleCount(), {none, none});
  for (std::uint32_t f = 0; f < surface_->faceCount(); ++f) {
    const FaceFrame& frame = surface_->frames()[f];
    frames[surface_->sources()[f].triangle] = {frame.x_axis, frame.y_axis};
  }
  return frames;
}

}  // namespace heatskin
