#pragma once

// The methods by which a kernel's response at a point is computed, and their options. What else differs
// between them is in method_traits.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "heatskin/base/progress.h"
#include "heatskin/base/result.h"
#include "heatskin/evaluators/local/options.h"
#include "heatskin/evaluators/spectral/options.h"
#include "heatskin/evaluators/thermal/options.h"
#include "heatskin/surface/surface.h"

namespace heatskin {

class Evaluator;
class PreprocessingCache;

enum class Method : std::uint8_t { kLocal, kThermal, kSpectral };

/// In files and on command lines; in the order of the enum.
inline constexpr std::string_view kMethodNames[] = {"local", "thermal", "spectral"};
inline constexpr Method kMethods[] = {Method::kLocal, Method::kThermal, Method::kSpectral};

/// Everything besides surface and kernels that decides a colour; which alternative it is says the method.
using EvaluatorOptions = std::variant<local::LocalOptions, thermal::ThermalOptions, spectral::HktexOptions>;

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
