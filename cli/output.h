#pragma once

// Files the verbs write: checked before the work begins, written atomically.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "heatskin/base/files.h"
#include "heatskin/base/result.h"
#include "heatskin/io/image_f.h"

#include "cli/console.h"

namespace heatskin::cli {

using Json = nlohmann::ordered_json;

/// Fails now if `path` could not be written later: folder missing or not writable, path is a folder or
/// write-protected, name too long. "-" is stdout and always fine.
Result<void> checkOutputFile(const std::filesystem::path& path);

/// Also demands the file name's extension (".png").
Result<void> checkOutputFile(const std::filesystem::path& path, std::string_view extension);

/// Makes the folder (and its parents) if it does not exist.
Result<void> makeOutputFolder(const std::filesystem::path& path);

/// Atomic writes that a signal waits for.
Result<void> saveBytes(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
Result<void> saveText(const std::filesystem::path& path, std::string_view text);

/// 8-bit RGB, or RGBA with the mask as alpha.
Result<void> savePng(const std::filesystem::path& path, const ImageF& image, bool transparent = false);

/// A number, or null: JSON has no infinities.
Json jsonNumber(double value);

/// A PSNR under `key`. That of equal pictures is infinite: then it is null, and `key`_infinite is true.
void addDecibels(Json& document, const std::string& key, double value);

/// The document, to `path` or to stdout for "-"; nothing if `path` is empty. Text that is not UTF-8 is
/// repaired.
Result<void> saveJson(Console& console, const std::string& path, const Json& document);

}  // namespace heatskin::cli
