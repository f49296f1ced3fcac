// How local HKTex's kernels are (paper, "Observed locality" and "Locality and geometric validation"): how far
// from its centre a kernel contributes, what is lost when contributions end at a radius, and what diffusion
// time the fitted responses look like.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "heatskin/base/parallel.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/supports.h"
#include "heatskin/figures/plot.h"
#include "heatskin/kernels/compositor.h"
#include "heatskin/metrics/statistics.h"
#include "heatskin/study/aggregate.h"
#include "heatskin/study/fit_run.h"
#include "heatskin/study/studies.h"
#include "heatskin/surface/sampling.h"

namespace heatskin::study {
namespace {

constexpr double kFarthest = 0.5;
constexpr std::array kTruncations = {0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5};
constexpr std::array<std::pair<int, double>, 3> kShares = {{{90, 0.90}, {95, 0.95}, {99, 0.99}}};

/// Kernels with fewer samples have no footprint to speak of.
constexpr std::size_t kFewestSamples = 20;

/// A kernel among the kept ones of a sample.
struct Contribution {
  std::uint32_t sample, kernel;
  float weight;    ///< f
  float response;  ///< x
  float distance;  ///< over the surface; infinite beyond kFarthest
};

/// The kept kernels of all samples, by kernel.
std::vector<std::vector<Contribution>> contributionsOf(const KernelTexture& texture,
                                                       std::span<const SurfacePoint> points) {
  const KernelSet& kernels = texture.kernels();
  std::vector<std::vector<Contribution>> by_kernel(kernels.size());
  const auto batch = texture.evaluator().begin(points);
  Workspace workspace;
  for (std::size_t begin = 0; begin < points.size(); begin += kQueryBlock) {
    const std::size_t end = std::min(points.size(), begin + kQueryBlock);
    batch->respond(begin, end, workspace);
    const ResponseBlock& block = workspace.responses;
    for (std::size_t q = 0; q < end - begin; ++q) {
      std::vector<Contribution> found;
      for (std::size_t c = 0; c < block.counts[q]; ++c) {
        const std::uint32_t k = block.kernels[q * block.stride + c];
        const float x = block.x[q * block.stride + c];
        const float f = SoftThreshold<float>(kernels.sharpnesses[k], kernels.thresholds[k])(x);
        if (f > 0) found.push_back({static_cast<std::uint32_t>(begin + q), k, f, x, 0});
      }
      std::stable_sort(found.begin(), found.end(),
                       [](const Contribution& a, const Contribution& b) { return a.weight > b.weight; });
      if (found.size() > kKeptKernels) found.resize(kKeptKernels);
      for (const Contribution& one : found)
        by_kernel[one.kernel].push_back(one);
    }
  }
  return by_kernel;
}

/// Distances by unfolding, which is exact to a few hundredths of a per cent in the median (study geometry).
void measureDistances(const Surface& surface, const KernelSet& kernels, std::span<const SurfacePoint> points,
                      std::vector<std::vector<Contribution>>& by_kernel) {
  local::LocalOptions options;
  options.sight = local::Sight::kCarried;
  options.edge_tolerance = 0.3;
  const local::SupportBuilder builder(surface, options);
  parallelFor(by_kernel.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      if (by_kernel[k].empty()) continue;
      const SurfacePoint& place = kernels.positions[k];
      local::SupportSource source;
      source.face = place.face;
      source.center = surface.faceCoordinates(place).cast<float>();
      source.radius = static_cast<float>(kFarthest);
      std::unordered_map<std::uint32_t, Vec2> centers;
      for (const auto& [face, motion] : builder.propagate(source)) {
        centers.try_emplace(face,
                            motion.cosine * source.center.x() - motion.sine * source.center.y() + motion.x,
                            motion.sine * source.center.x() + motion.cosine * source.center.y() + motion.y);
      }
      const Vec3 in_space = surface.position(place);
      for (Contribution& one : by_kernel[k]) {
        const SurfacePoint& p = points[one.sample];
        const auto found = centers.find(p.face);
        one.distance = std::numeric_limits<float>::infinity();
        if (found == centers.end()) continue;
        const double unfolded = (surface.faceCoordinates(p) - found->second).norm();
        one.distance = static_cast<float>(std::max(unfolded, (surface.position(p) - in_space).norm()));
      }
    }
  });
}

double truncatedPsnr(const KernelSet& kernels, std::span<const std::vector<Contribution>> by_kernel,
                     std::span<const Vec3f> truth, double radius) {
  std::vector<Vec3> sums(truth.size(), Vec3::Zero());
  std::vector<double> weights(truth.size(), 0);
  for (const auto& contributions : by_kernel) {
    for (const Contribution& one : contributions) {
      if (one.distance > radius) continue;
      const float* color = kernels.channels.row(one.kernel);
      for (Eigen::Index c = 0; c < 3; ++c)
        sums[one.sample][c] += static_cast<double>(one.weight) * static_cast<double>(color[c]);
      weights[one.sample] += static_cast<double>(one.weight);
    }
  }
  double error = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Vec3 mean = kernels.mean.head<3>().cast<double>().matrix();
    const Vec3 color = (mean + sums[i] / std::max(1.0, weights[i])).cwiseMax(0).cwiseMin(1);
    error += (color - truth[i].cast<double>()).squaredNorm();
  }
  return -10 * std::log10(error / (3 * static_cast<double>(truth.size())));
}

class LocalityStudy final : public Study {
 public:
  std::string_view name() const override { return "locality"; }
  std::string_view summary() const override {
    return "footprints of HKTex's kernels, what truncating them costs, effective diffusion time";
  }

  Result<std::vector<StudyRun>> plan(const StudySettings& settings) const override {
    FitPlan fits;
    MeshSpec pumpkin;
    pumpkin.name = "pumpkin_3000";
    std::vector<MeshSpec> own = {subjectNamed(settings, "spot")};
    if (own.front().name != pumpkin.name) own.push_back(pumpkin);
    fits.meshes = meshesFor(settings, std::move(own));
    fits.methods = methodsFor(settings, {{"hktex", "HKTex", "paper", {"method=spectral"}}});
    fits.seeds = seedsFor(settings, {0});
    fits.views = false;
    auto runs = planFits(fits, settings);
    if (!runs) return runs;
    for (StudyRun& run : *runs)
      run.work["footprint_samples"] = settings.quick ? 2000 : 100'000;
    return runs;
  }

  Result<StudyOutcome> execute(const Json& work, const RunContext& context) const override {
    StudyOutcome outcome;
    auto fitted = fitRun(work, context, outcome);
    if (!fitted) return fitted.error();
    if (!*fitted) return outcome;
    const KernelTexture& texture = (*fitted)->stored.texture;
    const Surface& surface = texture.surface();
    const auto points = sampleSurface(surface, work.value("footprint_samples", std::size_t{100'000}), 1);
    auto by_kernel = contributionsOf(texture, points);
    measureDistances(surface, texture.kernels(), points, by_kernel);

    std::array<std::vector<double>, kShares.size()> radii;
    std::vector<double> times;
    double beyond = 0, total = 0;
    for (auto& contributions : by_kernel) {
      std::sort(contributions.begin(), contributions.end(),
                [](const Contribution& a, const Contribution& b) { return a.distance < b.distance; });
      double sum = 0, half_radius = 0;
      for (const Contribution& one : contributions) {
        sum += static_cast<double>(one.weight);
        if (!std::isfinite(one.distance)) beyond += static_cast<double>(one.weight);
        if (one.response >= 0.5f && std::isfinite(one.distance))
          half_radius = static_cast<double>(one.distance);
      }
      total += sum;
      if (contributions.size() < kFewestSamples) continue;
      for (std::size_t s = 0; s < kShares.size(); ++s) {
        double so_far = 0;
        for (const Contribution& one : contributions) {
          so_far += static_cast<double>(one.weight);
          if (so_far < kShares[s].second * sum) continue;
          radii[s].push_back(std::isfinite(one.distance) ? static_cast<double>(one.distance) : kFarthest);
          break;
        }
      }
      // On the long axis a heat kernel of time t falls to one half at sqrt(4 t ln 2).
      if (half_radius > 0) times.push_back(half_radius * half_radius / (4 * std::log(2.0)));
    }
    for (std::size_t s = 0; s < kShares.size(); ++s) {
      const std::string key = fmt::format("radius{}", kShares[s].first);
      outcome.values[key + "_median"] = jsonNumber(median(radii[s]));
      outcome.values[key + "_p99"] = jsonNumber(percentile(radii[s], 99));
      outcome.values[key + "_max"] = jsonNumber(summarise(radii[s]).maximum);
    }
    outcome.values["footprints"] = radii[0].size();
    outcome.values["effective_time"] = jsonNumber(median(times));
    outcome.values["weight_beyond"] = jsonNumber(total > 0 ? beyond / total : 0);
    std::vector<Vec3f> truth(points.size());
    (*fitted)->asset.appearance.colors(points, truth, (*fitted)->config.train.filter);
    for (const double radius : kTruncations)
      outcome.values[fmt::format("psnr_within_{:g}", radius)] =
          jsonNumber(truncatedPsnr(texture.kernels(), by_kernel, truth, radius));
    outcome.values["psnr_everything"] = jsonNumber(
        truncatedPsnr(texture.kernels(), by_kernel, truth, std::numeric_limits<double>::infinity()));
    return outcome;
  }

  StudyReport report(std::span<const StudyRow> rows, const std::filesystem::path& /*folder*/) const override {
    StudyReport report;
    report.title = "Locality";
    ReportTable radii{
        "Radius that holds a share of a kernel's contribution: median / p99 / largest over kernels",
        {"run", "90 %", "95 %", "99 %", "kernels", "effective t", "weight beyond 0.5"},
        {}};
    ReportTable truncation{"Surface PSNR when contributions end at a radius, dB", {"run"}, {}};
    for (const double radius : kTruncations)
      truncation.header.push_back(fmt::format("{:g}", radius));
    truncation.header.emplace_back("all");
    Plot plot;
    plot.title = "How local HKTex's kernels are";
    plot.columns = 2;
    PlotPanel curve, bars;
    curve.title = "truncation";
    curve.x.label = "radius";
    curve.y.label = "surface PSNR, dB";
    bars.title = "radius of a share of the contribution";
    bars.y.label = "radius: median, p99";
    bars.x.categories = {"90 %", "95 %", "99 %"};
    for (const StudyRow& row : rows) {
      if (!row.error.empty() || row.values.contains("refused")) continue;
      std::vector<std::string> line = {row.name};
      PlotSeries of_curve, of_bars;
      of_curve.name = of_bars.name = row.name;
      of_bars.mark = PlotMark::kBars;
      for (std::size_t s = 0; s < kShares.size(); ++s) {
        const std::string key = fmt::format("radius{}", kShares[s].first);
        const double middle = row.number(key + "_median"), high = row.number(key + "_p99");
        line.push_back(fmt::format("{:.3f} / {:.3f} / {:.3f}", middle, high, row.number(key + "_max")));
        of_bars.points.push_back({static_cast<double>(s), middle, middle, high});
      }
      line.push_back(fmt::format("{:.0f}", row.number("footprints")));
      line.push_back(fmt::format("{:.4f}", row.number("effective_time")));
      line.push_back(fmt::format("{:.3f} %", 100 * row.number("weight_beyond")));
      radii.rows.push_back(std::move(line));
      line = {row.name};
      for (const double radius : kTruncations) {
        const double psnr = row.number(fmt::format("psnr_within_{:g}", radius));
        line.push_back(fmt::format("{:.2f}", psnr));
        of_curve.points.push_back({radius, psnr});
      }
      line.push_back(fmt::format("{:.2f}", row.number("psnr_everything")));
      truncation.rows.push_back(std::move(line));
      curve.series.push_back(std::move(of_curve));
      bars.series.push_back(std::move(of_bars));
      report.summary[row.name] = row.values;
    }
    radii.rows.push_back({"spot, paper", "0.067 / 0.163 / -", "", "0.085 / 0.193 / 0.216", "", "0.005", ""});
    truncation.rows.push_back({"spot, paper: flat from 0.2 on"});
    truncation.rows.back().resize(truncation.header.size());
    report.tables = {std::move(radii), std::move(truncation)};
    if (ReportTable refused = refusals(rows); !refused.rows.empty())
      report.tables.push_back(std::move(refused));
    report.notes = {
        "Contribution: the weights f of a kernel where it is among the 30 kept. Distances over the surface "
        "by unfolding; what it "
        "does not reach within 0.5 counts as beyond.",
        "Effective t: the median over kernels of r^2 / (4 ln 2), r the farthest sample with a response of at "
        "least one half, "
        "window included. The paper fits its t_eff in a way it does not describe."};
    plot.panels = {std::move(bars), std::move(curve)};
    report.figure = drawPlot(plot);
    return report;
  }
};

}  // namespace

std::unique_ptr<Study> makeLocalityStudy() {
  return std::make_unique<LocalityStudy>();
}

}  // namespace heatskin::study
