#pragma once

// Progress of long work, and the wish to stop it.

#include <cstddef>
#include <string_view>

namespace heatskin {

/// Receives progress; the command line draws a bar, tests and the library ignore it. Calls come from one
/// thread.
class Progress {
 public:
  virtual ~Progress() = default;

  /// A phase begins; `total` steps are expected (0: unknown).
  virtual void begin(std::string_view phase, std::size_t total) = 0;

  /// `done` steps are over; `detail` is a short text such as "psnr 34.1 dB".
  virtual void update(std::size_t done, std::string_view detail) = 0;

  /// The phase is over.
  virtual void end() = 0;

  /// True when the user asked to stop; long loops look at it between steps.
  virtual bool cancelled() const { return false; }
};

/// A Progress that does nothing; the default everywhere.
Progress& silentProgress();

}  // namespace heatskin
