#pragma once

// Surfaces and cameras for the tests of this folder.

#include <utility>

#include <gtest/gtest.h>

#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/test_meshes.h"
#include "heatskin/surface/surface.h"

namespace heatskin::testing {

/// Twice the diagonal of the snapping grid, in pixels or texels: farther than this from every edge, coverage
/// by the snapped and by the exact triangle agree.
inline constexpr double kEdgeBand = 2.0 * 1.4143 / 16384;

inline Surface surfaceOf(const TriangleMesh& mesh) {
  SurfaceOptions options;
  options.principal_axes = false;
  Result<Surface> surface = Surface::build(mesh.positions, mesh.faces, options);
  EXPECT_TRUE(surface.ok());
  return std::move(surface).value();
}

/// Looks along -z; 50 pixels per unit in the plane z = 0 of a picture 200 pixels high.
inline Camera fiftyPixelsPerUnit(double x = 0, double y = 0) {
  Camera camera;
  camera.eye = {x, y, 2};
  camera.target = {x, y, 0};
  camera.vertical_fov = 90 * kDegree;  // focal length 100 pixels
  return camera;
}

}  // namespace heatskin::testing
