#include "cli/evaluation_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/evaluation/pictures.h"
#include "heatskin/io/encode_webp.h"
#include "heatskin/io/image.h"
#include "heatskin/rendering/colormap.h"

#include "cli/console.h"

namespace heatskin::cli {
namespace {

Json optionalNumber(const std::optional<double>& value) {
  return value ? jsonNumber(*value) : Json(nullptr);
}

Json pictureJson(const PictureQuality& quality) {
  Json json;
  addDecibels(json, "psnr", quality.psnr);
  json["ssim"] = jsonNumber(quality.ssim);
  if (quality.flip) json["flip"] = jsonNumber(*quality.flip);
  if (quality.lpips) json["lpips"] = jsonNumber(*quality.lpips);
  json["pixels"] = quality.pixels;
  return json;
}

std::string pictureText(const PictureQuality& quality) {
  std::string text = fmt::format("{}, SSIM {:.4f}", decibels(quality.psnr), quality.ssim);
  if (quality.flip) text += fmt::format(", FLIP {:.4f}", *quality.flip);
  if (quality.lpips) text += fmt::format(", LPIPS {:.4f}", *quality.lpips);
  return text;
}

/// "bilinearly", for people.
std::string filterPhrase(const std::string& used) {
  if (used == "paper") return "with the paper's formula";
  if (used == "bilinear") return "bilinearly";
  if (used == "nearest") return "at the nearest texel";
  return "as their samplers say";
}

std::string materialName(const Asset& asset, int material) {
  if (material < 0) return "default material";
  const std::string& name = asset.materials[static_cast<std::size_t>(material)].name;
  return name.empty() ? fmt::format("material {}", material) : oneLine(name);
}

}  // namespace

std::string decibels(double psnr) {
  return std::isinf(psnr) ? "infinite (identical)" : fixed(psnr, 2) + " dB";
}

void addEvaluation(Json& document, const Evaluation& evaluation) {
  addDecibels(document, "surface_psnr", evaluation.surface_psnr_nearest);
  addDecibels(document, "surface_psnr_filtered", evaluation.surface_psnr_filtered);
  document["channels"] = Json::object();
  for (const ChannelQuality& channel : evaluation.channels) {
    Json& figures = document["channels"][channel.name];
    if (channel.angles) {
      figures["angle_mean_deg"] = jsonNumber(channel.angles->mean_deg);
      figures["angle_p95_deg"] = jsonNumber(channel.angles->p95_deg);
      if (channel.isNormal()) continue;
    }
    addDecibels(figures, "psnr", channel.psnr);
    if (channel.iou) figures["iou"] = jsonNumber(*channel.iou);
  }
  document["surface_samples"] = evaluation.surface_samples;
  document["surface_max_error"] = jsonNumber(evaluation.surface_max_error);
  document["filter"] = evaluation.filter_used;
  document["visible_share"] = jsonNumber(evaluation.visible_share);
  const bool views = !evaluation.views.empty();
  document["view_psnr"] = nullptr;
  if (views) addDecibels(document, "view_psnr", evaluation.view_mean.psnr);
  document["view_ssim"] = views ? jsonNumber(evaluation.view_mean.ssim) : Json(nullptr);
  document["view_psnr_pooled"] = nullptr;
  if (views) addDecibels(document, "view_psnr_pooled", evaluation.view_psnr_pooled);
  if (evaluation.view_mean.flip) document["view_flip"] = optionalNumber(evaluation.view_mean.flip);
  if (evaluation.view_mean.lpips) document["view_lpips"] = optionalNumber(evaluation.view_mean.lpips);
  document["view_aggregation"] = "mean of the views' values";
  document["views"] = Json::array();
  for (const PictureQuality& view : evaluation.views)
    document["views"].push_back(pictureJson(view));
  const auto& atlas = evaluation.atlas;
  document["atlas_psnr"] = nullptr;
  if (atlas) addDecibels(document, "atlas_psnr", atlas->psnr);
  document["atlas_ssim"] = atlas ? jsonNumber(atlas->ssim) : Json(nullptr);
  if (atlas && atlas->flip) document["atlas_flip"] = jsonNumber(*atlas->flip);
  if (atlas && atlas->lpips) document["atlas_lpips"] = jsonNumber(*atlas->lpips);
  if (!evaluation.atlas_missing.empty()) document["atlas_missing"] = evaluation.atlas_missing;
  document["coverage_below_half"] = jsonNumber(evaluation.coverage_below_half);
  document["coverage_defect"] = jsonNumber(evaluation.coverage_defect);
  document["coverage_below_one"] = jsonNumber(evaluation.coverage_below_one);
  document["coverage_mean"] = jsonNumber(evaluation.coverage_mean);
  const auto addSeam = [&](const std::string& key, const std::optional<SeamJump>& seam) {
    document[key + "_median"] = seam ? jsonNumber(seam->median) : Json(nullptr);
    document[key + "_p99"] = seam ? jsonNumber(seam->p99) : Json(nullptr);
    document[key + "_max"] = seam ? jsonNumber(seam->maximum) : Json(nullptr);
  };
  addSeam("seam_jump", evaluation.seam);
  addSeam("reference_seam_jump", evaluation.reference_seam);
  const auto& five = evaluation.five_frame;
  document["five_frame_psnr"] = nullptr;
  if (five) {
    addDecibels(document, "five_frame_psnr", five->psnr);
    document["five_frame_ssim"] = jsonNumber(five->ssim);
    document["five_frame_ms_ssim"] = jsonNumber(five->ms_ssim);
    if (five->lpips) document["five_frame_lpips"] = jsonNumber(*five->lpips);
    document["five_frame_samples"] = five->samples;
  }
  document["query_mpoints_s"] =
      evaluation.query_mpoints_s > 0 ? jsonNumber(evaluation.query_mpoints_s) : Json(nullptr);
}

std::vector<std::string> evaluationFiles() {
  return {"report.html", "views.png", "error.png", "worst.png", "coverage.png", "atlas.png"};
}

ReportPage::Rows evaluationRows(const Evaluation& evaluation) {
  ReportPage::Rows rows;
  rows.emplace_back(
      "surface",
      fmt::format("{} as renderers filter textures, {} against the nearest texel ({} points; textures of "
                  "pictures read {})",
                  decibels(evaluation.surface_psnr_filtered), decibels(evaluation.surface_psnr_nearest),
                  grouped(evaluation.surface_samples), filterPhrase(evaluation.filter_used)));
  for (const ChannelQuality& channel : evaluation.channels) {
    if (channel.name == "base_color") continue;
    std::string text = channel.isNormal() ? "" : decibels(channel.psnr);
    if (channel.iou) text += fmt::format(", IoU {:.4f}", *channel.iou);
    if (channel.angles) {
      text += fmt::format("{}{:.2f} degrees in the mean, {:.2f} at p95", text.empty() ? "" : ", ",
                          channel.angles->mean_deg, channel.angles->p95_deg);
    }
    rows.emplace_back(channel.name, text);
  }
  if (evaluation.visible_share < 1)
    rows.emplace_back("visible", fmt::format("{} of the surface; the rest is not counted",
                                             percent(evaluation.visible_share)));
  if (!evaluation.views.empty()) {
    rows.emplace_back(
        "views", fmt::format("{} (mean of {})", pictureText(evaluation.view_mean), evaluation.views.size()));
  }
  if (evaluation.atlas) {
    rows.emplace_back("atlas", pictureText(*evaluation.atlas));
  } else if (!evaluation.atlas_missing.empty()) {
    rows.emplace_back("atlas", "none: " + evaluation.atlas_missing);
  }
  if (const auto& five = evaluation.five_frame) {
    rows.emplace_back(
        "five frames",
        fmt::format("{}, SSIM {:.4f}, MS-SSIM {:.4f}{} (lit, {} samples per pixel; equivalent to "
                    "the HKTex authors' measure)",
                    decibels(five->psnr), five->ssim, five->ms_ssim,
                    five->lpips ? fmt::format(", LPIPS {:.4f}", *five->lpips) : std::string(),
                    five->samples));
  }
  rows.emplace_back("uncovered", fmt::format("{} of the surface (weight sum below 0.5; {} below 1)",
                                             percent(evaluation.coverage_below_half),
                                             percent(evaluation.coverage_below_one)));
  rows.emplace_back("uncovered and wrong", fmt::format("{} of the surface (by more than 2/255)",
                                                       percent(evaluation.coverage_defect)));
  const auto addSeam = [&](const char* name, const std::optional<SeamJump>& seam) {
    if (!seam) return;
    rows.emplace_back(name, fmt::format("colour jump across edges {:.2g} median, {:.3g} p99, {:.3g} max "
                                        "(8-bit levels)",
                                        seam->median, seam->p99, seam->maximum));
  };
  addSeam("seams", evaluation.seam);
  addSeam("seams, input", evaluation.reference_seam);
  if (evaluation.query_mpoints_s > 0)
    rows.emplace_back("queries", fmt::format("{:.2f} million points per second", evaluation.query_mpoints_s));
  return rows;
}

std::string kernelsInBytes(const Product& product) {
  return fmt::format("{} in {}, {} bytes each", grouped(product.kernels.size()),
                     humanBytes(static_cast<double>(product.model_bytes)),
                     fixed(product.bytesPerKernel(), 1));
}

std::string keptLine(const std::vector<std::string>& kept, const std::vector<std::string>& dropped) {
  std::string line;
  if (!kept.empty()) line = fmt::format("kept {}", fmt::join(kept, ", "));
  if (!dropped.empty())
    line += fmt::format("{}dropped {}", line.empty() ? "" : "; ", fmt::join(dropped, ", "));
  return oneLine(line);
}

ReportPage::Rows evaluationTiles(const Evaluation& evaluation) {
  ReportPage::Rows rows;
  const auto shortDecibels = [](double psnr) {
    return std::isinf(psnr) ? std::string("identical") : fixed(psnr, 2) + " dB";
  };
  rows.emplace_back("surface PSNR", shortDecibels(evaluation.surface_psnr));
  if (!evaluation.views.empty()) {
    rows.emplace_back("view PSNR", shortDecibels(evaluation.view_mean.psnr));
    rows.emplace_back("view SSIM", fmt::format("{:.4f}", evaluation.view_mean.ssim));
  }
  rows.emplace_back("uncovered", percent(evaluation.coverage_below_half));
  rows.emplace_back("uncovered and wrong", percent(evaluation.coverage_defect));
  if (evaluation.seam) rows.emplace_back("seam jump, p99", fmt::format("{:.2f} / 255", evaluation.seam->p99));
  return rows;
}

ReportPage::Rows materialRows(const Evaluation& evaluation, const Asset& asset) {
  ReportPage::Rows rows;
  if (evaluation.materials.size() < 2) return rows;
  for (const MaterialQuality& m : evaluation.materials) {
    rows.emplace_back(materialName(asset, m.material),
                      fmt::format("{} on {} of the visible area, {} of it below a coverage of 0.5",
                                  decibels(m.psnr), percent(m.share), percent(m.uncovered)));
  }
  return rows;
}

void addMaterials(Json& document, const Evaluation& evaluation, const Asset& asset) {
  document["materials"] = Json::array();
  for (const MaterialQuality& m : evaluation.materials) {
    Json entry = {{"material", m.material},
                  {"name", materialName(asset, m.material)},
                  {"area_share", jsonNumber(m.share)}};
    addDecibels(entry, "surface_psnr", m.psnr);
    entry["coverage_below_half"] = jsonNumber(m.uncovered);
    document["materials"].push_back(std::move(entry));
  }
}

ReportPage::Rows viewRows(const Evaluation& evaluation) {
  ReportPage::Rows rows;
  for (std::size_t i = 0; i < evaluation.views.size(); ++i)
    rows.emplace_back(viewName(i), pictureText(evaluation.views[i]));
  return rows;
}

Result<std::vector<std::uint8_t>> pageImage(const ImageF& image) {
  return encodeWebp(toPng8WithMask(image), image.width, image.height);
}

Result<std::vector<std::string>> addEvaluationPictures(ReportPage& page, const std::filesystem::path& folder,
                                                       const KernelTexture& texture,
                                                       const Reference& reference,
                                                       const EvaluationPictureOptions& options) {
  Progress& progress = options.progress != nullptr ? *options.progress : silentProgress();
  std::vector<std::string> files;
  progress.begin("drawing the report", 5 + options.close_ups.size());
  const auto save = [&](const std::string& name, const ImageF& image) -> Result<void> {
    const auto png = encodePng(toPng8(image), image.width, image.height, 3);
    if (!png) return png.error();
    files.push_back(name + ".png");
    if (auto saved = saveBytes(folder / files.back(), *png); !saved) return saved;
    progress.update(files.size(), name);
    if (progress.cancelled()) return failure("cancelled");
    return {};
  };
  const std::vector<std::string> layers = {"reference", "fitted", "error", "coverage"};
  const auto encoded = [](std::string label, const auto& pictures) -> Result<ReportPage::ComparedView> {
    ReportPage::ComparedView view{std::move(label), {}};
    for (const ImageF& picture : pictures) {
      auto bytes = pageImage(picture);
      if (!bytes) return bytes.error();
      view.layers.push_back(std::move(*bytes));
    }
    return view;
  };

  const PictureSources sources = pictureSources(texture, reference, options.error_full);
  const auto gradient = [](const auto& color) {
    std::vector<std::string> stops;
    for (int i = 0; i <= 16; ++i) {
      const Vec3f c = color(static_cast<float>(i) / 16);
      stops.push_back(fmt::format("#{:02x}{:02x}{:02x}", toByte(c.x()), toByte(c.y()), toByte(c.z())));
    }
    return stops;
  };
  const auto scales = [&] {
    page.legend(fmt::format("Error: largest difference of a colour channel, in 8-bit levels (of 255)"),
                gradient([](float x) { return heatColor(x); }),
                {{0, "0"},
                 {0.5, fmt::format("{:g}", options.error_full / 2)},
                 {1, fmt::format("{:g}+", options.error_full)}});
    page.legend("Coverage: sum of kernel weights; red, below 1, fades to the mean colour",
                gradient([](float x) { return coverageColor(x * kCoverageFull, kCoverageFull); }),
                {{0, "0"}, {0.25, "1"}, {0.5, "2"}, {1, "4+"}});
  };

  page.section(
      "Reference, result, error and coverage",
      "The eight standard views, without light. Drag the line; choose what is left and right of it, and the "
      "view below.");
  constexpr int kPageSize = 384;
  const std::vector<const ColorSource*> colors = {&sources.reference, &sources.fitted, &sources.error,
                                                  &sources.coverage};
  std::vector<std::vector<ImageF>> drawn;
  for (const ColorSource* of : colors) {
    drawn.push_back(viewPictures(sources, *of, kPageSize));
    if (progress.cancelled()) return failure("cancelled");
  }
  std::vector<ReportPage::ComparedView> compared;
  for (std::size_t v = 0; v < drawn[0].size(); ++v) {
    std::vector<ImageF> pictures;
    for (std::vector<ImageF>& layer : drawn)
      pictures.push_back(std::move(layer[v]));
    auto view = encoded(viewName(v), pictures);
    if (!view) return view.error();
    compared.push_back(std::move(*view));
  }
  drawn.clear();
  page.compare(
      layers, compared, 1,
      "Views are named by azimuth (steps of 45 degrees) and elevation (20 and -20 degrees in turn).");
  scales();
  if (auto r = save("views", comparisonSheet(sources)); !r) return r.error();
  if (auto r = save("error", errorSheet(sources)); !r) return r.error();
  if (auto r = save("coverage", coverageSheet(sources)); !r) return r.error();

  const auto addCloseUp = [&](const std::string& name, const Camera& camera,
                              const std::string& caption) -> Result<void> {
    if (auto r = save(name, closeUp(sources, camera)); !r) return r;
    auto view = encoded(name, closeUpPictures(sources, camera));
    if (!view) return view.error();
    std::vector<ReportPage::Cell> cells;
    for (std::size_t i = 0; i < layers.size(); ++i)
      cells.push_back({{std::move(view->layers[i])}, layers[i]});
    page.gallery(cells, 4, caption);
    return {};
  };
  const WorstPlace worst = worstPlace(sources);
  page.section("The worst region");
  if (auto r = addCloseUp("worst", worst.camera,
                          fmt::format("Enlarged from view {}: root mean square error {:.1f} of 255.",
                                      worst.view, worst.error_levels));
      !r)
    return r.error();
  for (const CloseUp& wanted : options.close_ups) {
    page.section(wanted.title);
    if (auto r = addCloseUp(wanted.name, wanted.camera, wanted.caption); !r) return r.error();
  }

  if (const auto atlas = atlasPictures(texture, reference, options.error_full)) {
    page.section("In texture space",
                 "All drawn into the reference's UV layout, which the kernels do not use.");
    if (auto r = save("atlas", atlasComparison(*atlas, options.error_full)); !r) return r.error();
    auto view = encoded("texture space", *atlas);
    if (!view) return view.error();
    page.compare({"reference", "fitted", "error"}, {std::move(*view)},
                 static_cast<double>((*atlas)[0].width) / std::max(1, (*atlas)[0].height),
                 "Texels that no face uses are left out.");
  }
  progress.end();
  return files;
}

}  // namespace heatskin::cli
