#pragma once

// References from one file to another: where an asset may look for its buffers, materials and images, and
// data that is written into the reference itself. Nothing here ever touches a network.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "heatskin/base/result.h"

namespace heatskin {

/// The file that `reference`, found in an asset in `asset_folder`, stands for. `reference` is a relative path
/// with forward slashes, already percent-decoded. Absolute paths, drive letters, backslashes, schemes (http:,
/// file:), NUL bytes, `..` and symbolic links that lead out of the folder are refused. The file need not
/// exist. The path returned has no symbolic links in its existing part. Messages begin with the quoted
/// reference.
Result<std::filesystem::path> resolveReference(const std::filesystem::path& asset_folder,
                                               std::string_view reference);

/// The bytes of the file that `reference` stands for. The rules are those of resolveReference, and messages
/// also name the file as the asset does, not by its place on this machine.
Result<std::vector<std::uint8_t>> readReference(const std::filesystem::path& asset_folder,
                                                std::string_view reference);

/// `text` in single quotes for a one-line message: control characters and broken UTF-8 become '?', long texts
/// are cut.
std::string quoteForMessage(std::string_view text);

/// `text` with every broken UTF-8 sequence replaced by U+FFFD; equal to `text` exactly when it was valid.
std::string repairUtf8(std::string_view text);

/// Replaces %XX by bytes; a '%' that is not followed by two hexadecimal digits is an error.
Result<std::string> percentDecode(std::string_view uri);

/// True for "data:...".
bool isDataUri(std::string_view uri);

/// The bytes of a data URI with base64 content (RFC 4648, padding required, no blanks).
Result<std::vector<std::uint8_t>> decodeDataUri(std::string_view uri);

}  // namespace heatskin
