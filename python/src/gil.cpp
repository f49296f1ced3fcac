#include "gil.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace heatskin::python {

namespace py = pybind11;

namespace {

std::atomic<bool> ending = false;
std::atomic<int> at_work = 0;

/// What cannot be stopped shall not keep the process from ending.
constexpr std::chrono::milliseconds kPatience{3000}, kBetweenLooks{5};

bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void letWorkLeave() {
  ending = true;
  const py::gil_scoped_release release;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (at_work > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kBetweenLooks);
}

/// Another process, made by fork(): threads of the one before are not here.
void forgetWork() {
  at_work = 0;
}

}  // namespace

bool interpreterEnds() {
  return ending;
}

void watchEndOfInterpreter() {
  py::module_::import("atexit").attr("register")(py::cpp_function(&letWorkLeave));
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                         py::cpp_function(&forgetWork));
}

WithoutGil::WithoutGil() {
  ++at_work;
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() noexcept(false) {
  while (finalizing())
    std::this_thread::sleep_for(kPatience);
  PyEval_RestoreThread(state_);
  --at_work;
}

}  // namespace heatskin::python
