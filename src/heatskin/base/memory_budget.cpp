#include "heatskin/base/memory_budget.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "heatskin/base/result.h"

namespace heatskin {
namespace {

std::atomic<std::size_t> budget_set = 0;

/// What other processes, the system and the error of estimates are left.
constexpr double kShare = 0.8;

/// Lowers `bytes` to the number in a file; files that are absent or say "max" change nothing.
void limitByFile(const std::string& path, double& bytes) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value && value > 0) bytes = std::min(bytes, value);
}

/// The limits of all control groups this process is in, version 2 and version 1.
void limitByControlGroups(double& bytes) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path" or "4:memory:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers.find("memory") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const std::string name = unified ? "/memory.max" : "/memory.limit_in_bytes";
    // A group is limited by those above it, too.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      limitByFile(root + path + name, bytes);
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
}

}  // namespace

std::size_t defaultMemoryBudget() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  double bytes = pages > 0 ? pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0x1.0p62;
  limitByControlGroups(bytes);
  for (const int resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  }
  return static_cast<std::size_t>(kShare * bytes);
}

std::size_t memoryBudget() {
  const std::size_t set = budget_set.load();
  return set != 0 ? set : defaultMemoryBudget();
}

void setMemoryBudget(std::size_t bytes) {
  budget_set.store(bytes);
}

std::size_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  if (!(file >> total >> resident)) return 0;
  return static_cast<std::size_t>(resident * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

std::optional<std::size_t> parseBytes(std::string_view text) {
  double number = 0;
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || !std::isfinite(number) || !(number > 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b')) unit.remove_suffix(1);
  constexpr std::string_view kUnits = "kKmMgGtT";
  if (unit.size() > 1) return std::nullopt;
  if (!unit.empty()) {
    const std::size_t at = kUnits.find(unit[0]);
    if (at == std::string_view::npos) return std::nullopt;
    number *= std::pow(1024.0, static_cast<double>(at / 2 + 1));
  }
  if (number < 1 || number > 0x1.0p60) return std::nullopt;
  return static_cast<std::size_t>(number);
}

Result<void> askMemory(std::string_view what, double bytes) {
  const auto held = static_cast<double>(residentBytes());
  const auto most = static_cast<double>(memoryBudget());
  if (held + bytes <= most) return {};
  const auto text = [](double n) {
    return n >= 1e9 ? fmt::format("{:.1f} GB", n * 1e-9) : fmt::format("{:.0f} MB", std::max(1.0, n * 1e-6));
  };
  const bool chosen = budget_set.load() != 0;
  return inputError(fmt::format("{} needs about {}, together with the memory in use {}; {}", what,
                                text(bytes), text(held + bytes),
                                chosen ? fmt::format("the limit is {}", text(most))
                                       : fmt::format("the limit on this machine is {}", text(most))),
                    chosen ? error_code::kMemoryLimit : error_code::kMachineMemory);
}

}  // namespace heatskin
