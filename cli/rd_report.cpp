#include "cli/rd_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heatskin/base/plural.h"
#include "heatskin/figures/plot.h"

#include "cli/console.h"
#include "cli/report_page.h"

namespace heatskin::cli {
namespace {

constexpr std::array kKinds = {RateKind::kKernels, RateKind::kWebp, RateKind::kJpeg, RateKind::kPng,
                               RateKind::kVertexColors};

std::string kindTitle(RateKind kind) {
  switch (kind) {
    case RateKind::kKernels:
      return "kernels";
    case RateKind::kPng:
      return "PNG";
    case RateKind::kJpeg:
      return "JPEG";
    case RateKind::kWebp:
      return "WebP";
    case RateKind::kVertexColors:
      break;
  }
  return "vertex colours";
}

std::string sizeText(double bytes) {
  return humanBytes(bytes);
}

std::string sizeText(std::size_t bytes) {
  return humanBytes(static_cast<double>(bytes));
}

std::string range(double from, double to) {
  const std::string a = sizeText(from), b = sizeText(to);
  return a == b ? "at " + a : fmt::format("from {} to {}", a, b);
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// "From 12 kB to 60 kB kernels are better, by up to 2.1 dB; from 60 kB to 690 kB images are, by up to 9 dB."
std::string spansText(const RateComparison& comparison, const std::string& rival) {
  std::vector<std::string> parts;
  for (const RateSpan& span : comparison.spans) {
    const std::string where = range(span.from, span.to);
    if (span.better == 0) {
      parts.push_back(fmt::format("{} both are equal", where));
    } else {
      parts.push_back(fmt::format("{} {} are better, by up to {} dB", where,
                                  span.better > 0 ? "kernels" : rival, fixed(span.gap, 1)));
    }
  }
  return capitalised(fmt::format("{}.", fmt::join(parts, "; ")));
}

/// "4.2 dB on average over these sizes".
std::string meanText(const RateComparison& comparison) {
  return fmt::format("{} dB{}", fixed(std::abs(comparison.mean_gap), 1),
                     comparison.to > comparison.from ? " on average over these sizes" : " at this size");
}

/// What the best kernels take, and the same quality otherwise.
std::string samePsnrText(const RateDistortion& outcome, const RateCurve& kernels, const RateCurve& images) {
  const RatePoint best = kernels.points().back();
  const double needed = images.bytesFor(best.psnr);
  if (std::isinf(needed)) return {};
  const RateRow* row =
      outcome.bestWithin(best.bytes, [](RateKind kind) { return kind == RateKind::kKernels; });
  return fmt::format("{} dB, the most that kernels reached, take {} kernels ({}) or an image of {}.",
                     fixed(best.psnr, 1), grouped(row->kernels), sizeText(best.bytes), sizeText(needed));
}

void compareWithImages(const RateDistortion& outcome, std::vector<std::string>& sentences) {
  const RateCurve kernels = outcome.kernelCurve(), images = outcome.imageCurve();
  const RateComparison c = compareCurves(kernels, images);
  if (kernels.points().front().bytes < images.points().front().bytes) {
    sentences.push_back(
        fmt::format("Below {} there are kernels and no images: texture coordinates alone take {}.",
                    sizeText(images.points().front().bytes), sizeText(outcome.coordinates.bytes)));
  }
  sentences.push_back(spansText(c, "images"));
  if (std::string same = samePsnrText(outcome, kernels, images); !same.empty())
    sentences.push_back(std::move(same));
  switch (c.choice()) {
    case 1:
      sentences.push_back(fmt::format("Kernels are the better choice for this asset ({}).", meanText(c)));
      break;
    case -1:
      sentences.push_back(fmt::format("A UV image is the better choice for this asset ({}).", meanText(c)));
      break;
    default:
      sentences.push_back(
          fmt::format("Neither is clearly the better choice for this asset: {} are ahead by {}.",
                      c.mean_gap >= 0 ? "kernels" : "images", meanText(c)));
  }
}

void compareWithVertexColors(const RateDistortion& outcome, std::vector<std::string>& sentences) {
  const RateCurve colors = outcome.vertexColorCurve();
  if (colors.empty()) {
    sentences.push_back(fmt::format("There are no vertex colours: {}.", outcome.vertex_colors_missing));
    return;
  }
  const RateComparison c = compareCurves(outcome.kernelCurve(), colors);
  const char* how = c.choice() > 0 ? "worse than" : c.choice() < 0 ? "better than" : "about as good as";
  sentences.push_back(
      fmt::format("Vertex colours are {} kernels {} ({}).", how, range(c.from, c.to), meanText(c)));
  if (!outcome.images_missing.empty() && c.choice() < 0)
    sentences.emplace_back("Vertex colours are the better choice for this asset.");
}

Json comparisonJson(const RateComparison& comparison) {
  Json json = {{"from_bytes", jsonNumber(comparison.from)},
               {"to_bytes", jsonNumber(comparison.to)},
               {"mean_gap_db", jsonNumber(comparison.mean_gap)},
               {"choice", comparison.spans.empty()  ? Json(nullptr)
                          : comparison.choice() > 0 ? Json("kernels")
                          : comparison.choice() < 0 ? Json("other")
                                                    : Json("neither")}};
  json["spans"] = Json::array();
  for (const RateSpan& span : comparison.spans) {
    json["spans"].push_back({{"from_bytes", jsonNumber(span.from)},
                             {"to_bytes", jsonNumber(span.to)},
                             {"better", span.better > 0   ? "kernels"
                                        : span.better < 0 ? "other"
                                                          : "equal"},
                             {"gap_db", jsonNumber(span.gap)},
                             {"at_bytes", jsonNumber(span.at)}});
  }
  return json;
}

std::string shortDecibels(double psnr) {
  return std::isinf(psnr) ? "exact" : fixed(psnr, 2);
}

std::string csvNumber(double value) {
  return std::isinf(value) ? "inf" : fmt::format("{:.6g}", value);
}

std::vector<const RateRow*> rowsOf(const RateDistortion& outcome,
                                   const std::function<bool(RateKind)>& wanted) {
  std::vector<const RateRow*> rows;
  for (const RateRow& row : outcome.rows) {
    if (wanted(row.kind)) rows.push_back(&row);
  }
  return rows;
}

std::string markdownTable(const std::vector<const RateRow*>& rows) {
  std::string text;
  const std::vector<std::string> header = rateHeader();
  text += fmt::format("| {} |\n|---|", fmt::join(header, " | "));
  for (std::size_t i = 1; i < header.size(); ++i)
    text += "---:|";
  text += "\n";
  for (const RateRow* row : rows)
    text += fmt::format("| {} |\n", fmt::join(rateCells(*row), " | "));
  return text;
}

}  // namespace

std::string rowName(const RateRow& row) {
  switch (row.kind) {
    case RateKind::kKernels:
      return counted(row.kernels, "kernel", "kernels");
    case RateKind::kVertexColors:
      return fmt::format("{}, {}",
                         row.level == 0
                             ? std::string("the mesh itself")
                             : counted(static_cast<std::size_t>(row.level), "subdivision", "subdivisions"),
                         counted(row.vertices, "vertex", "vertices"));
    case RateKind::kPng:
      return fmt::format("PNG {} x {}", row.width, row.height);
    case RateKind::kJpeg:
    case RateKind::kWebp:
      break;
  }
  return fmt::format("{} {} x {}, {}", kindTitle(row.kind), row.width, row.height,
                     row.quality == 0 ? std::string("lossless") : fmt::format("quality {}", row.quality));
}

std::vector<std::string> verdict(const RateDistortion& outcome) {
  std::vector<std::string> sentences;
  if (outcome.images_missing.empty()) {
    compareWithImages(outcome, sentences);
  } else {
    sentences.push_back(fmt::format("There is no image to compare with: {}.", outcome.images_missing));
  }
  compareWithVertexColors(outcome, sentences);
  return sentences;
}

std::vector<std::string> rateHeader() {
  return {"", "bytes", "seconds", "surface PSNR", "view PSNR", "view SSIM", "view FLIP"};
}

std::vector<std::string> rateCells(const RateRow& row) {
  return {rowName(row),
          grouped(row.bytes),
          row.seconds < 10 ? fmt::format("{:.2f}", row.seconds) : fmt::format("{:.0f}", row.seconds),
          shortDecibels(row.surface_psnr),
          shortDecibels(row.view_psnr),
          fmt::format("{:.4f}", row.view_ssim),
          fmt::format("{:.4f}", row.view_flip)};
}

std::vector<const RateRow*> kernelRows(const RateDistortion& outcome) {
  return rowsOf(outcome, [](RateKind kind) { return kind == RateKind::kKernels; });
}

std::vector<const RateRow*> vertexColorRows(const RateDistortion& outcome) {
  return rowsOf(outcome, [](RateKind kind) { return kind == RateKind::kVertexColors; });
}

std::vector<const RateRow*> frontImages(const RateDistortion& outcome) {
  std::vector<const RateRow*> rows;
  const RateCurve images = outcome.imageCurve();
  for (const RatePoint& point : images.points())
    rows.push_back(outcome.bestWithin(point.bytes, isImage));
  return rows;
}

std::vector<std::string> rateRules(const RateDistortion& outcome) {
  std::vector<std::string> rules;
  rules.emplace_back("Kernels: the bytes of their buffer in the product; seconds of the whole fit.");
  if (outcome.images_missing.empty()) {
    const UvCost& uv = outcome.coordinates;
    rules.push_back(fmt::format(
        "Images: {} in each size, as encoded, and the texture coordinates of {} ({} of them because of "
        "seams): "
        "{}, {} before compression (16 bits each; meshopt, then deflate). Positions and normals that seams "
        "repeat "
        "are not counted.",
        counted(outcome.images, "texture", "textures"), counted(uv.vertices, "vertex", "vertices"),
        grouped(uv.seam_vertices), sizeText(uv.bytes), sizeText(uv.raw_bytes)));
  }
  rules.emplace_back(
      "Vertex colours: 3 bytes each, compressed like the coordinates; positions and triangles of subdivided "
      "meshes "
      "are not counted, because anyone can subdivide. Least squares.");
  rules.push_back(fmt::format(
      "The truth is the asset with its textures read {}. The alpha of cut-outs counts for none of them.",
      outcome.filter_used.empty() ? "as they are" : "as its samplers say (" + outcome.filter_used + ")"));
  return rules;
}

Json rateJson(const RateDistortion& outcome) {
  Json json;
  json["verdict"] = verdict(outcome);
  json["images_missing"] = outcome.images_missing.empty() ? Json(nullptr) : Json(outcome.images_missing);
  json["vertex_colors_missing"] =
      outcome.vertex_colors_missing.empty() ? Json(nullptr) : Json(outcome.vertex_colors_missing);
  json["kernels_and_images"] = comparisonJson(compareCurves(outcome.kernelCurve(), outcome.imageCurve()));
  json["kernels_and_vertex_colors"] =
      comparisonJson(compareCurves(outcome.kernelCurve(), outcome.vertexColorCurve()));
  json["filter"] = outcome.filter_used;
  json["textures"] = outcome.images;
  json["uv"] = {{"vertices", outcome.coordinates.vertices},
                {"seam_vertices", outcome.coordinates.seam_vertices},
                {"raw_bytes", outcome.coordinates.raw_bytes},
                {"bytes", outcome.coordinates.bytes}};
  json["left_out"] = outcome.left_out;
  json["rows"] = Json::array();
  for (const RateRow& row : outcome.rows) {
    Json entry = {{"kind", kRateKindNames[static_cast<std::size_t>(row.kind)]},
                  {"name", rowName(row)},
                  {"bytes", row.bytes},
                  {"raw_bytes", row.raw_bytes},
                  {"seconds", jsonNumber(row.seconds)}};
    addDecibels(entry, "surface_psnr", row.surface_psnr);
    addDecibels(entry, "view_psnr", row.view_psnr);
    entry["view_ssim"] = jsonNumber(row.view_ssim);
    entry["view_flip"] = jsonNumber(row.view_flip);
    if (row.kind == RateKind::kKernels) {
      entry["kernels"] = row.kernels;
      entry["budget"] = row.budget;
    } else if (row.kind == RateKind::kVertexColors) {
      entry["level"] = row.level;
      entry["vertices"] = row.vertices;
    } else {
      entry["width"] = row.width;
      entry["height"] = row.height;
      entry["quality"] = row.quality == 0 ? Json("lossless") : Json(row.quality);
    }
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

std::string rateCsv(const RateDistortion& outcome) {
  std::string text =
      "kind,bytes,raw_bytes,seconds,surface_psnr,view_psnr,view_ssim,view_flip,kernels,width,height,quality,"
      "level,vertices\n";
  const auto positive = [](auto value) { return value > 0 ? fmt::format("{}", value) : std::string(); };
  for (const RateRow& row : outcome.rows) {
    const bool vertex = row.kind == RateKind::kVertexColors;
    text += fmt::format("{},{},{},{:.3f},{},{},{:.6f},{:.6f},{},{},{},{},{},{}\n",
                        kRateKindNames[static_cast<std::size_t>(row.kind)], row.bytes, row.raw_bytes,
                        row.seconds, csvNumber(row.surface_psnr), csvNumber(row.view_psnr), row.view_ssim,
                        row.view_flip, positive(row.kernels), positive(row.width), positive(row.height),
                        isImage(row.kind) && row.quality == 0 ? "lossless" : positive(row.quality),
                        vertex ? fmt::format("{}", row.level) : "", positive(row.vertices));
  }
  return text;
}

std::string rateMarkdown(const RateDistortion& outcome, const std::string& title,
                         const std::string& command) {
  std::string text = fmt::format("# {}: quality against bytes\n\n```sh\n{}\n```\n\n", title, command);
  for (const std::string& sentence : verdict(outcome))
    text += sentence + "\n";
  text += "\n![Surface PSNR over bytes](rd.svg)\n\n## Kernels\n\n" + markdownTable(kernelRows(outcome));
  if (outcome.images_missing.empty()) {
    text +=
        "\n## UV textures\n\nThose that no other image beats with as few bytes; all are in `rd.csv`.\n\n" +
        markdownTable(frontImages(outcome));
  }
  if (const auto rows = vertexColorRows(outcome); !rows.empty())
    text += "\n## Vertex colours\n\n" + markdownTable(rows);
  text += "\n## What is counted\n\n";
  for (const std::string& rule : rateRules(outcome))
    text += "- " + rule + "\n";
  return text;
}

std::string rateDrawing(const RateDistortion& outcome, const std::string& title) {
  struct Style {
    const char* color;
    double width;
    const char* dash;
  };
  const auto styleOf = [](RateKind kind) -> Style {
    switch (kind) {
      case RateKind::kKernels:
        return {"#b8540b", 3, ""};
      case RateKind::kWebp:
        return {"#1f7a4d", 2, ""};
      case RateKind::kJpeg:
        return {"#2563a8", 2, "7 4"};
      case RateKind::kPng:
        return {"#5b6470", 2, "2 4"};
      case RateKind::kVertexColors:
        break;
    }
    return {"#7b3fb0", 2, "9 3 2 3"};
  };
  const auto shown = [](double psnr) { return std::min(psnr, kPerfectPsnr); };

  PlotPanel panel;
  panel.x.label = "bytes, compressed, texture coordinates included (logarithmic)";
  panel.x.scale = AxisScale::kLogarithmic;
  panel.x.text = [](double bytes) {
    return bytes < 1e3   ? fmt::format("{:g} B", bytes)
           : bytes < 1e6 ? fmt::format("{:g} kB", bytes / 1e3)
                         : fmt::format("{:g} MB", bytes / 1e6);
  };
  panel.y.label = "surface PSNR, dB";
  panel.y.text = [](double psnr) { return fmt::format("{:g}{}", psnr, psnr >= kPerfectPsnr ? "+" : ""); };
  for (const RateKind kind : kKinds) {
    const RateCurve curve = outcome.curve([&](RateKind k) { return k == kind; });
    if (curve.empty()) continue;
    const Style style = styleOf(kind);
    PlotSeries all, best;
    all.color = best.color = style.color;
    all.mark = PlotMark::kDots;
    all.radius = 2.6;
    all.opacity = 0.28;
    for (const RateRow& row : outcome.rows) {
      if (row.kind == kind) all.points.push_back({static_cast<double>(row.bytes), shown(row.surface_psnr)});
    }
    best.name = kindTitle(kind);
    best.width = style.width;
    best.dash = style.dash;
    best.radius = kind == RateKind::kKernels ? 5 : 3.2;
    for (const RatePoint& p : curve.points())
      best.points.push_back({p.bytes, shown(p.psnr)});
    panel.series.push_back(std::move(all));
    panel.series.push_back(std::move(best));
  }
  // Beyond what counts as perfect there is nothing.
  for (const RateRow& row : outcome.rows) {
    if (row.surface_psnr >= kPerfectPsnr) panel.y.high = kPerfectPsnr;
  }
  Plot plot;
  plot.title = title;
  plot.panels.push_back(std::move(panel));
  plot.panel_width = 860;
  plot.panel_height = 420;
  plot.notes = {"Lines: the best of a kind for its bytes. Dots: all others."};
  return drawPlot(plot);
}

}  // namespace heatskin::cli
