#pragma once

// The methods: who says how strongly a kernel acts at a point. Everything that differs between them is a row
// of traits; nobody else compares names. A further method is a folder with its options, evaluator and row, an
// entry in the five lists below, and a section of the fit's configuration; the conformance suite then runs
// it.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "heatskin/base/option_table.h"
#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/evaluator.h"
#include "heatskin/evaluators/local/options.h"
#include "heatskin/evaluators/spectral/options.h"
#include "heatskin/evaluators/thermal/options.h"
#include "heatskin/operators/preprocessing_cache.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

enum class Method : std::uint8_t { kLocal, kThermal, kSpectral };

/// In files and on command lines; in the order of the enum.
inline constexpr std::string_view kMethodNames[] = {"local", "thermal", "spectral"};
inline constexpr Method kMethods[] = {Method::kLocal, Method::kThermal, Method::kSpectral};

/// Everything besides surface and kernels that decides a colour; which alternative it is says the method.
using EvaluatorOptions = std::variant<local::LocalOptions, thermal::ThermalOptions, spectral::HktexOptions>;

/// What distinguishes a method.
struct MethodTraits {
  std::string_view name;   ///< one of kMethodNames
  std::string_view title;  ///< what papers call it: "LocalHK"
  bool principal_axes;     ///< its operators follow the principal directions: a surface needs them
  bool periodic_angle;     ///< angles 0 and pi of a kernel mean the same
  bool
      carries_angle;  ///< walks carry a kernel's angle from face to face; otherwise it belongs to the surface
  bool leads_colors_back;  ///< what `clamped_colors = "by_method"` means, as measured
  bool stored_geometry;    ///< notices when positions are rounded to those of the file: fits on these
  std::span<const Option> options;

  /// How far from a kernel on a plane its response falls to `response`.
  double (*reach)(const EvaluatorOptions& options, double response);

  /// Refuses options that ask for more work than so many kernels and faces justify; up to `share` of what is
  /// allowed.
  Result<void> (*check)(const EvaluatorOptions& options, const Surface& surface, const KernelSet& kernels,
                        double share);

  Result<std::unique_ptr<Evaluator>> (*make)(const EvaluatorOptions& options, const Surface& surface,
                                             Progress& progress, PreprocessingCache& cache);
};

const MethodTraits& traits(Method method);

inline Method methodOf(const EvaluatorOptions& options) {
  return static_cast<Method>(options.index());
}
inline std::string_view methodName(Method method) {
  return kMethodNames[static_cast<std::size_t>(method)];
}
inline std::string_view methodName(const EvaluatorOptions& options) {
  return methodName(methodOf(options));
}

/// Nothing for a name that is none of kMethodNames.
std::optional<Method> methodNamed(std::string_view name);

/// A method's options as they are without being told otherwise.
EvaluatorOptions defaultOptions(Method method);

/// Which method, with the options of all: those of the others wait in case it is changed.
struct MethodChoice {
  Method method = Method::kLocal;
  local::LocalOptions local;
  thermal::ThermalOptions thermal;
  spectral::HktexOptions spectral;

  /// Of the method chosen.
  EvaluatorOptions options() const;
};

/// The struct inside, for the lines of MethodTraits::options.
void* optionsStruct(EvaluatorOptions& options);
const void* optionsStruct(const EvaluatorOptions& options);

/// How an evaluator is prepared; without influence on its answers.
struct Preparation {
  Progress* progress = nullptr;         ///< may be null
  PreprocessingCache* cache = nullptr;  ///< null: everything is computed
};

/// The evaluator `options` ask for. The surface must outlive it. Fails when the surface is too large for the
/// method, when its operators cannot be solved, or when the user cancels.
Result<std::unique_ptr<Evaluator>> makeEvaluator(const Surface& surface, const EvaluatorOptions& options,
                                                 const Preparation& preparation = {});

}  // namespace heatskin
