#include "cli/output.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "heatskin/base/files.h"
#include "heatskin/io/image.h"

#include "cli/interrupt.h"

namespace heatskin::cli {
Result<void> checkOutputFile(const std::filesystem::path& path) {
  if (path == "-") return {};
  if (path.empty()) return usageError("the name of the output file is empty");
  return checkWritable(path);
}

Result<void> checkOutputFile(const std::filesystem::path& path, std::string_view extension) {
  std::string given = path.extension().string();
  std::transform(given.begin(), given.end(), given.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  struct stat info {};
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  if (given != extension && !special) {
    return usageError(
        fmt::format("{}: the output is a {} file; give it that extension", displayPath(path), extension));
  }
  return checkOutputFile(path);
}

Result<void> makeOutputFolder(const std::filesystem::path& path) {
  if (path.empty()) return usageError("the name of the output folder is empty");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return failure(fmt::format("{}: the folder cannot be created: {}", displayPath(path), error.message()));
  }
  return {};
}

Result<void> saveBytes(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  const NoInterrupt guard;
  return writeFileAtomically(path, bytes);
}

Result<void> saveText(const std::filesystem::path& path, std::string_view text) {
  const NoInterrupt guard;
  return writeFileAtomically(path, text);
}

Result<void> savePng(const std::filesystem::path& path, const ImageF& image, bool transparent) {
  const std::vector<std::uint8_t> pixels = transparent ? toPng8WithMask(image) : toPng8(image);
  auto png = encodePng(pixels, image.width, image.height, transparent ? 4 : 3);
  if (!png) return png.error();
  return saveBytes(path, *png);
}

Json jsonNumber(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void addDecibels(Json& document, const std::string& key, double value) {
  document[key] = jsonNumber(value);
  if (std::isinf(value)) document[key + "_infinite"] = true;
}

Result<void> saveJson(Console& console, const std::string& path, const Json& document) {
  if (path.empty()) return {};
  const std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (path == "-") return console.writeStdout(text);
  return saveText(path, text);
}

}  // namespace heatskin::cli
