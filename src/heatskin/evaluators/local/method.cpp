#include "heatskin/evaluators/local/method.h"

#include <algorithm>
#include <cmath>

#include "heatskin/evaluators/local/local_evaluator.h"
#include "heatskin/evaluators/local/supports.h"

namespace heatskin::local {
namespace {

// In the order of the enums.
constexpr std::string_view kCandidateRuleNames[] = {"per_query", "per_face", "by_reach"};
constexpr std::string_view kSightNames[] = {"last_edge", "carried"};

constexpr double kMaxLength = 10;  // five times the longest side of the bounding box

// Limits of what costs time and memory are several times what any fit uses, not more: a small file must not
// buy a day of work.
// clang-format off
constexpr Option kOptions[] = {
    option<&LocalOptions::diffusion_time>("diffusion_time", 1e-6, 1e3, "diffusion time t of the heat kernel"),
    option<&LocalOptions::window_sigma>("window_sigma", 0, kMaxLength, "sigma of the geodesic window; 0: no window"),
    option<&LocalOptions::max_radius>("max_radius", 1e-4, kMaxLength, "largest support radius"),
    option<&LocalOptions::support_tail>("support_tail", 1e-4, 0.5, "kernel weight at which the support ends"),
    option<&LocalOptions::candidates>("candidates", 1, kMostCandidates, "most kernels considered for one query point"),
    choice<&LocalOptions::rule, kCandidateRuleNames>("candidate_rule", "which kernels are considered where a face has too many: those nearest to the query (per_query, the paper's PQ), those nearest to the face's centroid (per_face, the paper's PF), or those nearest to the query in units of their support radii (by_reach)"),
    option<&LocalOptions::isotropic>("isotropic", "ignore anisotropy and angle"),
    option<&LocalOptions::euclidean>("euclidean", "distances and frames in space instead of on the unfolded surface"),
    choice<&LocalOptions::sight, kSightNames>("sight", "visibility in an unfolding: last_edge tests the last edge only, as in the paper; carried accumulates the visibility window through all edges crossed"),
    option<&LocalOptions::edge_tolerance>("edge_tolerance", 0, 1, "how far beside an edge an unfolding may pass, in edge lengths"),
    option<&LocalOptions::join_corners>("join_corners", "all faces around a vertex agree on its position in a kernel's plane, for smaller colour jumps across edges"),
    option<&LocalOptions::proxy_faces>("proxy_faces", 0, 1e9, "on surfaces with more than twice this many faces, supports are computed on a simplified copy with about this many; 0: never"),
};
// clang-format on

const LocalOptions& own(const EvaluatorOptions& options) {
  return std::get<LocalOptions>(options);
}

double reach(const EvaluatorOptions& options, double response) {
  const LocalOptions& o = own(options);
  // exp(-rate d^2) on a plane.
  const double window = o.window_sigma > 0 ? 1 / (2 * o.window_sigma * o.window_sigma) : 0;
  const double rate = 1 / (4 * o.diffusion_time) + window;
  return std::min(std::sqrt(-std::log(response) / rate), o.max_radius);
}

Result<std::unique_ptr<Evaluator>> make(const EvaluatorOptions& options, const Surface& surface,
                                        const Preparation& preparation) {
  return std::unique_ptr<Evaluator>(
      std::make_unique<LocalEvaluator>(surface, own(options), preparation.supports));
}

}  // namespace

MethodTraits methodTraits() {
  return {.name = "local",
          .title = "LocalHK",
          .principal_axes = false,
          .periodic_angle = true,
          .carries_angle = true,
          .has_lengths = true,
          .tangents = true,
          .straight_through_clamp = false,
          .rebuild_slowdown = 4,  // for kernels that rest when idle; see trainOptions()
          .options = kOptions,
          .reach = reach,
          .make = make};
}

}  // namespace heatskin::local
