#pragma once

// Everything that differs between methods as a row of traits; nobody else compares names. A further method is
// a folder with its options, evaluator and row, an entry in the lists here and in method.h, and a section of
// the fit's configuration; the conformance suite then runs it.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "heatskin/base/channel_layout.h"
#include "heatskin/base/option_table.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

/// What distinguishes a method.
struct MethodTraits {
  std::string_view name;   ///< one of kMethodNames
  std::string_view title;  ///< what papers call it: "LocalHK"
  bool principal_axes;     ///< its operators follow the principal directions: a surface needs them
  bool periodic_angle;     ///< angles 0 and pi of a kernel mean the same
  bool
      carries_angle;  ///< walks carry a kernel's angle from face to face; otherwise it belongs to the surface
  bool has_lengths;   ///< kernels may have lengths other than 1
  bool tangents;      ///< kernels may have tangent groups (ChannelKind): it knows how faces lie to each other
  bool straight_through_clamp;  ///< what `clamp_gradient = "by_method"` means, as measured
  double rebuild_slowdown;      ///< rebuilds during a fit become up to so many times rarer as rates come down
  std::span<const Option> options;

  /// How far from a kernel on a plane its response falls to `response`.
  double (*reach)(const EvaluatorOptions& options, double response);

  /// `preparation` has progress and cache.
  Result<std::unique_ptr<Evaluator>> (*make)(const EvaluatorOptions& options, const Surface& surface,
                                             const Preparation& preparation);
};

const MethodTraits& traits(Method method);

/// Refuses channels that kernels of this method cannot have: tangent groups (error_code::kOtherMethod).
Result<void> checkChannels(Method method, const ChannelLayout& layout);

/// The struct inside, for the lines of MethodTraits::options.
void* optionsStruct(EvaluatorOptions& options);
const void* optionsStruct(const EvaluatorOptions& options);

/// Evaluators that makeEvaluator() was asked for in this process: tests see that no work is done twice.
std::size_t evaluatorsMade();

}  // namespace heatskin
