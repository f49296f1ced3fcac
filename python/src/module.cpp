// heatskin._native: what heatskin/*.py is made of. Arguments are positional and checked there; nobody else
// calls this.

#include <filesystem>
#include <string>
#include <string_view>

#include <pybind11/stl.h>

#include "heatskin/base/files.h"
#include "heatskin/base/memory_budget.h"
#include "heatskin/evaluators/method.h"
#include "heatskin/kernels/kernel_set.h"
#include "heatskin/kernels/simd_level.h"
#include "heatskin/product/product.h"
#include "heatskin/version.h"

#include "convert.h"

namespace heatskin::python {
namespace {

/// heatskin.InputError and its sisters, with the code and without the word of a front end.
void raise(const Error& error) {
  const char* name = "Error";
  if (error.code == error_code::kCancelled) {
    name = "Cancelled";
  } else if (error.kind == ErrorKind::kUsage) {
    name = "UsageError";
  } else if (error.kind == ErrorKind::kInput) {
    name = "InputError";
  }
  const py::object type = py::module_::import("heatskin._errors").attr(name);
  const py::object exception = type(error.message, error.code);
  PyErr_SetObject(type.ptr(), exception.ptr());
}

template <std::size_t kCount>
py::tuple namesOf(const std::string_view (&names)[kCount]) {
  py::tuple out(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    out[i] = std::string(names[i]);
  return out;
}

py::dict kernelRanges() {
  using R = KernelRanges;
  py::dict out;
  out["angle"] = py::make_tuple(R::kMinAngle, R::kMaxAngle);
  out["anisotropy"] = py::make_tuple(R::kMinAnisotropy, R::kMaxAnisotropy);
  out["threshold"] = py::make_tuple(R::kMinThreshold, R::kMaxThreshold);
  out["sharpness"] = py::make_tuple(R::kMinSharpness, R::kMaxSharpness);
  out["length"] = py::make_tuple(R::kMinLength, R::kMaxLength);
  out["values"] = py::make_tuple(-R::kMaxResidual, R::kMaxResidual);
  out["mean"] = py::make_tuple(0.0f, 1.0f);
  return out;
}

}  // namespace

PYBIND11_MODULE(_native, module) {
  module.attr("VERSION") = kVersion;
  module.attr("METHODS") = namesOf(kMethodNames);
  module.attr("FALLBACKS") = namesOf(kFallbackNames);
  module.attr("FILTERS") = namesOf(kFilterNames);
  module.attr("KERNEL_RANGES") = kernelRanges();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure.error);
    }
  });
  module.def("thread_count", [](int threads) {
    const ThreadLimit limit(threads);
    return threadCount();
  });
  module.def("write_file", [](const std::string& path, const py::bytes& bytes) {
    const std::string_view text = bytes;
    released(0, [&] {
      take(writeFileAtomically(path, text));
      return 0;
    });
  });
  module.def("set_memory_budget", &setMemoryBudget);
  module.def("memory_budget", &memoryBudget);
  module.def("simd_levels", [] { return simdLevels(); });
  watchEndOfInterpreter();
  bindGeometry(module);
  bindTexture(module);
  bindFit(module);
  bindPictures(module);
}

}  // namespace heatskin::python
