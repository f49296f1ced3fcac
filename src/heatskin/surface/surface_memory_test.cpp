#include "heatskin/surface/surface_memory.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <malloc.h>

#include "heatskin/base/memory_budget.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/surface/surface.h"

#include "support/sanitized.h"

namespace heatskin {
namespace {

double peakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024;
  }
  return 0;
}

/// A wavy grid with corners of its own for every face (`shared` false) or shared ones.
Asset grid(std::uint32_t side, bool shared) {
  Asset asset;
  Primitive p;
  const auto at = [&](std::uint32_t x, std::uint32_t y) {
    return Vec3(x, y, 5 * std::sin(0.1 * x) * std::cos(0.07 * y));
  };
  if (shared) {
    for (std::uint32_t y = 0; y <= side; ++y) {
      for (std::uint32_t x = 0; x <= side; ++x)
        p.positions.push_back(at(x, y));
    }
  }
  for (std::uint32_t y = 0; y < side; ++y) {
    for (std::uint32_t x = 0; x < side; ++x) {
      for (const auto& [dx, dy] : {std::pair(0u, 0u), {1u, 0u}, {1u, 1u}, {0u, 0u}, {1u, 1u}, {0u, 1u}}) {
        if (shared) {
          p.triangles.push_back((y + dy) * (side + 1) + x + dx);
        } else {
          p.triangles.push_back(static_cast<std::uint32_t>(p.positions.size()));
          p.positions.push_back(at(x + dx, y + dy));
        }
      }
    }
  }
  asset.meshes.push_back({"", {p}});
  asset.instances.push_back({"", 0, Affine3::Identity()});
  return asset;
}

TEST(SurfaceMemory, TheEstimateIsNearTheMeasuredPeak) {
  if (testing::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  for (const bool shared : {true, false}) {
    const Asset asset = grid(400, shared);
    malloc_trim(0);
    if (!(std::ofstream("/proc/self/clear_refs") << "5")) GTEST_SKIP() << "the system does not tell peaks";
    const auto before = static_cast<double>(residentBytes());
    const auto surface = buildSurface(asset);
    const double measured = peakBytes() - before;
    ASSERT_TRUE(surface);
    const Primitive& p = asset.meshes[0].primitives[0];
    const double estimate =
        surfaceBytes(static_cast<double>(p.triangleCount()), static_cast<double>(p.positions.size()));
    RecordProperty(shared ? "shared_per_face" : "measured_per_face",
                   std::to_string(measured / static_cast<double>(p.triangleCount())));
    EXPECT_GT(estimate, 0.7 * measured) << shared << " " << measured << " measured";
    EXPECT_LT(estimate, 1.6 * measured) << shared << " " << measured << " measured";
  }
}

}  // namespace
}  // namespace heatskin
