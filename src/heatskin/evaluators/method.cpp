#include "heatskin/evaluators/method.h"

#include <atomic>
#include <iterator>

#include <fmt/format.h>

#include "heatskin/evaluators/local/method.h"
#include "heatskin/evaluators/method_traits.h"
#include "heatskin/evaluators/spectral/method.h"
#include "heatskin/evaluators/thermal/method.h"

namespace heatskin {
namespace {

static_assert(std::size(kMethods) == std::size(kMethodNames));
std::atomic<std::size_t> evaluators_made = 0;

static_assert(std::variant_size_v<EvaluatorOptions> == std::size(kMethodNames));

}  // namespace

const MethodTraits& traits(Method method) {
  static const MethodTraits kRows[] = {local::methodTraits(), thermal::methodTraits(),
                                       spectral::methodTraits()};
  static_assert(std::size(kRows) == std::size(kMethodNames));
  return kRows[static_cast<std::size_t>(method)];
}

Result<void> checkChannels(Method method, const ChannelLayout& layout) {
  if (traits(method).tangents) return {};
  for (const ChannelGroup& group : layout.groups()) {
    if (!group.isTangent()) continue;
    return inputError(fmt::format("the method {} cannot carry the tangent vectors of {} over a surface; the "
                                  "method local can",
                                  methodName(method), group.name),
                      error_code::kOtherMethod);
  }
  return {};
}

std::optional<Method> methodNamed(std::string_view name) {
  for (const Method method : kMethods) {
    if (methodName(method) == name) return method;
  }
  return std::nullopt;
}

EvaluatorOptions defaultOptions(Method method) {
  EvaluatorOptions options;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<std::size_t>(method) == I ? void(options.emplace<I>()) : void()), ...);
  }
  (std::make_index_sequence<std::variant_size_v<EvaluatorOptions>>());
  return options;
}

EvaluatorOptions MethodChoice::options() const {
  switch (method) {
    case Method::kThermal:
      return thermal;
    case Method::kSpectral:
      return spectral;
    case Method::kLocal:
      break;
  }
  return local;
}

void* optionsStruct(EvaluatorOptions& options) {
  return std::visit([](auto& alternative) -> void* { return &alternative; }, options);
}

const void* optionsStruct(const EvaluatorOptions& options) {
  return std::visit([](const auto& alternative) -> const void* { return &alternative; }, options);
}

Result<std::unique_ptr<Evaluator>> makeEvaluator(const Surface& surface, const EvaluatorOptions& options,
                                                 const Preparation& preparation) {
  PreprocessingCache none;
  Preparation whole = preparation;
  if (whole.progress == nullptr) whole.progress = &silentProgress();
  if (whole.cache == nullptr) whole.cache = &none;
  evaluators_made.fetch_add(1, std::memory_order_relaxed);
  return traits(methodOf(options)).make(options, surface, whole);
}

std::size_t evaluatorsMade() {
  return evaluators_made.load(std::memory_order_relaxed);
}

}  // namespace heatskin
