// Pictures as arrays.

#include "heatskin/evaluation/pictures.h"

#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/lit.h"
#include "heatskin/rendering/render.h"

#include "convert.h"
#include "handles.h"
#include "progress.h"

namespace heatskin::python {
namespace {

/// What is drawn: `asset` or `texture`.
struct Subject {
  const LoadedAsset* asset = nullptr;
  const LoadedProduct* texture = nullptr;

  const Surface& surface() const { return asset ? *asset->surface : texture->texture.surface(); }
  const Asset& file() const { return asset ? asset->asset : texture->product.asset; }
};

struct View {
  int width = 0, height = 0;
  std::string mode;
  bool has_azimuth = false, has_elevation = false;
  double azimuth = 0, elevation = 0;
  int standard = -1;
  int supersampling = 3;
  bool transparent = false, has_background = false;
  Vec3f background = Vec3f::Ones();
};

Camera cameraOf(const Surface& surface, const std::string& format, const View& view) {
  if (view.standard >= 0) return standardViews(surface).at(static_cast<std::size_t>(view.standard));
  ViewAngles from =
      defaultAngles(surface, format == "obj" || format == "ply" ? Front::kUnknown : Front::kPlusZ);
  if (view.has_azimuth) from.azimuth = view.azimuth * kDegree;
  if (view.has_azimuth || view.has_elevation) from.elevation = view.elevation * kDegree;
  const double aspect = static_cast<double>(view.width) / view.height;
  return framedCamera(surface, from.azimuth, from.elevation, aspect);
}

template <class Options>
Options optionsOf(const View& view, const Transparency& transparency,
                  const std::vector<std::array<Vec3f, 3>>& normals) {
  Options options;
  options.supersampling = view.supersampling;
  options.transparency = &transparency;
  options.transparent_background = view.transparent;
  if constexpr (requires { options.normals; }) options.normals = normals;
  if (view.has_background) {
    if constexpr (requires { options.background; }) {
      options.background = view.background;
    } else {
      options.background_top = options.background_bottom = view.background;
    }
  }
  return options;
}

Picture draw(const LoadedFile& file, const View& view) {
  const Surface& surface = file.surface();
  const Camera camera = cameraOf(surface, file.asset().format, view);
  const Transparency transparency = file.transparency(Filter::kAuto);
  const auto normals = file.normals();
  const int w = view.width, h = view.height;
  if (view.mode == "pbr") {
    return renderLit(surface, camera, w, h, file.materials(Filter::kAuto),
                     optionsOf<LitOptions>(view, transparency, normals));
  }
  const ColorSource colors =
      view.mode == "coverage" ? coverageMap(file.fitted->texture) : file.colors(Filter::kAuto);
  if (view.mode == "shaded")
    return renderShaded(surface, camera, w, h, colors, optionsOf<ShadedOptions>(view, transparency, normals));
  const auto options = optionsOf<RenderOptions>(view, transparency, normals);
  if (view.mode == "normals") return renderNormals(surface, camera, w, h, options);
  return renderAlbedo(surface, camera, w, h, colors, options);
}

View viewOf(const py::dict& options) {
  View view;
  view.width = options["width"].cast<int>();
  view.height = options["height"].cast<int>();
  view.mode = options["mode"].cast<std::string>();
  view.has_azimuth = !options["azimuth"].is_none();
  view.has_elevation = !options["elevation"].is_none();
  if (view.has_azimuth) view.azimuth = options["azimuth"].cast<double>();
  view.elevation = view.has_elevation ? options["elevation"].cast<double>() : 20;
  view.standard = options["view"].cast<int>();
  view.supersampling = options["supersampling"].cast<int>();
  view.transparent = options["transparent"].cast<bool>();
  if (view.has_background = !options["background"].is_none(); view.has_background) {
    const auto color = options["background"].cast<std::array<float, 3>>();
    view.background = {color[0], color[1], color[2]};
  }
  return view;
}

py::array pixelsOf(const Picture& picture, const View& view) {
  const py::ssize_t h = view.height, w = view.width;
  if (picture.image.rgb.empty()) throw Failure(usageError("a picture of this size cannot be drawn"));
  if (view.transparent) return arrayOf<std::uint8_t, std::uint8_t>(toPng8WithMask(picture.image), {h, w, 4});
  return arrayOf<std::uint8_t, std::uint8_t>(toPng8(picture.image), {h, w, 3});
}

py::array renderTexture(const TextureHandle& handle, const py::dict& options, int threads) {
  const View view = viewOf(options);
  return pixelsOf(released(threads,
                           [&] {
                             LoadedFile file;
                             file.fitted = std::make_unique<LoadedProduct>(handle.whole());
                             return draw(file, view);
                           }),
                  view);
}

py::array renderAsset(const AssetHandle& handle, const py::dict& options, int threads) {
  const View view = viewOf(options);
  return pixelsOf(released(threads,
                           [&] {
                             LoadedFile file;
                             file.plain = std::make_unique<LoadedAsset>(handle.loaded());
                             return draw(file, view);
                           }),
                  view);
}

void savePng(const Array<std::uint8_t>& pixels, const std::string& path) {
  const auto h = static_cast<int>(pixels.shape(0)), w = static_cast<int>(pixels.shape(1));
  const auto channels = static_cast<int>(pixels.shape(2));
  released(0, [&] {
    take(writePng(path, spanOf(pixels), w, h, channels));
    return 0;
  });
}

}  // namespace

void bindPictures(py::module_& module) {
  module.def("texture_render", &renderTexture);
  module.def("asset_render", &renderAsset);
  module.def("save_png", &savePng);
}

}  // namespace heatskin::python
