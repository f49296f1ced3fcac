#include "heatskin/training/value_solve.h"

#include <algorithm>
#include <vector>

#include "heatskin/base/parallel.h"
#include "heatskin/surface/sampling.h"
#include "heatskin/training/channel_solve.h"
#include "heatskin/training/pool.h"
#include "heatskin/training/probes.h"

namespace heatskin {
namespace {

/// Points for the shift of the mean.
constexpr std::size_t kShiftPoints = std::size_t{1} << 14;

/// Values are new, not only refined as during a fit: more iterations, and hardly any damping. The second
/// round is for what clamping changed.
constexpr ChannelSolveOptions kSolve{40, 0.003};
constexpr int kRounds = 2;

/// Median differences of the two targets, channel by channel: exactly 0 where most of the surface is the
/// same.
ChannelValues meanShift(const Surface& surface, const FitTarget& base, const FitTarget& target) {
  const std::vector<SurfacePoint> points = sampleSurface(surface, kShiftPoints, 0);
  const std::size_t channels = target.layout().size();
  std::vector<float> before(points.size() * channels), after(before.size());
  unitValues(base, points, before);
  unitValues(target, points, after);
  ChannelValues shift = ChannelValues::Zero(static_cast<Eigen::Index>(channels));
  std::vector<float> differences;
  for (const ChannelGroup& group : target.layout().groups()) {
    if (group.isTangent()) continue;  // their mean is the vector 0
    for (std::size_t c = group.first; c < group.first + group.count; ++c) {
      differences.clear();
      for (std::size_t i = 0; i < points.size(); ++i) {
        if ((constantChannels(target, points[i].face) >> c & 1) != 0) continue;
        differences.push_back(after[i * channels + c] - before[i * channels + c]);
      }
      if (differences.empty()) continue;
      const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
      std::nth_element(differences.begin(), middle, differences.end());
      shift[static_cast<Eigen::Index>(c)] = *middle;
    }
  }
  return shift;
}

/// What is wrong with the sum of kernels that was `first` and has become first + `change`, if what is shown
/// of it is to become `wanted` larger. Kernels may sum up to more than the range has, or to less: then a part
/// of their change shows nothing, and where the end of the range is what is wanted, any such sum will do.
float errorOfChange(float first, float change, float wanted) {
  const float shown = std::clamp(first, 0.0f, 1.0f);
  if (shown == first) return change - wanted;
  const float goal = std::clamp(shown + wanted, 0.0f, 1.0f), now = first + change;
  if (goal == shown && std::clamp(now, 0.0f, 1.0f) == goal) return 0;
  return now - goal;
}

}  // namespace

KernelSet solveValues(Evaluator& evaluator, const KernelSet& kernels, const Surface& surface,
                      const FitTarget& base, const FitTarget& target, const TrainOptions& given) {
  TrainOptions options = given;
  options.density.max_kernels = kernels.size();
  followBudget(options);  // the size of the pool, unless it is given
  const ChannelLayout& layout = kernels.layout;
  const std::size_t channels = layout.size();
  const SamplePool pool(surface, target, options.sampling, options.seed);
  KernelSet solved = kernels;
  solved.mean = (kernels.mean + meanShift(surface, base, target)).cwiseMax(0.0f).cwiseMin(1.0f);
  const ChannelTable before = kernels.channels;
  for (int round = 0; round < kRounds; ++round) {
    // Beyond the steps of the fit, so that points are others than those of its own solves.
    const ProbeDraw draw = solveProbes(options, kernels.size(), options.steps + 1 + round);
    ChannelSystem system(solved, blockCount(probeCount(pool, draw), kProbeBlock));
    forProbes(evaluator, solved, pool, draw, [&](std::size_t block, const Probes& drawn) {
      Probes probes = drawn;
      std::vector<float> old(probes.size() * channels);
      unitValues(base, probes.points, old);
      for (std::size_t p = 0; p < probes.size(); ++p) {
        const std::uint32_t unknown = constantChannels(base, probes.points[p].face);
        const float scale = 1 / std::max(probes.weights[p], 1.0f);
        // What the change so far makes of the first texture; both rows are linear in the kernels' values.
        ChannelValues change = ChannelValues::Zero(static_cast<Eigen::Index>(channels));
        ChannelValues first = kernels.mean;  // the first texture before it is clamped
        for (std::uint32_t n = probes.begin[p]; n < probes.begin[p + 1]; ++n) {
          const Influence& influence = probes.influences[n];
          const float *now = solved.channels.row(influence.kernel), *then = before.row(influence.kernel);
          ChannelValues step(static_cast<Eigen::Index>(channels));
          for (std::size_t c = 0; c < channels; ++c) {
            step[static_cast<Eigen::Index>(c)] = now[c] - then[c];
            first[static_cast<Eigen::Index>(c)] += influence.weight * scale * then[c];
          }
          for (const ChannelGroup& group : layout.groups()) {
            if (!group.isTangent()) continue;
            const auto at = static_cast<Eigen::Index>(group.first);
            step.segment<2>(at) = probes.turns[n](step[at], step[at + 1]);
          }
          change += influence.weight * scale * step;
        }
        change += solved.mean - kernels.mean;
        for (const ChannelGroup& group : layout.groups()) {
          for (std::size_t c = group.first; c < group.first + group.count; ++c) {
            if ((unknown >> c & 1) != 0) continue;  // the texture's own error stays
            const float wanted = probes.targets.row(p)[c] - old[p * channels + c];
            const auto at = static_cast<Eigen::Index>(c);
            const float error =
                group.isTangent() ? change[at] - wanted : errorOfChange(first[at], change[at], wanted);
            probes.errors.row(p)[c] = error * probes.countOf(p, c, group);
          }
        }
      }
      system.add(block, probes);
    });
    system.solve(kSolve, solved);
  }
  return solved;
}

}  // namespace heatskin
