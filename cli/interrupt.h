#pragma once

// Ctrl-C and kill: the program ends with code 130 or 143 at once, but never in the middle of writing a file,
// and not before its state is saved where there is one.

#include <mutex>

namespace heatskin::cli {

/// Starts listening for SIGINT and SIGTERM (unless they are ignored, as under nohup) and ignores SIGPIPE, so
/// that a reader who leaves shows as a write error. To be called before any other thread exists.
void handleSignals();

/// True once the user asked to stop.
bool interrupted();

/// 128 + the signal's number once the user asked to stop, 0 before.
int interruptExitCode();

/// While one exists, the first signal only makes interrupted() true: the work looks at it, saves and returns.
/// A second signal ends the program as usual.
class GracefulInterrupt {
 public:
  GracefulInterrupt();
  ~GracefulInterrupt();
  GracefulInterrupt(const GracefulInterrupt&) = delete;
  GracefulInterrupt& operator=(const GracefulInterrupt&) = delete;
};

/// While one exists, a signal waits: hold it from creating a temporary file until it was renamed.
class NoInterrupt {
 public:
  NoInterrupt();

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace heatskin::cli
