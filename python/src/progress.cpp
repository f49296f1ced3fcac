#include "progress.h"

#include <string>
#include <utility>

#include "gil.h"

namespace heatskin::python {

namespace py = pybind11;

template <class Call>
void PythonProgress::call(const Call& body) const {
  if (interpreterEnds()) {
    stopped_ = true;
    return;
  }
  const py::gil_scoped_acquire acquire;
  if (error_ != nullptr) return;
  try {
    body();
  } catch (py::error_already_set& error) {
    fail(std::move(error));
  }
}

void PythonProgress::fail(py::error_already_set error) const {
  if (error_ == nullptr) error_ = std::make_unique<py::error_already_set>(std::move(error));
  stopped_ = true;
}

void PythonProgress::begin(std::string_view phase, std::size_t total) {
  if (handler_.is_none()) return;
  {
    const std::lock_guard lock(mutex_);
    updated_ = {};
  }
  call([&] { handler_.attr("begin")(std::string(phase), total); });
}

void PythonProgress::update(std::size_t done, std::string_view detail) {
  if (handler_.is_none()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (now - updated_ < kBetweenUpdates) return;
    updated_ = now;
  }
  call([&] {
    const py::object answer = handler_.attr("update")(done, std::string(detail));
    if (answer.is(py::bool_(false))) stopped_ = true;
  });
}

void PythonProgress::end() {
  if (handler_.is_none()) return;
  call([&] { handler_.attr("end")(); });
}

void PythonProgress::lookAtSignals() const {
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (now - looked_ < kBetweenUpdates) return;
    looked_ = now;
  }
  call([&] {
    // Does something in the main thread only, as it should.
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  });
}

bool PythonProgress::cancelled() const {
  if (interpreterEnds()) stopped_ = true;
  if (!stopped_) lookAtSignals();
  return stopped_;
}

void PythonProgress::note(const Notice& notice) {
  const std::lock_guard lock(mutex_);
  notices_.push_back(notice);
}

void PythonProgress::finish() {
  // A Ctrl-C that came after the last look.
  if (error_ == nullptr && PyErr_CheckSignals() != 0) fail(py::error_already_set());
  if (error_ != nullptr) {
    py::error_already_set error = std::move(*error_);
    error_.reset();
    throw error;
  }
  for (const Notice& notice : notices_) {
    if (notice.warning && PyErr_WarnEx(PyExc_UserWarning, notice.message.c_str(), 2) != 0)
      throw py::error_already_set();
  }
  notices_.clear();
}

}  // namespace heatskin::python
