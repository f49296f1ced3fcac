#include "heatskin/evaluation/five_frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "heatskin/io/color_space.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/metrics/ms_ssim.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/ssim.h"

namespace heatskin {
namespace {

constexpr int kFrames = 5;
constexpr double kCameraDistance = 3.7;
constexpr double kFirstAzimuth = 180 * kDegree, kStep = 72 * kDegree;
constexpr int kReflections = 16;

}  // namespace

std::vector<Camera> fiveFrameCameras() {
  std::vector<Camera> cameras;
  for (int i = 0; i < kFrames; ++i) {
    const double azimuth = kFirstAzimuth + i * kStep;
    Camera camera;
    camera.eye = kCameraDistance * Vec3(std::sin(azimuth), 0, std::cos(azimuth));
    camera.target = Vec3::Zero();
    camera.up = {0, 1, 0};
    camera.vertical_fov = 40 * kDegree;
    cameras.push_back(camera);
  }
  return cameras;
}

PathOptions fiveFrameScene(int samples, std::uint64_t seed) {
  PathOptions scene;  // the default environment is constant, the default material that of METHOD 14
  scene.samples = samples;
  scene.seed = seed;
  scene.max_bounces = kReflections;
  scene.one_sided = true;
  scene.colors_are_linear = true;
  scene.has_floor = true;
  scene.floor = {{0, -1, 0}, 10, 0.3f};
  return scene;
}

ImageF fiveFrameImage(const TracedPicture& picture) {
  ImageF image{picture.width, picture.height, {}, {}};
  image.rgb.resize(3 * image.pixelCount());
  for (std::size_t i = 0; i < image.pixelCount(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const float linear = std::clamp(picture.light[i][static_cast<Eigen::Index>(c)], 0.0f, 1.0f);
      image.rgb[3 * i + c] = static_cast<float>(toByte(srgbFromLinear(linear))) / 255.0f;
    }
  }
  return image;
}

FramePair drawFrame(const Surface& surface, const Camera& camera, const ColorSource& truth,
                    const ColorSource& test, const Transparency& transparency, int samples,
                    std::uint64_t seed, const PartDone& progress) {
  PathOptions scene = fiveFrameScene(samples, seed);
  scene.transparency = &transparency;
  scene.progress = progress;
  const std::array<ColorSource, 2> sources = {truth, test};
  const auto pictures = tracePaths(surface, camera, kFiveFrameSide, kFiveFrameSide, sources, scene);
  return {fiveFrameImage(pictures[0]), fiveFrameImage(pictures[1])};
}

Result<FiveFrameQuality> measureFiveFrames(const Surface& surface, const ColorSource& truth,
                                           const ColorSource& test, const Transparency& transparency,
                                           int samples, std::uint64_t seed, const LpipsModel* lpips,
                                           Progress& progress) {
  FiveFrameQuality result;
  result.samples = samples;
  if (lpips != nullptr) result.lpips = 0;
  SquaredError pooled;
  constexpr std::size_t kSteps = 100;  // of a frame
  progress.begin("tracing five frames", kFrames * kSteps);
  std::size_t done = 0;
  for (const Camera& camera : fiveFrameCameras()) {
    if (progress.cancelled()) return failure("cancelled", error_code::kCancelled);
    const FramePair frame =
        drawFrame(surface, camera, truth, test, transparency, samples, seed, [&](double part) {
          progress.update(done + static_cast<std::size_t>(part * static_cast<double>(kSteps)), "");
        });
    done += kSteps;
    const auto squared = squaredError(frame.truth, frame.test);
    if (!squared) return squared.error();
    pooled += *squared;
    const auto similarity = ssim(frame.truth, frame.test);
    if (!similarity) return similarity.error();
    result.ssim += *similarity / kFrames;
    const auto scales = msSsim(frame.truth, frame.test);
    if (!scales) return scales.error();
    result.ms_ssim += *scales / kFrames;
    if (lpips != nullptr) {
      const auto distance = heatskin::lpips(frame.truth, frame.test, *lpips);
      if (!distance) return distance.error();
      *result.lpips += *distance / kFrames;
    }
  }
  progress.end();
  result.psnr = psnrFromMse(pooled.mean());
  return result;
}

}  // namespace heatskin
