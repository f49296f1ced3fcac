// What HKTex computes before the first step: eigenpairs of all operators, their alignment, the cache.
// Accuracy beside time: residuals before and after alignment, pairs missed, what float16 costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include "heatskin/base/parallel.h"
#include "heatskin/base/rng.h"
#include "heatskin/demo/pumpkin.h"
#include "heatskin/io/asset.h"
#include "heatskin/io/asset_surface.h"
#include "heatskin/operators/dense_kernels.h"
#include "heatskin/operators/spectral_bases.h"

#include "bench/field_steps.h"
#include "bench/harness.h"

// A yardstick only, and slow to compile: in builds with -D HEATSKIN_SPECTRA=ON.
#ifdef HEATSKIN_HAVE_SPECTRA
#include <Eigen/SparseCore>
#include <Spectra/MatOp/SparseSymMatProd.h>
#include <Spectra/MatOp/SymShiftInvert.h>
#include <Spectra/SymGEigsShiftSolver.h>
#endif

namespace heatskin::bench::spectral {
namespace {

namespace fs = std::filesystem;

constexpr double kDiffusionTime = 0.06245046192097831;  // METHOD section 7
constexpr std::size_t kCentres = 64;                    // of the float16 comparison, per basis
constexpr int kMostRuns = 5;                            // a run takes seconds
constexpr std::array<std::uint32_t, 3> kYardstickOperators = {kIsotropic, 3, 27};

struct TemporaryFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("heatskin_bench_{}", ::getpid());
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

/// What it was before, at the end.
struct KeepThreads {
  int before = threadCount();
  ~KeepThreads() { setThreadCount(before); }
};

/// Processor seconds of a call, of all threads of this program: steadier than the clock where others work,
/// too.
template <class Function>
double processorSecondsOf(Function&& function) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  function();
  return now() - begin;
}

/// Largest and mean square change of h(p, q) / h(p, p) when vectors are rounded to float16, over some centres
/// p and all vertices q.
struct HalfError {
  double largest = 0;
  double square_sum = 0;
  std::size_t pairs = 0;
};

HalfError halfError(const Eigenpairs& basis, std::uint64_t seed) {
  const std::size_t k = basis.values.size(), vertices = basis.vectors.size() / k;
  std::vector<std::uint16_t> halves(basis.vectors.size());
  std::vector<float> rounded(basis.vectors.size());
  halfFromFloat(basis.vectors, halves);
  floatFromHalf(halves, rounded);
  std::vector<float> decay(k);
  for (std::size_t e = 0; e < k; ++e)
    decay[e] = static_cast<float>(std::exp(-kDiffusionTime * basis.values[e]));
  const RandomStream random(seed, 0);
  HalfError error;
  std::array<std::vector<float>, 2> weighted{std::vector<float>(k), std::vector<float>(k)};
  const std::array<const std::vector<float>*, 2> rows = {&basis.vectors, &rounded};
  for (std::size_t c = 0; c < kCentres; ++c) {
    const std::size_t p = random.below(c, vertices);
    std::array<double, 2> self{};
    for (int i = 0; i < 2; ++i) {
      for (std::size_t e = 0; e < k; ++e) {
        const float x = (*rows[i])[p * k + e];
        weighted[i][e] = decay[e] * x;
        self[i] += weighted[i][e] * x;
      }
    }
    for (std::size_t q = 0; q < vertices; ++q) {
      std::array<double, 2> response{};
      for (int i = 0; i < 2; ++i) {
        float sum = 0;
        for (std::size_t e = 0; e < k; ++e)
          sum += weighted[i][e] * (*rows[i])[q * k + e];
        response[i] = sum / (self[i] + 1e-8);
      }
      const double difference = std::abs(response[1] - response[0]);
      error.largest = std::max(error.largest, difference);
      error.square_sum += difference * difference;
      ++error.pairs;
    }
  }
  return error;
}

#ifdef HEATSKIN_HAVE_SPECTRA
/// Shift-invert Lanczos with restarts as a user of the library would call it; number of pairs it found.
Eigen::Index solveWithSpectra(const Operators& operators, std::uint32_t index, std::size_t count) {
  const auto n = static_cast<Eigen::Index>(operators.vertex_count);
  std::vector<Eigen::Triplet<double>> entries, masses;
  for (std::uint32_t v = 0; v < operators.vertex_count; ++v) {
    for (std::uint32_t e = operators.begin[v]; e < operators.begin[v + 1]; ++e) {
      entries.emplace_back(static_cast<int>(v), static_cast<int>(operators.columns[e]),
                           operators.stiffness[index][e]);
    }
    masses.emplace_back(static_cast<int>(v), static_cast<int>(v), operators.mass[v]);
  }
  Eigen::SparseMatrix<double> l(n, n), m(n, n);
  l.setFromTriplets(entries.begin(), entries.end());
  m.setFromTriplets(masses.begin(), masses.end());
  using Inverse = Spectra::SymShiftInvert<double, Eigen::Sparse, Eigen::Sparse>;
  using Product = Spectra::SparseSymMatProd<double>;
  Inverse inverse(l, m);
  Product product(m);
  const auto k = static_cast<Eigen::Index>(count);
  Spectra::SymGEigsShiftSolver<Inverse, Product, Spectra::GEigsMode::ShiftInvert> solver(
      inverse, product, k, std::min(2 * k, n), -1e-2);
  solver.init();
  return solver.compute(Spectra::SortRule::LargestMagn, 100, 1e-6);
}
#endif

Result<BenchReport> runSpectralBench(const BenchOptions& options) {
  BenchReport report;
  report.name = "spectral";
  fs::path path = options.asset;
  std::error_code ignored;
  if (path.empty() && fs::exists(assetsFolder() / "spot/spot_triangulated.obj", ignored))
    path = assetsFolder() / "spot/spot_triangulated.obj";
  auto asset = path.empty() ? Result<Asset>(makePumpkin()) : loadAsset(path);
  if (!asset) return asset.error();
  const auto surface = buildSurface(*asset);
  if (!surface) return surface.error();
  report.subject = fmt::format("{}, {} vertices, {} components",
                               path.empty() ? "built-in pumpkin" : path.filename().string(),
                               surface->vertexCount(), surface->componentCount());
  auto& rows = report.rows;
  const KeepThreads threads_at_end;
  const int all = threadCount(), runs = std::min(options.repeats, kMostRuns);
  Progress& progress = options.progress != nullptr ? *options.progress : silentProgress();

  // Everything, with all threads and with one, in turns.
  PreprocessingCache none;
  std::vector<double> total, processor, eigen, align, one_thread, ratio;
  Result<SpectralBases> bases = Error{};
  for (int run = 0; run <= runs; ++run) {
    SpectralProfile profile;
    double seconds[2] = {}, processor_seconds = 0;
    for (const int threads : {all, 1}) {
      setThreadCount(threads);
      SpectralProfile* const into = threads == all ? &profile : nullptr;
      seconds[threads == all ? 0 : 1] = secondsOf([&] {
        const double spent =
            processorSecondsOf([&] { bases = buildSpectralBases(*surface, none, {}, progress, into); });
        if (threads == all) processor_seconds = spent;
      });
      if (!bases) return bases.error();
      if (all == 1) seconds[1] = seconds[0];
    }
    if (run == 0) continue;
    total.push_back(seconds[0]);
    processor.push_back(processor_seconds);
    one_thread.push_back(seconds[1]);
    ratio.push_back(seconds[1] / seconds[0]);
    eigen.push_back(profile.eigen_seconds);
    align.push_back(profile.align_seconds);
  }
  setThreadCount(all);
  rows.push_back(measuredRow("preprocess_s", "s", total,
                             "assembly, eigenpairs, alignment; no cache, " + threadsText(all)));
  rows.push_back(measuredRow("preprocess_cpu_s", "s", processor,
                             fmt::format("processor time of the same, {} together", threadsText(all))));
  rows.push_back(measuredRow("eigen_s", "s", eigen, "43 operators, " + threadsText(all)));
  rows.push_back(measuredRow("align_s", "s", align, "50 bases, rounded to float16"));
  rows.push_back(measuredRow("preprocess_1t_s", "s", one_thread, "one thread"));
  if (all > 1)
    rows.push_back(measuredRow("two_threads_vs_one", "x", ratio, threadsText(all) + ", same round"));
  rows.push_back(countedRow("bases_mb", "MB", static_cast<double>(bases->vectors.size()) * 2e-6, "float16"));
  rows.push_back(countedRow("embedding_mb", "MB", static_cast<double>(bases->embedding.size()) * 4e-6));

  // Single operators, one thread, beside a library.
  const Operators operators = assembleOperators(*surface);
  const EigenSolver solver(operators);
  std::vector<Eigenpairs> pairs(kOperatorCount);
  std::vector<double> each;
  for (std::uint32_t j = 0; j < kOperatorCount; ++j) {
    Result<Eigenpairs> solved = Error{};
    each.push_back(1e3 * processorSecondsOf([&] { solved = solver.solve(j); }));
    if (!solved) return solved.error();
    pairs[j] = std::move(*solved);
  }
  rows.push_back(
      measuredRow("operator_ms", "ms", each, "processor time, one thread; spread over the 43 operators"));
#ifdef HEATSKIN_HAVE_SPECTRA
  std::vector<double> yardstick, times_faster;
  for (const std::uint32_t j : kYardstickOperators) {
    Eigen::Index found = 0;
    const double theirs = processorSecondsOf([&] { found = solveWithSpectra(operators, j, solver.count()); });
    const double ours = processorSecondsOf([&] { static_cast<void>(solver.solve(j).ok()); });
    if (found < static_cast<Eigen::Index>(solver.count())) continue;
    yardstick.push_back(1e3 * theirs);
    times_faster.push_back(theirs / ours);
  }
  rows.push_back(
      measuredRow("spectra_operator_ms", "ms", yardstick,
                  "Spectra 1.0 shift-invert Lanczos of three operators, processor time, one thread"));
  rows.push_back(measuredRow("spectra_vs_ours", "x", times_faster, "same operators, in turns"));
#endif

  // Accuracy.
  std::vector<double> before, after(kAlignedBases, 0.0);
  double missed = 0;
  for (std::uint32_t j = 0; j < kOperatorCount; ++j) {
    before.push_back(eigenResidual(operators, j, pairs[j].values, pairs[j].vectors));
    // Just above the last one; the eigenvalues are good to more digits than that.
    const double just_above = pairs[j].values.back() * (1 + 1e-8);
    missed +=
        std::abs(static_cast<double>(solver.countBelow(j, just_above)) - static_cast<double>(solver.count()));
  }
  HalfError half;
  std::mutex mutex;
  alignAll(operators, pairs, [&](std::uint32_t index, const Eigenpairs& basis) {
    after[index] = eigenResidual(operators, operatorOfAligned(index), basis.values, basis.vectors);
    const HalfError here = halfError(basis, options.seed + index);
    const std::lock_guard lock(mutex);
    half.largest = std::max(half.largest, here.largest);
    half.square_sum += here.square_sum;
    half.pairs += here.pairs;
  });
  after.pop_back();  // the isotropic basis is nobody's follower
  const Spread before_spread = spreadOf(before), after_spread = spreadOf(after);
  rows.push_back(measuredRow("residual_before", "", before,
                             fmt::format("float32, {:.2g} .. {:.2g}; |L Phi - M Phi Lambda| / |M Phi Lambda|",
                                         before_spread.min, before_spread.max)));
  rows.push_back(measuredRow("residual_after", "", after,
                             fmt::format("aligned, {:.2g} .. {:.2g}", after_spread.min, after_spread.max)));
  rows.push_back(countedRow("pairs_missed", "", missed, "by the signs of pivots, all operators"));
  rows.push_back(countedRow("half_response_max", "", half.largest,
                            "largest change of h(p,q)/h(p,p) by float16, no window"));
  rows.push_back(countedRow("half_response_psnr", "dB",
                            -10 * std::log10(half.square_sum / static_cast<double>(half.pairs)), "peak 1"));

  // The cache.
  const TemporaryFolder folder;
  PreprocessingCache cache(folder.path);
  std::vector<double> write, load;
  for (int run = 0; run < 3; ++run) {
    SpectralProfile profile;
    if (run == 0) {
      bases = buildSpectralBases(*surface, cache, {}, progress, &profile);
      write.push_back(profile.cache_seconds);
    }
    bases = buildSpectralBases(*surface, cache, {}, progress, &profile);
    if (!bases) return bases.error();
    if (!profile.from_cache) return failure("what was stored in the cache was not found again");
    load.push_back(1e3 * profile.cache_seconds);
  }
  rows.push_back(measuredRow("cache_write_s", "s", write, "flushed to disk"));
  rows.push_back(measuredRow("cache_load_ms", "ms", load, "read and checked, file in memory"));
  rows.push_back(countedRow("peak_rss_mb", "MB", static_cast<double>(peakResidentBytes()) * 1e-6,
                            "the whole benchmark"));
  if (auto steps = measureFieldSteps(*asset, *surface, Method::kSpectral, options, rows); !steps)
    return steps.error();
  return report;
}

const RegisterBench registration{"spectral", "HKTex preprocessing: eigenpairs, alignment, accuracy, cache",
                                 &runSpectralBench};

}  // namespace
}  // namespace heatskin::bench::spectral
