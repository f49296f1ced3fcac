// What a user of the installed core writes: a cube from arrays, fitted to a formula, and asked for colours.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <heatskin/base/vec.h>
#include <heatskin/surface/fit_target.h>
#include <heatskin/surface/surface.h>
#include <heatskin/texture/kernel_texture.h>
#include <heatskin/training/config.h>
#include <heatskin/training/fit.h>
#include <heatskin/version.h>

using namespace heatskin;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s: %s\n", error.code.c_str(), error.message.c_str());
  return 1;
}

/// Smooth waves of every channel.
void waves(const Vec3& p, std::span<float> rgb) {
  for (std::size_t c = 0; c < 3; ++c) {
    const double phase = 2 * p[static_cast<int>(c)] + p[static_cast<int>((c + 1) % 3)];
    rgb[c] = static_cast<float>(0.5 + 0.4 * std::sin(phase));
  }
}

}  // namespace

int main() {
  std::vector<Vec3> corners;
  for (int i = 0; i < 8; ++i)
    corners.emplace_back(2 * (i & 1) - 1, 2 * (i >> 1 & 1) - 1, 2 * (i >> 2) - 1);
  const std::vector<std::array<std::uint32_t, 3>> faces = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6},
                                                           {0, 1, 5}, {0, 5, 4}, {2, 6, 7}, {2, 7, 3},
                                                           {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  auto built = Surface::build(corners, faces);
  if (!built) return fail(built.error());
  const auto surface = std::make_shared<const Surface>(std::move(*built));

  auto config = presetConfig("draft");
  if (!config) return fail(config.error());
  config->train.steps = 300;
  config->train.batch = 1024;
  config->train.sampling.pool = 20'000;
  setKernelBudget(*config, 300);
  settleBudget(*config, *surface);
  const auto fitted = fit(*surface, FunctionTarget(*surface, waves), *config);
  if (!fitted) return fail(fitted.error());
  const auto texture = KernelTexture::create(surface, fitted->kernels, config->evaluator.options());
  if (!texture) return fail(texture.error());

  // A grid on every face.
  std::vector<SurfacePoint> points;
  for (std::uint32_t f = 0; f < surface->faceCount(); ++f) {
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; i + j < 10; ++j)
        points.push_back({f, Vec3(i + 1.0 / 3, j + 1.0 / 3, 10 - i - j - 2.0 / 3) / 10});
    }
  }
  std::vector<Vec3f> colors(points.size());
  texture->colors(points, colors);
  double error = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::array<float, 3> truth{};
    waves(surface->assetFromSurface()(surface->position(points[i])), truth);
    for (std::size_t c = 0; c < 3; ++c)
      error += std::pow(static_cast<double>(colors[i][static_cast<int>(c)] - truth[c]), 2);
  }
  const double psnr = -10 * std::log10(error / (3 * static_cast<double>(points.size())));
  std::printf("heatskin %s, a cube of area %.6f, %s\n", kVersion, surface->totalArea(),
              psnr > 25 ? "fitted" : "not fitted");
  if (psnr <= 25) std::fprintf(stderr, "%.2f dB\n", psnr);
}
