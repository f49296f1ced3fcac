#pragma once

// Files: whole-file reading with a limit, and writing that never leaves half a file behind.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Nothing we read is larger; a file above it is refused before any allocation.
inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// The bytes of a regular file. Directories, devices, pipes and files above `max_bytes` are refused by name.
Result<std::vector<std::uint8_t>> readFile(const std::filesystem::path& path,
                                           std::size_t max_bytes = kMaxFileBytes);

/// Where the bytes written to a path end up.
struct OutputTarget {
  std::filesystem::path path;  ///< symbolic links followed, also one whose target does not exist yet
  int descriptor = -1;  ///< one of this process's own (/dev/stdout, /dev/fd/3) instead of `path`; or -1
};

/// Follows symbolic links. Fails on circles and on names that are too long for the file system.
Result<OutputTarget> outputTarget(const std::filesystem::path& path);

/// Fails if `path` could not be written now: its folder is missing or takes no new files, it is a folder, it
/// is write-protected (also for root, who could). Nothing is left behind.
Result<void> checkWritable(const std::filesystem::path& path);

/// Fails if fewer than `bytes` are free where `path` would be written, or if a file may not get that large.
Result<void> checkFreeSpace(const std::filesystem::path& path, std::size_t bytes);

/// Writes to a temporary file in the same folder, fsyncs and renames: `path` holds the old or the new
/// content, never a part. Symbolic links are followed, write-protected files are refused. Special files
/// (/dev/stdout, a pipe) are written directly, because renaming would replace them.
Result<void> writeFileAtomically(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view text);

/// A file of a group.
struct FileContent {
  std::filesystem::path path;
  std::span<const std::uint8_t> bytes;
};

/// Writes files that belong together: all are on the disk under temporary names before the first takes its
/// place, in the given order. A full disk leaves every one of them as it was.
Result<void> writeFilesAtomically(std::span<const FileContent> files);

/// Removes temporary files that killed writers of `path` left. Those of living writers are locked and stay.
void removeAbandonedTemporaries(const std::filesystem::path& path);

/// Removes `file` if it is the temporary file of any writer that is gone.
void removeIfAbandoned(const std::filesystem::path& file);

/// Keeps other processes from working on the same output: a locked file beside it, removed at the end. The
/// system drops the lock of a process that dies, whatever file it leaves. File systems without locks give no
/// protection.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock() { release(); }
  FileLock(FileLock&& other) noexcept { *this = std::move(other); }
  FileLock& operator=(FileLock&& other) noexcept;

  /// Locks `path`, which need not exist. Fails if another process holds it, and names that one.
  static Result<FileLock> acquire(const std::filesystem::path& path);

  void release();
  const std::filesystem::path& file() const { return file_; }

 private:
  int fd_ = -1;
  std::filesystem::path file_;  // empty: nothing is locked
};

/// `path` as UTF-8 for messages.
std::string displayPath(const std::filesystem::path& path);

}  // namespace heatskin
