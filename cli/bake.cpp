// heatskin bake: kernels as ordinary textures or vertex values, for programs that do not know them.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/base/stopwatch.h"
#include "heatskin/pipeline/bake_product.h"

#include "cli/inputs.h"
#include "cli/remedies.h"
#include "cli/verb.h"

namespace heatskin::cli {
namespace {

constexpr int kMostBakeSize = 16384, kMostSupersampling = 8;

template <class Names>
std::vector<std::string> choices(const Names& names) {
  return {std::begin(names), std::end(names)};
}

template <class Enum, class Names>
Enum enumNamed(const Names& names, const std::string& name) {
  return static_cast<Enum>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}

class Bake : public Verb {
 public:
  void describe(CLI::App& app) override {
    app.add_option("PRODUCT", file_, "A product: the .glb that 'heatskin fit' wrote")->required();
    app.add_option("-o,--output", output_, "The file to write")->required()->type_name("OUT.glb");
    app.add_option(
           "--to", to_,
           "uv: images along the texture coordinates of the file; atlas: along new ones; vertex: values "
           "at vertices; face: one value for each face (default: uv if the file has coordinates that do "
           "not overlap, else atlas)")
        ->type_name("WHAT")
        ->check(CLI::IsMember(choices(kBakeToNames)));
    app.add_option("--size", job_.size,
                   "Side of the images in texels (default: as many as the content takes)")
        ->type_name("N")
        ->check(CLI::Range(1, kMostBakeSize));
    app.add_option("--supersample", job_.supersampling, "Points along each side of a texel")
        ->type_name("N")
        ->check(CLI::Range(1, kMostSupersampling))
        ->capture_default_str();
    app.add_option("--format", format_,
                   "Format of the images; ktx2 needs node and the npm package ktx2-encoder")
        ->type_name("FORMAT")
        ->check(CLI::IsMember(choices(kBakeFormatNames)))
        ->capture_default_str();
    app.add_option("--quality", job_.quality, "Quality of JPEG and WebP")
        ->type_name("N")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option(
           "--gutter", job_.gutter,
           "Texels around the charts of a new atlas, a power of two or 0: N keep mip maps clean up to "
           "level 1 + log2(N)")
        ->type_name("N")
        ->check(CLI::Range(0, 64))
        ->capture_default_str();
    app.add_option("--uv-set", job_.uv_set, "With --to uv: TEXCOORD_N")
        ->type_name("N")
        ->check(CLI::Range(0, 7))
        ->capture_default_str();
    app.add_option("--atlas", atlas_,
                   "Who makes a new atlas: heatskin, or xatlas (needs node and the npm package watlas)")
        ->type_name("WHO")
        ->check(CLI::IsMember({"heatskin", "xatlas"}))
        ->capture_default_str();
    app.add_option("--atlas-seconds", job_.xatlas_seconds, "Time for xatlas before heatskin takes over")
        ->type_name("S")
        ->check(CLI::Range(0.001, 86400.0))
        ->capture_default_str();
    app.add_option(
           "--max-error", job_.max_error,
           "With --to vertex: cut edges in two until colours between vertices are off by no more than "
           "this, in 8-bit levels")
        ->type_name("LEVELS")
        ->check(CLI::Range(0.5, 255.0));
    app.add_option("--max-faces", job_.max_faces, "With --max-error: triangles of the mesh at most")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000'000))
        ->capture_default_str();
    addVariantOption(app, variant_);
    addLevelOption(app, level_);
    app.footer(
        "Writes an ordinary GLB that every viewer shows: all channels as glTF's textures (occlusion, "
        "roughness "
        "and\nmetallic in one image), the kernels removed, everything else as it was. docs/baking.md says "
        "more.\n\n"
        "Example:\n"
        "  heatskin bake model_fit.glb -o model_baked.glb --to atlas --size 2048");
  }

  Result<void> prepare(Session& session) override {
    if (!to_.empty()) job_.to = enumNamed<BakeTo>(kBakeToNames, to_);
    job_.format = enumNamed<BakeFormat>(kBakeFormatNames, format_);
    job_.xatlas = atlas_ == "xatlas";
    if (job_.max_error > 0 && job_.to != BakeTo::kVertex)
      return usageError("--max-error is for --to vertex; see 'heatskin bake --help'");
    if (job_.xatlas && job_.to && job_.to != BakeTo::kAtlas)
      return usageError("--atlas is for --to atlas; see 'heatskin bake --help'");
    if (job_.xatlas) job_.to = BakeTo::kAtlas;
    session.files.reads(file_, "PRODUCT");
    session.files.writes(output_, "-o", ".glb");
    return {};
  }

  Result<void> run(Session& session) override {
    Stopwatch watch;
    const auto product = openProduct(session, file_, {}, variant_, level_);
    if (!product) return product.error();
    warnAbout(session, file_, product->product.notices);
    job_.seed = session.common.seed;
    job_.progress = &session.console;
    const auto outcome = bakeProduct(*product, job_);
    if (!outcome) return outcome.error();
    warnAbout(session, file_, outcome->notices);
    if (auto saved = saveBytes(output_, outcome->bytes); !saved) return saved;
    const double seconds = watch.lap();
    print(session.console, *outcome, seconds);
    return saveJson(session.console, session.common.json, jsonOf(*outcome, seconds));
  }

 private:
  static std::string quality(const ChannelQuality& channel) {
    if (channel.isNormal())
      return fmt::format("{:.2f} degrees in the mean, {:.2f} in 95 %", channel.angles->mean_deg,
                         channel.angles->p95_deg);
    return std::isfinite(channel.psnr) ? fmt::format("{:.1f} dB", channel.psnr) : "identical";
  }

  void print(Console& console, const BakeOutcome& outcome, double seconds) const {
    console.heading(oneLine(displayPath(std::filesystem::path(output_).filename())));
    std::vector<std::vector<std::string>> rows;
    const std::string what(kBakeToNames[static_cast<std::size_t>(outcome.to)]);
    if (outcome.width > 0) {
      std::string images;
      for (const BakedFileImage& image : outcome.images)
        images += fmt::format("{}{} {}", images.empty() ? "" : ", ", image.name,
                              humanBytes(static_cast<double>(image.bytes)));
      rows.push_back({"images", fmt::format("{} x {}: {}", outcome.width, outcome.height, images)});
      if (outcome.to == BakeTo::kAtlas) {
        rows.push_back(
            {"atlas", fmt::format("{} by {}, gutters of {}, {} of the image used",
                                  counted(outcome.charts, "chart", "charts"),
                                  outcome.by_xatlas ? "xatlas" : "heatskin",
                                  counted(static_cast<std::size_t>(outcome.gutter), "texel", "texels"),
                                  percent(outcome.area_used))});
      } else {
        rows.push_back({"coordinates", fmt::format("TEXCOORD_{}, {} of the image used", job_.uv_set,
                                                   percent(outcome.area_used))});
      }
    } else {
      rows.push_back({"values", outcome.to == BakeTo::kFace ? "one for each face" : "at vertices"});
    }
    if (outcome.faces > 0)
      rows.push_back({"mesh", fmt::format("{}, {}", counted(outcome.vertices, "vertex", "vertices"),
                                          counted(outcome.faces, "triangle", "triangles"))});
    if (outcome.evaluation) {
      for (const ChannelQuality& channel : outcome.evaluation->channels)
        rows.push_back({channel.name, quality(channel) + " against the kernels"});
      if (outcome.evaluation->reference_seam) {
        rows.push_back(
            {"seams", fmt::format("colours jump by {:.1f} levels in 99 % of the points on edges, {:.1f} "
                                  "at most",
                                  outcome.evaluation->reference_seam->p99,
                                  outcome.evaluation->reference_seam->maximum)});
      }
    }
    rows.push_back({"file", fmt::format("{}, in {}", humanBytes(static_cast<double>(outcome.bytes.size())),
                                        humanSeconds(seconds))});
    console.table(rows);
  }

  Json jsonOf(const BakeOutcome& outcome, double seconds) const {
    Json json = {{"file", displayPath(output_)},
                 {"product", displayPath(file_)},
                 {"to", kBakeToNames[static_cast<std::size_t>(outcome.to)]},
                 {"width", outcome.width},
                 {"height", outcome.height},
                 {"charts", outcome.charts},
                 {"area_used", jsonNumber(outcome.area_used)},
                 {"gutter", outcome.gutter},
                 {"atlas", outcome.by_xatlas ? "xatlas" : "heatskin"},
                 {"overlap", jsonNumber(outcome.overlap)},
                 {"vertices", outcome.vertices},
                 {"faces", outcome.faces},
                 {"bytes", outcome.bytes.size()},
                 {"seconds", jsonNumber(seconds)}};
    json["images"] = Json::array();
    for (const BakedFileImage& image : outcome.images) {
      json["images"].push_back({{"name", image.name},
                                {"type", image.mime_type},
                                {"width", image.width},
                                {"height", image.height},
                                {"bytes", image.bytes}});
    }
    if (!outcome.evaluation) {
      json["psnr"] = nullptr;
      return json;
    }
    json["psnr"] = Json::object();
    for (const ChannelQuality& channel : outcome.evaluation->channels) {
      if (!channel.isNormal()) addDecibels(json["psnr"], channel.name, channel.psnr);
      if (channel.isNormal()) json["psnr"][channel.name] = nullptr;
      if (channel.angles) {
        json[channel.name + "_angle_mean_deg"] = jsonNumber(channel.angles->mean_deg);
        json[channel.name + "_angle_p95_deg"] = jsonNumber(channel.angles->p95_deg);
      }
      if (channel.iou) json["alpha_iou"] = jsonNumber(*channel.iou);
    }
    if (outcome.evaluation->reference_seam) {
      json["seam_jump_p99"] = jsonNumber(outcome.evaluation->reference_seam->p99);
      json["seam_jump_max"] = jsonNumber(outcome.evaluation->reference_seam->maximum);
    }
    return json;
  }

  std::string file_, output_, to_, variant_;
  std::size_t level_ = 0;
  std::string format_ = "png", atlas_ = "heatskin";
  BakeJob job_;
};

}  // namespace

std::unique_ptr<Verb> makeBake() {
  return std::make_unique<Bake>();
}

}  // namespace heatskin::cli
