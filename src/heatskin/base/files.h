#pragma once

// Files: whole-file reading with a limit, and writing that never leaves half a file behind.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// Nothing we read is larger; a file above it is refused before any allocation.
inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;

/// The bytes of a regular file. Directories, devices, pipes and files above `max_bytes` are refused by name.
Result<std::vector<std::uint8_t>> readFile(const std::filesystem::path& path,
                                           std::size_t max_bytes = kMaxFileBytes);

/// Writes to a temporary file in the same folder, fsyncs and renames: `path` holds the old or the new
/// content, never a part. Special files (/dev/stdout, a pipe) are written directly, because renaming would
/// replace them.
Result<void> writeFileAtomically(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
Result<void> writeFileAtomically(const std::filesystem::path& path, std::string_view text);

/// `path` as UTF-8 for messages.
std::string displayPath(const std::filesystem::path& path);

}  // namespace heatskin
