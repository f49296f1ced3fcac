#pragma once

// Pictures of a texture against its ground truth: what a report shows. Every map carries its scale as a bar
// with numbers and a sentence.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heatskin/evaluation/reference.h"
#include "heatskin/io/image_f.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/render.h"
#include "heatskin/rendering/transparency.h"
#include "heatskin/texture/kernel_texture.h"

namespace heatskin {

/// The texture's colours for the renderer. The texture must outlive the source.
ColorSource textureColors(const KernelTexture& texture);

/// The texture's weight sums.
ScalarSource textureCoverage(const KernelTexture& texture);

/// 255 times the largest channel difference of two colour sources: errors in 8-bit levels.
ScalarSource colorError(ColorSource reference, ColorSource test);

/// Error in 8-bit levels that is drawn brightest unless told otherwise: about three times the mean error of a
/// 30 dB fit.
inline constexpr float kErrorFull = 32;

/// Weight sum that ends the scale of coverage maps.
inline constexpr float kCoverageFull = 4;

/// Maps as colour sources, for any renderer.
ColorSource errorMap(ColorSource reference, ColorSource test, float full = kErrorFull);
ColorSource coverageMap(const KernelTexture& texture);

/// The scale of a map as a strip to be put under a picture of that width (at least 160 pixels).
ImageF errorLegend(int width, float full = kErrorFull);
ImageF coverageLegend(int width);

/// `picture` with `strip` below it. The wider of both decides the width, the rest is white. A mask of the
/// picture is kept; the strip counts as foreground.
ImageF stacked(const ImageF& picture, const ImageF& strip);

/// What pictures are drawn from.
struct PictureSources {
  const Surface* surface = nullptr;
  ColorSource reference;
  ColorSource fitted;
  ColorSource error;  ///< coloured
  ColorSource coverage;
  float error_full = kErrorFull;
  Transparency transparency;  ///< of all pictures
};

/// The sources of a texture; texture and reference must outlive them. Ground truth is read bilinearly, as a
/// viewer would.
PictureSources pictureSources(const KernelTexture& texture, const Reference& reference,
                              float error_full = kErrorFull);

/// The standard views, reference above and fitted below, in rows of 4; `size` is the side of one picture.
ImageF comparisonSheet(const PictureSources& sources, int size = 256);

/// The standard views as error or coverage map, with the scale below.
ImageF errorSheet(const PictureSources& sources, int size = 256);
ImageF coverageSheet(const PictureSources& sources, int size = 256);

/// Reference, fitted, error and coverage side by side from one camera, with both scales below.
ImageF closeUp(const PictureSources& sources, const Camera& camera, int size = 320);

/// "view 3 (135, -20)": number, azimuth and elevation in degrees of a standard view.
std::string viewName(std::size_t view);

/// The standard views without background, for a page of any colour; masks are alpha.
std::vector<ImageF> viewPictures(const PictureSources& sources, const ColorSource& colors, int size = 256);

/// The pictures of closeUp() without background, names or scales: reference, fitted, error, coverage.
std::vector<ImageF> closeUpPictures(const PictureSources& sources, const Camera& camera, int size = 320);

/// The ground truth and the texture in texture space, drawn from the reference's texture coordinates. Masks
/// say where charts are; the rest is white.
struct AtlasPair {
  ImageF reference, fitted;
};

/// Texels that nobody sees are not in the masks. Nothing if no texel is covered and visible.
std::optional<AtlasPair> atlasPair(const KernelTexture& texture, const Reference& reference, int size,
                                   Filter filter);

/// Reference, fitted and error in texture space; masks say where charts are. Nothing if the reference has no
/// texture coordinates.
std::optional<std::array<ImageF, 3>> atlasPictures(const KernelTexture& texture, const Reference& reference,
                                                   float error_full = kErrorFull, int size = 512);

/// The three side by side with names, and the scale below.
ImageF atlasComparison(const std::array<ImageF, 3>& pictures, float error_full = kErrorFull);

/// Where the error is: the standard view and, within it, the place with the largest mean squared error over
/// a square of an eighth of the picture's side.
struct WorstPlace {
  int view = 0;             ///< index into standardViews()
  Camera camera;            ///< looks at that place from the view's eye, enlarged
  double error_levels = 0;  ///< root mean square over the square, 8-bit levels
};
WorstPlace worstPlace(const PictureSources& sources);

}  // namespace heatskin
