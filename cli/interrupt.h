#pragma once

// Ctrl-C, kill and a terminal that is closed: the program ends with code 130, 143 or 129 at once, but never
// in the middle of writing a file, and not before its state is saved where there is one.

#include <filesystem>
#include <mutex>

namespace heatskin::cli {

/// Starts listening for SIGINT, SIGTERM and SIGHUP (unless they are ignored, as under nohup) and ignores
/// SIGPIPE, so that a reader who leaves shows as a write error. To be called before any other thread exists.
void handleSignals();

/// True once the user asked to stop.
bool interrupted();

/// 128 + the signal's number once the user asked to stop, 0 before.
int interruptExitCode();

/// While one exists, the first signal only makes interrupted() true: the work looks at it, saves and returns.
/// A second signal ends the program as usual; a SIGTERM repeated within seconds is the same one.
class GracefulInterrupt {
 public:
  GracefulInterrupt();
  ~GracefulInterrupt();
  GracefulInterrupt(const GracefulInterrupt&) = delete;
  GracefulInterrupt& operator=(const GracefulInterrupt&) = delete;
};

/// All results are written and only memory is left to be freed: a signal that comes now must not turn success
/// into failure.
void ignoreFurtherInterrupts();

/// A file (a lock) that has to go when a signal ends the program.
void removeOnInterrupt(const std::filesystem::path& file);

/// While one exists, a signal waits: hold it from creating a temporary file until it was renamed.
class NoInterrupt {
 public:
  NoInterrupt();

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace heatskin::cli
