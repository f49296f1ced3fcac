// What heatskin_core can do on its own: a surface from arrays, kernels fitted to a formula, colours from
// them. Linked to nothing else; check_links.cmake looks at what that brings along. Exit code 0: the fit
// explains the colours.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include <heatskin/surface/closest_point.h>
#include <heatskin/surface/fit_target.h>
#include <heatskin/surface/sampling.h>
#include <heatskin/surface/surface.h>
#include <heatskin/texture/kernel_texture.h>
#include <heatskin/training/config.h>
#include <heatskin/training/fit.h>

namespace {

using namespace heatskin;

/// A torus; coordinates are normalised by the surface, angles stay.
Surface torus() {
  constexpr std::uint32_t kAround = 40, kAcross = 20;
  std::vector<Vec3> positions;
  std::vector<std::array<std::uint32_t, 3>> faces;
  for (std::uint32_t i = 0; i < kAround; ++i) {
    for (std::uint32_t j = 0; j < kAcross; ++j) {
      const double u = 2 * std::numbers::pi * i / kAround, v = 2 * std::numbers::pi * j / kAcross;
      const double r = 1 + 0.4 * std::cos(v);
      positions.emplace_back(r * std::cos(u), r * std::sin(u), 0.4 * std::sin(v));
      const std::uint32_t a = i * kAcross + j, b = (i + 1) % kAround * kAcross + j;
      const std::uint32_t c = (i + 1) % kAround * kAcross + (j + 1) % kAcross,
                          d = i * kAcross + (j + 1) % kAcross;
      faces.push_back({a, b, c});
      faces.push_back({a, c, d});
    }
  }
  return std::move(*Surface::build(positions, faces));
}

/// Stripes around the axis.
void stripes(const Vec3& x, std::span<float> color) {
  const double wave = 0.5 + 0.5 * std::sin(6 * std::atan2(x.y(), x.x()));
  color[0] = static_cast<float>(wave);
  color[1] = 0.5f;
  color[2] = static_cast<float>(1 - wave);
}

}  // namespace

int main() {
  const auto surface = std::make_shared<const Surface>(torus());
  const FunctionTarget target(*surface, stripes);
  auto config = presetConfig("draft");
  if (!config) return std::fprintf(stderr, "%s\n", config.error().message.c_str()), 1;
  config->train.steps = 200;
  config->train.batch = 512;
  config->train.sampling.pool = 20'000;
  setKernelBudget(*config, 200);
  auto fitted = fit(*surface, target, *config);
  if (!fitted) return std::fprintf(stderr, "%s\n", fitted.error().message.c_str()), 1;
  const auto texture =
      KernelTexture::create(surface, std::move(fitted->kernels), config->evaluator.options());
  if (!texture) return std::fprintf(stderr, "%s\n", texture.error().message.c_str()), 1;

  const std::vector<SurfacePoint> points = sampleSurface(*surface, 5000, 7);
  std::vector<Vec3f> colors(points.size()), truth(points.size());
  texture->colors(points, colors);
  target.values(points, {truth[0].data(), 3 * truth.size()});
  double error = 0, variance = 0;  // of stripes around grey: 1/8 in two channels
  for (std::size_t i = 0; i < points.size(); ++i) {
    error += static_cast<double>((colors[i] - truth[i]).squaredNorm());
    variance += static_cast<double>((truth[i] - Vec3f::Constant(0.5f)).squaredNorm());
  }
  // A point of the surface is the nearest to itself.
  const ClosestPointQuery closest(*surface);
  const double distance = closest(surface->position(points[0])).distance;
  std::printf("%zu kernels explain %.3f of the variance; distance %.1e\n", texture->kernels().size(),
              1 - error / variance, distance);
  return error < 0.25 * variance && distance < 1e-12 ? 0 : 1;
}
