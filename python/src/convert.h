#pragma once

// Between numpy and the library. The Python side (heatskin/_arrays.py) hands over arrays of exactly the type
// and order asked for here, so that nothing is converted twice and messages name what the user wrote.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/result.h"
#include "heatskin/base/vec.h"
#include "heatskin/product/product.h"
#include "heatskin/surface/surface.h"

#include "gil.h"

namespace heatskin::python {

namespace py = pybind11;

/// An argument of exactly this type, in C order.
template <class T>
using Array = py::array_t<T, py::array::c_style>;

/// An Error on its way to Python, where it becomes one of heatskin's exceptions.
struct Failure : std::exception {
  explicit Failure(Error of) : error(std::move(of)) {}
  const char* what() const noexcept override { return error.message.c_str(); }
  Error error;
};

template <class T>
T take(Result<T> result) {
  if (!result) throw Failure(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// Runs `work` with at most `threads` threads (0: all cores) while other Python threads go on.
template <class Work>
auto released(int threads, const Work& work) {
  const WithoutGil without;
  const ThreadLimit limit(threads);
  return work();
}

static_assert(sizeof(Vec3) == 3 * sizeof(double) && alignof(Vec3) == alignof(double));
static_assert(sizeof(Vec2) == 2 * sizeof(double) && sizeof(Vec3f) == 3 * sizeof(float));

inline std::span<const Vec3> vectorsOf(const Array<double>& rows) {
  return {reinterpret_cast<const Vec3*>(rows.data()), static_cast<std::size_t>(rows.shape(0))};
}

template <class T>
std::span<const T> spanOf(const Array<T>& values) {
  return {values.data(), static_cast<std::size_t>(values.size())};
}

/// A new array; it owns the values, nothing is copied.
template <class T, class Element>
py::array arrayOf(std::vector<Element>&& values, std::vector<py::ssize_t> shape) {
  auto owner = std::make_unique<std::vector<Element>>(std::move(values));
  const auto* data = reinterpret_cast<const T*>(owner->data());
  py::capsule base(owner.get(), [](void* p) { delete static_cast<std::vector<Element>*>(p); });
  owner.release();
  return py::array_t<T>(std::move(shape), data, base);
}

template <class T>
py::array arrayOf(std::vector<T>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return arrayOf<T, T>(std::move(values), {size});
}

inline py::array arrayOf(std::vector<Vec3>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return arrayOf<double, Vec3>(std::move(values), {size, 3});
}

inline py::array arrayOf(std::vector<Vec2>&& values) {
  const auto size = static_cast<py::ssize_t>(values.size());
  return arrayOf<double, Vec2>(std::move(values), {size, 2});
}

inline py::bytes bytesOf(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Faces (in range; Python has looked) and barycentric coordinates.
inline std::vector<TrianglePoint> trianglePoints(const Array<std::int64_t>& faces,
                                                 const Array<double>& bary) {
  const auto rows = vectorsOf(bary);
  std::vector<TrianglePoint> points(rows.size());
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {static_cast<std::uint32_t>(faces.data()[i]), rows[i]};
  return points;
}

/// Back: (faces [n], barycentric [n, 3]).
inline py::tuple arraysOfPoints(const std::vector<TrianglePoint>& points) {
  std::vector<std::int64_t> faces(points.size());
  std::vector<Vec3> bary(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    faces[i] = points[i].triangle;
    bary[i] = points[i].barycentric;
  }
  return py::make_tuple(arrayOf(std::move(faces)), arrayOf(std::move(bary)));
}

inline py::list noticesOf(const std::vector<Notice>& notices) {
  py::list list;
  for (const Notice& notice : notices) {
    py::dict entry;
    entry["code"] = notice.code;
    entry["message"] = notice.message;
    entry["count"] = notice.count;
    entry["warning"] = notice.warning;
    list.append(entry);
  }
  return list;
}

// The parts of the module.
void bindGeometry(py::module_& module);
void bindTexture(py::module_& module);
void bindFit(py::module_& module);
void bindPictures(py::module_& module);

/// What was wrong with a mesh and repaired, as counts.
inline void addCounts(py::dict& out, const SurfaceReport& report) {
  out["components"] = report.components;
  out["boundary_edges"] = report.boundary_edges;
  out["nonmanifold_edges"] = report.nonmanifold_edges;
  out["nonmanifold_vertices"] = report.nonmanifold_vertices;
  out["degenerate_faces"] = report.degenerate_faces;
  out["duplicate_faces"] = report.duplicate_faces;
  out["flipped_faces"] = report.flipped_faces;
}

}  // namespace heatskin::python
