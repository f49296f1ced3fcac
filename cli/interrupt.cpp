#include "cli/interrupt.h"

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace heatskin::cli {
namespace {

std::atomic<int> g_signal = 0;  // the first one
std::atomic<int> g_graceful = 0;
std::atomic<bool> g_finished = false;

std::mutex& writingMutex() {
  // Never destroyed: the listening thread may need it until the process is gone.
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::vector<std::string>& filesToRemove() {
  static auto* files = new std::vector<std::string>;  // under writingMutex()
  return *files;
}

bool isIgnored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Whoever ends a job sends SIGTERM to all of its processes, and those who started one send it on: what comes
/// so soon after the first is the same wish, not impatience.
constexpr std::chrono::seconds kSameWish(5);

[[noreturn]] void listen(sigset_t signals) {
  int number = 0;
  std::chrono::steady_clock::time_point since;
  while (true) {
    if (::sigwait(&signals, &number) != 0 || g_finished) continue;
    const int before = g_signal.exchange(number);
    const auto now = std::chrono::steady_clock::now();
    if (before == 0) since = now;
    if (g_graceful == 0) break;
    const bool repeated = before == SIGTERM && number == SIGTERM && now - since < kSameWish;
    if (before != 0 && !repeated) break;
  }
  // Whoever holds the lock is about to finish a file; afterwards nothing half done exists.
  const std::unique_lock lock(writingMutex());
  for (const std::string& file : filesToRemove())
    ::unlink(file.c_str());
  constexpr std::string_view kOnTerminal = "\r\033[Kheatskin: error: interrupted\n";
  constexpr std::string_view kPlain = "heatskin: error: interrupted\n";
  const std::string_view text = ::isatty(2) == 1 ? kOnTerminal : kPlain;
  [[maybe_unused]] const ssize_t written = ::write(2, text.data(), text.size());
  ::_exit(128 + number);
}

}  // namespace

void handleSignals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit, too, is a write error
  sigset_t signals;
  sigemptyset(&signals);
  bool any = false;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (isIgnored(number)) continue;
    sigaddset(&signals, number);
    any = true;
  }
  if (!any) return;
  // Blocked here and therefore in every thread made later; only the listener receives them.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(listen, signals).detach();
}

bool interrupted() {
  return g_signal != 0;
}

int interruptExitCode() {
  const int number = g_signal;
  return number == 0 ? 0 : 128 + number;
}

GracefulInterrupt::GracefulInterrupt() {
  ++g_graceful;
}

GracefulInterrupt::~GracefulInterrupt() {
  --g_graceful;
}

void ignoreFurtherInterrupts() {
  g_finished = true;
}

void removeOnInterrupt(const std::filesystem::path& file) {
  const std::unique_lock lock(writingMutex());
  filesToRemove().push_back(file.string());
}

NoInterrupt::NoInterrupt() : lock_(writingMutex()) {}

}  // namespace heatskin::cli
