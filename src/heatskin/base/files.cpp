#include "heatskin/base/files.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace heatskin {

namespace fs = std::filesystem;

namespace {

std::string systemMessage(int error) {
  return std::strerror(error);
}

/// Closes on scope exit.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

fs::path folderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool writeAll(int fd, std::span<const std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// The number of this process's descriptor that a link in /proc/PID/fd stands for.
std::optional<int> ownDescriptor(const fs::path& link) {
  std::error_code error;
  const fs::path folder = fs::canonical(folderOf(link), error);
  if (error || folder != fs::path(fmt::format("/proc/{}/fd", ::getpid()))) return std::nullopt;
  const std::string name = link.filename().string();
  int fd = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), fd);
  if (problem != std::errc() || end != name.data() + name.size() || fd < 0) return std::nullopt;
  return fd;
}

/// Root may write everywhere; a file whose owner took the permission away is meant to stay all the same.
bool writeProtected(const fs::path& path, const struct stat& info) {
  return (info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || ::access(path.c_str(), W_OK) != 0;
}

Error writeProtectedError(const fs::path& path) {
  return failure(displayPath(path) +
                 ": is write-protected; allow writing to it, remove it or choose another name");
}

std::string byteText(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.0f} kB", static_cast<double>(bytes) * 1e-3)
                           : fmt::format("{:.0f} MB", static_cast<double>(bytes) * 1e-6);
}

constexpr std::string_view kTemporaryPrefix = ".heatskin-", kTemporarySuffix = ".tmp", kLockSuffix = ".lock";

/// Beginning of the names of files that belong to the output `target`. A hash of its name: the name itself
/// may already be as long as names can be.
std::string companionPrefix(const fs::path& target) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const std::string name = target.filename().string();
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{}{:016x}", kTemporaryPrefix, hash);
}

/// A locked file under a temporary name, removed unless it was put in place. The lock tells others that its
/// writer is alive.
class Temporary {
 public:
  Temporary() = default;
  ~Temporary() { discard(); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  /// An empty file beside `target`; errors are the system's words alone.
  Result<void> create(const fs::path& target) {
    target_ = target;
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      name_ = (folderOf(target) /
               fmt::format("{}-XXXXXX{}", companionPrefix(target), std::string(kTemporarySuffix)))
                  .string();
      fd_ = ::mkostemps(name_.data(), static_cast<int>(kTemporarySuffix.size()), O_CLOEXEC);
      if (fd_ < 0) {
        name_.clear();
        return failure(systemMessage(errno));
      }
      // Someone who clears up may have taken it for abandoned before the lock: then it has no name any more.
      struct stat info {};
      if (::flock(fd_, LOCK_EX) != 0 || ::fstat(fd_, &info) != 0 || info.st_nlink > 0) return {};
      ::close(std::exchange(fd_, -1));
    }
    name_.clear();
    return failure("temporary files vanish");
  }

  /// Writes `bytes` where put() can move them to `path` from; special files are only looked at.
  Result<void> stage(const fs::path& path, std::span<const std::uint8_t> bytes) {
    auto target = outputTarget(path);
    if (!target) return target.error();
    const auto fail = [&](const std::string& what) {
      return failure(displayPath(path) + ": " + what + ": " + systemMessage(errno));
    };
    struct stat info {};
    mode_t mode = 0666;
    const bool exists = ::stat(target->path.c_str(), &info) == 0;
    if (target->descriptor >= 0 || (exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))) {
      direct_ = bytes;
      descriptor_ = target->descriptor;
      target_ = target->path;
      special_ = true;
      return {};
    }
    if (exists) {
      if (S_ISDIR(info.st_mode))
        return failure(displayPath(path) + ": is a folder, cannot be written as a file");
      if (writeProtected(target->path, info)) return writeProtectedError(path);
      mode = info.st_mode & 07777;
    } else {
      const mode_t mask = ::umask(0);
      ::umask(mask);
      mode = 0666 & ~mask;
    }
    if (auto made = create(target->path); !made) {
      return failure(displayPath(path) +
                     ": no temporary file can be created beside it: " + made.error().message);
    }
    if (!writeAll(fd_, bytes)) return fail("cannot be written");
    if (::fchmod(fd_, mode) != 0) return fail("permissions cannot be set");
    if (::fsync(fd_) != 0) return fail("cannot be flushed to disk");
    return {};
  }

  /// Gives what was staged its name.
  Result<void> put(const fs::path& path) {
    const auto fail = [&](const std::string& what) {
      return failure(displayPath(path) + ": " + what + ": " + systemMessage(errno));
    };
    if (special_) {
      const Descriptor opened(descriptor_ >= 0 ? -1 : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
      const int fd = descriptor_ >= 0 ? descriptor_ : opened.get();
      if (fd < 0) return fail("cannot be opened for writing");
      if (!writeAll(fd, direct_)) return fail("cannot be written");
      return {};
    }
    if (::rename(name_.c_str(), target_.c_str()) != 0) return fail("cannot be renamed to its final name");
    name_.clear();
    if (::close(std::exchange(fd_, -1)) != 0) return fail("cannot be closed");
    // The rename itself must survive a power cut, too; file systems that cannot sync a folder are left as
    // they are.
    const Descriptor folder_fd(::open(folderOf(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder_fd.get() >= 0) ::fsync(folder_fd.get());
    return {};
  }

 private:
  void discard() {
    const int error = errno;
    if (!name_.empty()) ::unlink(name_.c_str());
    if (fd_ >= 0) ::close(fd_);
    errno = error;
  }

  int fd_ = -1;
  std::string name_;  // empty: nothing to remove
  fs::path target_;
  bool special_ = false;
  int descriptor_ = -1;
  std::span<const std::uint8_t> direct_;
};

}  // namespace

std::string displayPath(const std::filesystem::path& path) {
  return path.string();
}

Result<std::vector<std::uint8_t>> readFile(const std::filesystem::path& path, std::size_t max_bytes) {
  // O_NONBLOCK so that opening a FIFO without a writer cannot hang before fstat refuses it.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return inputError(displayPath(path) + ": cannot be opened: " + systemMessage(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return inputError(displayPath(path) + ": cannot be read: " + systemMessage(errno));
  }
  if (S_ISDIR(info.st_mode)) return inputError(displayPath(path) + ": is a folder, not a file");
  if (!S_ISREG(info.st_mode)) return inputError(displayPath(path) + ": is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > max_bytes) {
    return inputError(displayPath(path) + ": is larger than the limit of " + std::to_string(max_bytes >> 20) +
                      " MiB");
  }
  std::vector<std::uint8_t> bytes(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd.get(), bytes.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return inputError(displayPath(path) + ": cannot be read: " + systemMessage(errno));
    if (n == 0) break;  // shrank while we read: what is there is what we have
    done += static_cast<std::size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

Result<OutputTarget> outputTarget(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  OutputTarget target{path, -1};
  for (int links = 0; links <= kMaxLinks; ++links) {
    struct stat info {};
    if (::lstat(target.path.c_str(), &info) != 0) {
      // What does not exist yet is fine, and a missing folder is somebody else's message.
      if (errno == ENAMETOOLONG) {
        return failure(fmt::format("{}: the file name is too long ({} bytes); choose a shorter one",
                                   displayPath(path), target.path.filename().native().size()));
      }
      return target;
    }
    if (!S_ISLNK(info.st_mode)) return target;
    if (const auto fd = ownDescriptor(target.path)) {
      target.descriptor = *fd;
      return target;
    }
    std::error_code error;
    const fs::path next = fs::read_symlink(target.path, error);
    if (error)
      return failure(displayPath(path) + ": the symbolic link cannot be followed: " + error.message());
    target.path = next.is_absolute() ? next : target.path.parent_path() / next;
  }
  return failure(displayPath(path) + ": symbolic links form a loop");
}

Result<void> checkWritable(const fs::path& path) {
  const auto target = outputTarget(path);
  if (!target) return target.error();
  if (target->descriptor >= 0) {
    const int flags = ::fcntl(target->descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      return failure(displayPath(path) + ": is not open for writing");
    return {};
  }
  struct stat info {};
  if (::stat(target->path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return failure(displayPath(path) + ": is a folder; give the name of a file");
    if (!S_ISREG(info.st_mode)) {
      if (::access(target->path.c_str(), W_OK) == 0) return {};  // a device or a pipe: written directly
      return failure(displayPath(path) + ": cannot be written: " + systemMessage(errno));
    }
    if (writeProtected(target->path, info)) return writeProtectedError(path);
  }
  if (!target->path.has_filename()) return failure(displayPath(path) + ": does not name a file");

  const fs::path folder = folderOf(target->path);
  if (::stat(folder.c_str(), &info) != 0) {
    return failure(fmt::format("{}: the folder {} {}; create it first", displayPath(path),
                               displayPath(folder), errno == ENOENT ? "does not exist" : "cannot be used"));
  }
  if (!S_ISDIR(info.st_mode)) {
    return failure(fmt::format("{}: {} is not a folder", displayPath(path), displayPath(folder)));
  }
  // What a write will do: make a temporary file there. It gets no name, or one for a moment.
  Temporary probe;
  if (auto made = probe.create(target->path); !made) {
    return failure(fmt::format("{}: nothing can be written into {}: {}", displayPath(path),
                               displayPath(folder), made.error().message));
  }
  return {};
}

Result<void> checkFreeSpace(const fs::path& path, std::size_t bytes) {
  const auto target = outputTarget(path);
  if (!target) return target.error();
  if (target->descriptor >= 0) return {};
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    return failure(fmt::format("{}: needs about {}, but files may have {} at most here (ulimit -f)",
                               displayPath(path), byteText(bytes), byteText(limit.rlim_cur)));
  }
  struct statvfs info {};
  if (::statvfs(folderOf(target->path).c_str(), &info) != 0 || info.f_blocks == 0) return {};  // not known
  const auto free = static_cast<std::size_t>(info.f_bavail) * info.f_frsize;
  if (free >= bytes) return {};
  return failure(
      fmt::format("{}: needs about {}, but only {} are free there; make room or choose another disk",
                  displayPath(path), byteText(bytes), byteText(free)));
}

Result<void> writeFilesAtomically(std::span<const FileContent> files) {
  std::vector<Temporary> staged(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (auto written = staged[i].stage(files[i].path, files[i].bytes); !written) return written;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (auto placed = staged[i].put(files[i].path); !placed) return placed;
  }
  return {};
}

Result<void> writeFileAtomically(const fs::path& path, std::span<const std::uint8_t> bytes) {
  const FileContent file{path, bytes};
  return writeFilesAtomically({&file, 1});
}

Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view text) {
  return writeFileAtomically(path,
                             std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void removeIfAbandoned(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) return;
  const Descriptor fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  // A living writer holds the lock. Taking it makes one that was just created wait, and see what happened.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
}

void removeAbandonedTemporaries(const fs::path& path) {
  const auto target = outputTarget(path);
  if (!target || target->descriptor >= 0) return;
  const std::string prefix = companionPrefix(target->path);
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folderOf(target->path), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  for (const fs::path& file : found)
    removeIfAbandoned(file);
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::exchange(other.fd_, -1);
    file_ = std::exchange(other.file_, {});
  }
  return *this;
}

Result<FileLock> FileLock::acquire(const fs::path& path) {
  const auto target = outputTarget(path);
  if (!target) return target.error();
  FileLock lock;
  if (target->descriptor >= 0) return lock;
  const fs::path file = folderOf(target->path) / (companionPrefix(target->path) + std::string(kLockSuffix));
  while (true) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
      return failure(fmt::format("{}: cannot be locked against other runs ({}): {}", displayPath(path),
                                 displayPath(file), systemMessage(errno)));
    }
    lock.fd_ = fd;
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {  // no locks here
        lock.file_ = file;
        return lock;
      }
      char text[32] = {};
      const ssize_t read = ::pread(fd, text, sizeof(text) - 1, 0);
      const std::string holder = read > 0 ? fmt::format(" (process {})", std::atoi(text)) : std::string();
      return failure(
          fmt::format("{}: another heatskin{} is writing it; wait for that one, or choose another name",
                      displayPath(path), holder));
    }
    // The holder before us may have removed the file between our opening and our locking it.
    struct stat held {
    }, named{};
    if (::fstat(fd, &held) == 0 && ::stat(file.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
        held.st_ino == named.st_ino)
      break;
    ::close(std::exchange(lock.fd_, -1));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.fd_, 0) == 0) {
    // Only for the other one's message.
    [[maybe_unused]] const ssize_t written = ::pwrite(lock.fd_, pid.data(), pid.size(), 0);
  }
  lock.file_ = file;
  return lock;
}

void FileLock::release() {
  // Removed while it is held: whoever waits for it sees that the name is gone.
  if (!file_.empty()) ::unlink(file_.c_str());
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  file_.clear();
}

}  // namespace heatskin
