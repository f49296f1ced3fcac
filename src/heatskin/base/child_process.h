#pragma once

// A program that runs as a process of its own, with limits: for work that may crash, hang or take all memory
// without taking its caller along.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "heatskin/base/result.h"

namespace heatskin {

struct ChildOptions {
  std::filesystem::path errors;  ///< what it writes to stderr goes to this file; stdin and stdout are nothing
  std::size_t max_bytes = 0;     ///< of address space; 0: any. Not in sanitised builds
};

/// How a child ended, and what it took.
struct ChildEnd {
  int status = 0;                       ///< as waitpid() has it
  double seconds = 0;                   ///< since its start
  double cpu_seconds = 0;               ///< of all its threads
  double peak_rss_mb = 0;               ///< 10^6 bytes
  bool timed_out = false;               ///< killed by killAfter()
  bool succeeded() const;               ///< exit code 0
  std::optional<int> exitCode() const;  ///< nothing if a signal ended it
};

/// One child in a process group of its own. It is killed, with everything it started, when the object or the
/// thread that made it goes.
class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess() { kill(); }
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// Starts `words[0]` with the rest as arguments. Signals that are blocked here are not blocked there.
  static Result<ChildProcess> start(const std::vector<std::string>& words, const ChildOptions& options);

  /// Its end, if there was one since the last call. `limit_s` > 0: a child that has run for longer is killed.
  std::optional<ChildEnd> poll(double limit_s = 0);

  /// Sends a signal to the child alone, which may clean up.
  void signal(int number) const;

  /// Kills its whole group and waits for its end.
  void kill();

  bool running() const { return pid_ > 0; }
  double seconds() const;  ///< since its start

 private:
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point start_;
  bool timed_out_ = false;
};

/// The last line that is not empty of a text file (of its last 64 kB), without `prefix`.
std::string lastLine(const std::filesystem::path& file, std::string_view prefix = {});

/// Why a child that left no word of its own failed, in a line: limit of time, signal, last line of `errors`
/// without `prefix`, code.
std::string endText(const ChildEnd& end, double limit_s, const std::filesystem::path& errors,
                    std::string_view prefix = {});

}  // namespace heatskin
