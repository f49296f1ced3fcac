#include "heatskin/base/child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heatskin/base/files.h"

namespace heatskin {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Their shadow memory alone takes terabytes of address space.
constexpr bool kLimitMemory = false;
#else
constexpr bool kLimitMemory = true;
#endif

double secondsOf(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

bool ChildEnd::succeeded() const {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::optional<int> ChildEnd::exitCode() const {
  return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    start_ = other.start_;
    timed_out_ = other.timed_out_;
  }
  return *this;
}

// Between fork and exec only calls that are safe in a copy of one thread of many.
Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& words, const ChildOptions& options) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int err = ::open(options.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (err < 0) return failure(fmt::format("{}: {}", displayPath(options.errors), std::strerror(errno)));
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    // Whoever is killed takes its children with it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    if (kLimitMemory && options.max_bytes > 0) {
      const rlimit limit = {options.max_bytes, options.max_bytes};
      ::setrlimit(RLIMIT_AS, &limit);
    }
    const rlimit no_core = {0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::dup2(err, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int problem = errno;
  ::close(err);
  if (nothing >= 0) ::close(nothing);
  if (pid < 0) return failure(fmt::format("a process cannot be started: {}", std::strerror(problem)));
  ::setpgid(pid, pid);  // also here: whoever is first
  ChildProcess child;
  child.pid_ = pid;
  child.start_ = std::chrono::steady_clock::now();
  return child;
}

double ChildProcess::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<ChildEnd> ChildProcess::poll(double limit_s) {
  if (!running()) return {};
  const double elapsed = seconds();
  if (!timed_out_ && limit_s > 0 && elapsed > limit_s) {
    timed_out_ = true;
    ::kill(-pid_, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  const pid_t ended = ::wait4(pid_, &status, WNOHANG, &usage);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return {};
  ::kill(-pid_, SIGKILL);  // whatever it left behind
  pid_ = -1;
  ChildEnd end;
  end.status = ended > 0 ? status : 127 << 8;  // nobody knows how: as if it could not be started
  end.seconds = elapsed;
  end.cpu_seconds = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
  end.peak_rss_mb = static_cast<double>(usage.ru_maxrss) * 1024 * 1e-6;
  end.timed_out = timed_out_;
  return end;
}

void ChildProcess::signal(int number) const {
  if (running()) ::kill(pid_, number);
}

void ChildProcess::kill() {
  if (!running()) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string lastLine(const std::filesystem::path& file, std::string_view prefix) {
  constexpr std::streamoff kTail = 65536;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (const std::streamoff size = in.tellg(); size > kTail) {
    in.seekg(size - kTail);
  } else {
    in.seekg(0);
  }
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = std::move(line);
  }
  if (last.starts_with(prefix)) last.erase(0, prefix.size());
  return last;
}

std::string endText(const ChildEnd& end, double limit_s, const std::filesystem::path& errors,
                    std::string_view prefix) {
  if (end.timed_out) return fmt::format("the time limit of {:g} s was reached", limit_s);
  const std::string said = lastLine(errors, prefix);
  if (WIFSIGNALED(end.status)) {
    return fmt::format("ended by signal {}{}{}", WTERMSIG(end.status), said.empty() ? "" : ": ", said);
  }
  if (!said.empty()) return said;
  return fmt::format("ended with code {} and said nothing", WEXITSTATUS(end.status));
}

}  // namespace heatskin
