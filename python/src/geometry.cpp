// Geometry on plain arrays: PlainMesh and farthest points.

#include <algorithm>
#include <memory>

#include "heatskin/pipeline/mesh_tools.h"
#include "heatskin/surface/farthest_points.h"
#include "heatskin/surface/sampling.h"

#include "convert.h"
#include "progress.h"

namespace heatskin::python {
namespace {

/// What Python holds. Calls that are under way keep it alive.
struct Mesh {
  std::shared_ptr<const PlainMesh> mesh;
  const PlainMesh* operator->() const { return mesh.get(); }
  const PlainMesh& operator*() const { return *mesh; }
};

std::vector<SurfacePoint> surfacePoints(const PlainMesh& mesh, const std::vector<TrianglePoint>& points) {
  return take(mesh.points().fromTriangles(points)).points;
}

Mesh build(const Array<double>& positions, const Array<std::int64_t>& triangles, bool weld,
           bool principal_axes) {
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(triangles.size()));
  std::copy_n(triangles.data(), indices.size(), indices.data());
  return released(0, [&] {
    return Mesh{take(PlainMesh::build(vectorsOf(positions), indices, {weld, principal_axes}))};
  });
}

py::dict meshReport(const Mesh& mesh) {
  const Surface& surface = mesh->surface();
  const SurfaceReport& report = surface.report();
  py::dict out;
  addCounts(out, report);
  out["cut_edges"] = report.cut_edges;
  out["unused_vertices"] = report.unused_vertices;
  const double scale = surface.surfaceFromAsset().scale;
  out["area"] = surface.totalArea() / (scale * scale);
  out["mean_edge_length"] = surface.meanEdgeLength() / scale;
  out["notices"] = noticesOf(surface.notices());
  return out;
}

py::array distances(const Mesh& mesh, std::int64_t vertex, const Array<std::int64_t>& face,
                    const Array<double>& bary, double radius, int threads) {
  const auto points = trianglePoints(face, bary);
  PythonProgress progress{py::none()};  // for Ctrl-C
  auto found = released(threads, [&] {
    return vertex >= 0 ? mesh->distancesFromVertex(static_cast<std::uint32_t>(vertex), radius, &progress)
                       : mesh->distances(surfacePoints(*mesh, points).at(0), radius, &progress);
  });
  progress.finish();
  return arrayOf(take(std::move(found)));
}

py::tuple logMap(const Mesh& mesh, std::int64_t vertex, const Array<std::int64_t>& face,
                 const Array<double>& bary, double radius, int threads) {
  const auto points = trianglePoints(face, bary);
  PlainLogMap map = released(threads, [&] {
    const SurfacePoint source = vertex >= 0 ? take(mesh->pointAtVertex(static_cast<std::uint32_t>(vertex)))
                                            : surfacePoints(*mesh, points).at(0);
    return mesh->logMap(source, radius);
  });
  return py::make_tuple(arrayOf(std::move(map.vertices)), arrayOf(std::vector<Vec3>{map.x_axis, map.y_axis}));
}

py::tuple walk(const Mesh& mesh, const Array<std::int64_t>& faces, const Array<double>& bary,
               const Array<double>& directions, bool slide, int threads) {
  const auto points = trianglePoints(faces, bary);
  const auto walks = released(threads, [&] {
    return mesh->walk(surfacePoints(*mesh, points), vectorsOf(directions),
                      slide ? BoundaryRule::kSlide : BoundaryRule::kStop);
  });
  std::vector<TrianglePoint> ends(walks.size());
  std::vector<Vec3> positions(walks.size()), carried(walks.size());
  std::vector<double> lengths(walks.size());
  std::vector<std::uint8_t> stops(walks.size());
  for (std::size_t i = 0; i < walks.size(); ++i) {
    ends[i] = walks[i].end;
    positions[i] = walks[i].position;
    carried[i] = walks[i].direction;
    lengths[i] = walks[i].length;
    stops[i] = static_cast<std::uint8_t>(walks[i].stop);
  }
  const py::tuple end = arraysOfPoints(ends);
  return py::make_tuple(end[0], end[1], arrayOf(std::move(positions)), arrayOf(std::move(carried)),
                        arrayOf(std::move(lengths)), arrayOf(std::move(stops)));
}

py::tuple stiffness(const Mesh& mesh, double angle, double anisotropy, int threads) {
  PlainMatrix matrix = released(threads, [&] { return mesh->stiffness(angle, anisotropy); });
  return py::make_tuple(arrayOf(std::move(matrix.begin)), arrayOf(std::move(matrix.columns)),
                        arrayOf(std::move(matrix.values)));
}

py::array heat(const Mesh& mesh, const Array<float>& x, double time, double angle, double anisotropy,
               int threads) {
  const auto width = static_cast<std::size_t>(x.shape(1));
  auto y = released(threads, [&] { return take(mesh->heat(spanOf(x), width, time, angle, anisotropy)); });
  return arrayOf<float, float>(std::move(y), {x.shape(0), x.shape(1)});
}

py::tuple eigenpairs(const Mesh& mesh, std::size_t count, double angle, double anisotropy, int threads) {
  PlainEigenpairs pairs = released(threads, [&] { return take(mesh->eigenpairs(count, angle, anisotropy)); });
  const auto rows = static_cast<py::ssize_t>(mesh->vertexCount());
  return py::make_tuple(
      arrayOf(std::move(pairs.values)),
      arrayOf<double, double>(std::move(pairs.vectors), {rows, static_cast<py::ssize_t>(count)}));
}

py::tuple closest(const Mesh& mesh, const Array<double>& positions, int threads) {
  std::vector<TrianglePoint> points;
  std::vector<Vec3> places;
  released(threads, [&] {
    const auto found = take(mesh->points().fromPositions(vectorsOf(positions)));
    points = mesh->points().toTriangles(found.points);
    places = mesh->points().toPositions(found.points);
    return 0;
  });
  const py::tuple at = arraysOfPoints(points);
  return py::make_tuple(at[0], at[1], arrayOf(std::move(places)));
}

py::tuple sample(const Mesh& mesh, std::size_t count, std::uint64_t seed, int threads) {
  return arraysOfPoints(released(
      threads, [&] { return mesh->points().toTriangles(sampleSurface(mesh->surface(), count, seed)); }));
}

py::tuple frames(const Mesh& mesh) {
  const auto all = mesh->frames();
  std::vector<Vec3> x(all.size()), y(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    x[i] = all[i].x_axis;
    y[i] = all[i].y_axis;
  }
  return py::make_tuple(arrayOf(std::move(x)), arrayOf(std::move(y)));
}

py::array farthest(const Array<double>& points, std::size_t count, std::int64_t start, int threads) {
  auto chosen = released(threads, [&] {
    const auto all = vectorsOf(points);
    return farthestPoints(all, count, start >= 0 ? static_cast<std::uint32_t>(start) : closestToOrigin(all));
  });
  return arrayOf(std::vector<std::int64_t>(chosen.begin(), chosen.end()));
}

}  // namespace

void bindGeometry(py::module_& module) {
  py::class_<Mesh>(module, "Mesh")
      .def_property_readonly("vertex_count", [](const Mesh& mesh) { return mesh->vertexCount(); })
      .def_property_readonly("triangle_count", [](const Mesh& mesh) { return mesh->triangleCount(); });
  module.def("mesh_build", &build);
  module.def("mesh_report", &meshReport);
  module.def("mesh_distances", &distances);
  module.def("mesh_log_map", &logMap);
  module.def("mesh_walk", &walk);
  module.def("mesh_stiffness", &stiffness);
  module.def("mesh_mass", [](const Mesh& mesh) { return arrayOf(mesh->mass()); });
  module.def("mesh_heat", &heat);
  module.def("mesh_eigenpairs", &eigenpairs);
  module.def("mesh_closest", &closest);
  module.def("mesh_sample", &sample);
  module.def("mesh_frames", &frames);
  module.def("farthest_points", &farthest);
}

}  // namespace heatskin::python
