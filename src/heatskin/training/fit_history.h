#pragma once

// What a fit remembers of its past, for reports.

#include <vector>

#include "heatskin/training/growth.h"

namespace heatskin {

/// Seconds spent so far, by phase; what threads do side by side is added up.
struct TrainProfile {
  double sampling = 0;
  double candidates = 0;  ///< the evaluator's respond(): candidates and their responses
  double forward = 0, backward = 0, optimiser = 0, rebuild = 0, density = 0, solve = 0;
};

/// Calls visit(name, seconds) for every phase of a profile, in the order of a step. A new phase needs one
/// line here.
template <class Profile, class Visitor>
void visitPhases(Profile& profile, Visitor&& visit) {
  visit("sampling", profile.sampling);
  visit("candidates", profile.candidates);
  visit("forward", profile.forward);
  visit("backward", profile.backward);
  visit("optimiser", profile.optimiser);
  visit("rebuild", profile.rebuild);
  visit("density", profile.density);
  visit("solve", profile.solve);
}

/// What a fit remembers of its past besides the trainer's state; for reports, without influence on the fit.
struct FitHistory {
  std::vector<float> losses;        // [steps done]
  std::vector<float> step_seconds;  // [steps done]
  TrainProfile profile;
  double optimise_seconds = 0;
  double samples = 0;               // drawn
  std::vector<GrowthStage> stages;  // that are done, with an automatic budget; of influence on the fit
};

}  // namespace heatskin
