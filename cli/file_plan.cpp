#include "cli/file_plan.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/interrupt.h"
#include "cli/output.h"

namespace heatskin::cli {
namespace {

namespace fs = std::filesystem;

std::string identityOf(const struct stat& info) {
  return fmt::format("{}:{}", info.st_dev, info.st_ino);
}

/// The same text for two names of one file, now or once it exists. Empty for devices such as /dev/null, which
/// keep nothing that could be lost.
std::string identity(const fs::path& path, int standard_stream) {
  struct stat info {};
  const auto target =
      path == "-" ? Result<OutputTarget>(OutputTarget{path, standard_stream}) : outputTarget(path);
  if (!target) return path.string();  // a circle of links: whoever opens it says so
  if (target->descriptor >= 0) {
    if (::fstat(target->descriptor, &info) != 0) return fmt::format("descriptor {}", target->descriptor);
    if (S_ISCHR(info.st_mode)) {
      // Two documents on one terminal would be mixed up, but reading from it as well is fine.
      return target->descriptor == 1 ? "stdout" : "";
    }
    return identityOf(info);
  }
  if (::stat(target->path.c_str(), &info) == 0) return S_ISCHR(info.st_mode) ? "" : identityOf(info);
  // Not there yet: its name in its folder.
  const fs::path folder = target->path.has_parent_path() ? target->path.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &info) == 0) return identityOf(info) + "/" + target->path.filename().string();
  std::error_code ignored;
  return fs::weakly_canonical(target->path, ignored).string();
}

std::string inputIdentity(const fs::path& path) {
  return identity(path, 0);
}
std::string outputIdentity(const fs::path& path) {
  return identity(path, 1);
}

Error overlap(const fs::path& path, const std::string& output_role, const std::string& input_role) {
  return usageError(fmt::format("{}: is an input ({}) and would be overwritten by {}; choose another name",
                                displayPath(path), input_role, output_role));
}

}  // namespace

void FilePlan::reads(const fs::path& path, std::string role) {
  if (!path.empty()) inputs_.push_back({path, std::move(role), {}});
}

void FilePlan::writes(const fs::path& path, std::string role, std::string extension) {
  if (!path.empty()) outputs_.push_back({path, std::move(role), std::move(extension)});
}

void FilePlan::writesInto(const fs::path& folder, const std::vector<std::string>& names, std::string role) {
  if (folder.empty()) return;
  folders_.push_back(folder);
  for (const std::string& name : names)
    outputs_.push_back({folder / name, role, {}});
}

Result<void> FilePlan::refuseOverlaps() const {
  std::map<std::string, const Entry*> read, written;
  for (const Entry& input : inputs_)
    read.emplace(inputIdentity(input.path), &input);
  for (const Entry& output : outputs_) {
    const std::string id = outputIdentity(output.path);
    if (id.empty()) continue;
    if (const auto it = read.find(id); it != read.end())
      return overlap(output.path, output.role, it->second->role);
    const auto [it, added] = written.emplace(id, &output);
    if (!added) {
      return usageError(fmt::format("{}: cannot hold both {} and {}; choose another name for one of them",
                                    output.path == "-" ? "standard output" : displayPath(output.path),
                                    it->second->role, output.role));
    }
  }
  return {};
}

FilePlan::~FilePlan() {
  std::error_code ignored;
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
    fs::remove(*folder, ignored);  // fails if something is in it
}

Result<void> FilePlan::settle() {
  if (auto apart = refuseOverlaps(); !apart) return apart;
  for (const fs::path& folder : folders_) {
    const std::size_t outermost = made_.size();
    std::error_code ignored;
    for (fs::path part = folder; !part.empty() && !fs::exists(part, ignored); part = part.parent_path())
      made_.insert(made_.begin() + static_cast<std::ptrdiff_t>(outermost), part);
    if (auto made = makeOutputFolder(folder); !made) return made;
  }
  for (const Entry& output : outputs_) {
    auto writable = output.extension.empty() ? checkOutputFile(output.path)
                                             : checkOutputFile(output.path, output.extension);
    if (!writable) return writable;
  }
  for (const fs::path& path : locked_) {
    auto lock = FileLock::acquire(path);
    if (!lock) return lock.error();
    removeOnInterrupt(lock->file());
    locks_.push_back(std::move(*lock));
  }
  for (const Entry& output : outputs_) {
    if (output.path != "-") removeAbandonedTemporaries(output.path);
  }
  return {};
}

Result<void> FilePlan::alsoReads(const fs::path& path, const std::string& role) {
  const std::string id = inputIdentity(path);
  for (const Entry& output : outputs_) {
    if (!id.empty() && outputIdentity(output.path) == id) return overlap(output.path, output.role, role);
  }
  return {};
}

}  // namespace heatskin::cli
