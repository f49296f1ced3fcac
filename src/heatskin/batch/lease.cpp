#include "heatskin/batch/lease.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using SortedJson = nlohmann::json;

constexpr std::string_view kEnding = ".lease";

std::string readText(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(1 << 14, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

/// Field 22 of /proc/PID/stat: when a process began, in ticks since boot; 0 if it is gone.
unsigned long long startOf(long pid) {
  const std::string text = readText(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = text.rfind(')');  // names may have blanks and brackets
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
    if (i == 22) return std::strtoull(field.c_str(), nullptr, 10);
  }
  return 0;
}

std::string environmentText(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text).substr(0, 100);
}

std::string jobOfEngine() {
  if (const auto array = environmentText("SLURM_ARRAY_JOB_ID"); !array.empty())
    return fmt::format("slurm {}_{}", array, environmentText("SLURM_ARRAY_TASK_ID"));
  if (const auto job = environmentText("SLURM_JOB_ID"); !job.empty()) return "slurm " + job;
  if (const auto job = environmentText("AWS_BATCH_JOB_ID"); !job.empty()) return "aws " + job;
  if (const auto index = environmentText("JOB_COMPLETION_INDEX"); !index.empty())
    return "kubernetes " + index;
  return {};
}

std::string leaseText(const LeaseInfo& info) {
  return SortedJson{{"name", info.name},     {"nonce", info.nonce}, {"host", info.host},
                    {"system", info.system}, {"pid", info.pid},     {"pid_start", info.pid_start},
                    {"job", info.job},       {"since", info.since}, {"takeovers", info.takeovers}}
             .dump(-1, ' ', false, SortedJson::error_handler_t::replace) +
         "\n";
}

/// Writes a new file; an error number, or 0.
int writeNew(const fs::path& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  const int problem = done < text.size() ? (errno != 0 ? errno : EIO) : 0;
  const int closed = ::close(fd) == 0 ? 0 : errno;
  if (problem != 0 || closed != 0) {
    ::unlink(file.c_str());
    return problem != 0 ? problem : closed;
  }
  return 0;
}

/// Gives `made`, a file of ours, the name `lease` unless that exists: 0, EEXIST or another error.
int claim(const fs::path& made, const fs::path& lease, const std::string& text) {
  if (::link(made.c_str(), lease.c_str()) == 0) return 0;
  const int problem = errno;
  // A network file system may have done it and lost the answer: then the file has two names.
  struct stat info {};
  if (::stat(made.c_str(), &info) == 0 && info.st_nlink == 2) return 0;
  if (problem == EPERM || problem == ENOTSUP || problem == ENOSYS || problem == EMLINK)
    return writeNew(lease, text);  // no hard links here
  return problem;
}

FoundLease foundLease(LeaseInfo info, double modified_at, double now) {
  static const LeaseInfo self = thisProcess();
  FoundLease found{std::move(info), std::max(0.0, now - modified_at), false};
  const LeaseInfo& there = found.info;
  if (there.host == self.host && there.system == self.system && there.pid > 0) {
    const bool gone = ::kill(static_cast<pid_t>(there.pid), 0) != 0 && errno == ESRCH;
    const unsigned long long start = gone ? 0 : startOf(there.pid);
    found.dead = gone || (start != 0 && there.pid_start != 0 && start != there.pid_start);
  }
  return found;
}

}  // namespace

LeaseInfo thisProcess() {
  LeaseInfo info;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) info.host = host.data();
  std::string boot = readText("/proc/sys/kernel/random/boot_id");
  boot.erase(std::min(boot.size(), boot.find('\n')));
  std::array<char, 64> space{};
  if (::readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) space[0] = '\0';
  info.system = boot + " " + space.data();
  info.pid = static_cast<long>(::getpid());
  info.pid_start = startOf(info.pid);
  info.job = jobOfEngine();
  info.since = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return info;
}

std::string newNonce() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::optional<double> modified(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};
  return static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

std::optional<double> FileClock::now() const {
  const fs::path probe = folder_ / fmt::format(".clock-{}-{}", ::getpid(), newNonce());
  if (writeNew(probe, " ") != 0) return {};
  const auto time = modified(probe);
  ::unlink(probe.c_str());
  return time;
}

std::string leaseKey(const std::string& name) {
  Fingerprint fingerprint;
  fingerprint.add(std::span<const char>(name));
  return hexadecimal(fingerprint);
}

std::optional<LeaseInfo> parseLease(const std::string& text) {
  const SortedJson json = SortedJson::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  LeaseInfo info;
  for (const auto& [key, into] :
       {std::pair("name", &info.name), std::pair("nonce", &info.nonce), std::pair("host", &info.host),
        std::pair("system", &info.system), std::pair("job", &info.job), std::pair("since", &info.since)}) {
    if (!json.contains(key) || !json[key].is_string()) return {};
    *into = json[key];
  }
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<long long>() : 0LL;
  };
  info.pid = static_cast<long>(number("pid"));
  info.pid_start = static_cast<unsigned long long>(number("pid_start"));
  info.takeovers = static_cast<int>(std::clamp(number("takeovers"), 0LL, 1000000LL));
  return info;
}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    file_ = std::exchange(other.file_, {});
    info_ = std::move(other.info_);
  }
  return *this;
}

Result<Lease::Attempt> Lease::acquire(const fs::path& folder, const std::string& name, double stale_s) {
  Attempt attempt;
  Lease lease;
  lease.info_ = thisProcess();
  lease.info_.name = name;
  lease.info_.nonce = newNonce();
  const fs::path file = folder / (leaseKey(name) + std::string(kEnding));
  const fs::path made = folder / ("." + lease.info_.nonce);
  const auto fail = [&](int problem) {
    ::unlink(made.c_str());
    return failure(fmt::format("{}: {}", displayPath(folder), std::strerror(problem)));
  };
  if (const int problem = writeNew(made, leaseText(lease.info_)); problem != 0) return fail(problem);
  int problem = claim(made, file, leaseText(lease.info_));
  if (problem == EEXIST) {
    // The text is read before the time: opening a file brings what a network file system has cached up to
    // date. What is not a lease (it is being written where there are no hard links, or a disk was full)
    // counts by its age alone.
    const auto other = parseLease(readText(file));
    const auto then = modified(file), now = modified(made);
    if (!then || !now) {
      ::unlink(made.c_str());
      return attempt;  // just released: whoever had it has also left a row
    }
    const FoundLease found = foundLease(other.value_or(LeaseInfo()), *then, *now);
    if (!found.dead && found.age_s <= stale_s) {
      ::unlink(made.c_str());
      return attempt;
    }
    // Of several that take it over one renames it. One that is late would rename the winner's: it gives that
    // one back.
    const fs::path taken = folder / (".stale-" + lease.info_.nonce);
    if (::rename(file.c_str(), taken.c_str()) != 0) {
      ::unlink(made.c_str());
      return attempt;
    }
    const auto removed = parseLease(readText(taken));
    if ((removed ? removed->nonce : "") != (other ? other->nonce : "")) {
      ::link(taken.c_str(), file.c_str());
      ::unlink(taken.c_str());
      ::unlink(made.c_str());
      return attempt;
    }
    ::unlink(taken.c_str());
    attempt.previous = other;
    lease.info_.takeovers = (other ? other->takeovers : 0) + 1;
    ::unlink(made.c_str());
    if (problem = writeNew(made, leaseText(lease.info_)); problem != 0) return fail(problem);
    problem = claim(made, file, leaseText(lease.info_));
  }
  ::unlink(made.c_str());
  if (problem == EEXIST) return Attempt();
  if (problem != 0) return failure(fmt::format("{}: {}", displayPath(file), std::strerror(problem)));
  lease.file_ = file;
  attempt.lease = std::move(lease);
  return attempt;
}

bool Lease::ours() const {
  const auto there = parseLease(readText(file_));
  return there && there->nonce == info_.nonce;
}

bool Lease::refresh() {
  return held() && ours() && ::utimensat(AT_FDCWD, file_.c_str(), nullptr, 0) == 0;
}

void Lease::release() {
  if (held() && ours()) ::unlink(file_.c_str());
  file_.clear();
}

void Lease::clearTakeovers() {
  if (!held() || info_.takeovers == 0 || !ours()) return;
  info_.takeovers = 0;
  (void)writeFileAtomically(file_, std::string_view(leaseText(info_)));
}

std::optional<FoundLease> findLease(const fs::path& folder, const std::string& name) {
  const fs::path file = folder / (leaseKey(name) + std::string(kEnding));
  auto info = parseLease(readText(file));
  const auto then = modified(file);
  if (!info || !then) return {};
  const auto now = FileClock(folder).now();
  return foundLease(std::move(*info), *then, now.value_or(*then));
}

std::vector<FoundLease> allLeases(const fs::path& folder) {
  std::vector<FoundLease> leases;
  std::error_code ignored;
  std::optional<double> now = FileClock(folder).now();
  if (!now) now = static_cast<double>(std::time(nullptr));  // a folder that may only be read
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.path().filename().string().ends_with(kEnding)) continue;
    auto info = parseLease(readText(entry.path()));
    const auto then = modified(entry.path());
    if (info && then) leases.push_back(foundLease(std::move(*info), *then, *now));
  }
  std::sort(leases.begin(), leases.end(),
            [](const FoundLease& a, const FoundLease& b) { return a.info.name < b.info.name; });
  return leases;
}

}  // namespace heatskin::batch
