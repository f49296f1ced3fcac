#include "heatskin/base/files.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heatskin {
namespace {

std::string systemMessage(int error) {
  return std::strerror(error);
}

/// Closes on scope exit; `release` hands the descriptor over.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

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

Result<void> writeFileAtomically(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  const auto fail = [&](const std::string& what) {
    return failure(displayPath(path) + ": " + what + ": " + systemMessage(errno));
  };
  struct stat info {};
  mode_t mode = 0666;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return failure(displayPath(path) + ": is a folder, cannot be written as a file");
    if (!S_ISREG(info.st_mode)) {
      const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (fd.get() < 0) return fail("cannot be opened for writing");
      if (!writeAll(fd.get(), bytes)) return fail("cannot be written");
      return {};
    }
    mode = info.st_mode & 07777;
  } else {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  }

  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::string temporary = (folder / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0) return fail("no temporary file can be made beside it");
  const auto abandon = [&](const std::string& what) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    return fail(what);
  };
  if (!writeAll(fd.get(), bytes)) return abandon("cannot be written");
  if (::fchmod(fd.get(), mode) != 0) return abandon("permissions cannot be set");
  if (::fsync(fd.get()) != 0) return abandon("cannot be flushed to disk");
  if (::close(fd.release()) != 0) return abandon("cannot be closed");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return abandon("cannot be put in place");
  // The rename itself must survive a power cut, too; file systems that cannot sync a folder are left as they
  // are.
  const Descriptor folder_fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_fd.get() >= 0) ::fsync(folder_fd.get());
  return {};
}

Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view text) {
  return writeFileAtomically(path,
                             std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace heatskin
