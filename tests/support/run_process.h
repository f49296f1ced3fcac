#pragma once

// Runs a program as a child process and says everything about how it ended: output, exit code or signal, time
// and peak memory. For tests of the command line.

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/paths.h"
#include "support/sanitized.h"

extern char** environ;

namespace heatskin::testing {

/// True when the heatskin binary under test was built with a sanitizer: the one beside this test program, or
/// another one whose user set $HEATSKIN_BINARY_SANITIZED.
inline bool sanitized() {
  return kSanitized || std::getenv("HEATSKIN_BINARY_SANITIZED") != nullptr;
}

/// Below the limit ctest has for a whole test (cmake/modules.cmake), so that the test still says what hung.
inline constexpr double kHangLimitSeconds = 1800;

enum class StdoutTo {
  kCapture,     ///< into ProcessOutcome::out
  kClosed,      ///< file descriptor 1 does not exist in the child
  kBrokenPipe,  ///< a pipe whose reader has gone: writing raises SIGPIPE
  kDevFull,     ///< /dev/full: writing fails with "no space left on device"
};

struct ProcessOptions {
  std::string folder = {};  ///< working directory of the child; empty: ours

  /// Variables set (or, with nullopt, removed) on top of our own environment. HEATSKIN_CACHE is "off" unless
  /// it is named here.
  std::map<std::string, std::optional<std::string>> environment = {};

  /// Afterwards the child hangs, as far as we are concerned, and its process group is killed. No test depends
  /// on speed: on a busy machine, or sanitised, a child may take a hundred times what it usually does.
  double time_limit_s = kHangLimitSeconds;

  /// RLIMIT_AS in bytes, 0: none. Ignored in sanitized builds, whose shadow memory needs terabytes of address
  /// space; there, look at ProcessOutcome::peak_rss_bytes.
  std::size_t memory_limit_bytes = 0;

  std::size_t file_limit_bytes = 0;  ///< RLIMIT_FSIZE, 0: none
  StdoutTo stdout_to = StdoutTo::kCapture;

  /// stdout and stderr are one pseudo terminal; everything arrives in ProcessOutcome::out ("\r\n" line ends).
  bool terminal = false;

  /// Sends this signal to the child (0: none), as soon as all of the following hold.
  int signal_number = 0;
  double signal_after_s = 0;               ///< so long after its start; only where any moment will do
  std::function<bool()> signal_when = {};  ///< this is true; empty: always
  std::string signal_after_text = {};      ///< it has written this to stdout or stderr

  std::size_t max_output_bytes = std::size_t{16} << 20;  ///< the rest is read and thrown away
};

struct ProcessOutcome {
  bool started = false;    ///< false: fork or exec failed
  bool timed_out = false;  ///< the time limit was reached and the child killed
  int exit_code = -1;      ///< -1 when a signal ended the child
  int signal_number = 0;   ///< the signal that ended the child, 0: it exited
  std::string out;
  std::string err;
  double seconds = 0;
  std::size_t peak_rss_bytes = 0;  ///< at least our own resident size at the fork (Linux counts it)
};

namespace detail {

inline void closeIfOpen(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

/// In the child, after fork: only async-signal-safe calls.
[[noreturn]] inline void becomeProgram(char* const* argv, char* const* envp, const ProcessOptions& options,
                                       int out_fd, int err_fd) {
  setpgid(0, 0);
  signal(SIGPIPE, SIG_DFL);
  const int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd >= 0) dup2(null_fd, 0);
  if (out_fd >= 0) {
    dup2(out_fd, 1);
  } else {
    close(1);
  }
  dup2(err_fd, 2);
  for (int fd = 3; fd < 256; ++fd) {
    close(fd);
  }
  if (options.memory_limit_bytes > 0 && !sanitized()) {
    const rlimit limit{options.memory_limit_bytes, options.memory_limit_bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  if (options.file_limit_bytes > 0) {
    const rlimit limit{options.file_limit_bytes, options.file_limit_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(127);
  execve(argv[0], argv, envp);
  _exit(127);
}

inline std::vector<std::string> mergedEnvironment(const ProcessOptions& options) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    if (name != "HEATSKIN_CACHE" && options.environment.count(name) == 0) merged.push_back(text);
  }
  // No test writes into the user's cache; those about caches name a folder.
  if (options.environment.count("HEATSKIN_CACHE") == 0) merged.push_back("HEATSKIN_CACHE=off");
  for (const auto& [name, value] : options.environment) {
    if (value) merged.push_back(name + "=" + *value);
  }
  return merged;
}

inline std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) {
    result.push_back(s.data());
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace detail

/// Runs `command` (command[0] is the path of the program; PATH is not searched) and waits for its end. stdin
/// is empty.
inline ProcessOutcome runProcess(std::vector<std::string> command, const ProcessOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  ProcessOutcome outcome;
  std::vector<std::string> environment = detail::mergedEnvironment(options);
  const std::vector<char*> argv = detail::pointers(command);
  const std::vector<char*> envp = detail::pointers(environment);

  // [read end, write end] of stdout and stderr; a terminal uses only the first.
  std::array<int, 2> out = {-1, -1}, err = {-1, -1};
  const auto closeAll = [&] {
    for (int* fd : {&out[0], &out[1], &err[0], &err[1]}) {
      detail::closeIfOpen(*fd);
    }
  };
  bool ready = true;
  if (options.terminal) {
    out[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ready = out[0] >= 0 && grantpt(out[0]) == 0 && unlockpt(out[0]) == 0;
    if (ready) out[1] = open(ptsname(out[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ready = ready && out[1] >= 0;
  } else {
    ready = pipe2(err.data(), O_CLOEXEC) == 0;
    if (options.stdout_to == StdoutTo::kDevFull) {
      out[1] = open("/dev/full", O_WRONLY | O_CLOEXEC);
      ready = ready && out[1] >= 0;
    } else if (options.stdout_to != StdoutTo::kClosed) {
      ready = ready && pipe2(out.data(), O_CLOEXEC) == 0;
      if (options.stdout_to == StdoutTo::kBrokenPipe) detail::closeIfOpen(out[0]);
    }
  }
  if (!ready) {
    closeAll();
    return outcome;
  }

  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const pid_t child = fork();
  if (child == 0) {
    detail::becomeProgram(argv.data(), envp.data(), options, out[1], options.terminal ? out[1] : err[1]);
  }
  detail::closeIfOpen(out[1]);
  detail::closeIfOpen(err[1]);
  if (child < 0) {
    closeAll();
    return outcome;
  }
  setpgid(child, child);  // the child does the same: whoever comes first

  bool signalled = options.signal_number == 0;
  const auto itIsTime = [&] {
    const std::string& text = options.signal_after_text;
    return elapsed() >= options.signal_after_s && (!options.signal_when || options.signal_when()) &&
           (outcome.out.find(text) != std::string::npos || outcome.err.find(text) != std::string::npos);
  };
  std::array<char, 65536> buffer;
  while (out[0] >= 0 || err[0] >= 0) {
    if (!signalled && itIsTime()) {
      kill(child, options.signal_number);
      signalled = true;
    }
    if (!outcome.timed_out && elapsed() >= options.time_limit_s) {
      kill(-child, SIGKILL);
      outcome.timed_out = true;
    }
    std::array<pollfd, 2> fds = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
    if (poll(fds.data(), fds.size(), 20) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < 2; ++i) {
      if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      const ssize_t got = read(fds[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        std::string& text = i == 0 ? outcome.out : outcome.err;
        if (text.size() < options.max_output_bytes) text.append(buffer.data(), static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {  // a terminal without a writer reports EIO
        detail::closeIfOpen(i == 0 ? out[0] : err[0]);
      }
    }
  }

  int status = 0;
  rusage usage{};
  while (true) {
    const pid_t ended = wait4(child, &status, WNOHANG, &usage);
    if (ended == child || (ended < 0 && errno != EINTR)) break;
    if (!signalled && itIsTime()) {
      kill(child, options.signal_number);
      signalled = true;
    }
    if (!outcome.timed_out && elapsed() >= options.time_limit_s) {
      kill(-child, SIGKILL);
      outcome.timed_out = true;
    }
    usleep(2000);
  }
  kill(-child, SIGKILL);  // nothing the child started outlives it
  outcome.seconds = elapsed();
  outcome.peak_rss_bytes = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal_number = WTERMSIG(status);
  outcome.started = outcome.exit_code != 127;
  return outcome;
}

/// The heatskin program under test: $HEATSKIN_BINARY, or the one built beside the tests.
inline std::string heatskinBinary() {
  const char* given = std::getenv("HEATSKIN_BINARY");
  return given != nullptr && *given != '\0' ? given : inBuild("heatskin");
}

/// runProcess of the heatskin program.
inline ProcessOutcome runHeatskin(std::vector<std::string> arguments, const ProcessOptions& options = {}) {
  arguments.insert(arguments.begin(), heatskinBinary());
  return runProcess(std::move(arguments), options);
}

}  // namespace heatskin::testing
