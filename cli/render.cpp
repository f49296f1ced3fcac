// heatskin render: pictures of a file.

#include "heatskin/rendering/render.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/evaluation/pictures.h"
#include "heatskin/evaluation/reference.h"
#include "heatskin/pipeline/channel_pictures.h"
#include "heatskin/rendering/atlas.h"
#include "heatskin/rendering/camera.h"
#include "heatskin/rendering/contact_sheet.h"
#include "heatskin/rendering/lit.h"
#include "heatskin/rendering/photograph.h"

#include "cli/inputs.h"
#include "cli/pictures.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr int kLongestSide = 8192;  // larger pictures would need gigabytes

struct Size {
  int width = 0;
  int height = 0;
};

/// "512" or "800x600".
std::optional<Size> parseSize(const std::string& text) {
  Size size;
  char extra = 0;
  const int numbers = std::sscanf(text.c_str(), "%5dx%5d%c", &size.width, &size.height, &extra);
  if (numbers == 1 && text.find_first_not_of("0123456789") == std::string::npos) size.height = size.width;
  if (numbers < 1 || numbers > 2) return std::nullopt;
  if (size.width < 1 || size.height < 1 || size.width > kLongestSide || size.height > kLongestSide)
    return std::nullopt;
  return size;
}

/// "ffffff" or "#ffffff".
std::optional<Vec3f> parseColor(std::string text) {
  if (!text.empty() && text[0] == '#') text.erase(0, 1);
  if (text.size() != 6 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return std::nullopt;
  const unsigned long bits = std::stoul(text, nullptr, 16);
  return Vec3f(static_cast<float>(bits >> 16), static_cast<float>((bits >> 8) & 255),
               static_cast<float>(bits & 255)) /
         255.0f;
}

struct FramedView {
  Camera camera;
  std::string label;
};

class Render : public Verb {
 public:
  void describe(CLI::App& app) override {
    app_ = &app;
    app.add_option("FILE", file_, "An asset (.glb, .gltf, .obj, .ply), or a product of 'heatskin fit'")
        ->required();
    app.add_option("-o,--output", output_,
                   "The picture to write; several pictures get _0, _1, ... before the extension")
        ->required()
        ->type_name("OUT.png");
    app.add_option("--size", size_text_, "Size in pixels, such as 512 or 800x600 (default 512; atlas 1024)")
        ->type_name("N");
    auto* view = app.add_option("--view", view_, "One of the 8 standard views")
                     ->type_name("0..7")
                     ->check(CLI::Range(0, 7));
    auto* views = app.add_option("--views", views_, "The first N standard views (8: all)")
                      ->type_name("N")
                      ->check(CLI::Range(1, 8));
    auto* turntable = app.add_option("--turntable", turntable_, "N views in a circle around the object")
                          ->type_name("N")
                          ->check(CLI::Range(1, 360));
    auto* atlas = app.add_flag("--atlas", atlas_, "Draw the UV atlas instead of a view");
    auto* azimuth = app.add_option("--azimuth", azimuth_,
                                   "Camera angle in degrees from the front towards the object's left")
                        ->type_name("A")
                        ->check(CLI::Range(-360.0, 360.0));
    app.add_option("--elevation", elevation_, "Camera angle in degrees above the horizon (default 20)")
        ->type_name("E")
        ->check(CLI::Range(-90.0, 90.0));
    app.add_flag("--sheet", sheet_, "Put all views on one contact sheet");
    app.add_option(
           "--mode", mode_,
           "shaded (studio light on base colours), pbr (whole materials: metal, roughness, normal maps, "
           "emission), albedo (unlit colours), normals; for a product also error (needs --reference) "
           "and coverage")
        ->type_name("MODE")
        ->check(CLI::IsMember({"albedo", "shaded", "pbr", "normals", "error", "coverage"}))
        ->capture_default_str();
    app.add_option("--channel", channel_,
                   "Draw one channel of the material instead, unlit: base_color, alpha, metallic, roughness, "
                   "...")
        ->type_name("NAME");
    app.add_option("--reference", reference_file_, "The asset a product was fitted to, for --mode error")
        ->type_name("ASSET");
    app.add_option("--error-full", error_full_, "Error that is shown brightest, in 8-bit levels")
        ->type_name("N")
        ->check(CLI::Range(1.0f, 255.0f))
        ->capture_default_str();
    app.add_flag("--no-legend", no_legend_, "Leave out the colour scale below error and coverage maps");
    addVariantOption(app, variant_);
    addLevelOption(app, level_);
    app.add_option("--filter", filter_,
                   "Texture filter: auto (what the asset's samplers say), nearest, bilinear or paper (the "
                   "paper's formula)")
        ->type_name("FILTER")
        ->check(CLI::IsMember(filterChoices()))
        ->capture_default_str();
    app.add_option("--aa", samples_,
                   "Antialiasing with N x N samples per pixel (default 3; with 1 edges are jagged and albedo "
                   "colours are exact)")
        ->type_name("N")
        ->check(CLI::Range(1, 8));
    app.add_flag("--path-traced", path_traced_,
                 "Trace paths of light, so that the picture looks like a photograph (modes shaded and pbr; "
                 "takes longer)");
    app.add_option("--samples", path_samples_, "Samples per pixel of --path-traced; powers of two are best")
        ->type_name("N")
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    app.add_option("--wire", wire_, "Draw the edges of the faces, W pixels wide")
        ->type_name("W")
        ->check(CLI::Range(0.0, 16.0));
    app.add_option("--background", background_, "Background colour such as ffffff, or transparent")
        ->type_name("RRGGBB");
    for (auto* a : {view, views, turntable, atlas, azimuth}) {
      for (auto* b : {view, views, turntable, atlas, azimuth}) {
        if (a != b) a->excludes(b);
      }
    }
    app.footer(
        "Without options the object is drawn in studio light, in a three-quarter view from its front, as "
        "large as\n"
        "the frame allows. The front is +Z; OBJ and PLY do not define it: there it is the side towards which "
        "the\n"
        "upper part of a long object leans. --view and --views use the cameras of 'heatskin eval'. What is "
        "behind\n"
        "cut-out (MASK) and blended (BLEND) materials shows through, blended in linear light. Both sides of "
        "faces\n"
        "are drawn, except that blended materials that are not doubleSided show only their front.\n"
        "--background transparent keeps alpha and leaves out the shadow on the floor.\n"
        "--mode pbr shows materials: metal, roughness, normal maps, occlusion, emission, clearcoat, sheen, "
        "under the\n"
        "lamps of a studio that are reflected in them and cast soft shadows. --path-traced adds the light "
        "between the\n"
        "parts of the object, and leaves out clearcoat, sheen and occlusion maps. Mode shaded shows base "
        "colours alone.\n"
        "--path-traced adds soft shadows of large lamps and the light between the parts of the object. Four "
        "times\n"
        "the --samples halve the noise and take four times as long.\n\n"
        "An error map shows the largest difference of any colour channel, in 8-bit levels, from black (0) "
        "through\n"
        "violet, red and orange to pale yellow (--error-full and more). A coverage map shows the sum of "
        "kernel\n"
        "weights: dark red is 0, pale is 1 (covered), blue-green is 4; below 1 colours fade to the mean "
        "colour.\n"
        "The colour scale is added below the picture, which gets taller by it.\n"
        "--channel shows numbers as grey, 0 black and the largest value white; colours in linear light "
        "(emissive)\n"
        "are converted for display.\n\n"
        "Example:\n"
        "  heatskin render model.glb -o model.png --size 1024\n"
        "  heatskin render model.glb -o views.png --views 8 --sheet\n"
        "  heatskin render model.glb -o material.png --mode pbr\n"
        "  heatskin render model.glb -o photo.png --path-traced --samples 256 --size 1024\n"
        "  heatskin render fitted.glb -o error.png --mode error --reference model.glb --views 8 --sheet");
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    if (auto sound = checkOptions(); !sound) return sound;
    session.files.reads(file_, "FILE");
    session.files.reads(reference_file_, "--reference");
    const int count = several_ ? std::max(views_, turntable_) : 1;
    for (int i = 0; i < count; ++i)
      session.files.writes(several_ ? numbered(static_cast<std::size_t>(i)) : std::filesystem::path(output_),
                           "-o", ".png");
    return {};
  }

  Result<void> run(Session& session) override {
    // A picture, what is seen at its pixels, and the finished ones of a sheet.
    const double pixels = static_cast<double>(size_.width) * size_.height;
    const double kept = sheet_ ? std::max({1, views_, turntable_}) : 1;
    if (auto fits = askMemory(fmt::format("a picture of {} x {} pixels", size_.width, size_.height),
                              pixels * (100 + 16 * kept));
        !fits) {
      return fits;
    }
    SurfaceOptions options;
    options.principal_axes = false;  // pictures do not show the frames
    const auto subject = openFile(session, file_, options, variant_, level_);
    if (!subject) return subject.error();
    warnAbout(session, file_, subject->notices());
    if (map() && !subject->fitted) {
      return inputError(fmt::format(
          "{}: has no kernels, so there is no {} to draw; give the .glb that 'heatskin fit' wrote", file_,
          mode_));
    }
    if (app_->count("--filter") > 0 && subject->fitted && mode_ != "error" &&
        subject->transparency(filter()).opaque()) {
      session.console.warning(
          fmt::format("{}: --filter has no effect: the colours come from kernels, and no texture of the file "
                      "has transparency",
                      file_));
    }
    if (!channel_.empty()) {
      const auto picture = channelColors(*subject, channel_, filter());
      if (!picture) return picture.error();
      return draw(session, *subject, *picture);
    }
    if (mode_ != "error") return draw(session, *subject, colors(*subject));

    const auto truth = openAsset(session, reference_file_, options, variant_);
    if (!truth) return truth.error();
    const auto reference = Reference::match(subject->surface(), *truth->surface, truth->appearance,
                                            displayPath(reference_file_));
    if (!reference) return reference.error();
    warnAbout(session, reference_file_, reference->notices());
    return draw(
        session, *subject,
        errorMap(reference->colorSource(filter()), textureColors(subject->fitted->texture), error_full_));
  }

 private:
  /// Everything that can be wrong before the file is read.
  Result<void> checkOptions() {
    if (output_.empty()) return usageError("-o: the name of the file is empty; see 'heatskin render --help'");
    size_ = {atlas_ ? 1024 : 512, atlas_ ? 1024 : 512};
    if (!size_text_.empty()) {
      const auto size = parseSize(size_text_);
      if (!size) {
        return usageError(
            fmt::format("--size {}: give 512 or 800x600, each side 1 to {}; see 'heatskin render --help'",
                        size_text_, kLongestSide));
      }
      size_ = *size;
    }
    transparent_ = background_ == "transparent";
    if (!background_.empty() && !transparent_) {
      background_color_ = parseColor(background_);
      if (!background_color_) {
        return usageError(
            fmt::format("--background {}: give six hexadecimal digits such as f0f0f0, or transparent; see "
                        "'heatskin render --help'",
                        background_));
      }
    }
    if (app_->count("--channel") > 0) {
      if (app_->count("--mode") > 0 && mode_ != "albedo")
        return usageError("--channel draws unlit values; leave out --mode, or give albedo");
      mode_ = "albedo";
    }
    if (mode_ == "error" && reference_file_.empty()) {
      return usageError(
          "--mode error needs --reference ASSET, the asset that the product was fitted to; see 'heatskin "
          "render --help'");
    }
    if (mode_ != "error" && !reference_file_.empty()) {
      return usageError("--reference applies to --mode error only; see 'heatskin render --help'");
    }
    if (auto useful = refuseIdleOptions(); !useful) return useful;
    several_ = (views_ > 1 || turntable_ > 1) && !sheet_;
    return {};
  }

  /// Options that would change nothing in what was asked for.
  Result<void> refuseIdleOptions() const {
    const auto given = [&](const char* option) { return app_->count(option) > 0; };
    const auto idle = [&](const std::string& option, const std::string& with, const std::string& remedy) {
      return usageError(fmt::format("{} has no effect {}; {}", option, with, remedy));
    };
    if (path_traced_ && mode_ != "shaded" && mode_ != "pbr")
      return idle("--path-traced", "in mode " + mode_, "only modes shaded and pbr have light");
    if (path_traced_) {
      if (given("--aa")) return idle("--aa", "with --path-traced", "use --samples");
      if (given("--wire")) return idle("--wire", "with --path-traced", "leave one of them out");
    } else if (given("--samples")) {
      return idle("--samples", "without --path-traced", "add it, or use --aa");
    }
    if (atlas_) {
      for (const char* option : {"--elevation", "--wire", "--aa", "--sheet", "--path-traced"}) {
        if (given(option)) return idle(option, "with --atlas", "leave one of them out");
      }
      if (given("--mode") && (mode_ == "shaded" || mode_ == "pbr" || mode_ == "normals"))
        return idle("--mode " + mode_, "with --atlas, which has no light", "leave one of them out");
    }
    if (given("--elevation") && (view_ >= 0 || views_ > 0))
      return idle("--elevation", "with the standard views, whose angles are fixed",
                  "use --azimuth or --turntable");
    if (given("--error-full") && mode_ != "error")
      return idle("--error-full", "in mode " + mode_, "add --mode error or leave it out");
    if (transparent_ && sheet_)
      return idle("--background transparent", "with --sheet, whose labels need a background",
                  "leave out --sheet for one file per picture");
    if (no_legend_ && !map()) return idle("--no-legend", "in mode " + mode_, "only maps have a scale");
    if (given("--filter") && mode_ == "coverage" && !atlas_)
      return idle("--filter", "in mode " + mode_, "no texture is read there");
    return {};
  }

  std::filesystem::path numbered(std::size_t index) const {
    std::filesystem::path path = output_;
    const int digits = turntable_ > 10 ? (turntable_ > 100 ? 3 : 2) : 1;
    path.replace_filename(
        fmt::format("{}_{:0{}}{}", path.stem().string(), index, digits, path.extension().string()));
    return path;
  }

  std::vector<FramedView> views(const LoadedFile& subject) const {
    const Surface& surface = subject.surface();
    const double aspect = static_cast<double>(size_.width) / size_.height;
    std::vector<FramedView> result;
    if (turntable_ > 0) {
      const auto cameras = turntable(surface, turntable_, elevation_ * kDegree, aspect);
      for (std::size_t i = 0; i < cameras.size(); ++i) {
        result.push_back(
            {cameras[i],
             angles(360.0 * static_cast<double>(i) / static_cast<double>(cameras.size()), elevation_)});
      }
    } else if (views_ > 0 || view_ >= 0) {
      const auto cameras = standardViews(surface);
      const int first = view_ >= 0 ? view_ : 0, last = view_ >= 0 ? view_ : views_ - 1;
      for (int i = first; i <= last; ++i) {
        const ViewAngles from = standardViewAngles(static_cast<std::size_t>(i));
        result.push_back(
            {cameras[static_cast<std::size_t>(i)],
             fmt::format("view {}: {}", i, angles(from.azimuth / kDegree, from.elevation / kDegree))});
      }
    } else {
      const std::string& format = subject.asset().format;
      ViewAngles from =
          defaultAngles(surface, format == "obj" || format == "ply" ? Front::kUnknown : Front::kPlusZ);
      const bool azimuth = app_->count("--azimuth") > 0, elevation = app_->count("--elevation") > 0;
      if (azimuth) from.azimuth = azimuth_ * kDegree;
      if (azimuth || elevation) from.elevation = elevation_ * kDegree;
      result.push_back({framedCamera(surface, from.azimuth, from.elevation, aspect),
                        angles(from.azimuth / kDegree, from.elevation / kDegree)});
    }
    return result;
  }

  static std::string angles(double azimuth, double elevation) {
    return fmt::format("azimuth {:.4g}, elevation {:.4g}", azimuth, elevation);
  }

  Filter filter() const { return filterNamed(filter_); }
  bool map() const { return mode_ == "error" || mode_ == "coverage"; }

  ColorSource colors(const LoadedFile& subject) const {
    return mode_ == "coverage" ? coverageMap(subject.fitted->texture) : subject.colors(filter());
  }

  /// The picture with the scale of its map, if it is one.
  ImageF withLegend(const ImageF& image) const {
    if (!map() || no_legend_) return image;
    return stacked(image,
                   mode_ == "error" ? errorLegend(image.width, error_full_) : coverageLegend(image.width));
  }

  Result<void> draw(Session& session, const LoadedFile& subject, const ColorSource& colors) {
    return atlas_ ? drawAtlas(session, subject, colors) : drawViews(session, subject, colors);
  }

  /// What pictures of a file are drawn from.
  struct Sources {
    const Surface* surface = nullptr;
    ColorSource colors;
    Transparency transparency;
    std::vector<std::array<Vec3f, 3>> normals;  // [F]; or empty: nothing needs them
    MaterialSource materials;                   ///< null: nothing needs them
  };

  Sources sources(const LoadedFile& subject, const ColorSource& colors) const {
    Sources result{&subject.surface(), colors, subject.transparency(filter()), {}, {}};
    if (mode_ == "shaded" || mode_ == "pbr" || mode_ == "normals") result.normals = subject.normals();
    if (mode_ == "pbr" || mode_ == "normals") result.materials = subject.materials(filter());
    return result;
  }

  /// What pictures of all kinds are asked for in the same way.
  template <class Options>
  Options pictureOptions(const Sources& from, const PartDone& progress) const {
    Options options;
    options.transparency = &from.transparency;
    options.transparent_background = transparent_;
    options.progress = progress;
    if constexpr (requires { options.normals; }) options.normals = from.normals;
    if constexpr (requires { options.wire; }) options.wire.width = static_cast<float>(wire_);
    if constexpr (requires { options.supersampling; })
      options.supersampling = samples_ > 0 ? samples_ : ShadedOptions{}.supersampling;
    if (background_color_) {
      if constexpr (requires { options.background; }) {
        options.background = *background_color_;
      } else {
        options.background_top = options.background_bottom = *background_color_;
      }
    }
    return options;
  }

  Picture drawView(const Sources& from, const Camera& camera, const PartDone& progress) const {
    const Surface& surface = *from.surface;
    if (path_traced_) {
      auto options = pictureOptions<PhotographOptions>(from, progress);
      options.samples = path_samples_;
      options.materials = from.materials;
      return renderPhotograph(surface, camera, size_.width, size_.height, from.colors, options);
    }
    if (mode_ == "pbr") {
      return renderLit(surface, camera, size_.width, size_.height, from.materials,
                       pictureOptions<LitOptions>(from, progress));
    }
    if (mode_ == "shaded") {
      return renderShaded(surface, camera, size_.width, size_.height, from.colors,
                          pictureOptions<ShadedOptions>(from, progress));
    }
    const auto options = pictureOptions<RenderOptions>(from, progress);
    if (mode_ != "normals")
      return renderAlbedo(surface, camera, size_.width, size_.height, from.colors, options);
    return renderNormals(surface, camera, size_.width, size_.height, options, normalsOf(from.materials));
  }

  Json summary(const LoadedFile& subject) const {
    return {{"file", displayPath(subject.asset().path)},
            {"product", subject.fitted != nullptr},
            {"mode", atlas_ && !map() ? "albedo" : mode_},
            {"path_traced", path_traced_},
            {"atlas", atlas_},
            {"channel", channel_.empty() ? Json() : Json(channel_)},
            {"filter", filter_},
            {"width", size_.width},
            {"height", size_.height},
            {"pictures", Json::array()}};
  }

  Result<void> drawViews(Session& session, const LoadedFile& subject, const ColorSource& colors) {
    Console& console = session.console;
    const std::vector<FramedView> wanted = views(subject);
    const Sources from = sources(subject, colors);
    Json json = summary(subject);
    std::vector<ImageF> pictures;
    std::vector<std::string> labels;
    console.begin("drawing", 100 * wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string which = fmt::format("picture {} of {}", i + 1, wanted.size());
      const Picture picture = drawView(from, wanted[i].camera, [&](double part) {
        console.update(100 * i + static_cast<std::size_t>(100 * part), which);
      });
      double covered = 0;
      for (const float c : picture.coverage)
        covered += static_cast<double>(c);
      Json entry = {{"view", wanted[i].label},
                    {"foreground", jsonNumber(covered / static_cast<double>(picture.coverage.size()))}};
      if (sheet_) {
        pictures.push_back(picture.image);
        labels.push_back(wanted[i].label);
      } else {
        const std::filesystem::path path = several_ ? numbered(i) : std::filesystem::path(output_);
        if (auto saved = savePng(path, withLegend(picture.image), transparent_); !saved) return saved;
        entry["file"] = displayPath(path);
        console.line(oneLine(displayPath(path)));
      }
      json["pictures"].push_back(std::move(entry));
    }
    console.end();
    if (sheet_) {
      SheetOptions options;
      options.text_scale = size_.width >= 384 ? 2 : 1;
      if (background_color_) options.background = *background_color_;
      const ImageF sheet = contactSheet(pictures, labels, options);
      if (sheet.rgb.empty()) {
        return usageError(
            fmt::format("a sheet of {} pictures of {} x {} pixels is too large; use a smaller "
                        "--size",
                        pictures.size(), size_.width, size_.height));
      }
      if (auto saved = savePng(output_, withLegend(sheet)); !saved) return saved;
      json["sheet"] = output_;
      console.line(oneLine(output_));
    }
    return saveJson(console, session.common.json, json);
  }

  Result<void> drawAtlas(Session& session, const LoadedFile& subject, const ColorSource& colors) {
    Console& console = session.console;
    console.begin("drawing the atlas", 0);
    AtlasOptions options;
    options.width = size_.width;
    options.height = size_.height;
    const AtlasBuffer atlas = subject.atlas(options);
    if (atlas.covered_texels == 0) {
      return inputError(fmt::format(
          "{}: has no face with {}, so there is no atlas to draw; leave out --atlas",
          displayPath(subject.asset().path), subject.fitted ? "texture coordinates" : "a texture"));
    }
    const ImageF picture = atlasPicture(atlas, colors, background_color_.value_or(Vec3f(1, 1, 1)));
    console.end();
    if (atlas.overlapped_texels > 0) {
      console.warning(
          fmt::format("{}: {} of {} covered texels belong to more than one face; the first was "
                      "drawn",
                      displayPath(subject.asset().path), grouped(atlas.overlapped_texels),
                      grouped(atlas.covered_texels)));
    }
    if (auto saved = savePng(output_, withLegend(picture), transparent_); !saved) return saved;
    console.line(oneLine(output_));
    Json json = summary(subject);
    json["pictures"].push_back({{"file", output_}, {"view", "atlas"}});
    json["covered_texels"] = atlas.covered_texels;
    json["overlapped_texels"] = atlas.overlapped_texels;
    json["faces_drawn"] = atlas.faces_drawn;
    json["faces_without_uvs"] = atlas.faces_without_uvs;
    json["faces_without_area"] = atlas.faces_without_area;
    json["faces_cut"] = atlas.faces_cut;
    return saveJson(console, session.common.json, json);
  }

  const CLI::App* app_ = nullptr;
  std::string file_, reference_file_, output_, size_text_, background_, channel_, variant_;
  std::size_t level_ = 0;
  std::string mode_ = "shaded", filter_ = "auto";
  int view_ = -1, views_ = 0, turntable_ = 0, samples_ = 0;
  double azimuth_ = 0, elevation_ = 20, wire_ = 0;
  float error_full_ = kErrorFull;
  bool atlas_ = false, sheet_ = false, no_legend_ = false, path_traced_ = false;
  int path_samples_ = PhotographOptions{}.samples;

  Size size_;
  bool transparent_ = false;
  bool several_ = false;
  std::optional<Vec3f> background_color_;
};

}  // namespace

std::unique_ptr<Verb> makeRender() {
  return std::make_unique<Render>();
}

}  // namespace heatskin::cli
