#pragma once

// A fit as it is watched in a browser: what the server tells the page, and what the page asks of the fit. The
// fit does not depend on it: its kernels are the same with and without.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/training/fit.h"

namespace heatskin {

struct LiveFitOptions {
  /// Processor time that frames may take, as part of what the fit takes. What the server does besides is
  /// small.
  double frame_share = 0.03;
  std::size_t most_frames = 48;                     ///< kept; then every second one goes
  std::size_t most_bytes = std::size_t{128} << 20;  ///< of all frames
  int frames_per_stage = 24;                        ///< at most
};

/// See the head of the file. watch(), phase() and the functions that end it are called from the fit's thread,
/// all others from any.
class LiveFit {
 public:
  explicit LiveFit(LiveFitOptions options = {});
  ~LiveFit();
  LiveFit(const LiveFit&) = delete;
  LiveFit& operator=(const LiveFit&) = delete;

  /// For FitControl::watch. Now and then it makes a frame, the product at that moment, and while the page has
  /// paused the fit it waits, as long as `cancelled` (FitControl::progress's) is not true.
  void watch(const FitMoment& moment, const std::function<bool()>& cancelled);

  /// For FitControl::finish: the page wants the fit to end as it is.
  bool finishAsked() const;

  /// What is going on before and after the steps: "preparing".
  void phase(std::string_view name);

  /// The product is there; figures for people.
  void done(std::span<const std::uint8_t> product, std::vector<std::pair<std::string, std::string>> figures);
  void failed(std::string_view message);

  /// Waits until the pages that look at the fit have its end and all frames, or until they are silent, but
  /// not for longer than `seconds`.
  void waitForPages(double seconds, const std::function<bool()>& cancelled) const;

  /// Everything but the frames, as JSON.
  std::string state();

  /// A GLB; null if there is none of that number (any more).
  std::shared_ptr<const std::vector<std::uint8_t>> frame(std::size_t number);

  /// "pause", "resume", "finish" or "bye" (of a page that has everything, or is closed); false if it is
  /// something else.
  bool command(std::string_view name);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heatskin
