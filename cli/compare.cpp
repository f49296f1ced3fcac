// heatskin compare: how two pictures differ.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/io/image.h"
#include "heatskin/metrics/flip.h"
#include "heatskin/metrics/lpips.h"
#include "heatskin/metrics/ms_ssim.h"
#include "heatskin/metrics/psnr.h"
#include "heatskin/metrics/ssim.h"
#include "heatskin/rendering/colormap.h"

#include "cli/verb.h"

namespace heatskin::cli {
namespace {

ImageF drawMap(const std::vector<float>& map, int width, int height) {
  ImageF picture{width, height, {}, {}};
  picture.rgb.reserve(3 * map.size());
  for (const float value : map) {
    const Vec3f color = heatColor(value);
    picture.rgb.insert(picture.rgb.end(), {color.x(), color.y(), color.z()});
  }
  return picture;
}

Result<ImageF> readPicture(const std::string& path) {
  auto image = readImage(path);
  if (!image) return image.error();
  return toImageF(*image);
}

/// A mask picture: foreground is where it is neither black nor transparent.
Result<std::vector<std::uint8_t>> readMask(const std::string& path, const ImageF& like) {
  auto image = readImage(path);
  if (!image) return image.error();
  if (image->width != like.width || image->height != like.height) {
    return inputError(fmt::format("{}: the mask has {} x {} pixels, the pictures have {} x {}", path,
                                  image->width, image->height, like.width, like.height));
  }
  std::vector<std::uint8_t> mask(like.pixelCount());
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::uint8_t* texel = image->rgba.data() + 4 * i;
    mask[i] = texel[3] >= 128 && std::max({texel[0], texel[1], texel[2]}) >= 128 ? 1 : 0;
  }
  if (std::count(mask.begin(), mask.end(), 0) == static_cast<std::ptrdiff_t>(mask.size())) {
    return inputError(fmt::format("{}: the mask has no foreground (bright, opaque pixels)", path));
  }
  return mask;
}

class Compare : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("REFERENCE", reference_, "The reference picture: PNG, JPEG or WebP")->required();
    app.add_option("TEST", test_, "The picture to compare with it, of the same size")->required();
    app.add_option("--mask", mask_, "Mask picture: only pixels that are bright in it are compared")
        ->type_name("FILE");
    app.add_option("-o,--output", output_, "Write the FLIP error map as a PNG")->type_name("FILE.png");
    app.add_option("--lpips-weights", lpips_weights_,
                   "Also compute LPIPS with the weights in FILE (.safetensors or .npz)")
        ->type_name("FILE");
    app.footer("Example:\n  heatskin compare reference.png test.png --json - -o error.png");
    app_ = &app;
  }

  bool random() const override { return false; }

  Result<void> prepare(Session& session) override {
    if (app_->count("-o") > 0 && output_.empty())
      return usageError("-o: the name of the file is empty; see 'heatskin compare --help'");
    session.files.reads(reference_, "REFERENCE");
    session.files.reads(test_, "TEST");
    session.files.reads(mask_, "--mask");
    session.files.reads(lpips_weights_, "--lpips-weights");
    session.files.writes(output_, "-o", ".png");
    return {};
  }

  Result<void> run(Session& session) override {
    auto reference = readPicture(reference_);
    if (!reference) return reference.error();
    auto test = readPicture(test_);
    if (!test) return test.error();
    if (reference->width != test->width || reference->height != test->height) {
      return inputError(fmt::format("{}: has {} x {} pixels, but {} has {} x {}; give pictures of one size",
                                    test_, test->width, test->height, reference_, reference->width,
                                    reference->height));
    }
    if (!mask_.empty()) {
      auto mask = readMask(mask_, *reference);
      if (!mask) return mask.error();
      reference->mask = std::move(*mask);
    }
    return measure(session, *reference, *test);
  }

 private:
  Result<void> measure(Session& session, const ImageF& reference, const ImageF& test) {
    Json json = {{"reference", reference_}, {"test", test_}};
    json["width"] = reference.width;
    json["height"] = reference.height;
    std::vector<std::vector<std::string>> rows;
    const auto record = [&](const char* key, const char* label, double value, const std::string& text) {
      addDecibels(json, key, value);
      rows.push_back({label, text});
    };
    // A metric that a small picture does not allow is left out by name; the others still count.
    const auto leaveOut = [&](const char* key, const char* label, const Error& error) {
      json[key] = nullptr;
      json[std::string(key) + "_missing"] = error.message;
      rows.push_back({label, "not available: " + error.message});
    };

    Console& console = session.console;
    console.begin("comparing", 0);
    const auto decibels = psnr(reference, test);
    if (!decibels) return decibels.error();
    record("psnr", "PSNR", *decibels,
           std::isinf(*decibels) ? "infinite (identical)" : fixed(*decibels, 3) + " dB");

    if (const auto value = ssim(reference, test)) {
      record("ssim", "SSIM", *value, fmt::format("{:.5f}", *value));
    } else {
      leaveOut("ssim", "SSIM", value.error());
    }
    if (const auto value = msSsim(reference, test)) {
      record("ms_ssim", "MS-SSIM", *value, fmt::format("{:.5f}", *value));
    } else {
      leaveOut("ms_ssim", "MS-SSIM", value.error());
    }
    const auto flip = flipMap(reference, test);
    if (!flip) return flip.error();
    record("flip", "FLIP", flip->mean, fmt::format("{:.5f}", flip->mean));

    if (!lpips_weights_.empty()) {
      const auto model = LpipsModel::load(lpips_weights_);
      if (!model) return model.error();
      const auto value = model->distance(reference, test);
      if (!value) return value.error();
      record("lpips", "LPIPS", value->distance,
             fmt::format("{:.5f} ({})", value->distance, toString(model->network())));
      json["lpips_network"] = toString(model->network());
    }
    console.end();
    console.table(rows, 0);
    if (!output_.empty()) {
      const ImageF map = drawMap(flip->map, reference.width, reference.height);
      if (auto saved = savePng(output_, map); !saved) return saved;
      console.line(fmt::format("error map: {}", oneLine(output_)));
      json["error_map"] = output_;
    }
    return saveJson(console, session.common.json, json);
  }

  const CLI::App* app_ = nullptr;
  std::string reference_, test_, mask_, output_, lpips_weights_;
};

}  // namespace

std::unique_ptr<Verb> makeCompare() {
  return std::make_unique<Compare>();
}

}  // namespace heatskin::cli
