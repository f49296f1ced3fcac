#pragma once

// The HKTex authors' own measure, equivalent (METHOD section 14): five lit pictures of the whole scene, with
// floor and background, path-traced with base colours of the texture and of the ground truth.
//
// Not theirs to the digit, hence never "official". Theirs has 4 samples per pixel and a learned denoiser;
// ours has enough samples, and the same paths for both pictures. What they leave open, and what we do:
// - faces are flat: with light from everywhere, smooth normals would hardly show;
// - light is followed for 16 reflections;
// - where the ground truth is transparent, neither picture shows the surface, as in all our measures;
// - bilinear filtering blends linear light, as everywhere here; the result is then used as sRGB value / 255.

#include <cstdint>
#include <vector>

#include "heatskin/base/result.h"
#include "heatskin/evaluation/evaluation.h"
#include "heatskin/io/image_f.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/path_tracer.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// Side of a frame in pixels.
inline constexpr int kFiveFrameSide = 256;

/// The five cameras, in surface coordinates.
std::vector<Camera> fiveFrameCameras();

/// Light, floor and material of the frames.
PathOptions fiveFrameScene(int samples, std::uint64_t seed);

/// Linear light as the frames are stored: through the sRGB curve, to multiples of 1/255.
ImageF fiveFrameImage(const TracedPicture& picture);

/// A frame of the ground truth and the same of the texture.
struct FramePair {
  ImageF truth, test;
};

/// Both pictures of one camera. `transparency` of both.
FramePair drawFrame(const Surface& surface, const Camera& camera, const ColorSource& truth,
                    const ColorSource& test, const Transparency& transparency, int samples,
                    std::uint64_t seed, const PartDone& progress = {});

/// Measures with `samples` per pixel; LPIPS if there is a model. Fails when cancelled.
Result<FiveFrameQuality> measureFiveFrames(const Surface& surface, const ColorSource& truth,
                                           const ColorSource& test, const Transparency& transparency,
                                           int samples, std::uint64_t seed, const LpipsModel* lpips = nullptr,
                                           Progress& progress = silentProgress());

}  // namespace heatskin
