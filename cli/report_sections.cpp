#include "cli/report_sections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "heatskin/base/files.h"
#include "heatskin/figures/plot.h"
#include "heatskin/product/deflate.h"
#include "heatskin/training/config.h"
#include "heatskin/viewing/page.h"

#include "cli/console.h"

namespace heatskin::cli {
namespace {

/// The most that the viewer with its files may take of a page, deflated: with the original only while reports
/// stay below 3 MB, alone as long as a phone can open the page.
constexpr std::size_t kWithOriginal = std::size_t{1} << 20, kMostAlone = std::size_t{16} << 20;

/// Of a plot: its texts are readable on a phone, where it is as wide as the screen.
constexpr double kPlotWidth = 380, kPlotHeight = 260;

/// zlib's strategy for text and numbers.
constexpr int kDefaultStrategy = 0;

std::vector<std::uint8_t> deflated(std::string_view text) {
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return deflateParts(bytes, bytes.size(), kDefaultStrategy);
}

std::string drawn(PlotPanel panel) {
  Plot plot;
  plot.panel_width = kPlotWidth;
  plot.panel_height = kPlotHeight;
  plot.panels.push_back(std::move(panel));
  std::string svg = drawPlot(plot);
  // The panel's title is drawn already; who listens to the page needs one, too.
  constexpr std::string_view kNoLabel = R"(aria-label="")";
  if (const std::size_t at = svg.find(kNoLabel); at != std::string::npos)
    svg.replace(at, kNoLabel.size(), fmt::format(R"(aria-label="{}")", escapeXml(plot.panels[0].title)));
  return svg;
}

/// Means over equal parts of the run, at most so many: batches are noisy.
constexpr std::size_t kCurvePoints = 240;

std::vector<PlotPoint> curve(std::span<const float> losses, const std::function<double(double)>& value) {
  std::vector<PlotPoint> out;
  const std::size_t points = std::min(kCurvePoints, losses.size());
  for (std::size_t p = 0; p < points; ++p) {
    const std::size_t begin = p * losses.size() / points, end = (p + 1) * losses.size() / points;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
      sum += static_cast<double>(losses[i]);
    PlotPoint point;
    point.x = 0.5 * static_cast<double>(begin + end);
    point.y = value(sum / static_cast<double>(end - begin));
    out.push_back(point);
  }
  return out;
}

struct Histogram {
  std::string name, label;
  bool logarithmic = false;
  std::vector<float> values;
};

std::string histogramSvg(const Histogram& of) {
  constexpr int kBins = 28;
  std::vector<double> values;
  for (const float value : of.values) {
    if (std::isfinite(value) && (!of.logarithmic || value > 0))
      values.push_back(of.logarithmic ? std::log(static_cast<double>(value)) : static_cast<double>(value));
  }
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  // All alike: one bar in the middle.
  const double low = *least - (*most > *least ? 0 : 0.5), high = *most > *least ? *most : *most + 0.5;
  std::array<double, kBins> counts = {};
  for (const double value : values)
    counts[std::min<std::size_t>(kBins - 1,
                                 static_cast<std::size_t>((value - low) / (high - low) * kBins))] += 1;
  PlotPanel panel;
  panel.title = of.name;
  panel.x.label = of.label;
  panel.x.low = -0.5;
  panel.x.high = kBins - 0.5;
  panel.x.text = [=](double bin) {
    const double value = low + (bin + 0.5) / kBins * (high - low);
    return fmt::format("{:.2g}", of.logarithmic ? std::exp(value) : value);
  };
  panel.y.label = "kernels";
  PlotSeries series;
  series.mark = PlotMark::kBars;
  for (int bin = 0; bin < kBins; ++bin) {
    PlotPoint point;
    point.x = bin;
    point.y = counts[static_cast<std::size_t>(bin)];
    series.points.push_back(point);
  }
  panel.series.push_back(std::move(series));
  return drawn(std::move(panel));
}

}  // namespace

void addViewer(ReportPage& page, std::string_view name, std::span<const std::uint8_t> product,
               const std::filesystem::path& original) {
  page.section("Turn it around");
  if (viewerPage().empty()) {
    page.note(
        "This program was built without the viewer; 'make viewer' builds it (it needs npm), and reports then "
        "show the "
        "product here, drawn from its kernels.");
    return;
  }
  if (product.size() > kMostAlone) {
    page.note(fmt::format("The product ({}) is too large for a page: 'heatskin view' shows it.",
                          humanBytes(static_cast<double>(product.size()))));
    return;
  }
  std::vector<ViewedFile> files(1);
  files[0].shown = {std::string(name), {product.begin(), product.end()}};
  const auto packed = [&]() -> std::vector<std::uint8_t> {
    const auto html = singlePage(files);
    return html ? deflated(*html) : std::vector<std::uint8_t>();
  };
  std::vector<std::uint8_t> bytes;
  bool compared = false;
  if (!original.empty()) {
    auto read = readForViewing(original);
    if (read && read->bytes.size() + product.size() <= 2 * kWithOriginal) {
      files[0].original = std::make_unique<ViewedBytes>(std::move(*read));
      bytes = packed();
      compared = bytes.size() <= kWithOriginal;
    }
  }
  if (!compared) {
    files[0].original = nullptr;
    bytes = packed();
  }
  const std::string hint =
      compared ? "beside the original" : "without the original, which is too large for a report";
  page.embeddedPage(
      bytes, "Viewer: the product drawn from its kernels",
      fmt::format("The product itself{}, drawn from its kernels by this page (WebGL2): drag to turn, "
                  "click for the kernels behind a point.",
                  original.empty() ? "" : ", " + hint));
}

void addCurves(ReportPage& page, const FitHistory& history, std::size_t channels) {
  if (history.losses.size() < 2) return;
  PlotPanel loss, psnr;
  loss.title = "Loss";
  loss.y.scale = AxisScale::kLogarithmic;
  psnr.title = "PSNR of the batches, dB";
  std::vector<double> ends;
  if (history.stages.size() > 1) {
    const double steps =
        static_cast<double>(history.losses.size()) / static_cast<double>(history.stages.size());
    for (std::size_t s = 1; s < history.stages.size(); ++s)
      ends.push_back(steps * static_cast<double>(s));
  }
  for (PlotPanel* panel : {&loss, &psnr}) {
    panel->x.label = ends.empty() ? "step" : "step (lines: the next stage begins, with more kernels)";
    panel->x.low = 0;
    panel->x.high = static_cast<double>(history.losses.size());
    for (const double end : ends) {
      PlotGuide guide;
      guide.kind = PlotGuide::Kind::kVertical;
      guide.at = end;
      panel->guides.push_back(guide);
    }
  }
  const auto series = [](std::vector<PlotPoint> points) {
    PlotSeries out;
    out.mark = PlotMark::kLine;
    out.points = std::move(points);
    return out;
  };
  loss.series.push_back(series(curve(history.losses, [](double x) { return x; })));
  // The loss sums over channels; identical colours would be infinitely good.
  const auto decibels = [channels](double x) {
    return -10 * std::log10(std::max(x / static_cast<double>(std::max<std::size_t>(channels, 1)), 1e-12));
  };
  psnr.series.push_back(series(curve(history.losses, decibels)));
  page.drawing(drawn(std::move(loss)),
               "Squared error summed over channels, weighted as the fit draws samples.");
  page.drawing(drawn(std::move(psnr)),
               "The same in decibels: an estimate over the surface, not the figure of the evaluation.");
}

void addKernelHistograms(ReportPage& page, const KernelSet& kernels) {
  if (kernels.size() == 0) return;
  page.section("What the kernels are like",
               fmt::format("{} with {} each.", counted(kernels.size(), "kernel", "kernels"),
                           counted(kernels.layout.size(), "channel", "channels")));
  std::vector<float> contrasts(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    float sum = 0;
    for (std::size_t c = 0; c < kernels.layout.size(); ++c)
      sum += kernels.channels.row(k)[c] * kernels.channels.row(k)[c];
    contrasts[k] = std::sqrt(sum);
  }
  std::vector<float> degrees = kernels.angles;
  for (float& angle : degrees)
    angle *= 180 / KernelRanges::kMaxAngle;
  const Histogram all[] = {
      {"Length", "surface units", true, kernels.lengths},
      {"Anisotropy", "how much longer than wide, as eta", true, kernels.anisotropies},
      {"Threshold", "response at half weight", false, kernels.thresholds},
      {"Sharpness", "of the edge", true, kernels.sharpnesses},
      {"Direction", "degrees against the first axis of the face", false, std::move(degrees)},
      {"Contrast", "distance of the values from the mean", false, std::move(contrasts)},
  };
  for (const Histogram& one : all) {
    if (const std::string svg = histogramSvg(one); !svg.empty())
      page.drawing(svg, one.name + " of the kernels.");
  }
}

void addCommand(ReportPage& page, std::string_view command, std::string_view options,
                std::string_view options_caption) {
  page.section("How to repeat it");
  page.code("Command", command);
  if (!options.empty()) page.code(options_caption, options, true);
}

std::string optionsBeside(const std::filesystem::path& product) {
  constexpr std::size_t kMost = std::size_t{1} << 16;
  const std::filesystem::path file = std::filesystem::path(product).replace_extension(".toml");
  const auto bytes = readFile(file, kMost);
  if (!bytes) return {};
  std::string text(bytes->begin(), bytes->end());
  // Whatever else lies there under that name is not shown.
  return parseConfig(text, displayPath(file)) ? text : std::string();
}

}  // namespace heatskin::cli
