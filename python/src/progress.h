#pragma once

// Progress as Python sees it, and Ctrl-C as the library does.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <pybind11/pybind11.h>

#include "heatskin/base/result.h"

namespace heatskin::python {

/// Calls handler.begin(phase, total), .update(done, detail) and .end(), unless the handler is None; an update
/// that returns False asks the work to stop. Signals are looked at now and then: what Ctrl-C raises, or what
/// the handler raises, stops the work and is raised by finish(). Made and destroyed with the GIL, used
/// without.
class PythonProgress final : public Progress {
 public:
  explicit PythonProgress(pybind11::object handler) : handler_(std::move(handler)) {}

  void begin(std::string_view phase, std::size_t total) override;
  void update(std::size_t done, std::string_view detail) override;
  void end() override;
  bool cancelled() const override;

  /// Keeps an exception of Python for finish() and asks the work to stop. With the GIL.
  void fail(pybind11::error_already_set error) const;

  /// Warnings of the library, for whoever returns a result. From any thread.
  void note(const Notice& notice);

  /// After the work, with the GIL: raises what there is to raise, shows warnings.
  void finish();

  /// Whether something asked the work to stop.
  bool stopped() const { return stopped_; }

 private:
  template <class Call>
  void call(const Call& body) const;
  void lookAtSignals() const;

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenUpdates{30};

  pybind11::object handler_;
  mutable std::unique_ptr<pybind11::error_already_set> error_;
  mutable std::atomic<bool> stopped_ = false;
  mutable std::mutex mutex_;
  mutable Clock::time_point looked_{}, updated_{};
  std::vector<Notice> notices_;
};

}  // namespace heatskin::python
